//! The fields of a Responses request.

use super::super::fields::sampling::{
    ALTERNATIVES, CACHE_KEY_NOTE, EFFORTS, FORCED_NOTE, FORMAT_NOTE, GRAMMAR_NOTE, MODEL, PRIORITY,
    REFUSED_FORMAT_NOTE, SCHEMA, STREAM, STRICT_NOTE, TEMPLATE_ARGUMENTS, TOOL_NAME, plain_format,
};
use super::super::fields::{
    ANY_OBJECT, Field, KindOf, Kinds, POSITIVE, Shape, TEXTS, Tables, sampling::SAMPLING,
};
use super::super::metadata::METADATA;
use super::super::query::INCLUDE;

/// All tables of the endpoint's fields.
pub(crate) const TABLES: Tables = &[&FIELDS, &SAMPLING];

/// The query of a stored response.
pub(crate) const READ_QUERY: &[Field] = &[
    Field::supported(
        "stream",
        Shape::Boolean,
        "the events of a background response, in place of the response",
    ),
    Field::supported(
        "starting_after",
        Shape::Integer(0, i64::MAX),
        "only events behind this `sequence_number`",
    ),
    Field::supported("include_obfuscation", Shape::Boolean, "padding of deltas; on unless `false`"),
    INCLUDE,
];

const FIELDS: [Field; 32] = [
    Field::supported(
        "background",
        Shape::Boolean,
        "`true`: the response is stored and runs without its client, who reads it or its events later",
    ),
    TEMPLATE_ARGUMENTS,
    Field::ignored("client_metadata", Shape::Any, ""),
    Field::supported(
        "context_management",
        Shape::List(&Shape::Object(&CONTEXT_MANAGEMENT)),
        "at most one entry: a prompt with more tokens is compacted before it is answered",
    )
    .but(&["[{\"type\": \"summary\"}]"]),
    Field::supported(
        "conversation",
        Shape::Either(&[Shape::Text, Shape::Object(&[Field::supported("id", Shape::Text, "").required()])]),
        "its items come before the input; it gets the response's input and output when that has ended",
    ),
    Field::supported(
        "enable_response_messages",
        Shape::Boolean,
        "adds `input_messages` and `output_messages`, tokens and raw text of each turn (as in vLLM)",
    ),
    Field::supported(
        "include",
        TEXTS,
        "`reasoning.encrypted_content` and `message.output_text.logprobs`; others are ignored with a warning",
    ),
    Field::supported("input", INPUT, "").required(),
    Field::supported("instructions", Shape::Text, "a system message before the input"),
    Field::supported(
        "max_output_tokens",
        POSITIVE,
        "reasoning included; reached: the response is `incomplete`",
    ),
    Field::supported("max_tool_calls", POSITIVE, "of calls that the server runs"),
    METADATA,
    MODEL,
    Field::supported("parallel_tool_calls", Shape::Boolean, "`false`: the turn ends after its first call"),
    Field::supported(
        "previous_response_id",
        Shape::Text,
        "a stored response that has ended and didn't fail: its input and output come before the input",
    ),
    Field::refused("prompt", Shape::Any, &["{\"id\": \"pmpt_1\"}"], "stored prompts are not there"),
    PRIORITY,
    Field::supported("prompt_cache_key", Shape::Text, CACHE_KEY_NOTE),
    Field::ignored("prompt_cache_options", Shape::Any, "prefixes are always cached"),
    Field::ignored("prompt_cache_retention", Shape::Any, "prefixes are always cached"),
    Field::supported("reasoning", Shape::Object(&REASONING), ""),
    Field::supported("safety_identifier", Shape::Text, "repeated; at most 128 characters"),
    Field::ignored("service_tier", Shape::Any, "the response says `default`"),
    Field::supported(
        "store",
        Shape::Boolean,
        "`true` unless given: the response can be read, continued and deleted by its id; without a store (`--store none`) it is `false`",
    ),
    STREAM,
    Field::supported(
        "stream_options",
        Shape::Object(&[Field::supported(
            "include_obfuscation",
            Shape::Boolean,
            "padding of deltas; on unless `false`",
        )]),
        "",
    ),
    Field::supported("text", Shape::Object(&TEXT), ""),
    Field::supported(
        "tool_choice",
        Shape::Either(&[
            Shape::OneOf(&["auto", "none", "required"]),
            Shape::Kinds(&Kinds { name: "ResponsesToolChoice", of: &CHOICES, open: false }),
        ]),
        FORCED_NOTE,
    ),
    Field::supported("tools", Shape::List(&Shape::Kinds(&TOOLS)), "at most 512"),
    Field::supported("top_logprobs", ALTERNATIVES, "more than 0 also turns log-probabilities on"),
    Field::supported(
        "truncation",
        Shape::OneOf(&["auto", "disabled"]),
        "`auto` drops the oldest messages of a conversation that doesn't fit; else that is a 400",
    ),
    Field::ignored("user", Shape::Any, "superseded by `safety_identifier`"),
];

