//! The fields of a Messages request, and of a request to count a prompt's tokens.

pub(super) use super::super::fields::*;
use super::super::format::SCHEMA;
use super::super::tools::TOOLS;

/// All tables of a Messages request's fields.
pub(crate) const TABLES: Tables = &[ANSWER, PROMPT, SAMPLING];

table! {
    pub(super) ANSWER {
        MAX_TOKENS: Required<u32> =
            Field::new("max_tokens", "thinking included; reached: `stop_reason` is `max_tokens`")
                .of(POSITIVE)
                .required();
        STOP_SEQUENCES: Field<List<'_>> =
            Field::new("stop_sequences", "texts that end the answer where they appear in a text block; at most 16, of 1024 bytes each, none empty")
                .of(TEXTS);
        STREAM;
    }
}

// The fields that make the prompt: all that a request to count its tokens has.
table! {
    pub(crate) PROMPT {
        MESSAGES: Required<List<'_>> = Field::new("messages", "")
            .of(Shape::List(&Shape::Object(MESSAGE)))
            .required_as("a list of messages");
        MODEL;
        Row::ignored("betas", "");
        Row::ignored("cache_control", "prefixes are always cached; so in blocks and tools");
        TEMPLATE_ARGUMENTS;
        Row::warned("container");
        Row::warned("context_management");
        Row::ignored("diagnostics", "");
        Row::ignored("inference_geo", "");
        Row::warned("mcp_servers");
        Row::ignored("metadata", "");
        OUTPUT_CONFIG: Field<Object<'_>> = Field::new("output_config", "").of(Shape::Object(OUTPUT));
        OUTPUT_FORMAT: Field<Object<'_>> =
            Field::new("output_format", REFUSED_FORMAT_NOTE).of(Shape::Kinds(&FORMAT_KINDS));
        Row::ignored("service_tier", "");
        Row::ignored("speed", "");
        SYSTEM: Field<Value<'_>> = Field::new("system", "text, before the first message")
            .of(Shape::Either(&[Shape::Text, Shape::List(&ANY_OBJECT)]));
        THINKING: Field<Object<'_>> = Field::new("thinking", "without it the model is asked not to think")
            .of(Shape::Object(THINKING_FIELDS));
        TOOL_CHOICE: Field<Object<'_>> =
            Field::new("tool_choice", FORCED_NOTE).of(Shape::Object(TOOL_CHOICE_FIELDS));
        TOOLS.of(Shape::List(&Shape::Kinds(&TOOL_KINDS)));
        Row::ignored("user_profile_id", "");
        Row::ignored("workspace_id", "");
    }
}

table! {
    pub(super) OUTPUT {
        EFFORT: Field<OneOf> =
            Field::new("effort", "an argument of the chat template, `reasoning_effort`").of(EFFORTS);
        FORMAT: Field<Object<'_>> =
            Field::new("format", REFUSED_FORMAT_NOTE).of(Shape::Kinds(&FORMAT_KINDS));
    }
}

const FORMAT_KINDS: Kinds = Kinds {
    name: "MessagesFormat",
    of: &[KindOf::new("text", "any text"), KindOf::new("json_schema", FORMAT_NOTE).with(&[SCHEMA.row()])],
    open: false,
};

table! {
    pub(super) THINKING_FIELDS {
        TYPE.of(Shape::OneOf(&["enabled", "adaptive", "between_tools", "disabled"]))
            .note("whether the model is asked to think");
        BUDGET_TOKENS: Field<u32> =
            Field::new("budget_tokens", "reasoning has no bound of its own").support(Support::Warned);
        DISPLAY: Field<&str> = Field::new("display", "thinking is always shown").support(Support::Warned);
    }
}

table! {
    pub(super) TOOL_CHOICE_FIELDS {
        TYPE.of(Shape::OneOf(&["auto", "none", "any", "tool"]));
        CHOSEN: Field<&str> = Field::new("name", "of `tool`, required there");
        ONE_CALL: Field<bool> =
            Field::new("disable_parallel_tool_use", "`true`: the turn ends after its first call");
    }
}

table! {
    pub(super) MESSAGE {
        ROLE: Required<OneOf> =
            Field::new("role", "").of(Shape::OneOf(&["user", "assistant", "system"])).required();
        CONTENT: Required<Value<'_>> = Field::new("content", "")
            .of(Shape::Either(&[Shape::Text, Shape::List(&Shape::Kinds(&BLOCKS))]))
            .required_as("a string or a list of blocks");
    }
}

const BLOCKS: Kinds = Kinds {
    name: "MessagesBlock",
    of: &[
        KindOf::new("text", "").with(&[TEXT.row()]),
        KindOf::new("tool_result", "with `is_error`, the text begins with \"Error: \"").with(RESULT),
        KindOf::new("tool_use", "a call of the assistant's"),
        KindOf::new("thinking", "reasoning of the assistant's"),
        KindOf::new("document", "its text; what isn't text becomes a placeholder, with a warning"),
        KindOf::new("search_result", "its title, source and text"),
        KindOf::new("image", "the model sees a placeholder; with a warning"),
        KindOf::new("container_upload", "the model sees a placeholder; with a warning"),
    ],
    open: true,
};

table! {
    pub(super) RESULT {
        TOOL_USE_ID: Required<&str> = Field::new("tool_use_id", "").required();
        RESULT_CONTENT: Field<Value<'_>> = Field::new("content", "");
        IS_ERROR: Field<bool> = Field::new("is_error", "");
    }
}

const TOOL_KINDS: Kinds = Kinds {
    name: "MessagesTool",
    of: &[
        KindOf { kind: None, fields: TOOL, note: "a function" },
        KindOf::new("custom", "the same").with(TOOL),
    ],
    open: true,
};

table! {
    pub(super) TOOL {
        TOOL_NAME;
        DESCRIPTION;
        INPUT_SCHEMA: Field<Object<'_>> = Field::new("input_schema", "a JSON schema");
        STRICT.note(STRICT_NOTE);
    }
}
