//! Table of the endpoints of the main address. A test shows that the router has these and no
//! others.

use super::endpoint::{Endpoint, ErrorFormat, health, object};
use crate::schema::AnswerSchemas;
use crate::{chat, completions, conversations, deleted, messages, responses, tokenize};

/// All endpoints of the main address.
pub(crate) const ENDPOINTS: &[Endpoint] = &[
    Endpoint {
        path: "/v1/responses",
        id: "createResponse",
        summary: "A response of the model, after OpenAI's Responses API",
        request: Some(responses::fields::TABLES),
        answer: responses::schema::answer,
        errors: ErrorFormat::Responses,
        ..Endpoint::NEW
    },
    Endpoint {
        method: "get",
        path: "/v1/responses",
        id: "connectResponses",
        summary: "A WebSocket for many responses: see `docs/api/responses.md`",
        upgrades: true,
        ..Endpoint::NEW
    },
    Endpoint {
        path: "/v1/responses/input_tokens",
        id: "countResponseTokens",
        summary: "How many tokens a response's prompt has",
        request: Some(responses::fields::TABLES),
        answer: AnswerSchemas::whole::<responses::CountedInput>,
        ..Endpoint::NEW
    },
    Endpoint {
        path: "/v1/responses/compact",
        id: "compactResponse",
        summary: "A shorter conversation that stands for the one sent",
        request: Some(responses::fields::TABLES),
        answer: AnswerSchemas::whole::<responses::CompactedResponse>,
        ..Endpoint::NEW
    },
    Endpoint {
        method: "get",
        path: "/v1/responses/{id}",
        id: "retrieveResponse",
        summary: "A stored response, or the events of a background one",
        query: responses::fields::READ_QUERY,
        answer: responses::schema::stored,
        ..Endpoint::NEW
    },
    Endpoint {
        method: "delete",
        path: "/v1/responses/{id}",
        id: "deleteResponse",
        summary: "Deletes a response, which stops if it runs",
        answer: deleted::answer,
        ..Endpoint::NEW
    },
    Endpoint {
        path: "/v1/responses/{id}/cancel",
        id: "cancelResponse",
        summary: "Stops a background response",
        answer: responses::schema::object,
        ..Endpoint::NEW
    },
    Endpoint {
        path: "/v1/responses/{id}/end_reasoning",
        id: "endReasoning",
        summary: "Ends the reasoning of a stored response that runs, which goes on with its answer",
        answer: responses::schema::object,
        conflicts: true,
        ..Endpoint::NEW
    },
    Endpoint {
        method: "get",
        path: "/v1/responses/{id}/input_items",
        id: "listInputItems",
        summary: "A page of a response's input, with what it continues",
        query: conversations::fields::PAGE_QUERY,
        answer: conversations::objects::list_answer,
        ..Endpoint::NEW
    },
    Endpoint {
        path: "/v1/conversations",
        id: "createConversation",
        summary: "A new conversation, after OpenAI's Conversations",
        request: Some(conversations::fields::CREATE_TABLES),
        answer: conversations::objects::conversation_answer,
        ..Endpoint::NEW
    },
    Endpoint {
        method: "get",
        path: "/v1/conversations/{id}",
        id: "retrieveConversation",
        summary: "A conversation without its items",
        answer: conversations::objects::conversation_answer,
        ..Endpoint::NEW
    },
    Endpoint {
        path: "/v1/conversations/{id}",
        id: "updateConversation",
        summary: "New metadata of a conversation",
        request: Some(conversations::fields::UPDATE_TABLES),
        answer: conversations::objects::conversation_answer,
        ..Endpoint::NEW
    },
    Endpoint {
        method: "delete",
        path: "/v1/conversations/{id}",
        id: "deleteConversation",
        summary: "Deletes a conversation; its responses stay",
        answer: deleted::answer,
        ..Endpoint::NEW
    },
    Endpoint {
        path: "/v1/conversations/{id}/items",
        id: "createConversationItems",
        summary: "Adds items to a conversation",
        request: Some(conversations::fields::ADD_TABLES),
        query: conversations::fields::ITEM_QUERY,
        answer: conversations::objects::list_answer,
        ..Endpoint::NEW
    },
    Endpoint {
        method: "get",
        path: "/v1/conversations/{id}/items",
        id: "listConversationItems",
        summary: "A page of a conversation's items",
        query: conversations::fields::PAGE_QUERY,
        answer: conversations::objects::list_answer,
        ..Endpoint::NEW
    },
    Endpoint {
        method: "get",
        path: "/v1/conversations/{id}/items/{item_id}",
        id: "retrieveConversationItem",
        summary: "An item of a conversation",
        query: conversations::fields::ITEM_QUERY,
        answer: conversations::objects::item_answer,
        ..Endpoint::NEW
    },
    Endpoint {
        method: "delete",
        path: "/v1/conversations/{id}/items/{item_id}",
        id: "deleteConversationItem",
        summary: "Removes an item from a conversation, which is the answer",
        answer: conversations::objects::conversation_answer,
        ..Endpoint::NEW
    },
    Endpoint {
        path: "/v1/chat/completions",
        id: "createChatCompletion",
        summary: "An answer to a conversation, after OpenAI's Chat Completions",
        request: Some(chat::fields::TABLES),
        answer: chat::answer,
        ..Endpoint::NEW
    },
    Endpoint {
        method: "get",
        path: "/v1/chat/completions",
        id: "listChatCompletions",
        summary: "A page of the stored completions",
        query: chat::stored::LIST_QUERY,
        answer: chat::stored::list_answer,
        ..Endpoint::NEW
    },
    Endpoint {
        method: "get",
        path: "/v1/chat/completions/{id}",
        id: "retrieveChatCompletion",
        summary: "A stored completion",
        answer: chat::stored::stored_answer,
        ..Endpoint::NEW
    },
    Endpoint {
        path: "/v1/chat/completions/{id}",
        id: "updateChatCompletion",
        summary: "New metadata of a stored completion",
        request: Some(chat::stored::UPDATE_TABLES),
        answer: chat::stored::stored_answer,
        ..Endpoint::NEW
    },
    Endpoint {
        method: "delete",
        path: "/v1/chat/completions/{id}",
        id: "deleteChatCompletion",
        summary: "Deletes a stored completion",
        answer: deleted::answer,
        ..Endpoint::NEW
    },
    Endpoint {
        method: "get",
        path: "/v1/chat/completions/{id}/messages",
        id: "listChatCompletionMessages",
        summary: "A page of a stored completion's messages",
        query: chat::stored::MESSAGES_QUERY,
        answer: chat::stored::list_answer,
        ..Endpoint::NEW
    },
    Endpoint {
        path: "/v1/completions",
        id: "createCompletion",
        summary: "Text that goes on from a raw prompt, after OpenAI's Completions",
        request: Some(completions::fields::TABLES),
        answer: completions::answer,
        ..Endpoint::NEW
    },
    Endpoint {
        path: "/v1/messages",
        id: "createMessage",
        summary: "A message of the model, after Anthropic's Messages",
        request: Some(messages::fields::TABLES),
        answer: messages::answer,
        errors: ErrorFormat::Anthropic,
        ..Endpoint::NEW
    },
    Endpoint {
        path: "/v1/messages/count_tokens",
        id: "countMessageTokens",
        summary: "How many tokens a message's prompt has",
        request: Some(&[messages::fields::PROMPT]),
        answer: messages::count_answer,
        errors: ErrorFormat::Anthropic,
        ..Endpoint::NEW
    },
    Endpoint {
        path: "/tokenize",
        id: "tokenize",
        summary: "Token ids of a text or of a conversation, after vLLM",
        request: Some(&[tokenize::TOKENIZE]),
        answer: tokenize::tokenized,
        ..Endpoint::NEW
    },
    Endpoint {
        path: "/detokenize",
        id: "detokenize",
        summary: "The text of token ids, after vLLM",
        request: Some(tokenize::DETOKENIZE_TABLES),
        answer: tokenize::detokenized,
        ..Endpoint::NEW
    },
    Endpoint {
        method: "get",
        path: "/tokenizer_info",
        id: "getTokenizerInfo",
        summary: "Special tokens and chat template of the model, after vLLM; `?model=NAME` where several are served",
        answer: tokenize::informed,
        ..Endpoint::NEW
    },
    Endpoint {
        method: "get",
        path: "/",
        id: "index",
        summary: "Name, version and routes; whether it stores, tools that it runs, its inspector's address. Browsers, which prefer HTML, get a page",
        answer: object,
        ..Endpoint::NEW
    },
    Endpoint {
        method: "get",
        path: "/v1/models",
        id: "listModels",
        summary: "The names that the models are served under; a page of Anthropic's for clients that send `anthropic-version`",
        query: messages::models::LIST_QUERY,
        answer: messages::models::list_answer,
        ..Endpoint::NEW
    },
    Endpoint {
        method: "get",
        path: "/v1/models/{id}",
        id: "retrieveModel",
        summary: "One of them; slashes in the name stay as they are",
        answer: messages::models::model_answer,
        ..Endpoint::NEW
    },
    Endpoint {
        method: "get",
        path: "/health",
        id: "health",
        summary: "Whether new work is taken",
        open: true,
        answer: health,
        ..Endpoint::NEW
    },
    Endpoint {
        method: "get",
        path: "/ready",
        id: "ready",
        summary: "Whether new work is taken, and what is lacking",
        open: true,
        answer: health,
        ..Endpoint::NEW
    },
    Endpoint {
        method: "get",
        path: "/live",
        id: "live",
        summary: "Whether the process works, also while it drains",
        open: true,
        answer: health,
        ..Endpoint::NEW
    },
    Endpoint {
        method: "get",
        path: "/api/hello",
        id: "hello",
        summary: "Whether there is a server: what Claude Code asks before its first request",
        open: true,
        answer: object,
        ..Endpoint::NEW
    },
    Endpoint {
        method: "get",
        path: "/version",
        id: "version",
        summary: "The server's version (as in vLLM)",
        answer: object,
        ..Endpoint::NEW
    },
    Endpoint {
        method: "get",
        path: "/metrics",
        id: "metrics",
        summary: "Figures for Prometheus",
        media: "text/plain",
        ..Endpoint::NEW
    },
    Endpoint {
        method: "get",
        path: "/openapi.json",
        id: "openapi",
        summary: "This document",
        answer: object,
        ..Endpoint::NEW
    },
];
