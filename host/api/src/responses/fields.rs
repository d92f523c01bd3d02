//! The fields of a Responses request.

use crate::content;
pub(super) use crate::fields::*;
use crate::format::JSON_SCHEMA_FIELDS;
use crate::metadata::METADATA;
use crate::tools::{self, CUSTOM_FIELDS, FUNCTION_FIELDS, PARAMETERS, TOOL_CHOICE, TOOLS};

/// All tables of the endpoint's fields.
pub(crate) const TABLES: Tables = &[FIELDS, SAMPLING];

table! {
    pub(crate) READ_QUERY {
        EVENTS: Field<bool> = STREAM.note("the events of a background response, in place of the response");
        STARTING_AFTER: Field<i64> = Field::new("starting_after", "only events behind this `sequence_number`")
            .of(Shape::Integer(0, i64::MAX));
        PADDED: Field<bool> = PAD;
        ITEM_PARTS;
    }
}

pub(super) const PAD: Field<bool> = Field::new("include_obfuscation", "padding of deltas; on unless `false`");

table! {
    pub(super) FIELDS {
        Row::ignored("access_programs", "about the account");
        BACKGROUND: Field<bool> =
            Field::new("background", "`true`: the response is stored and runs without its client, who reads it or its events later");
        Row::ignored("background_options", "about price and order: a background response runs when there is room");
        TEMPLATE_ARGUMENTS;
        Row::ignored("client_metadata", "about the client");
        CONTEXT_MANAGEMENT: Field<List<'_>> =
            Field::new("context_management", "at most one entry: a prompt with more tokens is compacted before it is answered")
                .of(Shape::List(&Shape::Object(COMPACTION)))
                .support(Support::InPart(&["[{\"type\": \"summary\"}]"]));
        CONVERSATION: Field<Value<'_>> =
            Field::new("conversation", "its items come before the input; it gets the response's input and output when that has ended")
                .of(Shape::Either(&[Shape::Text, Shape::Object(&[ID.row()])]));
        RAW_MESSAGES: Field<bool> =
            Field::new("enable_response_messages", "adds `input_messages` and `output_messages`, tokens and raw text of each turn (as in vLLM)");
        Row::ignored("generate", "of a WebSocket's requests");
        Row::ignored("image", "the model sees a placeholder");
        INCLUDE: Field<List<'_>> =
            Field::new("include", "the first two; of the others, items have what there is whether asked or not")
                .of(Shape::List(&Shape::OneOf(INCLUDED)));
        INPUT: Required<Value<'_>> = Field::new("input", "")
            .of(Shape::Either(&[Shape::Text, Shape::List(&Shape::Kinds(&ITEM_KINDS))]))
            .required_as("a string or a list of items");
        INSTRUCTIONS: Field<&str> = Field::new("instructions", "a system message before the input");
        MAX_OUTPUT_TOKENS: Field<u32> =
            Field::new("max_output_tokens", "reasoning included; reached: the response is `incomplete`")
                .of(POSITIVE);
        MAX_TOOL_CALLS: Field<u32> =
            Field::new("max_tool_calls", "of calls that the server runs").of(POSITIVE);
        METADATA;
        MODEL;
        Row::refused("moderation", &["{\"model\": \"m\"}"], "nothing is moderated here: leave it out");
        MULTI_AGENT: Field<JsonObject<'_>> =
            Field::new("multi_agent", "")
                .of(Shape::Object(MULTI_AGENT_FIELDS));
        PARALLEL_TOOL_CALLS;
        PREVIOUS_RESPONSE_ID: Field<Id> =
            Field::new("previous_response_id", "a stored response that has ended and didn't fail: its input and output come before the input");
        Row::refused("prompt", &["{\"id\": \"pmpt_1\"}"], "prompts are not kept here: send `instructions` and `input`");
        PRIORITY;
        CACHE_KEY;
        Row::ignored("prompt_cache_options", "prefixes are always cached");
        Row::ignored("prompt_cache_retention", "prefixes are always cached");
        REASONING: Field<JsonObject<'_>> = Field::new("reasoning", "").of(Shape::Object(REASONING_FIELDS));
        SAFETY_IDENTIFIER: Field<&str> =
            Field::new("safety_identifier", "repeated; at most 128 characters");
        Row::ignored("service_tier", "the response says `default`");
        STORE: Field<bool> =
            Field::new("store", "`true` unless given: the response can be read, continued and deleted by its id; without a store (`--store none`) it is `false`");
        STREAM;
        Row::ignored("stream_id", "of a WebSocket's requests");
        STREAM_OPTIONS: Field<JsonObject<'_>> = Field::new("stream_options", "").of(Shape::Object(&[PAD.row()]));
        ANSWER_TEXT: Field<JsonObject<'_>> = Field::new("text", "").of(Shape::Object(TEXT_FIELDS));
        THINKING_BUDGET;
        TOOL_CHOICE.of(Shape::Either(&[
            Shape::OneOf(&["auto", "none", "required"]),
            Shape::Kinds(&Kinds { name: "ResponsesToolChoice", of: &CHOICE_KINDS, common: &[], others: None }),
        ]));
        TOOLS.of(Shape::List(&Shape::Kinds(&TOOL_KINDS)));
        TOP_LOGPROBS: Field<UpTo> =
            Field::up_to("top_logprobs", 0, 20, "more than 0 also turns log-probabilities on");
        TRUNCATION: Field<OneOf> =
            Field::new("truncation", "`auto` drops the oldest messages of a conversation that doesn't fit; else that is a 400")
                .of(Shape::OneOf(&["auto", "disabled"]));
        Row::ignored("type", "of a WebSocket's requests");
        Row::ignored("user", "superseded by `safety_identifier`");
    }
}

