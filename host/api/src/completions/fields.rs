//! The fields of a Completions request.

use super::super::fields::sampling::{
    ALTERNATIVES, CACHE_SALT, CHOICES, MODEL, PRIORITY, RETURN_TOKEN_IDS, SAMPLING, STOP, STREAM,
    STREAM_OPTIONS,
};
use super::super::fields::{COUNT, Field, POSITIVE, Shape, TEXTS, TOKENS, Tables};
use super::super::structured_outputs;

/// All tables of the endpoint's fields.
pub(crate) const TABLES: Tables = &[&FIELDS, &SAMPLING, &structured_outputs::FIELDS];

/// `add_special_tokens`.
pub(crate) const ADD_SPECIAL_TOKENS: Field = Field::supported(
    "add_special_tokens",
    Shape::Boolean,
    "`false`: the tokenizer adds none of its own (as in vLLM)",
);

const FIELDS: [Field; 18] = [
    ADD_SPECIAL_TOKENS,
    Field::supported("best_of", POSITIVE, "refused unless it is `n`").but(&["2"]),
    CACHE_SALT,
    Field::supported(
        "echo",
        Shape::Boolean,
        "the prompt before the answer, with `logprobs` also its tokens' (the first has none); these are refused where the engine can't tell them (`docs/engines.md`)",
    ),
    Field::supported("logprobs", ALTERNATIVES, "of each token, with so many others beside it"),
    Field::supported("max_tokens", COUNT, "16 where it isn't said; 0: no answer, for `echo`"),
    Field::ignored("metadata", Shape::Any, ""),
    MODEL,
    CHOICES,
    PRIORITY,
    Field::supported(
        "prompt",
        Shape::Either(&[Shape::Text, TOKENS, TEXTS, Shape::List(&TOKENS)]),
        "text or token ids, or a list of at most 16 of either, each with its `n` choices, of which a request may have 32; control tokens in it are control tokens",
    )
    .required(),
    RETURN_TOKEN_IDS,
    Field::supported(
        "return_tokens_as_token_ids",
        Shape::Boolean,
        "`logprobs` names tokens as `token_id:N` (as in vLLM)",
    ),
    STOP,
    STREAM,
    STREAM_OPTIONS,
    Field::refused("suffix", Shape::Text, &["\"end\""], "unless empty"),
    Field::ignored("user", Shape::Any, ""),
];
