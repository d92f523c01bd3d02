//! Bounds of what a request may say, with their default values, and the rows of those that the
//! operator can change.

bounds::limits! {
    /// Bounds of what a request may say.
    RequestLimits, "Limits":

    json_depth: usize = 64, "max-json-depth", Count("LEVELS"), 8..=120, "Nesting of a request's JSON";
    json_fields: usize = 1 << 17, "max-json-fields", Count("FIELDS"), 1024..=100_000_000, "Fields of a request's JSON that the server reads; fields of schemas don't count";
    messages: usize = 1 << 14, "max-messages", Count("MESSAGES"), 1..=10_000_000, "Messages of a request, or items of its input";
    choices: u32 = 16, "max-choices", Count("CHOICES"), 1..=1024, "Choices for one prompt (`n`)";
    prompts: usize = 16, "max-prompts", Count("PROMPTS"), 1..=1024, "Prompts of a request to `/v1/completions`";
    sequences: usize = 32, "max-sequences", Count("ANSWERS"), 1..=1024, "Answers of one request: its prompts times its choices. The engine generates 64 answers at a time for all requests together (256 on a GPU), unless `--max-num-seqs` says otherwise";
    top_logprobs: u8 = 20, "max-top-logprobs", Count("TOKENS"), 1..=255, "Alternatives reported for each token (`top_logprobs`; `logprobs` of `/v1/completions`)";
    biased_tokens: usize = 300, "max-logit-bias", Count("TOKENS"), 1..=100_000, "Tokens with a bias of their own (`logit_bias`)";
    bad_words: usize = 128, "max-bad-words", Count("TEXTS"), 1..=10_000, "Texts that a request bans (`bad_words`)";
    bad_word_bytes: usize = 512, "max-bad-word", Count("BYTES"), 1..=65_536, "Length of a text that a request bans";
    stop_strings: usize = 16, "max-stop-strings", Count("TEXTS"), 1..=1024, "Texts that end an answer (`stop`, `stop_sequences`)";
    stop_string_bytes: usize = 1024, "max-stop-string", Count("BYTES"), 1..=65_536, "Length of a text that ends an answer";
    stop_tokens: usize = 64, "max-stop-tokens", Count("TOKENS"), 1..=1024, "Tokens that end an answer (`stop_token_ids`)";
    tools: usize = 512, "max-tools", Count("TOOLS"), 1..=10_000, "Tools of a request";
    tool_values: usize = 1 << 16, "max-tool-values", Count("VALUES"), 1024..=100_000_000, "JSON values in the tools of a request, schemas included";
    /// Maximum size of a `cache_salt`, in bytes.
    cache_salt_bytes: usize = 256;
    /// Maximum size of the JSON schema of an answer, in bytes: as much as the SDK's grammars
    /// accept.
    schema_bytes: usize = 256 << 10;
    /// Maximum nesting of the JSON schema of an answer.
    schema_depth: usize = 64;
    /// Maximum number of metadata keys of a request.
    metadata: usize = 16;
}