table! {
    pub(super) MULTI_AGENT_FIELDS {
        MULTI_AGENT_ENABLED: Field<bool> = Field::new("enabled", "`true` is refused: an answer is one conversation, and a client runs agents as answers of their own").support(Support::InPart(&["true"]));
        Row::ignored("max_concurrent_subagents", "there are none");
    }
}

/// Field of the query that asks for more of an item; there is nothing that would be left out without
/// it.
pub(crate) const ITEM_PARTS: Row =
    Row { shape: Shape::List(&Shape::OneOf(INCLUDED)), ..Row::ignored("include", "items always come whole") };

/// Values of `include`: those with an effect first.
pub(crate) const INCLUDED: &[&str] = &[
    WITH_SEALED_REASONING,
    WITH_LOGPROBS,
    "code_interpreter_call.outputs",
    "computer_call_output.output.image_url",
    "file_search_call.results",
    "message.input_image.image_url",
    "web_search_call.action.sources",
    "web_search_call.results",
];
pub(super) const WITH_SEALED_REASONING: &str = "reasoning.encrypted_content";
pub(super) const WITH_LOGPROBS: &str = "message.output_text.logprobs";

table! {
    pub(super) COMPACTION {
        TYPE.of(Shape::OneOf(&["compaction"]));
        THRESHOLD: Field<u32> =
            Field::new("compact_threshold", "default: seven eighths of the model's context").of(POSITIVE);
    }
}

table! {
    pub(super) REASONING_FIELDS {
        Row::ignored("context", "the model's chat template decides which reasoning it sees again");
        EFFORT;
        REASONING_BUDGET;
        Row::warned("mode", "there is one");
        OLDER_SUMMARY: Field<&str> = Field::new("generate_summary", "the older name of `summary`").of(SUMMARIES);
        SUMMARY: Field<&str> =
            Field::new("summary", "any but `none`: reasoning comes as `summary` of its item instead of `content`, whole, not summarised")
                .of(SUMMARIES);
    }
}

pub(super) const EFFORT: Field<OneOf> = Field::new(
    "effort",
    "an argument of the chat template, `reasoning_effort`; `none` also sets `enable_thinking` to `false`",
)
.of(EFFORTS);

const SUMMARIES: Shape = Shape::OneOf(&["none", "auto", "concise", "detailed"]);

table! {
    pub(super) TEXT_FIELDS {
        FORMAT;
        VERBOSITY;
    }
}

pub(super) const FORMAT: Field<JsonObject<'_>> =
    Field::new("format", REFUSED_FORMAT_NOTE).of(Shape::Kinds(&FORMAT_KINDS));

const FORMAT_KINDS: Kinds = Kinds {
    name: "ResponsesFormat",
    of: &[
        KindOf::new("text", "any text"),
        KindOf::new("json_object", "a JSON object"),
        KindOf::new("json_schema", FORMAT_NOTE).with(JSON_SCHEMA_FIELDS),
    ],
    common: &[],
    others: None,
};

