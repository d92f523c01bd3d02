//! Table of the endpoints of the main address. A test shows that the router has these and no
//! others.

use super::endpoint::{Endpoint, ErrorFormat, chunks, delete, get, health, object, post};
use crate::{chat, completions, conversations, deleted, list, messages, responses, tokenize};

/// All endpoints of the main address.
#[rustfmt::skip] // A row per endpoint.
pub(crate) const ENDPOINTS: &[Endpoint] = &[
    post("/v1/responses", "createResponse", "A response of the model, after OpenAI's Responses API").body(responses::fields::TABLES).answer(responses::schema::answer).errors(ErrorFormat::Responses),
    get("/v1/responses", "connectResponses", "A WebSocket for many responses: see `docs/api/responses.md`").upgrades(),
    post("/v1/responses/input_tokens", "countResponseTokens", "How many tokens a response's prompt has").body(responses::fields::TABLES).answers::<responses::CountedInput>(),
    post("/v1/responses/compact", "compactResponse", "A shorter conversation that stands for the one sent").body(responses::fields::TABLES).answers::<responses::CompactedResponse>(),
    get("/v1/responses/{id}", "retrieveResponse", "A stored response, or the events of a background one").query(responses::fields::READ_QUERY).answer(responses::schema::stored),
    delete("/v1/responses/{id}", "deleteResponse", "Deletes a response, which stops if it runs").answers::<deleted::Deletion<'_>>(),
    post("/v1/responses/{id}/cancel", "cancelResponse", "Stops a background response").answers::<responses::Resource>(),
    post("/v1/responses/{id}/end_reasoning", "endReasoning", "Ends the reasoning of a stored response that runs, which goes on with its answer").answers::<responses::Resource>().conflicts(),
    get("/v1/responses/{id}/input_items", "listInputItems", "A page of a response's input, with what it continues").query(conversations::fields::PAGE_QUERY).answers::<list::List<'_>>(),
    post("/v1/conversations", "createConversation", "A new conversation, after OpenAI's Conversations").body(conversations::fields::CREATE_TABLES).answers::<conversations::objects::Shown<'_>>(),
    get("/v1/conversations/{id}", "retrieveConversation", "A conversation without its items").answers::<conversations::objects::Shown<'_>>(),
    post("/v1/conversations/{id}", "updateConversation", "New metadata of a conversation").body(conversations::fields::UPDATE_TABLES).answers::<conversations::objects::Shown<'_>>(),
    delete("/v1/conversations/{id}", "deleteConversation", "Deletes a conversation; its responses stay").answers::<deleted::Deletion<'_>>(),
    post("/v1/conversations/{id}/items", "createConversationItems", "Adds items to a conversation").body(conversations::fields::ADD_TABLES).query(conversations::fields::ITEM_QUERY).answers::<list::List<'_>>(),
    get("/v1/conversations/{id}/items", "listConversationItems", "A page of a conversation's items").query(conversations::fields::PAGE_QUERY).answers::<list::List<'_>>(),
    get("/v1/conversations/{id}/items/{item_id}", "retrieveConversationItem", "An item of a conversation").query(conversations::fields::ITEM_QUERY).answer(conversations::objects::item_answer),
    delete("/v1/conversations/{id}/items/{item_id}", "deleteConversationItem", "Removes an item from a conversation, which is the answer").answers::<conversations::objects::Shown<'_>>(),
    post("/v1/chat/completions", "createChatCompletion", "An answer to a conversation, after OpenAI's Chat Completions").body(chat::fields::TABLES).answer(chunks::<chat::Completion<'_>, chat::Chunk<'_>>),
    get("/v1/chat/completions", "listChatCompletions", "A page of the stored completions").query(chat::stored::LIST_QUERY).answers::<list::List<'_>>(),
    get("/v1/chat/completions/{id}", "retrieveChatCompletion", "A stored completion").answer(chat::stored::stored_answer),
    post("/v1/chat/completions/{id}", "updateChatCompletion", "New metadata of a stored completion").body(chat::stored::UPDATE_TABLES).answer(chat::stored::stored_answer),
    delete("/v1/chat/completions/{id}", "deleteChatCompletion", "Deletes a stored completion").answers::<deleted::Deletion<'_>>(),
    get("/v1/chat/completions/{id}/messages", "listChatCompletionMessages", "A page of a stored completion's messages").query(chat::stored::MESSAGES_QUERY).answers::<list::List<'_>>(),
    post("/v1/completions", "createCompletion", "Text that goes on from a raw prompt, after OpenAI's Completions").body(completions::fields::TABLES).answer(chunks::<completions::Completion<'_>, completions::Completion<'_>>),
    post("/v1/messages", "createMessage", "A message of the model, after Anthropic's Messages").body(messages::fields::TABLES).answer(messages::answer).errors(ErrorFormat::Anthropic),
    post("/v1/messages/count_tokens", "countMessageTokens", "How many tokens a message's prompt has").body(&[messages::fields::PROMPT]).answers::<messages::Counted>().errors(ErrorFormat::Anthropic),
    post("/tokenize", "tokenize", "Token ids of a text or of a conversation, after vLLM").body(&[tokenize::TOKENIZE]).answers::<tokenize::Spelling<'_>>(),
    post("/detokenize", "detokenize", "The text of token ids, after vLLM").body(tokenize::DETOKENIZE_TABLES).answers::<tokenize::Text<'_>>(),
    get("/tokenizer_info", "getTokenizerInfo", "Special tokens and chat template of the model, after vLLM; `?model=NAME` where several are served").answers::<tokenize::Info<'_>>(),
    get("/", "index", "Name, version and routes; whether it stores, tools that it runs, its inspector's address. Browsers, which prefer HTML, get a page").answer(object),
    get("/v1/models", "listModels", "The names that the models are served under; a page of Anthropic's for clients that send `anthropic-version`").query(messages::models::LIST_QUERY).answer(messages::models::list_answer),
    get("/v1/models/{id}", "retrieveModel", "One of them; slashes in the name stay as they are").answer(messages::models::model_answer),
    get("/health", "health", "Whether new work is taken").answer(health).open(),
    get("/ready", "ready", "Whether new work is taken, and what is lacking").answer(health).open(),
    get("/live", "live", "Whether the process works, also while it drains").answer(health).open(),
    get("/api/hello", "hello", "Whether there is a server: what Claude Code asks before its first request").answer(object).open(),
    get("/version", "version", "The server's version (as in vLLM)").answer(object),
    get("/metrics", "metrics", "Figures for Prometheus").media("text/plain"),
    get("/openapi.json", "openapi", "This document").answer(object),
];
