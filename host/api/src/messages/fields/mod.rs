//! The fields of a Messages request, and of a request to count a prompt's tokens.

mod search;

pub(super) use self::search::{ERROR_CODE, MAX_USES, RESULT_URL, SEALED_RESULT, WEB_SEARCH};
use self::search::{SEARCH_CALL, SEARCH_TOOL, SEARCHED};
pub(super) use crate::fields::*;
use crate::format::SCHEMA;
use crate::tools::TOOLS;

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
        Row::ignored("betas", "names of features: each has its own fields, which are decided one by one");
        Row::ignored("billing_policy", "nothing is billed");
        CACHE_CONTROL;
        TEMPLATE_ARGUMENTS;
        COMPACTION: Field<JsonObject<'_>> =
            Field::new("compaction", "the answer is a summary alone, a block `compaction`").of(Shape::Object(SUMMARIZE));
        Row::refused(
            "container",
            &["\"container_1\"", "{\"skills\": []}"],
            "files and skills are not kept here: send what the model needs as text",
        );
        CONTEXT_MANAGEMENT: Field<JsonObject<'_>> =
            Field::new("context_management", "what of a long conversation is left out or summarised; the answer says what was").of(Shape::Object(MANAGEMENT));
        Row::ignored("diagnostics", "about the cache only");
        Row::ignored("fallback_credit_token", "nothing is billed");
        Row::ignored("fallbacks", "the request's model answers, and no other");
        Row::ignored("inference_geo", "the answer is made where the operator runs the model");
        MCP_SERVERS: Field<List<'_>> = Field::new(
            "mcp_servers",
            "their tools are run here: of servers that the operator configured under the name, or at the URL where the operator lets requests name some",
        )
        .of(Shape::List(&Shape::Object(MCP_SERVER)));
        Row::ignored("metadata", "about the user, for abuse");
        OUTPUT_CONFIG: Field<JsonObject<'_>> = Field::new("output_config", "").of(Shape::Object(OUTPUT));
        OUTPUT_FORMAT: Field<JsonObject<'_>> =
            Field::new("output_format", REFUSED_FORMAT_NOTE).of(Shape::Kinds(&FORMAT_KINDS));
        Row::ignored("service_tier", "there is one");
        Row::ignored("speed", "there is one");
        SYSTEM: Field<Value<'_>> = Field::new("system", "text, before the first message")
            .of(Shape::Either(&[Shape::Text, Shape::List(&ANY_OBJECT)]));
        THINKING: Field<JsonObject<'_>> = Field::new("thinking", "without it the model is asked not to think")
            .of(Shape::Object(THINKING_FIELDS));
        THREAD: Field<JsonObject<'_>> = Field::new(
            "thread",
            "the server keeps the conversation (`create`), and a later request sends its new messages only (`continue`); its first turn's `system` and `tools` hold. Without a store: 400 `thread_unsupported_request`, on which clients send everything",
        )
        .of(Shape::Kinds(&THREAD_KINDS));
        TOOL_CHOICE: Field<JsonObject<'_>> =
            Field::new("tool_choice", FORCED_NOTE).of(Shape::Object(TOOL_CHOICE_FIELDS));
        TOOLS.of(Shape::List(&Shape::Kinds(&TOOL_KINDS)));
        Row::ignored("user_profile_id", "about the account");
        Row::ignored("workspace_id", "about the account");
    }
}

table! {
    pub(super) SUMMARIZE {
        TYPE.of(Shape::OneOf(&["summarize"]));
        INSTRUCTIONS: Field<&str> = Field::new("instructions", "the prompt for the summary");
    }
}

table! {
    pub(super) MCP_SERVER {
        TYPE.of(Shape::OneOf(&["url"]));
        NAME;
        SERVER_URL: Required<&str> = Field::new("url", "").required();
        AUTHORIZATION_TOKEN: Field<&str> = Field::new("authorization_token", "");
        TOOL_CONFIGURATION: Field<JsonObject<'_>> =
            Field::new("tool_configuration", "").of(Shape::Object(SERVER_TOOLS));
    }
}

table! {
    pub(super) TOOLSET {
        MCP_SERVER_NAME: Required<&str> = Field::new("mcp_server_name", "").required();
        DEFAULT_CONFIG: Field<JsonObject<'_>> = Field::new("default_config", "").of(Shape::Object(TOOL_CONFIG));
        CONFIGS: Field<JsonObject<'_>> = Field::new("configs", "by name of a tool, as `default_config`");
        Row::warned("tools", "the server is asked for its tools");
    }
}