const CHOICE_KINDS: [KindOf; 10] = [
    KindOf::new(
        "allowed_tools",
        "the model sees these tools only; what the server runs of the others isn't listed or run either",
    )
    .with(tools::ALLOWED_FIELDS),
    KindOf::new("function", "this function is called").with(&[CALLED.row()]),
    KindOf::new("custom", "this custom tool is called").with(&[CALLED.row()]),
    KindOf::new("shell", "this tool is called"),
    KindOf::new("local_shell", "this tool is called"),
    KindOf::new("apply_patch", "this tool is called"),
    KindOf::new("tool_search", "this tool is called"),
    KindOf::new(
        "web_search",
        "also `web_search_preview`, and with a date: the web is searched first; where the engine can't be held to a call, ignored with a warning",
    ),
    KindOf::new("code_interpreter", "as `web_search`"),
    KindOf::new("mcp", "this tool of a server is called; as `web_search`")
        .with(&[SERVER_LABEL.row(), CALLED.row()]),
];

const CALLED: Required<&str> = NAME.note("not empty");

pub(crate) const TOOL_KINDS: Kinds = Kinds {
    name: "ResponsesTool",
    of: &[
        KindOf::new("function", STRICT_NOTE).with(FUNCTION_FIELDS),
        KindOf::new("custom", GRAMMAR_NOTE).with(CUSTOM_FIELDS),
        KindOf::new("namespace", "the model sees `namespace__name`, calls come back with both names").with(&[
                TOOL_NAME.row(),
                DESCRIPTION.row(),
                TOOLS.of(Shape::List(&ANY_OBJECT)).note("functions and custom tools").row(),
            ]),
        KindOf::new("mcp", "run by the server where the operator configured it or allows URLs in requests, else ignored with a warning")
            .with(MCP),
        KindOf::new("web_search", "also `web_search_preview`, and with a date: run where the operator configured a server for it, else ignored with a warning")
            .with(SEARCHES),
        KindOf::new("code_interpreter", "run where the operator configured a server for it, else ignored with a warning")
            .with(INTERPRETER),
        KindOf::new("shell", "run by the client: the model sees a function, and its calls come as `shell_call`")
            .with(&[ENVIRONMENT.row()]),
        KindOf::new("local_shell", "as `shell`, with calls as `local_shell_call`"),
        KindOf::new("apply_patch", "as `shell`, with calls as `apply_patch_call`"),
        KindOf::new("tool_search", "the model sees a function that finds tools with `defer_loading`: run by the server, or by the client (`execution`), who sends what it found as `tool_search_output`")
            .with(SEARCH),
        KindOf::refused("computer", NO_SCREEN),
        KindOf::refused("computer_use_preview", NO_SCREEN),
    ],
    common: &tool_extras(DEFER_LOADING.row()),
    others: Some("tool"),
};

/// Whether a tool isn't shown before it is found.
pub(super) const DEFER_LOADING: Field<bool> =
    Field::new("defer_loading", "beside `tool_search`: the model doesn't see the tool until it is found");

/// Where commands run.
pub(super) const ENVIRONMENT: Field<JsonObject<'_>> = Field::new(
    "environment",
    "of the type `local`, with `skills` that the model is told of; others are refused: there are no containers here",
);
/// In an environment.
pub(super) const SKILLS: Field<List<'_>> = Field::new("skills", "");
/// Of a skill.
pub(super) const SKILL_PATH: Required<&str> = Field::new("path", "").required();

table! {
    pub(super) SEARCH {
        DESCRIPTION;
        EXECUTION: Field<OneOf> = Field::new("execution", "").of(Shape::OneOf(&["server", "client"]));
        PARAMETERS;
    }
}

table! {
    pub(super) MCP {
        SERVER_LABEL;
        SERVER_URL: Field<&str> = Field::new("server_url", "");
        ALLOWED_TOOLS: Field<Value<'_>> = Field::new("allowed_tools", "");
        REQUIRE_APPROVAL: Field<Value<'_>> = Field::new("require_approval", "");
        HEADERS: Field<JsonObject<'_>> = Field::new("headers", "");
        AUTHORIZATION: Field<&str> = Field::new("authorization", "");
        Row::warned("connector_id", "connectors are not supported: give a `server_url`");
        SERVER_DESCRIPTION: Field<&str> = Field::new("server_description", "");
        SHOWN_AT_ONCE;
        Row::warned("tunnel_id", "tunnels are not supported: give a `server_url`");
    }
}