const CONTEXT_MANAGEMENT: [Field; 2] = [
    Field::supported("type", Shape::OneOf(&["compaction"]), "").required(),
    Field::supported("compact_threshold", POSITIVE, "default: seven eighths of the model's context"),
];

const REASONING: [Field; 3] = [
    EFFORT,
    Field::supported("generate_summary", SUMMARY, "the older name of `summary`"),
    Field::supported(
        "summary",
        SUMMARY,
        "any but `none`: reasoning comes as `summary` of its item instead of `content`, whole, not summarised",
    ),
];

const EFFORT: Field = Field::supported(
    "effort",
    Shape::OneOf(EFFORTS),
    "an argument of the chat template, `reasoning_effort`; `none` also sets `enable_thinking` to `false`",
);

const SUMMARY: Shape = Shape::OneOf(&["none", "auto", "concise", "detailed"]);

const TEXT: [Field; 2] = [
    FORMAT_FIELD,
    Field::supported(
        "verbosity",
        Shape::OneOf(&["low", "medium", "high"]),
        "an argument of the chat template, `verbosity`",
    ),
];

const FORMAT_FIELD: Field = Field::supported("format", Shape::Kinds(&FORMAT), REFUSED_FORMAT_NOTE);

const FORMAT: Kinds = Kinds {
    name: "ResponsesFormat",
    of: &[
        plain_format("text", "any text"),
        plain_format("json_object", "a JSON object"),
        KindOf {
            kind: Some("json_schema"),
            fields: &[
                Field::supported("name", Shape::Text, "").required(),
                Field::supported("description", Shape::Text, ""),
                SCHEMA,
                Field::supported("strict", Shape::Boolean, ""),
            ],
            note: FORMAT_NOTE,
        },
    ],
    open: false,
};

const CHOICES: [KindOf; 3] = [KindOf {
    kind: Some("allowed_tools"),
    fields: &[
        Field::supported("mode", Shape::OneOf(&["auto", "required"]), ""),
        Field::supported(
            "tools",
            Shape::List(&ANY_OBJECT),
            "functions, custom tools and namespaces by `name`, `mcp` by `server_label` and, where one tool is meant, `name`, others by `type`",
        )
        .required(),
    ],
    note: "the model sees these tools only; what the server runs of the others isn't listed or run either",
}, KindOf { kind: Some("function"), fields: &[NAME], note: "this function is called" },
KindOf { kind: Some("custom"), fields: &[NAME], note: "this custom tool is called" },
];

const NAME: Field = Field::supported("name", Shape::Text, "not empty").required();
const DESCRIPTION: Field = Field::supported("description", Shape::Text, "");

const TOOLS: Kinds = Kinds {
    name: "ResponsesTool",
    of: &[
        KindOf {
            kind: Some("function"),
            fields: &[
                TOOL_NAME,
                DESCRIPTION,
                Field::supported("parameters", ANY_OBJECT, "a JSON schema"),
                Field::supported("strict", Shape::Boolean, ""),
            ],
            note: STRICT_NOTE,
        },
        KindOf {
            kind: Some("custom"),
            fields: &[
                TOOL_NAME,
                DESCRIPTION,
                Field::supported("format", ANY_OBJECT, "`text`, or a `grammar` that the model is told of"),
            ],
            note: GRAMMAR_NOTE,
        },
        KindOf {
            kind: Some("namespace"),
            fields: &[
                TOOL_NAME,
                DESCRIPTION,
                Field::supported("tools", Shape::List(&ANY_OBJECT), "functions and custom tools"),
            ],
            note: "the model sees `namespace__name`, calls come back with both names",
        },
        KindOf {
            kind: Some("mcp"),
            fields: &[
                Field::supported("server_label", Shape::Text, "").required(),
                Field::supported("server_url", Shape::Text, ""),
                Field::supported("allowed_tools", Shape::Any, ""),
                Field::supported("require_approval", Shape::Any, ""),
                Field::supported("headers", ANY_OBJECT, ""),
            ],
            note: "run by the server where the operator configured it or allows URLs in requests, else ignored with a warning",
        },
        KindOf {
            kind: Some("web_search"),
            fields: &[],
            note: "also `web_search_preview`, and with a date: run where the operator configured a server for it, else ignored with a warning",
        },
        KindOf {
            kind: Some("code_interpreter"),
            fields: &[],
            note: "run where the operator configured a server for it, else ignored with a warning",
        },
    ],
    open: true,
};

