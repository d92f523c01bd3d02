//! Bounds that have switches, a row each: name, unit, range, description, and field.
//!
//! The command line makes its switches from these rows, and `docs/limits.md` has them as tables. A bound without a row can't be changed: a
//! protocol defines it, or authors of parsers rely on it.

use super::bound::Field::{Time, U8, U32, U64, Usize};
use super::bound::Unit::{Count, Kib, Mib, Milliseconds, Seconds};
use super::bound::{Bound, Bounded, bound};
use super::{Limits, McpLimits, ParserLimits, RemoteLimits};

impl Bounded for Limits {
    const HEADING: &'static str = "Limits";
    #[rustfmt::skip] // A row per bound.
    const BOUNDS: &'static [Bound<Self>] = &[
        bound("max-body", Mib, 1..=1024, "Size of a request's body", |l| Usize(&mut l.body_bytes)),
        bound("max-connections", Count("CONNECTIONS"), 1..=1_000_000, "Connections at one time; requests on others get 503, but for `/health`", |l| Usize(&mut l.connections)),
        bound("max-header", Kib, 8..=1024, "Size of a request's header block", |l| Usize(&mut l.header_bytes)),
        bound("max-headers", Count("FIELDS"), 16..=1024, "Header fields of a request", |l| Usize(&mut l.headers)),
        bound("header-seconds", Seconds, 1..=600, "Time for a request's header block to arrive", |l| Time(&mut l.header_time)),
        bound("body-seconds", Seconds, 1..=3600, "Time for a request's body to arrive", |l| Time(&mut l.body_time)),
        bound("request-memory", Mib, 16..=1_048_576, "Memory that requests hold together while they are read, three times their bodies; more are refused with 503", |l| Usize(&mut l.request_memory)),
        bound("request-cpu", Count("PERCENT"), 1..=100, "CPU time that one key's requests may use for being read and for their prompts, of all cores; more are refused with 429 for a while", |l| U32(&mut l.request_cpu)),
        bound("max-json-depth", Count("LEVELS"), 8..=120, "Nesting of a request's JSON", |l| Usize(&mut l.json_depth)),
        bound("max-json-fields", Count("FIELDS"), 1024..=100_000_000, "Fields of a request's JSON that the server reads; those of schemas don't count", |l| Usize(&mut l.json_fields)),
        bound("max-messages", Count("MESSAGES"), 1..=10_000_000, "Messages of a request, or items of its input", |l| Usize(&mut l.messages)),
        bound("max-choices", Count("CHOICES"), 1..=1024, "Choices for one prompt (`n`)", |l| U32(&mut l.choices)),
        bound("max-prompts", Count("PROMPTS"), 1..=1024, "Prompts of a request to `/v1/completions`", |l| Usize(&mut l.prompts)),
        bound("max-sequences", Count("ANSWERS"), 1..=1024, "Answers of one request, choices for all of its prompts; the engine writes 64 at a time (256 on a GPU), for everybody", |l| Usize(&mut l.sequences)),
        bound("max-top-logprobs", Count("TOKENS"), 1..=255, "Alternatives told with each token (`top_logprobs`; `logprobs` of `/v1/completions`)", |l| U8(&mut l.top_logprobs)),
        bound("max-logit-bias", Count("TOKENS"), 1..=100_000, "Tokens with a bias of their own (`logit_bias`)", |l| Usize(&mut l.biased_tokens)),
        bound("max-bad-words", Count("TEXTS"), 1..=10_000, "Texts that a request bans (`bad_words`)", |l| Usize(&mut l.bad_words)),
        bound("max-bad-word", Count("BYTES"), 1..=65_536, "Length of each of them", |l| Usize(&mut l.bad_word_bytes)),
        bound("max-stop-strings", Count("TEXTS"), 1..=1024, "Texts that end an answer (`stop`, `stop_sequences`)", |l| Usize(&mut l.stop_strings)),
        bound("max-stop-string", Count("BYTES"), 1..=65_536, "Length of each of them", |l| Usize(&mut l.stop_string_bytes)),
        bound("max-stop-tokens", Count("TOKENS"), 1..=1024, "Tokens that end an answer (`stop_token_ids`)", |l| Usize(&mut l.stop_tokens)),
        bound("max-tools", Count("TOOLS"), 1..=10_000, "Tools of a request", |l| Usize(&mut l.tools)),
        bound("max-tool-values", Count("VALUES"), 1024..=100_000_000, "JSON values that the tools of a request consist of, schemas and all", |l| Usize(&mut l.tool_values)),
        bound("prompt-bytes-per-token", Count("BYTES"), 1..=1024, "Text of a prompt per token of context; more is refused before it is tokenised", |l| Usize(&mut l.prompt_bytes_per_token)),
        bound("template-fuel", Count("INSTRUCTIONS"), 100_000..=10_000_000_000, "What a chat template may run for one prompt", |l| U64(&mut l.template_fuel)),
        bound("template-output", Mib, 1..=1024, "What a chat template may write beside the request's own text", |l| Usize(&mut l.template_output)),
        bound("mask-time", Milliseconds, 1..=10_000, "CPU time that masks of a constrained answer may take, for each of its tokens on average; what 200 tokens may take is free", |l| Time(&mut l.mask_time)),
        bound("max-waiting", Count("ANSWERS"), 1..=1_000_000, "Answers that wait for the engine; more are refused with 429", |l| Usize(&mut l.waiting_requests)),
        bound("stream-queue", Count("STEPS"), 1..=65_536, "Steps of an answer that wait for its client; more, and the engine leaves it aside for that long", |l| Usize(&mut l.stream_queue)),
        bound("send-buffer", Kib, 4..=16_384, "The kernel's send buffer of a connection", |l| Usize(&mut l.send_buffer)),
        bound("slow-reader-seconds", Seconds, 1..=3600, "Time after which a client that reads nothing is cut off", |l| Time(&mut l.slow_reader)),
        bound("keep-alive-seconds", Seconds, 1..=3600, "Silence of a stream after which a comment is sent", |l| Time(&mut l.keep_alive)),
        bound("heartbeat-seconds", Seconds, 1..=3600, "Silence of a stream after which an event is sent, where the protocol has one for that", |l| Time(&mut l.heartbeat)),
        bound("grace-seconds", Seconds, 1..=3600, "Time that streams get to end when the server is told to stop", |l| Time(&mut l.grace)),
    ];
}