// What tools of one kind have that the server runs.
table! {
    pub(super) SEARCHES {
        EXTERNAL_WEB_ACCESS: Field<bool> =
            Field::new("external_web_access", "`false`: the tool is ignored with a warning, since nothing is searched here without the web");
        FILTERS: Field<JsonObject<'_>> =
            Field::new("filters", "").of(Shape::Object(tools::DOMAIN_FIELDS));
        Row::ignored("image_settings", "pages are read as text");
        Row::ignored("return_token_budget", "the operator's server decides");
        Row::ignored("search_content_types", "pages are read as text");
        Row::ignored("search_context_size", "the operator's server decides");
        Row::warned("user_location", "the operator's server decides");
    }
}
const INTERPRETER: &[Row] = &[Row::ignored("container", "the operator's server has its own")];

const PARTS: Shape = Shape::Either(&[Shape::Text, Shape::List(&Shape::Kinds(&content::PARTS))]);

table! {
    pub(super) MESSAGE {
        ROLE: Required<&str> = Field::new("role", "")
            .of(Shape::OneOf(&["user", "assistant", "system", "developer"]))
            .required();
        CONTENT.note("text; images, files and audio become a placeholder, with a warning");
        Row::ignored("phase", "the model sees the text as it wrote it");
    }
}

pub(super) const CONTENT: Field<Value<'_>> = Field::new("content", "").of(PARTS);

/// `encrypted_content`: a text that only this server can read.
pub(super) const SEALED: Required<&str> = Field::new("encrypted_content", "").required();
pub(super) const ITEM_SUMMARY: Field<Value<'_>> = Field::new("summary", "").of(PARTS);

table! {
    pub(super) FUNCTION_CALL {
        CALL_ID: Field<&str> = Field::new("call_id", "");
        CALLED;
        NAMESPACE: Field<&str> = Field::new("namespace", "");
        ARGUMENTS: Field<Value<'_>> =
            Field::new("arguments", "").of(Shape::Either(&[Shape::Text, ANY_OBJECT]));
        ASYNC;
        CALLER;
    }
}

const ASYNC: Row = Row::ignored("async", "about how the client runs the call");
const CALLER: Row = Row::ignored("caller", "the model sees the call, whoever made it");

const RESULT: &[Row] =
    &[CALL_ID.row(), OUTPUT.required().row(), CALLED.optional().row(), NAMESPACE.row(), CALLER];
pub(super) const OUTPUT: Field<Value<'_>> = Field::new("output", "").of(PARTS);
pub(super) const CALL_INPUT: Required<&str> = Field::new("input", "").required();

table! {
    pub(super) MCP_CALL {
        ID;
        SERVER_LABEL.optional();
        NAME;
        ARGUMENTS_TEXT: Field<&str> = Field::new("arguments", "");
        OUTPUT;
        ERROR: Field<Value<'_>> = Field::new("error", "");
        APPROVAL_REQUEST: Field<&str> = Field::new("approval_request_id", "");
    }
}

table! {
    pub(super) APPROVAL {
        APPROVAL_REQUEST.required();
        APPROVE: Field<bool> = Field::new("approve", "");
        REASON: Field<&str> = Field::new("reason", "");
    }
}

table! {
    pub(super) CODE_CALL {
        ID;
        CODE: Field<&str> = Field::new("code", "");
        OUTPUTS: Field<List<'_>> = Field::new("outputs", "");
        Row::ignored("container_id", "the operator's server has its own");
    }
}

table! {
    pub(super) SHELL_CALL {
        CALL_ID;
        ACTION: Required<JsonObject<'_>> = Field::new("action", "").required();
        Row::ignored("environment", "where it ran");
        CALLER;
    }
}

table! {
    pub(super) TYPED_RESULT {
        CALL_ID;
        CALL_RESULT: Required<Value<'_>> = Field::new("output", "")
            .of(Shape::Either(&[Shape::Text, Shape::List(&ANY_OBJECT)]))
            .required_as("a list of outputs, or a string");
        Row::ignored("max_output_length", "the model sees what there is");
        CALLER;
    }
}

table! {
    pub(super) PATCH_CALL {
        CALL_ID;
        OPERATION: Required<Value<'_>> = Field::new("operation", "").of(ANY_OBJECT).required_as("an object");
        CALLER;
    }
}

table! {
    pub(super) PATCH_RESULT {
        CALL_ID;
        PATCH_STATUS: Required<&str> =
            Field::new("status", "").of(Shape::OneOf(&["completed", "failed"])).required();
        PATCH_OUTPUT: Field<&str> = Field::new("output", "");
        CALLER;
    }
}

