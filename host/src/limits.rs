//! Every bound of the server in one table, with the value it has by default. Bounds are the operator's to change: the rows of
//! `switches` say under which names.

mod bound;
mod switches;
#[cfg(test)]
mod tests;

use std::time::Duration;

pub use bound::{Bound, Bounded, Unit};

/// What a request, a client or a parser may use.
#[derive(Debug, Clone)]
pub struct Limits {
    /// Bytes of a request body.
    pub body_bytes: usize,
    /// Bytes of a request's header block.
    pub header_bytes: usize,
    /// Connections at one time; those for operators don't count.
    pub connections: usize,
    /// Number of header fields.
    pub headers: usize,
    /// Time for a request's head to arrive.
    pub header_time: Duration,
    /// Time for a request's body to arrive.
    pub body_time: Duration,
    /// Time for which the rest of a body that was refused is taken.
    pub rest_time: Duration,
    /// Bytes of memory that requests may hold together while they are read and their prompts are made.
    pub request_memory: usize,
    /// CPU time for the same that each key's requests may use, in percent of all cores.
    pub request_cpu: u32,
    /// Nesting of JSON in requests.
    pub json_depth: usize,
    /// Fields of a request's JSON that the server reads; those of schemas don't count.
    pub json_fields: usize,
    /// Messages of a request, or items of its input.
    pub messages: usize,
    /// Stop strings of a request.
    pub stop_strings: usize,
    /// Bytes of each.
    pub stop_string_bytes: usize,
    /// Choices for one prompt (`n`).
    pub choices: u32,
    /// Prompts of one completions request.
    pub prompts: usize,
    /// Answers that one request may ask for: its choices for all of its prompts. No more than half of what the engine computes at a
    /// time, so that nobody else has to wait until they end.
    pub sequences: usize,
    /// Alternatives that are told with a token.
    pub top_logprobs: u8,
    /// Tokens with a bias of their own.
    pub biased_tokens: usize,
    /// Texts that a request may ban.
    pub bad_words: usize,
    /// Bytes of each.
    pub bad_word_bytes: usize,
    /// Token ids of a request that end its answer.
    pub stop_tokens: usize,
    /// Tools of a request.
    pub tools: usize,
    /// JSON values that the tools of a request consist of, schemas and all.
    pub tool_values: usize,
    /// Bytes of the JSON schema of an answer: as many as the SDK's grammars take.
    pub schema_bytes: usize,
    /// Nesting of it.
    pub schema_depth: usize,
    /// CPU time that masks of a constrained answer may take, for each of its tokens on average; what 200 tokens may take is free.
    pub mask_time: Duration,
    /// Metadata keys of a request.
    pub metadata: usize,
    /// Prompt text longer than this many bytes per token of context is refused before it is tokenised.
    pub prompt_bytes_per_token: usize,
    /// Instructions that a chat template may run.
    pub template_fuel: u64,
    /// Bytes that a chat template may write beyond those of the request.
    pub template_output: usize,
    /// Steps that may wait between engine and client, per stream.
    pub stream_queue: usize,
    /// Requests that may wait for the engine.
    pub waiting_requests: usize,
    /// A client that reads nothing for this long is cut off.
    pub slow_reader: Duration,
    /// A comment is sent after this much silence.
    pub keep_alive: Duration,
    /// A protocol heartbeat is sent after this much silence.
    pub heartbeat: Duration,
    /// Time that streams get to end when the server is told to stop.
    pub grace: Duration,
    /// Kernel send buffer of a connection.
    pub send_buffer: usize,
    /// Bounds of a parser.
    pub parser: ParserLimits,
    /// Bounds of tools that the server runs.
    pub mcp: McpLimits,
    /// Bounds of engines elsewhere.
    pub remote: RemoteLimits,
}

/// What tools that the server runs may use.
#[derive(Debug, Clone)]
pub struct McpLimits {
    /// Time for a tool server to start and to list its tools.
    pub start_time: Duration,
    /// Time of one call where the operator's file doesn't say.
    pub call_time: Duration,
    /// Bytes of one message of a tool server.
    pub message_bytes: usize,
    /// Bytes of a call's output that the model reads.
    pub output_bytes: usize,
    /// Tools taken of one server.
    pub tools_per_server: usize,
    /// Calls to one server at a time.
    pub calls_per_server: usize,
    /// Calls of one answer at a time.
    pub calls_at_once: usize,
    /// Turns of one answer.
    pub rounds: usize,
}

/// How long engines elsewhere are waited for.
#[derive(Debug, Clone)]
pub struct RemoteLimits {
    /// Time for a connection to be made.
    pub connect_time: Duration,
    /// Time from a request to its first token; another engine is asked then.
    pub first_token_time: Duration,
    /// Time between two tokens.
    pub token_time: Duration,
    /// Other engines that are asked for an answer that hasn't begun.
    pub retries: usize,
    /// Time between two looks at an engine's health.
    pub health_time: Duration,
}

/// What a parser may use.
#[derive(Debug, Clone)]
pub struct ParserLimits {
    /// Bytes of a plugin file.
    pub file_bytes: u64,
    /// Bytes of linear memory.
    pub memory_bytes: usize,
    /// CPU time of one call.
    pub call_time: Duration,
    /// CPU time of making one grammar.
    pub grammar_time: Duration,
    /// CPU time of all calls, in percent of the stream's time; what 200 calls may use is free.
    pub stream_share: u32,
    /// Bytes of Wasm stack.
    pub stack_bytes: usize,
    /// Bytes that one call may hand back.
    pub hostcall_fuel: usize,
    /// Ops of one step.
    pub ops: usize,
    /// Bytes that may be held undecided.
    pub held_bytes: usize,
}

/// A conversation may have so many times the text of the longest prompt: templates leave out reasoning of earlier turns.
const UNSEEN_TEXT: usize = 4;

impl Limits {
    /// Bytes of the longest prompt that is tokenised, for a context of so many tokens.
    pub fn prompt_bytes(&self, context: usize) -> usize {
        context.saturating_mul(self.prompt_bytes_per_token)
    }

    /// Bytes of text that a conversation may have before it is rendered; its tools may have as many again.
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
            body_time: Duration::from_mins(1),
            rest_time: Duration::from_secs(2),
            request_memory: 256 << 20,
            request_cpu: 50,
            json_depth: 64,
            json_fields: 1 << 17,
            messages: 1 << 14,
            stop_strings: 16,
            stop_string_bytes: 1024,
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
            metadata: 16,
            prompt_bytes_per_token: 8,
            template_fuel: 5_000_000,
            template_output: 64 << 20,
            stream_queue: 64,
            waiting_requests: 1024,
            slow_reader: Duration::from_secs(30),
            keep_alive: Duration::from_secs(5),
            heartbeat: Duration::from_secs(15),
            grace: Duration::from_secs(30),
            send_buffer: 128 << 10,
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
            message_bytes: 16 << 20,
            output_bytes: 1 << 20,
            tools_per_server: 128,
            calls_per_server: 16,
            calls_at_once: 8,
            rounds: 32,
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
        }
    }
}

impl Default for ParserLimits {
    fn default() -> Self {
        Self {
            file_bytes: 32 << 20,
            memory_bytes: 16 << 20,
            call_time: Duration::from_millis(5),
            grammar_time: Duration::from_millis(250),
            stream_share: 5,
            stack_bytes: 256 << 10,
            hostcall_fuel: 1 << 20,
            ops: 4096,
            held_bytes: 1 << 20,
        }
    }
}
