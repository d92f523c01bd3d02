//! Bounds of what a request may say, with their default values, and the rows of those that the
//! operator can change.

use bounds::Field::{U8, U32, Usize};
use bounds::Unit::Count;
use bounds::{Bound, Bounded, bound};

/// Bounds of what a request may say.
#[derive(Debug, Clone)]
pub struct RequestLimits {
    /// Maximum nesting of JSON in requests.
    pub json_depth: usize,
    /// Maximum number of JSON fields of a request that the server reads; fields of schemas don't
    /// count.
    pub json_fields: usize,
    /// Maximum number of messages of a request, or of items of its input.
    pub messages: usize,
    /// Maximum number of stop strings of a request.
    pub stop_strings: usize,
    /// Maximum size of a stop string, in bytes.
    pub stop_string_bytes: usize,
    /// Maximum size of a `cache_salt`, in bytes.
    pub cache_salt_bytes: usize,
    /// Maximum number of choices for one prompt (`n`).
    pub choices: u32,
    /// Maximum number of prompts of one completions request.
    pub prompts: usize,
    /// Maximum number of answers that one request may ask for: its choices for all of its prompts.
    /// It is at most half of the sequences that the engine runs at a time, so that other requests
    /// don't have to wait until these end.
    pub sequences: usize,
    /// Maximum number of alternatives sent with a token.
    pub top_logprobs: u8,
    /// Maximum number of tokens with a bias.
    pub biased_tokens: usize,
    /// Maximum number of texts that a request may ban.
    pub bad_words: usize,
    /// Maximum size of a banned text, in bytes.
    pub bad_word_bytes: usize,
    /// Maximum number of token ids that a request may name to end its answer.
    pub stop_tokens: usize,
    /// Maximum number of tools of a request.
    pub tools: usize,
    /// Maximum number of JSON values in the tools of a request, schemas included.
    pub tool_values: usize,
    /// Maximum size of the JSON schema of an answer, in bytes: as much as the SDK's grammars
    /// accept.
    pub schema_bytes: usize,
    /// Maximum nesting of the JSON schema of an answer.
    pub schema_depth: usize,
    /// Maximum number of metadata keys of a request.
    pub metadata: usize,
}

impl Default for RequestLimits {
    fn default() -> Self {
        Self {
            json_depth: 64,
            json_fields: 1 << 17,
            messages: 1 << 14,
            stop_strings: 16,
            stop_string_bytes: 1024,
            cache_salt_bytes: 256,
            choices: 16,
            prompts: 16,
            sequences: 32,
            top_logprobs: 20,
            biased_tokens: 300,
            bad_words: 128,
            bad_word_bytes: 512,
            stop_tokens: 64,
            tools: 512,
            tool_values: 1 << 16,
            schema_bytes: 256 << 10,
            schema_depth: 64,
            metadata: 16,
        }
    }
}

impl Bounded for RequestLimits {
    const HEADING: &'static str = "Limits";
    #[rustfmt::skip] // A row per bound.
    const BOUNDS: &'static [Bound<Self>] = &[
        bound("max-json-depth", Count("LEVELS"), 8..=120, "Nesting of a request's JSON", |l| Usize(&mut l.json_depth)),
        bound("max-json-fields", Count("FIELDS"), 1024..=100_000_000, "Fields of a request's JSON that the server reads; fields of schemas don't count", |l| Usize(&mut l.json_fields)),
        bound("max-messages", Count("MESSAGES"), 1..=10_000_000, "Messages of a request, or items of its input", |l| Usize(&mut l.messages)),
        bound("max-choices", Count("CHOICES"), 1..=1024, "Choices for one prompt (`n`)", |l| U32(&mut l.choices)),
        bound("max-prompts", Count("PROMPTS"), 1..=1024, "Prompts of a request to `/v1/completions`", |l| Usize(&mut l.prompts)),
        bound("max-sequences", Count("ANSWERS"), 1..=1024, "Answers of one request: its prompts times its choices. The engine generates 64 answers at a time for all requests together (256 on a GPU), unless `--max-num-seqs` says otherwise", |l| Usize(&mut l.sequences)),
        bound("max-top-logprobs", Count("TOKENS"), 1..=255, "Alternatives reported for each token (`top_logprobs`; `logprobs` of `/v1/completions`)", |l| U8(&mut l.top_logprobs)),
        bound("max-logit-bias", Count("TOKENS"), 1..=100_000, "Tokens with a bias of their own (`logit_bias`)", |l| Usize(&mut l.biased_tokens)),
        bound("max-bad-words", Count("TEXTS"), 1..=10_000, "Texts that a request bans (`bad_words`)", |l| Usize(&mut l.bad_words)),
        bound("max-bad-word", Count("BYTES"), 1..=65_536, "Length of a text that a request bans", |l| Usize(&mut l.bad_word_bytes)),
        bound("max-stop-strings", Count("TEXTS"), 1..=1024, "Texts that end an answer (`stop`, `stop_sequences`)", |l| Usize(&mut l.stop_strings)),
        bound("max-stop-string", Count("BYTES"), 1..=65_536, "Length of a text that ends an answer", |l| Usize(&mut l.stop_string_bytes)),
        bound("max-stop-tokens", Count("TOKENS"), 1..=1024, "Tokens that end an answer (`stop_token_ids`)", |l| Usize(&mut l.stop_tokens)),
        bound("max-tools", Count("TOOLS"), 1..=10_000, "Tools of a request", |l| Usize(&mut l.tools)),
        bound("max-tool-values", Count("VALUES"), 1024..=100_000_000, "JSON values in the tools of a request, schemas included", |l| Usize(&mut l.tool_values)),
    ];
}