table! {
    pub(super) SEARCH_CALL {
        CALL_ID;
        SEARCH_ARGUMENTS: Required<Value<'_>> = Field::new("arguments", "").required_as("an object");
        Row::ignored("execution", "who searched");
    }
}

const FOUND: &[Row] = &[
    CALL_ID.row(),
    TOOLS.of(Shape::List(&Shape::Kinds(&TOOL_KINDS))).note("").row(),
    Row::ignored("execution", "who searched"),
];

/// What the client has to do about an item of a tool that no model here can call.
const NO_TOOL: &str =
    "no model here calls such a tool: send what was done as text, or declare a function that does it";

/// Items of an input.
pub(crate) const ITEM_KINDS: Kinds = Kinds {
    name: "ResponsesInputItem",
    of: &[
        KindOf { kind: None, ..KindOf::new("", "a message").with(MESSAGE) },
        KindOf::new("message", "text is read; images, files and audio become a placeholder, with a warning")
            .with(MESSAGE),
        KindOf::new("reasoning", "the first that the item has of `encrypted_content` (of this server's key, else 400), `content`, `summary`")
            .with(&[SEALED.optional().row(), CONTENT.row(), ITEM_SUMMARY.row()]),
        KindOf::new("function_call", "").with(FUNCTION_CALL),
        KindOf::new("function_call_output", "its call must come before it").with(RESULT),
        KindOf::new("custom_tool_call", "")
            .with(&[CALL_ID.row(), CALLED.row(), NAMESPACE.row(), CALL_INPUT.row(), ASYNC, CALLER]),
        KindOf::new("custom_tool_call_output", "its call must come before it").with(RESULT),
        KindOf::new("additional_tools", "more tools, as in `tools`").with(&[
            TOOLS.of(Shape::List(&Shape::Kinds(&TOOL_KINDS))).note("").row(),
            Row::ignored("role", "tools have none"),
        ]),
        KindOf::new("compaction", "a summary (of this server's key, else 400) that replaces what came before it, but users' messages and instructions")
            .with(&[SEALED.row()]),
        KindOf::new("compaction_trigger", "as the last item: the response is one `compaction` item"),
        KindOf::new("configuration_update", "holds from its place on until a later one, before the request's own `reasoning.effort` and `text.format`")
            .with(&[
                REASONING.of(Shape::Object(&[EFFORT.row()])).row(),
                ANSWER_TEXT.of(Shape::Object(&[FORMAT.row()])).row(),
            ]),
        KindOf::new("item_reference", "the stored item with this id; an unknown one: 404").with(&[ID.row()]),
        KindOf::new("mcp_call", "a call that the server ran, with its output").with(MCP_CALL),
        KindOf::new("mcp_list_tools", "the server's tools aren't listed again").with(&[
            SERVER_LABEL.optional().row(),
            ERROR.row(),
            Row::ignored("tools", "they are the server's"),
        ]),
        KindOf::new("mcp_approval_request", "what `mcp_approval_response` answers").with(MCP_CALL),
        KindOf::new("mcp_approval_response", "the call runs, or the model is told that it mustn't")
            .with(APPROVAL),
        KindOf::new("code_interpreter_call", "code that the server ran, with its output").with(CODE_CALL),
        KindOf::new("shell_call", "").with(SHELL_CALL),
        KindOf::new("shell_call_output", "its call must come before it, as for all results").with(TYPED_RESULT),
        KindOf::new("local_shell_call", "").with(SHELL_CALL),
        KindOf::new("local_shell_call_output", "").with(TYPED_RESULT),
        KindOf::new("apply_patch_call", "").with(PATCH_CALL),
        KindOf::new("apply_patch_call_output", "").with(PATCH_RESULT),
        KindOf::new("tool_search_call", "").with(SEARCH_CALL),
        KindOf::new("tool_search_output", "the model sees the tools here, and may call them").with(FOUND),
        KindOf::ignored("web_search_call", "what was searched; what was found is in the answer behind it"),
        KindOf::refused("computer_call", NO_TOOL),
        KindOf::refused("computer_call_output", NO_TOOL),
        KindOf::refused("file_search_call", NO_TOOL),
        KindOf::refused("image_generation_call", NO_TOOL),
        KindOf::refused("program", NO_TOOL),
        KindOf::refused("program_output", NO_TOOL),
    ],
    common: &[
        Row::ignored("id", "what refers to the item, not what it says"),
        Row::ignored("status", "the model sees what there is of the item"),
        Row::ignored("created_by", "the model sees the item, whoever made it"),
    ],
    others: None,
};
