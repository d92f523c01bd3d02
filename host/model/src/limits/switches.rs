//! Bounds that have switches, a row each: name, unit, range, description, and field.
//!
//! The command line makes its switches from these rows, and `docs/limits.md` has them as tables. A
//! bound without a row can't be changed: a protocol defines it, or authors of parsers rely on it.

use parsers::ParserLimits;

use super::bound::Field::{Time, U8, U32, U64, Usize};
use super::bound::Unit::{Count, Days, Kib, Mib, Milliseconds, Seconds};
use super::bound::{Bound, Bounded, bound};
use super::{Limits, McpLimits, RemoteLimits, StoreLimits};

impl Bounded for Limits {
    const HEADING: &'static str = "Limits";
    #[rustfmt::skip] // A row per bound.
    const BOUNDS: &'static [Bound<Self>] = &[
        bound("max-body", Mib, 1..=1024, "Size of a request's body", |l| Usize(&mut l.body_bytes)),
        bound("max-connections", Count("CONNECTIONS"), 1..=1_000_000, "Concurrent connections; requests on further ones get 503, except `/health`", |l| Usize(&mut l.connections)),
        bound("max-header", Kib, 8..=1024, "Size of a request's header block", |l| Usize(&mut l.header_bytes)),
        bound("max-headers", Count("FIELDS"), 16..=1024, "Header fields of a request", |l| Usize(&mut l.headers)),
        bound("header-seconds", Seconds, 1..=600, "Time for a request's header block to arrive, from its first byte on", |l| Time(&mut l.header_time)),
        bound("idle-seconds", Seconds, 1..=3600, "Time that a connection may wait for its client's next request", |l| Time(&mut l.idle_time)),
        bound("body-seconds", Seconds, 1..=3600, "Time for a request's body to arrive", |l| Time(&mut l.body_time)),
        bound("request-memory", Mib, 16..=1_048_576, "Memory for reading requests, all together, at three times the size of their bodies; further requests get 503", |l| Usize(&mut l.request_memory)),
        bound("request-cpu", Count("PERCENT"), 1..=100, "Share of all cores that reading one key's requests and preparing their prompts may use; further requests get 429 for a while", |l| U32(&mut l.request_cpu)),
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
        bound("max-page", Mib, 1..=1024, "Size of a page of a list of what is stored; a page with more ends earlier, and says that more follows", |l| Usize(&mut l.page_bytes)),
        bound("prompt-bytes-per-token", Count("BYTES"), 1..=1024, "Length of a prompt's text per token of context; a longer prompt is refused before it is tokenised", |l| Usize(&mut l.prompt_bytes_per_token)),
        bound("template-time", Milliseconds, 1..=600_000, "CPU time that a chat template may take for one prompt, once more for each MiB of the request", |l| Time(&mut l.template_time)),
        bound("template-output", Mib, 1..=1024, "Text that a chat template may write in addition to the request's own", |l| Usize(&mut l.template_output)),
        bound("mask-time", Milliseconds, 1..=10_000, "Average CPU time per token for the masks of a constrained answer, beyond the allowance of 100 tokens", |l| Time(&mut l.mask_time)),
        bound("max-waiting", Count("ANSWERS"), 1..=1_000_000, "Answers that may be queued for the engine; further requests get 429. With several keys, one may have half of the places at most", |l| Usize(&mut l.waiting_requests)),
        bound("stream-queue", Count("STEPS"), 1..=65_536, "Steps of an answer that may be queued for a slow client; while the queue is full, the engine pauses the answer", |l| Usize(&mut l.stream_queue)),
        bound("send-buffer", Kib, 4..=16_384, "Size of the kernel's send buffer of a connection", |l| Usize(&mut l.send_buffer)),
        bound("websocket-seconds", Seconds, 1..=86_400, "Time for which a WebSocket may be used; then its client opens another one", |l| Time(&mut l.socket_time)),
        bound("websocket-memory", Mib, 1..=1_048_576, "Unstored responses (`store: false`) that all WebSockets together keep in memory to be continued, 64 MiB of one at most; with several keys, one may have half of it", |l| Usize(&mut l.remembered_memory)),
        bound("slow-reader-seconds", Seconds, 1..=3600, "Time after which a client that reads nothing is cut off", |l| Time(&mut l.slow_reader)),
        bound("keep-alive-seconds", Seconds, 1..=3600, "Silence of a stream after which an SSE comment is sent", |l| Time(&mut l.keep_alive)),
        bound("heartbeat-seconds", Seconds, 1..=3600, "Silence of a stream after which a heartbeat event is sent, if the protocol has one", |l| Time(&mut l.heartbeat)),
        bound("grace-seconds", Seconds, 1..=3600, "Time for running streams to end after the signal to stop", |l| Time(&mut l.grace)),
    ];
}

