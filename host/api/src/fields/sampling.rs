//! The sampling fields, which most endpoints share ([`crate::options::sampling`] reads them), and
//! other fields and notes that several endpoints have.

use super::{
    Field, Id, JsonObject, List, OneOf, Required, Row, Shape, Support, TEXTS, TOKENS, UpTo, Value, table,
};

table! {
    pub(crate) SAMPLING {
        BAD_WORDS: Field<List<'_>> =
            Field::new("bad_words", "texts that are never written; at most 128, of 512 bytes each (as in vLLM)")
                .of(TEXTS);
        FREQUENCY_PENALTY: Field<f64> =
            Field::new("frequency_penalty", "per time that a token was written").of(PENALTY);
        IGNORE_EOS: Field<bool> =
            Field::new("ignore_eos", "the model's end tokens don't end the answer, only `stop`, `stop_token_ids` and the limit do; refused where a grammar restricts the answer (as in vLLM)");
        INCLUDE_STOP: Field<bool> =
            Field::new("include_stop_str_in_output", "the stop text stays in the answer (as in vLLM)");
        LOGIT_BIAS: Field<JsonObject<'_>> =
            Field::new("logit_bias", "token ids as names; at most 300").of(Shape::Map(&BIAS));
        MIN_P: Field<f64> =
            Field::new("min_p", "least probability, as a part of the likeliest token's (as in vLLM)").of(UNIT);
        MIN_TOKENS: Field<u32> =
            Field::new("min_tokens", "no token and no stop text ends the answer before it has so many; not above its limit, and refused where a grammar restricts the answer (as in vLLM)");
        PRESENCE_PENALTY: Field<f64> = Field::new("presence_penalty", "for tokens that were written").of(PENALTY);
        REPETITION_PENALTY: Field<f64> =
            Field::new("repetition_penalty", "divides what is likely and was read or written; 1 does nothing (as in vLLM)")
                .of(Shape::Number(0.01, 100.0));
        SEED: Field<i64> = Field::new("seed", "the same request with the same seed gets the same answer");
        STOP_TOKENS: Field<List<'_>> =
            Field::new("stop_token_ids", "tokens that end the answer; at most 64 (as in vLLM)").of(TOKENS);
        TEMPERATURE: Field<f64> =
            Field::new("temperature", "0 takes the likeliest token").of(Shape::Number(0.0, 2.0));
        TOP_K: Field<i64> = Field::new("top_k", "the likeliest so many; 0 and -1: all (as in vLLM)")
            .of(Shape::Integer(-1, u32::MAX as i64));
        TOP_P: Field<f64> = Field::new("top_p", "the likeliest that have this probability together").of(UNIT);
    }
}

const PENALTY: Shape = Shape::Number(-2.0, 2.0);
const UNIT: Shape = Shape::Number(0.0, 1.0);

/// Value of `logit_bias`.
pub(crate) const BIAS: Shape = Shape::Number(-100.0, 100.0);

/// All values of the reasoning effort.
pub(crate) const EFFORTS: Shape = Shape::OneOf(&prompt::EFFORTS);

/// Marks of what the client wants cached, on messages, their parts and tools.
pub(crate) const CACHE_CONTROL: Row = Row::ignored("cache_control", "prefixes are always cached");
pub(crate) const CACHE_BREAKPOINT: Row =
    Row::ignored("prompt_cache_breakpoint", "prefixes are always cached");

/// What a client does about a tool for a computer's screen.
pub(crate) const NO_SCREEN: &str =
    "the model can't see a screen: leave the tool out, or declare functions that work on text";

/// What functions and custom tools have that says nothing here.
pub(crate) const TOOL_EXTRAS: &[Row] =
    &tool_extras(Row::ignored("defer_loading", "the model sees all tools from the start"));

/// Of tools that the server asks another for.
pub(crate) const SHOWN_AT_ONCE: Row =
    Row::warned("defer_loading", "the model sees the tools of a server from the beginning");

/// What tools of any kind have that says nothing here, and what says that one is shown later.
pub(crate) const fn tool_extras(defer_loading: Row) -> [Row; 6] {
    [
        CACHE_CONTROL,
        Row::ignored("allowed_callers", "models call tools themselves, and no program does"),
        defer_loading,
        Row::ignored("eager_input_streaming", "arguments always stream"),
        Row::ignored("input_examples", "the schema describes the arguments"),
        Row::ignored("output_schema", "results are shown to the model as they are"),
    ]
}

