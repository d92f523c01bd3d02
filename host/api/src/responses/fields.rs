//! The fields of a Responses request.

pub(super) use super::super::fields::*;
use super::super::format::JSON_SCHEMA_FIELDS;
use super::super::metadata::METADATA;
use super::super::query::INCLUDE as ITEM_PARTS;
use super::super::tools::{self, CUSTOM_FIELDS, FUNCTION_FIELDS, TOOL_CHOICE, TOOLS};

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
        BACKGROUND: Field<bool> =
            Field::new("background", "`true`: the response is stored and runs without its client, who reads it or its events later");
        TEMPLATE_ARGUMENTS;
        Row::ignored("client_metadata", "");
        CONTEXT_MANAGEMENT: Field<List<'_>> =
            Field::new("context_management", "at most one entry: a prompt with more tokens is compacted before it is answered")
                .of(Shape::List(&Shape::Object(COMPACTION)))
                .support(Support::InPart(&["[{\"type\": \"summary\"}]"]));
        CONVERSATION: Field<Value<'_>> =
            Field::new("conversation", "its items come before the input; it gets the response's input and output when that has ended")
                .of(Shape::Either(&[Shape::Text, Shape::Object(&[ID.row()])]));
        RAW_MESSAGES: Field<bool> =
            Field::new("enable_response_messages", "adds `input_messages` and `output_messages`, tokens and raw text of each turn (as in vLLM)");
        INCLUDE: Field<List<'_>> =
            Field::new("include", "`reasoning.encrypted_content` and `message.output_text.logprobs`; others are ignored with a warning")
                .of(TEXTS);
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
        PARALLEL_TOOL_CALLS;
        PREVIOUS_RESPONSE_ID: Field<&str> =
            Field::new("previous_response_id", "a stored response that has ended and didn't fail: its input and output come before the input");
        PROMPT: Field<Value<'_>> = Field::new("prompt", "stored prompts are not there")
            .support(Support::Refused(&["{\"id\": \"pmpt_1\"}"]));
        PRIORITY;
        CACHE_KEY;
        Row::ignored("prompt_cache_options", "prefixes are always cached");
        Row::ignored("prompt_cache_retention", "prefixes are always cached");
        REASONING: Field<Object<'_>> = Field::new("reasoning", "").of(Shape::Object(REASONING_FIELDS));
        SAFETY_IDENTIFIER: Field<&str> =
            Field::new("safety_identifier", "repeated; at most 128 characters");
        Row::ignored("service_tier", "the response says `default`");
        STORE: Field<bool> =
            Field::new("store", "`true` unless given: the response can be read, continued and deleted by its id; without a store (`--store none`) it is `false`");
        STREAM;
        STREAM_OPTIONS: Field<Object<'_>> = Field::new("stream_options", "").of(Shape::Object(&[PAD.row()]));
        ANSWER_TEXT: Field<Object<'_>> = Field::new("text", "").of(Shape::Object(TEXT_FIELDS));
        TOOL_CHOICE.of(Shape::Either(&[
            Shape::OneOf(&["auto", "none", "required"]),
            Shape::Kinds(&Kinds { name: "ResponsesToolChoice", of: &CHOICE_KINDS, open: false }),
        ]));
        TOOLS.of(Shape::List(&Shape::Kinds(&TOOL_KINDS)));
        TOP_LOGPROBS: Field<UpTo> =
            Field::up_to("top_logprobs", 0, 20, "more than 0 also turns log-probabilities on");
        TRUNCATION: Field<OneOf> =
            Field::new("truncation", "`auto` drops the oldest messages of a conversation that doesn't fit; else that is a 400")
                .of(Shape::OneOf(&["auto", "disabled"]));
        Row::ignored("user", "superseded by `safety_identifier`");
    }
}

table! {
    pub(super) COMPACTION {
        TYPE.of(Shape::OneOf(&["compaction"]));
        THRESHOLD: Field<u32> =
            Field::new("compact_threshold", "default: seven eighths of the model's context").of(POSITIVE);
    }
}

table! {
    pub(super) REASONING_FIELDS {
        EFFORT;
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
        VERBOSITY: Field<OneOf> = Field::new("verbosity", "an argument of the chat template, `verbosity`")
            .of(Shape::OneOf(&["low", "medium", "high"]));
    }
}

pub(super) const FORMAT: Field<Object<'_>> =
    Field::new("format", REFUSED_FORMAT_NOTE).of(Shape::Kinds(&FORMAT_KINDS));

