//! The bounds of requests, tools and remote engines in one table, with their default values; those
//! of parsers, the store and masks stand beside their code. The operator can change the bounds that
//! have a row in `switches`, which gives their names on the command line.

mod bound;
mod stored;
mod switches;
#[cfg(test)]
mod tests;

use std::time::Duration;

use parsers::ParserLimits;

pub use bound::{Bound, Bounded, Unit};
pub use stored::StoreLimits;

/// Maximum number of blocking threads, which make prompts: more would only compete for cores with
/// each other and with the engine. Half of them may compile grammars.
pub const PROMPT_THREADS: usize = 16;

/// Bounds on requests, clients, parsers, tools and remote engines.
#[derive(Debug, Clone)]
pub struct Limits {
    /// Maximum size of a request body, in bytes.
    pub body_bytes: usize,
    /// Maximum size of a request's header block, in bytes.
    pub header_bytes: usize,
    /// Maximum number of open connections; those to the admin address don't count.
    pub connections: usize,
    /// Maximum number of header fields.
    pub headers: usize,
    /// Time for a request's head to arrive.
    pub header_time: Duration,
    /// How long a connection may wait for its client's next request.
    pub idle_time: Duration,
    /// Time for a request's body to arrive.
    pub body_time: Duration,
    /// Time for which the rest of a refused body or head is read and discarded.
    pub rest_time: Duration,
    /// Bytes of memory that all requests may hold while their bodies are read and their prompts are
    /// made.
    pub request_memory: usize,
    /// CPU time for reading and prompts that the requests of one key may use, in percent of all
    /// cores.
    pub request_cpu: u32,
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
    /// CPU time that the masks of a constrained answer may take, per token on average; the time of
    /// 100 tokens is free.
    pub mask_time: Duration,
    /// Maximum size of a page of what is stored, in bytes; its first element comes whatever its
    /// size.
    pub page_bytes: usize,
    /// Maximum number of metadata keys of a request.
    pub metadata: usize,
    /// Maximum bytes of prompt text per token of context; a longer text is refused before it is
    /// tokenised.
    pub prompt_bytes_per_token: usize,
    /// CPU time that a chat template may take for a prompt, once more for each MiB of the request.
    pub template_time: Duration,
    /// Bytes that a chat template may write in addition to the request's own text.
    pub template_output: usize,
    /// Maximum number of steps that may wait between engine and client, per stream.
    pub stream_queue: usize,
    /// Maximum number of requests that may wait for the engine.
    pub waiting_requests: usize,
    /// Time after which a client that reads nothing is disconnected.
    pub slow_reader: Duration,
    /// Time without output after which a comment is sent.
    pub keep_alive: Duration,
    /// Time without events after which a heartbeat event of the protocol is sent.
    pub heartbeat: Duration,
    /// Time that streams get to end when the server stops.
    pub grace: Duration,
    /// Size of a connection's send buffer in the kernel, in bytes.
    pub send_buffer: usize,
    /// Time for which a WebSocket may be used.
    pub socket_time: Duration,
    /// Maximum number of lanes of a WebSocket that have names.
    pub socket_lanes: usize,
    /// Maximum number of responses that a WebSocket generates at a time.
    pub socket_running: usize,
    /// Maximum number of requests of a WebSocket that wait for their turn.
    pub socket_waiting: usize,
    /// Bytes of unstored responses that one WebSocket remembers.
    pub socket_memory: usize,
    /// Bytes of unstored responses that all web sockets remember.
    pub remembered_memory: usize,
    /// Bounds of a parser.
    pub parser: ParserLimits,
    /// Bounds of tools that the server runs.
    pub mcp: McpLimits,
    /// Bounds of remote engines.
    pub remote: RemoteLimits,
}

/// Bounds of tools that the server runs.
#[derive(Debug, Clone)]
pub struct McpLimits {
    /// Time for a tool server to start and to list its tools.
    pub start_time: Duration,
    /// Time limit of one call, if the operator's file doesn't set one.
    pub call_time: Duration,
    /// Maximum size of one message of a tool server, in bytes.
    pub message_bytes: usize,
    /// Maximum number of messages of a tool server in a second, in addition to its answers; unused
    /// ones of four seconds are kept. Every 64 KiB count as one more.
    pub messages_per_second: u32,
    /// Maximum size of a call's output, in bytes.
    pub output_bytes: usize,
    /// Maximum number of tools of one server.
    pub tools_per_server: usize,
    /// Maximum number of concurrent calls to one server.
    pub calls_per_server: usize,
    /// Maximum number of concurrent calls of one answer.
    pub calls_at_once: usize,
    /// Maximum number of turns of one answer.
    pub turns: usize,
}

