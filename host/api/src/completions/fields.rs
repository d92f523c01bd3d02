//! The fields of a Completions request.

pub(super) use crate::fields::*;
use crate::structured_outputs;

/// All tables of the endpoint's fields.
pub(crate) const TABLES: Tables = &[FIELDS, SAMPLING, structured_outputs::FIELDS];

table! {
    pub(crate) FIELDS {
        ADD_SPECIAL_TOKENS: Field<bool> =
            Field::new("add_special_tokens", "`false`: the tokenizer adds none of its own (as in vLLM)");
        BEST_OF: Field<u32> =
            Field::new("best_of", "refused unless it is `n`").of(POSITIVE).support(Support::InPart(&["2"]));
        CACHE_SALT;
        ECHO: Field<bool> =
            Field::new("echo", "the prompt before the answer, with `logprobs` also its tokens' (the first has none); these are refused where the engine can't tell them (`docs/engines.md`)");
        LOGPROBS: Field<UpTo> = Field::up_to("logprobs", 0, 20, "of each token, with so many others beside it");
        MAX_TOKENS: Field<u32> = Field::new("max_tokens", "16 where it isn't said; 0: no answer, for `echo`");
        Row::ignored("metadata", "about the client");
        MODEL;
        CHOICES;
        PRIORITY;
        PROMPT: Required<Value<'_>> =
            Field::new("prompt", "text or token ids, or a list of at most 16 of either, each with its `n` choices, of which a request may have 32; control tokens in it are control tokens")
                .of(Shape::Either(&[Shape::Text, TOKENS, TEXTS, Shape::List(&TOKENS)]))
                .required_as("a string, token ids, or a list of either");
        RETURN_TOKEN_IDS;
        TOKEN_NAMES: Field<bool> =
            Field::new("return_tokens_as_token_ids", "`logprobs` names tokens as `token_id:N` (as in vLLM)");
        STOP;
        STREAM;
        STREAM_OPTIONS;
        Row::refused("suffix", &["\"end\""], "the model writes behind a text, not inside one: leave it out");
        THINKING_BUDGET.note("passed to remote engines that keep it (`--engine-reasoning-budget`), else named in `x-sluice-warning`");
        Row::ignored("user", "about the user, for abuse");
    }
}
