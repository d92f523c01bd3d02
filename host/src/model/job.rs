//! What a protocol asks of a model: one turn, in no protocol's words.

use crate::parser::contract::{Grammar, Tool, ToolChoice};
use crate::prompt::Conversation;

/// One turn to generate.
#[derive(Debug, Clone, PartialEq)]
pub struct Job {
    /// Messages and tools, for the template.
    pub conversation: Conversation,
    /// What the model goes on from.
    pub beginning: Beginning,
    /// The same tools, for the parser.
    pub tools: Vec<Tool>,
    /// Which of them may be called. `None` means that tools aren't shown to the model either.
    pub tool_choice: ToolChoice,
    /// Whether several calls in one turn are allowed.
    pub parallel_tool_calls: bool,
    /// Arguments of the chat template beside messages and tools (scalars), e.g. `enable_thinking`.
    pub template_arguments: Vec<(String, serde_json::Value)>,
    /// What the request says of sampling; the model's defaults fill the rest.
    pub sampling: SamplingRequest,
    /// Likeliest alternatives to tell with each token of a message; none: no log-probabilities at all.
    pub logprobs: Option<u8>,
    /// Bound on generated tokens; none: what the context leaves.
    pub max_output_tokens: Option<u32>,
    /// What happens to a prompt that is too long.
    pub truncation: Truncation,
    /// Whether the turn's tokens are wanted as they are, markup and all ([`super::TurnStream::take_raw`]).
    pub raw: bool,
    /// Texts that end a message (not shown).
    pub stop: Vec<String>,
    /// JSON schema that the answer must satisfy where it is no call.
    pub response_schema: Option<String>,
    /// Grammar of such an answer instead: `lark` or `regex`.
    pub response_grammar: Option<Grammar>,
    /// Requests with the same key begin alike; none: those that do.
    pub cache_key: Option<String>,
    /// Who comes first where answers wait: the lower number. 0 is usual.
    pub priority: i32,
}

/// What happens to a prompt that leaves no room for an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Truncation {
    /// It is refused.
    #[default]
    Disabled,
    /// The oldest messages after the instructions are left out until it fits; the last ones stay.
    Auto,
}

/// What the model goes on from.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Beginning {
    /// It answers the conversation's last message.
    #[default]
    Answer,
    /// It goes on with the conversation's last message, which is its own.
    ContinueLast,
    /// It goes on with each of these. No template, and no parser: what it writes is text.
    Raw(Vec<RawPrompt>),
}

/// A prompt as the client wrote it. Control tokens are the client's own to write here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RawPrompt {
    /// Text in which the literals of added tokens are those tokens.
    Text {
        /// The text.
        text: String,
        /// Whether the tokenizer adds what it begins and ends texts with (BOS).
        special: bool,
    },
    /// Token ids.
    Tokens(Vec<u32>),
}

/// Sampling as the request asks for it; ranges were checked by the protocol. Names and meanings are vLLM's (`SamplingParams`).
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SamplingRequest {
    /// 0 is greedy.
    pub temperature: Option<f32>,
    /// Nucleus, in (0, 1].
    pub top_p: Option<f32>,
    /// The k likeliest; 0 is all.
    pub top_k: Option<u32>,
    /// Only tokens with at least this share of the likeliest one's probability; 0 is all.
    pub min_p: Option<f32>,
    /// Seed of the first choice, each further one has the next number; none: a fresh one for each.
    pub seed: Option<u64>,
    /// Subtracted from the logit of each token that came; 0 is nothing.
    pub presence_penalty: f32,
    /// Subtracted from the logit of a token for each time that it came; 0 is nothing.
    pub frequency_penalty: f32,
    /// Divides the logits of tokens in prompt and output; 1 is nothing.
    pub repetition_penalty: Option<f32>,
    /// Added to the logits of single tokens.
    pub logit_bias: Vec<(u32, f32)>,
    /// Texts that must not be written.
    pub bad_words: Vec<String>,
    /// Ids that end the turn, beside the model's and the parser's.
    pub stop_token_ids: Vec<u32>,
    /// Whether a stop text that came is shown.
    pub include_stop: bool,
    /// Choices for each prompt; none: one.
    pub n: Option<u32>,
}