const FORMAT_KINDS: Kinds = Kinds {
    name: "ResponsesFormat",
    of: &[
        KindOf::new("text", "any text"),
        KindOf::new("json_object", "a JSON object"),
        KindOf::new("json_schema", FORMAT_NOTE).with(JSON_SCHEMA_FIELDS),
    ],
    open: false,
};

const CHOICE_KINDS: [KindOf; 3] = [
    KindOf::new(
        "allowed_tools",
        "the model sees these tools only; what the server runs of the others isn't listed or run either",
    )
    .with(tools::ALLOWED_FIELDS),
    KindOf::new("function", "this function is called").with(&[CALLED.row()]),
    KindOf::new("custom", "this custom tool is called").with(&[CALLED.row()]),
];

const CALLED: Required<&str> = NAME.note("not empty");

const TOOL_KINDS: Kinds = Kinds {
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
        KindOf::new("web_search", "also `web_search_preview`, and with a date: run where the operator configured a server for it, else ignored with a warning"),
        KindOf::new("code_interpreter", "run where the operator configured a server for it, else ignored with a warning"),
    ],
    open: true,
};

table! {
    pub(super) MCP {
        SERVER_LABEL;
        SERVER_URL: Field<&str> = Field::new("server_url", "");
        ALLOWED_TOOLS: Field<Value<'_>> = Field::new("allowed_tools", "");
        REQUIRE_APPROVAL: Field<Value<'_>> = Field::new("require_approval", "");
        HEADERS: Field<Object<'_>> = Field::new("headers", "");
    }
}

const PARTS: Shape = Shape::Either(&[Shape::Text, Shape::List(&ANY_OBJECT)]);

table! {
    pub(super) MESSAGE {
        ROLE: Required<&str> = Field::new("role", "")
            .of(Shape::OneOf(&["user", "assistant", "system", "developer"]))
            .required();
        CONTENT.note("text; images, files and audio become a placeholder, with a warning");
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
    }
}

const RESULT: &[Row] = &[CALL_ID.row(), OUTPUT.required().row()];
pub(super) const OUTPUT: Field<Value<'_>> = Field::new("output", "").of(PARTS);
pub(super) const CALL_INPUT: Required<&str> = Field::new("input", "").required();

/// Items of an input.
pub(crate) const ITEM_KINDS: Kinds = Kinds {
    name: "ResponsesInputItem",
    of: &[
        KindOf { kind: None, fields: MESSAGE, note: "a message" },
        KindOf::new("message", "text is read; images, files and audio become a placeholder, with a warning")
            .with(MESSAGE),
        KindOf::new("reasoning", "the first that is there of `encrypted_content` (of this server's key, else 400), `content`, `summary`")
            .with(&[SEALED.optional().row(), CONTENT.row(), ITEM_SUMMARY.row()]),
        KindOf::new("function_call", "").with(FUNCTION_CALL),
        KindOf::new("function_call_output", "").with(RESULT),
        KindOf::new("custom_tool_call", "")
            .with(&[CALL_ID.row(), CALLED.row(), NAMESPACE.row(), CALL_INPUT.row()]),
        KindOf::new("custom_tool_call_output", "").with(RESULT),
        KindOf::new("additional_tools", "more tools, as in `tools`")
            .with(&[TOOLS.of(Shape::List(&Shape::Kinds(&TOOL_KINDS))).note("").row()]),
        KindOf::new("compaction", "a summary (of this server's key, else 400) that replaces what came before it, but users' messages and instructions")
            .with(&[SEALED.row()]),
        KindOf::new("compaction_trigger", "as the last item: the response is one `compaction` item"),
        KindOf::new("configuration_update", "holds from its place on until a later one, before the request's own `reasoning.effort` and `text.format`")
            .with(&[
                REASONING.of(Shape::Object(&[EFFORT.row()])).row(),
                ANSWER_TEXT.of(Shape::Object(&[FORMAT.row()])).row(),
            ]),
        KindOf::new("item_reference", "the stored item with this id; an unknown one is left out, with a warning")
            .with(&[ID.row()]),
        KindOf::new("mcp_call", "a call that the server ran, with its output"),
        KindOf::new("mcp_list_tools", "the server's tools aren't listed again"),
        KindOf::new("mcp_approval_request", "what `mcp_approval_response` answers"),
        KindOf::new("mcp_approval_response", "the call runs, or the model is told that it mustn't"),
        KindOf::new("code_interpreter_call", "code that the server ran, with its output"),
    ],
    open: true,
};
