//! The fields of a Chat Completions request.

use crate::content;
pub(super) use crate::fields::*;
use crate::format::JSON_SCHEMA;
use crate::structured_outputs;
use crate::tools::{ALLOWED_TOOLS, CUSTOM, FUNCTION, TOOL_CHOICE, TOOLS};

/// All tables of the endpoint's fields.
pub(crate) const TABLES: Tables = &[FIELDS, SAMPLING, structured_outputs::FIELDS];

/// The effort as a field of `reasoning`.
pub(super) const THINKING_TYPE: Field<&str> =
    Field::new("type", "").of(Shape::OneOf(&["enabled", "disabled", "adaptive"]));
pub(super) const REASONING_EFFORT_OPTION: Field<OneOf> = Field::new("effort", "").of(EFFORTS);

table! {
    pub(super) FIELDS {
        NEW_TURN: Field<bool> =
            Field::new("add_generation_prompt", "`false` is refused unless `continue_final_message` is `true` (as in vLLM)")
                .support(Support::InPart(&["false"]));
        Row::refused("audio", &["{\"voice\": \"alloy\"}"], "answers are text: leave it out");
        CACHE_CONTROL;
        CACHE_SALT;
        Row::refused("chat_template", &["\"{{ messages }}\""], "prompts have the form of the model's own template");
        TEMPLATE_ARGUMENTS;
        CONTINUE_LAST: Field<bool> =
            Field::new("continue_final_message", "the answer goes on with the last message (as in vLLM); so does `prefix: true` in that message");
        Row::refused("documents", &["[{\"text\": \"t\"}]"], "send their text in a message");
        Row::refused("function_call", &["\"auto\""], "superseded in the protocol: send `tool_choice`");
        Row::refused("functions", &["[{\"name\": \"f\"}]"], "superseded in the protocol: send `tools`");
        LOGPROBS: Field<bool> = Field::new("logprobs", "of the tokens of `content`");
        MAX_COMPLETION_TOKENS: Field<u32> =
            Field::new("max_completion_tokens", "reasoning included; reached: `finish_reason` is `length`")
                .of(POSITIVE);
        MAX_TOKENS: Field<u32> =
            Field::new("max_tokens", "the older name of `max_completion_tokens`, which wins").of(POSITIVE);
        MESSAGES: Required<List<'_>> = Field::new("messages", "at least one")
            .of(Shape::List(&Shape::Object(MESSAGE)))
            .required_as("a list of messages");
        Row::ignored(
            "metadata",
            "unless `store` is `true`: then it is kept; at most 16 keys of 64 characters, values of 512",
        );
        MODALITIES: Field<List<'_>> = Field::new("modalities", "`text`")
            .of(TEXTS)
            .support(Support::InPart(&["[\"text\", \"audio\"]"]));
        MODEL;
        CHOICES;
        PARALLEL_TOOL_CALLS;
        Row::refused("moderation", &["{\"model\": \"m\"}"], "nothing is moderated here: leave it out");
        Row::ignored("prediction", "about speed only");
        PRIORITY;
        CACHE_KEY;
        Row::ignored("prompt_cache_options", "prefixes are always cached");
        Row::ignored("prompt_cache_retention", "prefixes are always cached");
        REASONING_OPTIONS: Field<JsonObject<'_>> =
            Field::new("reasoning", "the other way to say `reasoning_effort` and `thinking_token_budget`, which win (as in OpenRouter)")
                .of(Shape::Object(&[REASONING_EFFORT_OPTION.row(), REASONING_BUDGET.row()]));
        REASONING_EFFORT: Field<OneOf> =
            Field::new("reasoning_effort", "an argument of the chat template; `none` also sets `enable_thinking` to `false`")
                .of(EFFORTS);
        RESPONSE_FORMAT: Field<JsonObject<'_>> =
            Field::new("response_format", REFUSED_FORMAT_NOTE).of(Shape::Kinds(&FORMAT_KINDS));
        RETURN_TOKEN_IDS;
        Row::ignored("safety_identifier", "about the user, for abuse");
        Row::ignored("service_tier", "there is one");
        STOP;
        STORE: Field<bool> =
            Field::new("store", "`true`: the completion is kept, and can be read, listed and deleted");
        STREAM;
        STREAM_OPTIONS;
        TOOL_CHOICE.of(Shape::Either(&[
            Shape::OneOf(&["auto", "none", "required"]),
            Shape::Kinds(&Kinds { name: "ChatToolChoice", of: &CHOICE_KINDS, common: &[], others: None }),
        ]));
        THINKING: Field<JsonObject<'_>> =
            Field::new("thinking", "`type` `disabled` sets the template argument `enable_thinking` to `false`, the others and none to `true`; `reasoning_effort` wins")
                .of(Shape::Object(&[
                    THINKING_TYPE.row(),
                    BUDGET_TOKENS.row(),
                    REASONING_EFFORT_OPTION.note("unless `type` is `disabled` (as in Kimi)").row(),
                    Row::ignored("keep", "the chat template says what reasoning is kept"),
                ]));
        THINKING_BUDGET;
        TOOLS.of(Shape::List(&Shape::Kinds(&TOOL_KINDS)));
        TOP_LOGPROBS: Field<UpTo> = Field::up_to("top_logprobs", 0, 20, "needs `logprobs: true`");
        Row::ignored("user", "about the user, for abuse");
        VERBOSITY;
        Row::refused(
            "web_search_options",
            &["{\"search_context_size\": \"low\"}"],
            "the server searches in `POST /v1/responses` and `POST /v1/messages` only, with the tool `web_search`",
        );
    }
}