const INPUT: Shape = Shape::Either(&[Shape::Text, Shape::List(&Shape::Kinds(&ITEMS))]);

const CONTENT: Shape = Shape::Either(&[Shape::Text, Shape::List(&ANY_OBJECT)]);
const CALL_ID: Field = Field::supported("call_id", Shape::Text, "");
const NAMESPACE: Field = Field::supported("namespace", Shape::Text, "");
const OUTPUT: Field = Field::supported("output", CONTENT, "").required();

const MESSAGE: [Field; 2] = [
    Field::supported("role", Shape::OneOf(&["user", "assistant", "system", "developer"]), "").required(),
    Field::supported(
        "content",
        CONTENT,
        "text; images, files and audio become a placeholder, with a warning",
    ),
];

const fn hosted(kind: &'static str, note: &'static str) -> KindOf {
    KindOf { kind: Some(kind), fields: &[], note }
}

/// Items of an input.
pub(crate) const ITEMS: Kinds = Kinds {
    name: "ResponsesInputItem",
    of: &[
        KindOf { kind: None, fields: &MESSAGE, note: "a message" },
        KindOf {
            kind: Some("message"),
            fields: &MESSAGE,
            note: "text is read; images, files and audio become a placeholder, with a warning",
        },
        KindOf {
            kind: Some("reasoning"),
            fields: &[
                Field::supported("encrypted_content", Shape::Text, ""),
                Field::supported("content", CONTENT, ""),
                Field::supported("summary", CONTENT, ""),
            ],
            note: "the first that is there of `encrypted_content` (of this server's key, else 400), `content`, `summary`",
        },
        KindOf {
            kind: Some("function_call"),
            fields: &[
                CALL_ID,
                NAME,
                NAMESPACE,
                Field::supported("arguments", Shape::Either(&[Shape::Text, ANY_OBJECT]), ""),
            ],
            note: "",
        },
        KindOf { kind: Some("function_call_output"), fields: &[CALL_ID, OUTPUT], note: "" },
        KindOf {
            kind: Some("custom_tool_call"),
            fields: &[CALL_ID, NAME, NAMESPACE, Field::supported("input", Shape::Text, "").required()],
            note: "",
        },
        KindOf { kind: Some("custom_tool_call_output"), fields: &[CALL_ID, OUTPUT], note: "" },
        KindOf {
            kind: Some("additional_tools"),
            fields: &[Field::supported("tools", Shape::List(&Shape::Kinds(&TOOLS)), "")],
            note: "more tools, as in `tools`",
        },
        KindOf {
            kind: Some("compaction"),
            fields: &[Field::supported("encrypted_content", Shape::Text, "").required()],
            note: "a summary (of this server's key, else 400) that replaces what came before it, but users' messages and instructions",
        },
        hosted("compaction_trigger", "as the last item: the response is one `compaction` item"),
        KindOf {
            kind: Some("configuration_update"),
            fields: &[
                Field::supported("reasoning", Shape::Object(&[EFFORT]), ""),
                Field::supported("text", Shape::Object(&[FORMAT_FIELD]), ""),
            ],
            note: "holds from its place on until a later one, before the request's own `reasoning.effort` and `text.format`",
        },
        KindOf {
            kind: Some("item_reference"),
            fields: &[Field::supported("id", Shape::Text, "").required()],
            note: "the stored item with this id; an unknown one is left out, with a warning",
        },
        hosted("mcp_call", "a call that the server ran, with its output"),
        hosted("mcp_list_tools", "the server's tools aren't listed again"),
        hosted("mcp_approval_request", "what `mcp_approval_response` answers"),
        hosted("mcp_approval_response", "the call runs, or the model is told that it mustn't"),
        hosted("code_interpreter_call", "code that the server ran, with its output"),
    ],
    open: true,
};