impl Bounded for ParserLimits {
    const HEADING: &'static str = "Limits of parsers";
    #[rustfmt::skip] // A row per bound.
    const BOUNDS: &'static [Bound<Self>] = &[
        bound("parser-memory", Mib, 1..=1024, "Memory of a parser for each stream; parsers in Python need 64", |l| Usize(&mut l.memory_bytes)),
        bound("parser-call-time", Milliseconds, 1..=10_000, "CPU time of one call of a parser", |l| Time(&mut l.call_time)),
        bound("parser-share", Count("PERCENT"), 1..=100, "CPU time of a parser, in percent of its stream's duration, beyond the allowance of 200 calls", |l| U32(&mut l.stream_share)),
        bound("parser-file", Mib, 1..=1024, "Size of a parser's file", |l| U64(&mut l.file_bytes)),
        bound("parser-held", Kib, 1..=65_536, "Text that a parser may hold undecided", |l| Usize(&mut l.held_bytes)),
    ];
}

impl Bounded for McpLimits {
    const HEADING: &'static str = "Limits of tools that the server runs";
    #[rustfmt::skip] // A row per bound.
    const BOUNDS: &'static [Bound<Self>] = &[
        bound("mcp-start-seconds", Seconds, 1..=3600, "Time for a tool server to start and list its tools", |l| Time(&mut l.start_time)),
        bound("mcp-call-seconds", Seconds, 1..=86_400, "Time for one call of a tool, unless the file of tool servers sets another", |l| Time(&mut l.call_time)),
        bound("mcp-message", Mib, 1..=1024, "Size of one message of a tool server", |l| Usize(&mut l.message_bytes)),
        bound("mcp-messages", Count("MESSAGES"), 1..=1_000_000, "Messages of a tool server in a second, beside answers; one that sends more loses its connection", |l| U32(&mut l.messages_per_second)),
        bound("mcp-output", Kib, 1..=1_048_576, "Length of a tool's output; a call with longer output fails", |l| Usize(&mut l.output_bytes)),
        bound("mcp-tools", Count("TOOLS"), 1..=10_000, "Tools used of one tool server", |l| Usize(&mut l.tools_per_server)),
        bound("mcp-server-parallel", Count("CALLS"), 1..=1024, "Concurrent calls to one tool server", |l| Usize(&mut l.calls_per_server)),
        bound("mcp-parallel", Count("CALLS"), 1..=1024, "Concurrent calls of one answer", |l| Usize(&mut l.calls_at_once)),
        bound("mcp-turns", Count("TURNS"), 1..=1024, "Turns of the model in one answer", |l| Usize(&mut l.turns)),
    ];
}

impl Bounded for RemoteLimits {
    const HEADING: &'static str = "Limits of remote engines";
    #[rustfmt::skip] // A row per bound.
    const BOUNDS: &'static [Bound<Self>] = &[
        bound("engine-connect-seconds", Seconds, 1..=60, "Time for connecting to an engine", |l| Time(&mut l.connect_time)),
        bound("engine-first-token-seconds", Seconds, 1..=3600, "Time from a request to an engine to its first token; after that another engine is tried", |l| Time(&mut l.first_token_time)),
        bound("engine-token-seconds", Seconds, 1..=3600, "Time between two tokens from an engine; after that the answer fails", |l| Time(&mut l.token_time)),
        bound("engine-retries", Count("ENGINES"), 1..=16, "Other engines that are tried for an answer that hasn't begun", |l| Usize(&mut l.retries)),
        bound("engine-health-seconds", Seconds, 1..=600, "Interval of checks of an engine's health and load", |l| Time(&mut l.health_time)),
    ];
}

impl Bounded for StoreLimits {
    const HEADING: &'static str = "Limits of what is stored";
    #[rustfmt::skip] // A row per bound.
    const BOUNDS: &'static [Bound<Self>] = &[
        bound("store-size", Mib, 1..=1_073_741_824, "Size of everything stored; what wasn't used for longest makes room", |l| U64(&mut l.bounds.bytes)),
        bound("store-owner-size", Mib, 1..=1_073_741_824, "Size of what one key has stored", |l| U64(&mut l.bounds.owner_bytes)),
        bound("store-memory", Mib, 1..=1_048_576, "Size of everything stored where the store is in memory", |l| U64(&mut l.memory_bytes)),
        bound("store-days", Days, 1..=36_500, "Time after which responses and conversations that nobody uses are gone", |l| Time(&mut l.bounds.unused)),
        bound("store-log-seconds", Seconds, 1..=2_592_000, "Time for which a background response's events are kept after its end", |l| Time(&mut l.bounds.log_kept)),
        bound("store-log", Mib, 1..=1024, "Size of a background response's events, compressed", |l| U64(&mut l.bounds.log_bytes)),
        bound("store-running", Count("RESPONSES"), 1..=1024, "Background responses of one key that run at a time", |l| U64(&mut l.bounds.running)),
        bound("store-queued", Count("RESPONSES"), 1..=1_000_000, "Background responses of one key that wait; further ones get 429", |l| U64(&mut l.bounds.queued)),
        bound("store-chain", Count("RESPONSES"), 1..=1_000_000, "Responses of a chain (`previous_response_id`)", |l| U64(&mut l.bounds.links)),
        bound("store-context", Mib, 1..=1024, "Size of the items of a chain or conversation", |l| U64(&mut l.bounds.context_bytes)),
    ];
}