table! {
    pub(super) SERVER_TOOLS {
        ENABLED: Field<bool> = Field::new("enabled", "");
        ALLOWED_TOOLS: Field<List<'_>> = Field::new("allowed_tools", "by name").of(Shape::List(&Shape::Text));
    }
}

table! {
    pub(super) TOOL_CONFIG {
        ENABLED;
        SHOWN_AT_ONCE;
    }
}

table! {
    pub(super) MANAGEMENT {
        EDITS: Field<List<'_>> = Field::new("edits", "").of(Shape::List(&Shape::Kinds(&EDIT_KINDS)));
    }
}

/// Edits of a conversation.
pub(super) const EDIT_KINDS: Kinds = Kinds {
    name: "MessagesContextEdit",
    of: &[
        KindOf::new("clear_tool_uses_20250919", "the oldest results become a placeholder").with(CLEAR_RESULTS),
        KindOf::new("clear_thinking_20251015", "of a turn of the assistant's; `keep` is 1 turn unless given")
            .with(&[KEEP.row()]),
        KindOf::new("compact_20260112", "what the assistant and tools said becomes a summary, which the model writes: a block `compaction` before the answer")
            .with(COMPACT),
    ],
    common: &[],
    others: None,
};

table! {
    pub(super) CLEAR_RESULTS {
        TRIGGER: Field<JsonObject<'_>> = Field::new("trigger", "`input_tokens` (100,000 of the prompt's unless given), or `tool_uses`");
        KEEP: Field<Value<'_>> = Field::new("keep", "of the newest results: 3 unless given");
        AT_LEAST: Field<JsonObject<'_>> = Field::new("clear_at_least", "nothing is left out where it saves fewer `input_tokens`");
        EXCLUDED: Field<List<'_>> = Field::new("exclude_tools", "names of tools whose results stay").of(TEXTS);
        CLEARED_INPUTS: Field<Value<'_>> = Field::new("clear_tool_inputs", "whether calls lose their arguments, too; or names of the tools whose calls do")
            .of(Shape::Either(&[Shape::Boolean, TEXTS]));
    }
}

table! {
    pub(super) COMPACT {
        TRIGGER.note("`input_tokens`: 150,000 unless given, and at most seven eighths of the model's context");
        INSTRUCTIONS;
        PAUSES: Field<bool> = Field::new("pause_after_compaction", "the answer is the summary alone");
    }
}

const THREAD_KINDS: Kinds = Kinds {
    name: "MessagesThread",
    of: &[
        KindOf::new("create", "a thread begins"),
        KindOf::new("continue", "it goes on").with(&[PREVIOUS_MESSAGE.row()]),
    ],
    common: &[],
    others: None,
};

pub(super) const PREVIOUS_MESSAGE: Required<Id> =
    Field::new("previous_message_id", "the id of the thread's last response").required();

/// Codes on which Anthropic's clients act: they send the whole conversation, without `thread` or as a
/// new one.
pub(super) const NO_THREADS: &str = "thread_unsupported_request";
pub(super) const THREAD_NOT_FOUND: &str = "thread_not_found";
pub(super) const ALREADY_CONTINUED: &str = "thread_already_continued";
pub(super) const IN_FLIGHT: &str = "thread_continue_in_flight";
pub(super) const MISMATCH: &str = "thread_fingerprint_mismatch";

table! {
    pub(super) OUTPUT {
        EFFORT: Field<OneOf> =
            Field::new("effort", "an argument of the chat template, `reasoning_effort`").of(EFFORTS);
        FORMAT: Field<JsonObject<'_>> =
            Field::new("format", REFUSED_FORMAT_NOTE).of(Shape::Kinds(&FORMAT_KINDS));
        Row::warned("task_budget", "`max_tokens` bounds an answer, and nothing bounds several");
    }
}

const FORMAT_KINDS: Kinds = Kinds {
    name: "MessagesFormat",
    of: &[KindOf::new("text", "any text"), KindOf::new("json_schema", FORMAT_NOTE).with(&[SCHEMA.row()])],
    common: &[],
    others: None,
};