impl Bounded for ParserLimits {
    const HEADING: &'static str = "Limits of parsers";
    #[rustfmt::skip] // A row per bound.
    const BOUNDS: &'static [Bound<Self>] = &[
        bound("parser-memory", Mib, 1..=1024, "Memory of a parser for each stream; parsers in Python need 64", |l| Usize(&mut l.memory_bytes)),
        bound("parser-call-time", Milliseconds, 1..=10_000, "CPU time of one call of a parser", |l| Time(&mut l.call_time)),
        bound("parser-grammar-time", Milliseconds, 1..=60_000, "CPU time in which a parser makes the grammar of a constrained answer", |l| Time(&mut l.grammar_time)),
        bound("parser-share", Count("PERCENT"), 1..=100, "CPU time that a parser may use, in percent of its stream's time, beyond that of 200 calls", |l| U32(&mut l.stream_share)),
        bound("parser-file", Mib, 1..=1024, "Size of a parser's file", |l| U64(&mut l.file_bytes)),
        bound("parser-held", Kib, 1..=65_536, "Text that a parser may leave undecided", |l| Usize(&mut l.held_bytes)),
    ];
}

impl Bounded for McpLimits {
    const HEADING: &'static str = "Limits of tools that the server runs";
    #[rustfmt::skip] // A row per bound.
    const BOUNDS: &'static [Bound<Self>] = &[
        bound("mcp-start-seconds", Seconds, 1..=3600, "Time for a tool server to start and to list its tools", |l| Time(&mut l.start_time)),
        bound("mcp-call-seconds", Seconds, 1..=86_400, "Time of one call of a tool where the file doesn't say", |l| Time(&mut l.call_time)),
        bound("mcp-message", Mib, 1..=1024, "Size of one message of a tool server", |l| Usize(&mut l.message_bytes)),
        bound("mcp-output", Kib, 1..=1_048_576, "A tool's output that the model reads; a longer one fails the call", |l| Usize(&mut l.output_bytes)),
        bound("mcp-tools", Count("TOOLS"), 1..=10_000, "Tools taken of one server", |l| Usize(&mut l.tools_per_server)),
        bound("mcp-server-parallel", Count("CALLS"), 1..=1024, "Calls to one server at a time", |l| Usize(&mut l.calls_per_server)),
        bound("mcp-parallel", Count("CALLS"), 1..=1024, "Calls of one answer at a time", |l| Usize(&mut l.calls_at_once)),
        bound("mcp-turns", Count("TURNS"), 1..=1024, "Turns of one answer", |l| Usize(&mut l.turns)),
    ];
}

impl Bounded for RemoteLimits {
    const HEADING: &'static str = "Limits of engines elsewhere";
    #[rustfmt::skip] // A row per bound.
    const BOUNDS: &'static [Bound<Self>] = &[
        bound("engine-connect-seconds", Seconds, 1..=60, "Time for a connection to an engine", |l| Time(&mut l.connect_time)),
        bound("engine-first-token-seconds", Seconds, 1..=3600, "Time from a request to an engine to its first token; then another engine is asked", |l| Time(&mut l.first_token_time)),
        bound("engine-token-seconds", Seconds, 1..=3600, "Time between two tokens of an engine; then the answer fails", |l| Time(&mut l.token_time)),
        bound("engine-retries", Count("ENGINES"), 1..=16, "Other engines that are asked for an answer that hasn't begun", |l| Usize(&mut l.retries)),
        bound("engine-health-seconds", Seconds, 1..=600, "Time between two looks at an engine's health and load", |l| Time(&mut l.health_time)),
    ];
}