/// Fields of many objects: `type`, by which objects are told apart, and others.
pub(crate) const TYPE: Required<&str> = Field::new("type", "").required();
pub(crate) const ID: Required<Id> = Field::new("id", "").required();
pub(crate) const NAME: Required<&str> = Field::new("name", "").required();
pub(crate) const TEXT: Required<&str> = Field::new("text", "").required();
pub(crate) const DESCRIPTION: Field<&str> = Field::new("description", "");
pub(crate) const SERVER_LABEL: Required<&str> = Field::new("server_label", "").required();
pub(crate) const STRICT: Field<bool> = Field::new("strict", "");
pub(crate) const TEMPLATE_ARGUMENTS: Field<JsonObject<'_>> = Field::new(
    "chat_template_kwargs",
    "arguments for the chat template: strings, numbers, booleans, under names that the operator allows \
     (`--template-argument`), else refused",
)
.support(Support::InPart(&[r#"{"a_name_that_is_not_allowed": 1}"#]));
pub(crate) const STREAM: Field<bool> = Field::new("stream", "the answer as server-sent events");
pub(crate) const MODEL: Required<&str> =
    Field::new("model", "a name of `GET /v1/models`; others: 404").required();
pub(crate) const TOOL_NAME: Required<&str> = NAME.note("1 to 128 of A-Z, a-z, 0-9, `_`, `.`, `:`, `-`");
pub(crate) const STOP: Field<Value<'_>> = Field::new(
    "stop",
    "texts that end the answer where they appear in a message; at most 16, of 1024 bytes each, none empty",
)
.of(Shape::Either(&[Shape::Text, TEXTS]));
pub(crate) const CHOICES: Field<UpTo> =
    Field::up_to("n", 1, 16, "so many answers to one prompt, side by side");
pub(crate) const PARALLEL_TOOL_CALLS: Field<bool> =
    Field::new("parallel_tool_calls", "`false`: the turn ends after its first call");
pub(crate) const CACHE_KEY: Field<&str> = Field::new(
    "prompt_cache_key",
    "requests of one key and one beginning go to one engine, where there are several, which hears of them as a chain; prefixes are cached whatever it says",
);
pub(crate) const VERBOSITY: Field<OneOf> =
    Field::new("verbosity", "an argument of the chat template, `verbosity`")
        .of(Shape::OneOf(&["low", "medium", "high"]));
pub(crate) const PRIORITY: Field<i32> = Field::new(
    "priority",
    "which of this key's answers comes first where they wait, the lower number (as in vLLM); refused where the engine knows no priorities, unless 0",
);
pub(crate) const CACHE_SALT: Field<&str> = Field::new(
    "cache_salt",
    "requests with another salt, or with none, share no cached prefixes with this one; at most 256 bytes, not empty (as in vLLM)",
);

/// Note on `strict` of a function.
pub(crate) const STRICT_NOTE: &str = "arguments of a `strict` one follow its schema where a call is forced, and else where the engine and the \
     model's format can do it";

/// Note on a custom tool's grammar.
pub(crate) const GRAMMAR_NOTE: &str = "its input streams as plain text; a grammar is told to the model, and followed where the engine and the model's format can do it";

/// Note on formats with a schema.
pub(crate) const FORMAT_NOTE: &str = "the answer follows the schema, `strict` or not";

/// Note on formats of the answer that are refused.
pub(crate) const REFUSED_FORMAT_NOTE: &str =
    "JSON is refused where the engine can't follow it (`docs/constraints.md`)";

/// Note on forced calls.
pub(crate) const FORCED_NOTE: &str =
    "what forces a call is refused where the engine can't force it (`docs/constraints.md`)";

/// `stream_options` of Chat Completions and Completions.
pub(crate) const STREAM_OPTIONS: Field<JsonObject<'_>> =
    Field::new("stream_options", "").of(Shape::Object(STREAM_OPTION_FIELDS));

table! {
    pub(crate) STREAM_OPTION_FIELDS {
        Row::warned("continuous_usage_stats", "usage comes last");
        INCLUDE_USAGE: Field<bool> = Field::new("include_usage", "a last chunk with the usage");
        PAD_CHUNKS: Field<bool> = Field::new("include_obfuscation", "padding of chunks, in Chat Completions");
    }
}

pub(crate) const THINKING_BUDGET: Field<u32> = Field::new(
    "thinking_token_budget",
    "most tokens of reasoning, behind which it ends; 0: the model is asked not to think (as in vLLM)",
);
/// The same as a field of an object about reasoning.
pub(crate) const REASONING_BUDGET: Field<u32> = Field::new(
    "max_tokens",
    "most tokens of reasoning, behind which it ends; 0: the model is asked not to think (as in OpenRouter)",
);
/// The same as a field of an object about thinking.
pub(crate) const BUDGET_TOKENS: Field<u32> = Field::new(
    "budget_tokens",
    "most tokens of thinking, behind which it ends; 0: the model is asked not to think",
);

pub(crate) const RETURN_TOKEN_IDS: Field<bool> = Field::new(
    "return_token_ids",
    "adds `prompt_token_ids` and `token_ids` to each choice, in a stream to each chunk the ids that are new (as in vLLM)",
);