table! {
    pub(super) THINKING_FIELDS {
        TYPE.of(Shape::OneOf(&["enabled", "adaptive", "between_tools", "disabled"]))
            .note("whether the model is asked to think");
        Row::ignored("block_binding", "thinking is read whatever its signature");
        BUDGET_TOKENS;
        Row::ignored("display", "thinking is always shown: a client that doesn't want to see it sends it back all the same");
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
    pub(crate) MESSAGE {
        ROLE: Required<OneOf> =
            Field::new("role", "").of(Shape::OneOf(&["user", "assistant", "system"])).required();
        CONTENT: Required<Value<'_>> = Field::new("content", "")
            .of(Shape::Either(&[Shape::Text, Shape::List(&Shape::Kinds(&BLOCKS))]))
            .required_as("a string or a list of blocks");
        CACHE_CONTROL;
        Row::ignored("clear_at", "the message stays in its place: the model sees more, not less");
        Row::ignored("id", "of an answer that is sent back as it came");
        Row::refused(
            "output_config",
            &["{\"effort\": \"low\"}"],
            "it holds for a whole request: send it beside `messages`",
        );
        Row::refused("tools", &["[{\"name\": \"f\"}]"], "tools hold for a whole request: send them in `tools`");
        Row::ignored("type", "`message`, of an answer that is sent back as it came");
    }
}

/// What the client has to do about a block of a tool that Anthropic runs.
pub(super) const HOSTED: &str = "no tool of this kind runs here: send what it found as text";

/// Blocks of messages, of instructions, and of a tool's result.
pub(crate) const BLOCKS: Kinds = Kinds {
    name: "MessagesBlock",
    of: &[
        KindOf::new("text", "").with(&[
            TEXT.row(),
            Row::ignored("citations", "of another server's answer: what is cited stands in the text"),
        ]),
        KindOf::new(
            "tool_result",
            "with `is_error`, the text begins with \"Error: \"; its call must come before it",
        )
        .with(RESULT),
        KindOf::new("tool_use", "a call of the assistant's").with(CALL),
        KindOf::new("thinking", "reasoning of the assistant's").with(REASONING),
        KindOf::new("document", "its text; what isn't text becomes a placeholder, with a warning; answers don't have `citations`, which a warning says")
            .with(DOCUMENT),
        KindOf::new("search_result", "its title, source and text; answers don't have `citations`, which a warning says").with(SEARCH_RESULT),
        KindOf::new("tool_reference", "the declaration of a tool with `defer_loading`, else the name")
            .with(&[TOOL_REFERENCE.row()]),
        KindOf::new("image", "the model sees a placeholder; with a warning").with(&[
            Row::ignored("source", "the model sees a placeholder"),
            Row::ignored("transformations", "the model sees a placeholder"),
        ]),
        KindOf::new("container_upload", "the model sees a placeholder; with a warning")
            .with(&[Row::ignored("file_id", "the model sees a placeholder")]),
        KindOf::ignored(
            "fallback",
            "it marks where another model went on, and isn't shown to models anywhere",
        ),
        KindOf::warned("redacted_thinking", "this server cannot read it"),
        KindOf::refused("advisor_tool_result", HOSTED),
        KindOf::refused("bash_code_execution_tool_result", HOSTED),
        KindOf::refused("browser_state", HOSTED),
        KindOf::refused("code_execution_tool_result", HOSTED),
        KindOf::new("compaction", "of the assistant's: a summary in place of what the assistant and tools said before it; without content nothing")
            .with(SUMMARY),
        KindOf::ignored("mcp_tool_listing", "the servers are asked for their tools"),
        KindOf::new("mcp_tool_result", "of a call that the server ran").with(RESULT),
        KindOf::new("mcp_tool_use", "a call that the server ran").with(MCP_CALL),
        KindOf::new("server_tool_use", "a search of the web that the server ran; calls of other tools are refused")
            .with(SEARCH_CALL),
        KindOf::refused("text_editor_code_execution_tool_result", HOSTED),
        KindOf::refused("tool_addition", "tools hold for a whole request: send it in `tools`"),
        KindOf::refused("tool_removal", "tools hold for a whole request: leave it out of `tools`"),
        KindOf::refused("tool_search_tool_result", HOSTED),
        KindOf::refused("web_fetch_tool_result", HOSTED),
        KindOf::new("web_search_tool_result", "what it found; of what another server found the model sees titles and addresses")
            .with(SEARCHED),
    ],
    common: &[CACHE_CONTROL],
    others: None,
};

table! {
    pub(super) RESULT {
        TOOL_USE_ID: Required<&str> = Field::new("tool_use_id", "").required();
        RESULT_CONTENT: Field<Value<'_>> = Field::new("content", "");
        IS_ERROR: Field<bool> = Field::new("is_error", "");
        TOOLSET_NAME;
    }
}

const TOOLSET_NAME: Row = Row::ignored("toolset_name", "a call and its result belong together by their id");

table! {
    pub(super) CALL {
        ID;
        NAME;
        CALL_INPUT: Field<Value<'_>> = Field::new("input", "");
        Row::ignored("caller", "the model sees the call, whoever made it");
        TOOLSET_NAME;
    }
}

const MCP_CALL: &[Row] = &[
    ID.row(),
    NAME.row(),
    CALL_INPUT.row(),
    Row::ignored("server_name", "the model sees the call, whoever ran it"),
];

table! {
    pub(super) REASONING {
        THINKING_TEXT: Required<&str> = Field::new("thinking", "").required();
        SIGNATURE: Field<&str> = Field::new("signature", "");
    }
}

table! {
    pub(super) SUMMARY {
        SUMMARY_TEXT: Field<&str> = Field::new("content", "");
        Row::ignored("encrypted_content", "of another server");
        Row::ignored("signature", "a summary is read whatever its signature");
        Row::refused("tool_changes", &["[{\"type\": \"tool_addition\"}]"], "tools hold for a whole request: send them in `tools`");
    }
}

table! {
    pub(super) DOCUMENT {
        SOURCE: Required<JsonObject<'_>> = Field::new("source", "").required();
        DOCUMENT_TITLE;
        CONTEXT: Field<&str> = Field::new("context", "");
        CITATIONS;
    }
}

/// What stands above a document or a search result.
pub(super) const DOCUMENT_TITLE: Field<&str> = Field::new("title", "");

table! {
    pub(super) SEARCH_RESULT {
        RESULT_CONTENT.required();
        ORIGIN: Field<&str> = Field::new("source", "");
        DOCUMENT_TITLE;
        CITATIONS;
    }
}

/// Whether the answer is to say what of a document or a result it is based on.
const CITATIONS: Row = Row {
    shape: Shape::Object(&[Row::warned(
        "enabled",
        "models here don't say what they cite: the answer has no citations",
    )]),
    support: Support::Supported,
    ..Row::ignored("citations", "")
};

pub(super) const TOOL_REFERENCE: Required<&str> = Field::new("tool_name", "").required();

/// Whether a tool isn't shown before it is found.
pub(super) const DEFER_LOADING: Field<bool> = Field::new(
    "defer_loading",
    "the model doesn't see the tool until a `tool_reference` names it, unless a search that isn't run here is among the tools",
);

/// Tools that clients run. What else Anthropic's clients declare, it runs or trains its models on.
pub(crate) const TOOL_KINDS: Kinds = Kinds {
    name: "MessagesTool",
    of: &[
        KindOf { kind: None, ..KindOf::new("", "a function").with(TOOL) },
        KindOf::new("custom", "the same").with(TOOL),
        KindOf::new("bash", "with a date, as the next two: a tool that the model is told of here, since the request has no schema of it")
            .with(&[TOOL_NAME.row()]),
        KindOf::new("text_editor", "the same").with(&[
            TOOL_NAME.row(),
            Row::ignored("max_characters", "about how the client runs it"),
        ]),
        KindOf::new("memory", "the same").with(&[TOOL_NAME.row()]),
        KindOf::new("web_search", "with a date: run where the operator configured a server for it, else ignored with a warning, or refused where there is no other tool or it has to be called")
            .with(SEARCH_TOOL),
        KindOf::new("mcp_toolset", "which tools of a server in `mcp_servers` are used").with(TOOLSET),
        KindOf::refused("computer", NO_SCREEN),
        KindOf::refused("computer_toolset", NO_SCREEN),
    ],
    common: &tool_extras(DEFER_LOADING.row()),
    others: Some("tool"),
};

table! {
    pub(super) TOOL {
        TOOL_NAME;
        DESCRIPTION;
        INPUT_SCHEMA: Field<JsonObject<'_>> = Field::new("input_schema", "a JSON schema");
        STRICT.note(STRICT_NOTE);
    }
}