const FORMAT_KINDS: Kinds = Kinds {
    name: "ChatFormat",
    of: &[
        KindOf::new("text", "any text"),
        KindOf::new("json_object", "a JSON object"),
        KindOf::new("json_schema", FORMAT_NOTE).with(&[JSON_SCHEMA.row()]),
    ],
    common: &[],
    others: None,
};

const CHOICE_KINDS: [KindOf; 3] = [
    KindOf::new("allowed_tools", "the model sees these tools only").with(&[ALLOWED_TOOLS.row()]),
    KindOf::new("function", "this function is called").with(&[FUNCTION.of(ANY_OBJECT).note("`name`").row()]),
    KindOf::new("custom", "this custom tool is called").with(&[CUSTOM.of(ANY_OBJECT).note("`name`").row()]),
];

pub(crate) const TOOL_KINDS: Kinds = Kinds {
    name: "ChatTool",
    of: &[
        KindOf::new("function", STRICT_NOTE).with(&[FUNCTION.row()]),
        KindOf::new("custom", GRAMMAR_NOTE).with(&[CUSTOM.row()]),
    ],
    common: TOOL_EXTRAS,
    others: Some("tool"),
};

table! {
    pub(crate) MESSAGE {
        ROLE: Required<&str> = Field::new("role", "")
            .of(Shape::OneOf(&["system", "developer", "user", "assistant", "tool", "function"]))
            .required();
        CONTENT: Field<Value<'_>> =
            Field::new("content", "text; images, files and audio become a placeholder, with a warning")
                .of(Shape::Either(&[Shape::Text, Shape::List(&Shape::Kinds(&content::PARTS))]));
        FUNCTION_CALL: Field<JsonObject<'_>> =
            Field::new("function_call", "the older way to say what the assistant called: `name` and `arguments`; its result is a message of the role `function`");
        TOOL: Field<&str> = Field::new("name", "of a tool whose result it is; else ignored");
        PREFIX: Field<bool> = Field::new("prefix", "of the last message: the answer goes on with it");
        REASONING: Field<&str> = Field::new("reasoning", "the other name of `reasoning_content`, which wins");
        REASONING_CONTENT: Field<&str> =
            Field::new("reasoning_content", "what the assistant thought; the template decides what is shown");
        REFUSAL: Field<&str> = Field::new("refusal", "of the assistant: shown to the model as its text");
        CALL_ID: Field<&str> = Field::new("tool_call_id", "the call that it is the result of");
        TOOL_CALLS: Field<List<'_>> =
            Field::new("tool_calls", "what the assistant called: functions and custom tools")
                .of(Shape::List(&Shape::Object(CALL)));
        Row::ignored("annotations", "what is cited stands in the text");
        Row::refused("audio", &["{\"id\": \"audio_1\"}"], "no audio is kept here: send what was said as `content`");
        CACHE_CONTROL;
        CACHE_BREAKPOINT;
        Row::ignored("id", "of an answer that is sent back as it came");
        Row::ignored("provider_specific_fields", "of LiteLLM: the same once more");
        Row::ignored("reasoning_details", "of OpenRouter: `reasoning` once more");
        Row::ignored("thinking_blocks", "of LiteLLM: `reasoning_content` once more");
        TOOLS.of(Shape::List(&Shape::Kinds(&TOOL_KINDS))).note("of a system's or developer's message without text: tools that the model sees there, and may call from then on");
        Row::ignored("tool_call_chunks", "of LangChain: `tool_calls` once more");
        Row::ignored("type", "`message`, of an answer that is sent back as it came");
    }
}

table! {
    pub(super) CALL {
        ID;
        TYPE.optional().of(Shape::OneOf(&["function", "custom"]));
        FUNCTION.optional().of(Shape::Object(CALLED));
        CUSTOM.optional().of(Shape::Object(CALLED_CUSTOM));
        Row::ignored("extra_content", "signatures of another server");
        Row::ignored("index", "place of a streamed call");
    }
}

table! {
    pub(super) CALLED {
        NAME;
        ARGUMENTS: Field<Value<'_>> =
            Field::new("arguments", "").of(Shape::Either(&[Shape::Text, ANY_OBJECT]));
    }
}

table! {
    pub(super) CALLED_CUSTOM {
        NAME;
        CUSTOM_INPUT: Required<&str> = Field::new("input", "").required();
    }
}
