//! The fields of a Chat Completions request.

use super::super::fields::sampling::{
    ALTERNATIVES, CACHE_KEY_NOTE, CACHE_SALT, CHOICES, EFFORTS, FORCED_NOTE, FORMAT_NOTE, GRAMMAR_NOTE,
    MODEL, PRIORITY, REFUSED_FORMAT_NOTE, RETURN_TOKEN_IDS, SAMPLING, SCHEMA, STOP, STREAM, STREAM_OPTIONS,
    STRICT_NOTE, TEMPLATE_ARGUMENTS, TOOL_NAME, plain_format,
};
use super::super::fields::{ANY_OBJECT, Field, KindOf, Kinds, POSITIVE, Shape, Tables};
use super::super::structured_outputs;

/// All tables of the endpoint's fields.
pub(crate) const TABLES: Tables = &[&FIELDS, &SAMPLING, &structured_outputs::FIELDS];

const FIELDS: [Field; 32] = [
    Field::supported(
        "add_generation_prompt",
        Shape::Boolean,
        "`false` is refused unless `continue_final_message` is `true` (as in vLLM)",
    )
    .but(&["false"]),
    CACHE_SALT,
    TEMPLATE_ARGUMENTS,
    Field::supported(
        "continue_final_message",
        Shape::Boolean,
        "the answer goes on with the last message (as in vLLM); so does `prefix: true` in that message",
    ),
    Field::refused("function_call", Shape::Any, &["\"auto\""], "superseded by `tool_choice`"),
    Field::refused("functions", Shape::Any, &["[]"], "superseded by `tools`"),
    Field::supported("logprobs", Shape::Boolean, "of the tokens of `content`"),
    Field::supported(
        "max_completion_tokens",
        POSITIVE,
        "reasoning included; reached: `finish_reason` is `length`",
    ),
    Field::supported("max_tokens", POSITIVE, "the older name of `max_completion_tokens`, which wins"),
    Field::supported("messages", Shape::List(&Shape::Object(&MESSAGE)), "at least one").required(),
    Field::ignored(
        "metadata",
        Shape::Any,
        "unless `store` is `true`: then it is kept; at most 16 keys of 64 characters, values of 512",
    ),
    Field::ignored("modalities", Shape::Any, "answers are text"),
    MODEL,
    CHOICES,
    Field::supported("parallel_tool_calls", Shape::Boolean, "`false`: the turn ends after its first call"),
    Field::ignored("prediction", Shape::Any, ""),
    PRIORITY,
    Field::supported("prompt_cache_key", Shape::Text, CACHE_KEY_NOTE),
    Field::supported(
        "reasoning_effort",
        Shape::OneOf(EFFORTS),
        "an argument of the chat template; `none` also sets `enable_thinking` to `false`",
    ),
    Field::supported("response_format", Shape::Kinds(&FORMAT), REFUSED_FORMAT_NOTE),
    RETURN_TOKEN_IDS,
    Field::ignored("safety_identifier", Shape::Any, ""),
    Field::ignored("service_tier", Shape::Any, ""),
    STOP,
    Field::supported(
        "store",
        Shape::Boolean,
        "`true`: the completion is kept, and can be read, listed and deleted",
    ),
    STREAM,
    STREAM_OPTIONS,
    Field::supported(
        "tool_choice",
        Shape::Either(&[
            Shape::OneOf(&["auto", "none", "required"]),
            Shape::Kinds(&Kinds { name: "ChatToolChoice", of: &ALLOWED, open: false }),
        ]),
        FORCED_NOTE,
    ),
    Field::supported(
        "thinking",
        Shape::Object(&THINKING),
        "`type` `disabled` sets the template argument `enable_thinking` to `false`, the others to `true`; `reasoning_effort` wins",
    ),
    Field::supported("tools", Shape::List(&Shape::Kinds(&TOOLS)), "at most 512"),
    Field::supported("top_logprobs", ALTERNATIVES, "needs `logprobs: true`"),
    Field::ignored("user", Shape::Any, ""),
];

const THINKING: [Field; 1] =
    [Field::supported("type", Shape::OneOf(&["enabled", "disabled", "adaptive"]), "").required()];

const FORMAT: Kinds = Kinds {
    name: "ChatFormat",
    of: &[
        plain_format("text", "any text"),
        plain_format("json_object", "a JSON object"),
        KindOf {
            kind: Some("json_schema"),
            fields: &[Field::supported("json_schema", Shape::Object(&JSON_SCHEMA), "").required()],
            note: FORMAT_NOTE,
        },
    ],
    open: false,
};

const JSON_SCHEMA: [Field; 4] = [
    Field::supported("name", Shape::Text, "").required(),
    Field::supported("description", Shape::Text, ""),
    SCHEMA,
    Field::supported("strict", Shape::Boolean, ""),
];

const ALLOWED: [KindOf; 3] = [
    KindOf {
        kind: Some("allowed_tools"),
        fields: &[Field::supported("allowed_tools", ANY_OBJECT, "`mode` (`auto` or `required`) and `tools`")
            .required()],
        note: "the model sees these tools only",
    },
    KindOf {
        kind: Some("function"),
        fields: &[Field::supported("function", ANY_OBJECT, "`name`").required()],
        note: "this function is called",
    },
    KindOf {
        kind: Some("custom"),
        fields: &[Field::supported("custom", ANY_OBJECT, "`name`").required()],
        note: "this custom tool is called",
    },
];

const TOOLS: Kinds = Kinds {
    name: "ChatTool",
    of: &[
        KindOf {
            kind: Some("function"),
            fields: &[Field::supported("function", Shape::Object(&FUNCTION), "").required()],
            note: STRICT_NOTE,
        },
        KindOf {
            kind: Some("custom"),
            fields: &[Field::supported("custom", Shape::Object(&CUSTOM), "").required()],
            note: GRAMMAR_NOTE,
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
