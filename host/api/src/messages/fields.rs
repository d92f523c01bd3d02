//! The fields of a Messages request, and of a request to count a prompt's tokens.

use super::super::fields::sampling::{
    EFFORTS, FORCED_NOTE, FORMAT_NOTE, MODEL, REFUSED_FORMAT_NOTE, SAMPLING, SCHEMA, STREAM, STRICT_NOTE,
    TEMPLATE_ARGUMENTS, TOOL_NAME, plain_format,
};
use super::super::fields::{ANY_OBJECT, COUNT, Field, KindOf, Kinds, POSITIVE, Shape, TEXTS, Tables};

/// All tables of a Messages request's fields.
pub(crate) const TABLES: Tables = &[&ANSWER, &PROMPT, &SAMPLING];

/// Tables of a request to count tokens: the fields that make the prompt.
pub(crate) const PROMPT_TABLES: Tables = &[&PROMPT];

const ANSWER: [Field; 3] = [
    Field::supported("max_tokens", POSITIVE, "thinking included; reached: `stop_reason` is `max_tokens`")
        .required(),
    Field::supported(
        "stop_sequences",
        TEXTS,
        "texts that end the answer where they appear in a text block; at most 16, of 1024 bytes each, none empty",
    ),
    STREAM,
];

const PROMPT: [Field; 21] = [
    Field::supported("messages", Shape::List(&Shape::Object(&MESSAGE)), "").required(),
    MODEL,
    Field::ignored("betas", Shape::Any, ""),
    Field::ignored("cache_control", Shape::Any, "prefixes are always cached; so in blocks and tools"),
    TEMPLATE_ARGUMENTS,
    Field::warned("container", Shape::Any, ""),
    Field::warned("context_management", Shape::Any, ""),
    Field::ignored("diagnostics", Shape::Any, ""),
    Field::ignored("inference_geo", Shape::Any, ""),
    Field::warned("mcp_servers", Shape::Any, ""),
    Field::ignored("metadata", Shape::Any, ""),
    Field::supported(
        "output_config",
        Shape::Object(&[
            Field::supported(
                "effort",
                Shape::OneOf(EFFORTS),
                "an argument of the chat template, `reasoning_effort`",
            ),
            FORMAT,
        ]),
        "",
    ),
    Field { name: "output_format", ..FORMAT },
    Field::ignored("service_tier", Shape::Any, ""),
    Field::ignored("speed", Shape::Any, ""),
    Field::supported("system", SYSTEM, "text, before the first message"),
    Field::supported("thinking", Shape::Object(&THINKING), "without it the model is asked not to think"),
    Field::supported(
        "tool_choice",
        Shape::Object(&[
            Field::supported("type", Shape::OneOf(&["auto", "none", "any", "tool"]), "").required(),
            Field::supported("name", Shape::Text, "of `tool`, required there"),
            Field::supported(
                "disable_parallel_tool_use",
                Shape::Boolean,
                "`true`: the turn ends after its first call",
            ),
        ]),
        FORCED_NOTE,
    ),
    Field::supported("tools", Shape::List(&Shape::Kinds(&TOOLS)), "at most 512"),
    Field::ignored("user_profile_id", Shape::Any, ""),
    Field::ignored("workspace_id", Shape::Any, ""),
];

const FORMAT: Field = Field::supported(
    "format",
    Shape::Kinds(&Kinds {
        name: "MessagesFormat",
        of: &[
            plain_format("text", "any text"),
            KindOf { kind: Some("json_schema"), fields: &[SCHEMA], note: FORMAT_NOTE },
        ],
        open: false,
    }),
    REFUSED_FORMAT_NOTE,
);

const THINKING: [Field; 3] = [
    Field::supported(
        "type",
        Shape::OneOf(&["enabled", "adaptive", "between_tools", "disabled"]),
        "whether the model is asked to think",
    )
    .required(),
    Field::warned("budget_tokens", COUNT, "reasoning has no bound of its own"),
    Field::warned("display", Shape::Text, "thinking is always shown"),
];

const CONTENT: Shape = Shape::Either(&[Shape::Text, Shape::List(&Shape::Kinds(&BLOCKS))]);

const SYSTEM: Shape = Shape::Either(&[Shape::Text, Shape::List(&ANY_OBJECT)]);

const MESSAGE: [Field; 2] = [
    Field::supported("role", Shape::OneOf(&["user", "assistant", "system"]), "").required(),
    Field::supported("content", CONTENT, "").required(),
];

const fn block(kind: &'static str, note: &'static str) -> KindOf {
    KindOf { kind: Some(kind), fields: &[], note }
}

const BLOCKS: Kinds = Kinds {
    name: "MessagesBlock",
    of: &[
        KindOf {
            kind: Some("text"),
            fields: &[Field::supported("text", Shape::Text, "").required()],
            note: "",
        },
        KindOf {
            kind: Some("tool_result"),
            fields: &[
                Field::supported("tool_use_id", Shape::Text, "").required(),
                Field::supported("content", Shape::Any, ""),
                Field::supported("is_error", Shape::Boolean, ""),
            ],
            note: "with `is_error`, the text begins with \"Error: \"",
        },
        block("tool_use", "a call of the assistant's"),
        block("thinking", "reasoning of the assistant's"),
        block("document", "its text; what isn't text becomes a placeholder, with a warning"),
        block("search_result", "its title, source and text"),
        block("image", "the model sees a placeholder; with a warning"),
        block("container_upload", "the model sees a placeholder; with a warning"),
    ],
    open: true,
};

const TOOLS: Kinds = Kinds {
    name: "MessagesTool",
    of: &[
        KindOf { kind: None, fields: &TOOL, note: "a function" },
        KindOf { kind: Some("custom"), fields: &TOOL, note: "the same" },
    ],
    open: true,
};

const TOOL: [Field; 4] = [
    TOOL_NAME,
    Field::supported("description", Shape::Text, ""),
    Field::supported("input_schema", ANY_OBJECT, "a JSON schema"),
    Field::supported("strict", Shape::Boolean, STRICT_NOTE),
];
