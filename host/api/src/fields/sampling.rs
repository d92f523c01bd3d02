//! Declarations of the sampling fields, which most endpoints share ([`crate::options::sampling`] reads them), and of other fields
//! and notes that several endpoints have.

use super::{ANY_OBJECT, COUNT, Field, INTEGER, KindOf, Shape, TEXTS, TOKENS};

/// Fields that decide how tokens are sampled.
pub(crate) const SAMPLING: [Field; 14] = [
    Field::supported(
        "bad_words",
        TEXTS,
        "texts that are never written; at most 128, of 512 bytes each (as in vLLM)",
    ),
    Field::supported("frequency_penalty", PENALTY, "per time that a token was written"),
    Field::supported(
        "ignore_eos",
        Shape::Boolean,
        "the model's end tokens don't end the answer, only `stop`, `stop_token_ids` and the limit do; refused where a grammar restricts the answer (as in vLLM)",
    ),
    Field::supported(
        "include_stop_str_in_output",
        Shape::Boolean,
        "the stop text stays in the answer (as in vLLM)",
    ),
    Field::supported(
        "logit_bias",
        Shape::Map(&Shape::Number(-100.0, 100.0)),
        "token ids as names; at most 300",
    ),
    Field::supported("min_p", UNIT, "least probability, as a part of the likeliest token's (as in vLLM)"),
    Field::supported(
        "min_tokens",
        COUNT,
        "no token and no stop text ends the answer before it has so many; not above its limit, and refused where a grammar restricts the answer (as in vLLM)",
    ),
    Field::supported("presence_penalty", PENALTY, "for tokens that were written"),
    Field::supported(
        "repetition_penalty",
        Shape::Number(0.01, 100.0),
        "divides what is likely and was read or written; 1 does nothing (as in vLLM)",
    ),
    SEED,
    Field::supported("stop_token_ids", TOKENS, "tokens that end the answer; at most 64 (as in vLLM)"),
    Field::supported("temperature", Shape::Number(0.0, 2.0), "0 takes the likeliest token"),
    Field::supported(
        "top_k",
        Shape::Integer(-1, u32::MAX as i64),
        "the likeliest so many; 0 and -1: all (as in vLLM)",
    ),
    Field::supported("top_p", UNIT, "the likeliest that have this probability together"),
];

/// `seed`.
const SEED: Field =
    Field::supported("seed", INTEGER, "the same request with the same seed gets the same answer");

const PENALTY: Shape = Shape::Number(-2.0, 2.0);
const UNIT: Shape = Shape::Number(0.0, 1.0);

/// All values of the reasoning effort.
pub(crate) const EFFORTS: &[&str] = &["none", "minimal", "low", "medium", "high", "xhigh", "max"];

/// `chat_template_kwargs`.
pub(crate) const TEMPLATE_ARGUMENTS: Field = Field::supported(
    "chat_template_kwargs",
    ANY_OBJECT,
    "arguments for the chat template: strings, numbers, booleans, under names that the operator allows \
     (`--template-argument`), else refused",
)
.but(&[r#"{"a_name_that_is_not_allowed": 1}"#]);

/// `stream`.
pub(crate) const STREAM: Field =
    Field::supported("stream", Shape::Boolean, "the answer as server-sent events");

/// `model`.
pub(crate) const MODEL: Field =
    Field::supported("model", Shape::Text, "a name of `GET /v1/models`; others: 404").required();

/// `name` of a declared tool.
pub(crate) const TOOL_NAME: Field =
    Field::supported("name", Shape::Text, "1 to 128 of A-Z, a-z, 0-9, `_`, `.`, `:`, `-`").required();

/// `stop`.
pub(crate) const STOP: Field = Field::supported(
    "stop",
    Shape::Either(&[Shape::Text, TEXTS]),
    "texts that end the answer where they appear in a message; at most 16, of 1024 bytes each, none empty",
);

/// `n`.
pub(crate) const CHOICES: Field =
    Field::supported("n", Shape::UpTo(1, 16), "so many answers to one prompt, side by side");

/// Note on `prompt_cache_key`.
pub(crate) const CACHE_KEY_NOTE: &str = "requests of one key and one beginning go to one engine, where there are several; prefixes are cached whatever it says";

/// `priority`.
pub(crate) const PRIORITY: Field = Field::supported(
    "priority",
    Shape::Integer(i32::MIN as i64, i32::MAX as i64),
    "which of this key's answers comes first where they wait, the lower number (as in vLLM); refused where the engine knows no priorities, unless 0",
);

/// `cache_salt`.
pub(crate) const CACHE_SALT: Field = Field::supported(
    "cache_salt",
    Shape::Text,
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

/// `schema` of a format.
pub(crate) const SCHEMA: Field = Field::supported("schema", ANY_OBJECT, "at most 256 KiB").required();

/// A format whose only field is `type`.
pub(crate) const fn plain_format(kind: &'static str, note: &'static str) -> KindOf {
    KindOf { kind: Some(kind), fields: &[], note }
}

/// `stream_options` of Chat Completions and Completions.
pub(crate) const STREAM_OPTIONS: Field = Field::supported(
    "stream_options",
    Shape::Object(&[
        Field::warned("continuous_usage_stats", Shape::Boolean, "usage comes last"),
        Field::supported("include_usage", Shape::Boolean, "a last chunk with the usage"),
        Field::supported("include_obfuscation", Shape::Boolean, "padding of chunks, in Chat Completions"),
    ]),
    "",
);

/// `return_token_ids`.
pub(crate) const RETURN_TOKEN_IDS: Field = Field::supported(
    "return_token_ids",
    Shape::Boolean,
    "adds `prompt_token_ids` and `token_ids` to each choice, in a stream to each chunk the ids that are new (as in vLLM)",
);

/// Number of alternatives to list with each token.
pub(crate) const ALTERNATIVES: Shape = Shape::UpTo(0, 20);
