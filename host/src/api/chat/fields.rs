//! The fields of a Chat Completions request.

use super::super::fields::sampling::{
    ALTERNATIVES, CHOICES, EFFORTS, MODEL, RETURN_TOKEN_IDS, SAMPLING, STOP, STREAM, STREAM_OPTIONS,
    TEMPLATE_ARGUMENTS, TOOL_NAME,
};
use super::super::fields::{ANY_OBJECT, Field, KindOf, Kinds, POSITIVE, Shape, Tables};

/// All of them.
pub(in crate::api) const TABLES: Tables = &[&FIELDS, &SAMPLING];

const FIELDS: [Field; 29] = [
    Field::supported(
        "add_generation_prompt",
        Shape::Boolean,
        "`false` is refused unless `continue_final_message` is `true` (as in vLLM)",
    )
    .but(&["false"]),
    TEMPLATE_ARGUMENTS,
    Field::supported(
        "continue_final_message",
        Shape::Boolean,
        "the answer goes on with the last message (as in vLLM); so does `prefix: true` in that message",
    ),
    Field::refused("function_call", Shape::Any, &["\"auto\""], "superseded by `tool_choice`"),
    Field::refused("functions", Shape::Any, &["[]"], "superseded by `tools`"),
    Field::supported("logprobs", Shape::Boolean, "of the tokens of `content`"),
    Field::supported("max_completion_tokens", POSITIVE, "reasoning included; reached: `finish_reason` is `length`"),
    Field::supported("max_tokens", POSITIVE, "the older name of `max_completion_tokens`, which wins"),
    Field::supported("messages", Shape::List(&Shape::Object(&MESSAGE)), "at least one").required(),
    Field::ignored("metadata", Shape::Any, ""),
    Field::ignored("modalities", Shape::Any, "answers are text"),
    MODEL,
    CHOICES,
    Field::supported("parallel_tool_calls", Shape::Boolean, "`false`: the turn ends after its first call"),
    Field::ignored("prediction", Shape::Any, ""),
    Field::ignored("prompt_cache_key", Shape::Any, "prefixes are always cached"),
    Field::supported(
        "reasoning_effort",
        Shape::OneOf(EFFORTS),
        "an argument of the chat template; `none` also sets `enable_thinking` to `false`",
    ),
    Field::supported(
        "response_format",
        Shape::Object(&[Field::supported("type", Shape::Text, "").required()]),
        "`text`; `json_schema` and `json_object` are refused (constrained decoding)",
    )
    .but(&[r#"{"type": "json_object"}"#, r#"{"type": "json_schema", "json_schema": {}}"#]),
    RETURN_TOKEN_IDS,
    Field::ignored("safety_identifier", Shape::Any, ""),
    Field::ignored("service_tier", Shape::Any, ""),
    STOP,
    Field::ignored("store", Shape::Any, "nothing is stored"),
    STREAM,
    STREAM_OPTIONS,
    Field::supported(
        "tool_choice",
        Shape::Either(&[
            Shape::OneOf(&["auto", "none", "required"]),
            Shape::Kinds(&Kinds { name: "ChatToolChoice", of: &ALLOWED, open: false }),
        ]),
        "`auto`, `none` or `allowed_tools` in mode `auto`; what forces a call is refused (constrained decoding)",
    )
    .but(&["\"required\"", r#"{"type": "function", "function": {"name": "f"}}"#]),
    Field::supported("tools", Shape::List(&Shape::Kinds(&TOOLS)), "at most 512"),
    Field::supported("top_logprobs", ALTERNATIVES, "needs `logprobs: true`"),
    Field::ignored("user", Shape::Any, ""),
];

const ALLOWED: [KindOf; 1] = [KindOf {
    kind: Some("allowed_tools"),
    fields: &[Field::supported("allowed_tools", ANY_OBJECT, "`mode` (`auto`) and `tools`").required()],
    note: "the model sees these tools only",
}];

const TOOLS: Kinds = Kinds {
    name: "ChatTool",
    of: &[
        KindOf {
            kind: Some("function"),
            fields: &[Field::supported("function", Shape::Object(&FUNCTION), "").required()],
            note: "`strict` is told to the model's parser, and not enforced",
        },
        KindOf {
            kind: Some("custom"),
            fields: &[Field::supported("custom", Shape::Object(&CUSTOM), "").required()],
            note: "its input streams as plain text; a grammar is told to the model and not enforced",
        },
    ],
    open: true,
};

const DESCRIPTION: Field = Field::supported("description", Shape::Text, "");

const FUNCTION: [Field; 4] = [
    TOOL_NAME,
    DESCRIPTION,
    Field::supported("parameters", ANY_OBJECT, "a JSON schema"),
    Field::supported("strict", Shape::Boolean, ""),
];

const CUSTOM: [Field; 3] = [
    TOOL_NAME,
    DESCRIPTION,
    Field::supported("format", ANY_OBJECT, "`text`, or a `grammar` that the model is told of"),
];

const MESSAGE: [Field; 10] = [
    Field::supported(
        "role",
        Shape::OneOf(&["system", "developer", "user", "assistant", "tool", "function"]),
        "",
    )
    .required(),
    Field::supported(
        "content",
        Shape::Either(&[Shape::Text, Shape::List(&ANY_OBJECT)]),
        "text; images, files and audio become a placeholder, with a warning",
    ),
    Field::supported(
        "function_call",
        ANY_OBJECT,
        "the older way to say what the assistant called: `name` and `arguments`; its result is a message of the role `function`",
    ),
    Field::supported("name", Shape::Text, "of a tool whose result it is; else ignored"),
    Field::supported("prefix", Shape::Boolean, "of the last message: the answer goes on with it"),
    Field::supported("reasoning", Shape::Text, "the other name of `reasoning_content`, which wins"),
    Field::supported(
        "reasoning_content",
        Shape::Text,
        "what the assistant thought; the template decides what is shown",
    ),
    Field::supported("refusal", Shape::Text, "of the assistant: shown to the model as its text"),
    Field::supported("tool_call_id", Shape::Text, "the call that it is the result of"),
    Field::supported(
        "tool_calls",
        Shape::List(&ANY_OBJECT),
        "what the assistant called: functions and custom tools",
    ),
];