/// Bounds of remote engines.
#[derive(Debug, Clone)]
pub struct RemoteLimits {
    /// Time limit of connecting.
    pub connect_time: Duration,
    /// Time limit from a request to its first token; after it another engine is tried.
    pub first_token_time: Duration,
    /// Time limit between two tokens.
    pub token_time: Duration,
    /// Maximum number of other engines that are tried for an answer that hasn't begun.
    pub retries: usize,
    /// Interval of the health checks.
    pub health_time: Duration,
    /// Time limit of a request for an engine's facts, health or metrics.
    pub probe_time: Duration,
    /// Time limit of the events behind an answer's end, which have its counts.
    pub tail_time: Duration,
    /// Maximum number of these events.
    pub tail_events: usize,
    /// Maximum number of an answer's events in addition to one per token of prompt and answer.
    pub spare_events: usize,
    /// Size of an event's text in bytes from which on it is tokenised on a thread of its own.
    pub inline_text: usize,
}

/// Maximum size of an error message to a client, in bytes; what it quotes is cut.
pub const MESSAGE_BYTES: usize = 2048;
/// Maximum size of log lines that wait for stderr, in bytes; further lines are lost and counted.
pub const LOG_BYTES: usize = 1 << 20;
/// Maximum size of a conversation's text relative to the longest prompt: templates leave out
/// reasoning of earlier turns.
const UNSEEN_TEXT: usize = 4;

impl Limits {
    /// Maximum size of a prompt that is tokenised, in bytes, for a context of `context` tokens.
    pub(crate) fn prompt_bytes(&self, context: usize) -> usize {
        context.saturating_mul(self.prompt_bytes_per_token)
    }

    /// Maximum size of a conversation's text before it is rendered, in bytes; its tools may have as
    /// many bytes again.
    pub fn conversation_bytes(&self, context: usize) -> usize {
        self.prompt_bytes(context).saturating_mul(UNSEEN_TEXT)
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            body_bytes: 32 << 20,
            connections: 1 << 14,
            header_bytes: 64 << 10,
            headers: 64,
            header_time: Duration::from_secs(5),
            idle_time: Duration::from_secs(75),
            body_time: Duration::from_mins(1),
            rest_time: Duration::from_secs(2),
            request_memory: 256 << 20,
            request_cpu: 50,
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
            mask_time: Duration::from_millis(5),
            page_bytes: 8 << 20,
            metadata: 16,
            prompt_bytes_per_token: 8,
            template_time: Duration::from_secs(5),
            template_output: 64 << 20,
            stream_queue: 64,
            waiting_requests: 1024,
            slow_reader: Duration::from_secs(30),
            keep_alive: Duration::from_secs(5),
            heartbeat: Duration::from_secs(15),
            grace: Duration::from_secs(30),
            send_buffer: 128 << 10,
            socket_time: Duration::from_hours(1),
            socket_lanes: 32,
            socket_running: 16,
            socket_waiting: 256,
            socket_memory: 64 << 20,
            remembered_memory: 256 << 20,
            parser: ParserLimits::default(),
            mcp: McpLimits::default(),
            remote: RemoteLimits::default(),
        }
    }
}

impl Default for McpLimits {
    fn default() -> Self {
        Self {
            start_time: Duration::from_secs(20),
            call_time: Duration::from_mins(1),
            message_bytes: 4 << 20,
            messages_per_second: 256,
            output_bytes: 1 << 20,
            tools_per_server: 128,
            calls_per_server: 16,
            calls_at_once: 8,
            turns: 32,
        }
    }
}

impl Default for RemoteLimits {
    fn default() -> Self {
        Self {
            connect_time: Duration::from_secs(2),
            first_token_time: Duration::from_mins(2),
            token_time: Duration::from_secs(30),
            retries: 2,
            health_time: Duration::from_secs(2),
            probe_time: Duration::from_secs(5),
            tail_time: Duration::from_secs(1),
            tail_events: 8,
            spare_events: 1024,
            inline_text: 4 << 10,
        }
    }
}
