//! A job: a protocol's request to a model for one turn, in types that belong to no protocol.

use grammar::Demand;
use net::trace::Trace;
use prompt::Conversation;

use super::affinity::{ChainName, ClientSession};

/// Request for one turn.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Job {
    /// Messages and tools, for the template.
    pub conversation: Conversation,
    /// Text that the model's output continues.
    pub beginning: Beginning,
    /// What calls and answer have to be. With [`grammar::ToolChoice::None`] tools aren't shown to
    /// the model either.
    pub demand: Demand,
    /// Arguments of the chat template beside messages and tools (scalars), e.g. `enable_thinking`.
    pub template_arguments: Vec<(String, serde_json::Value)>,
    /// Sampling parameters that the request sets; the others are the model's defaults.
    pub sampling: SamplingRequest,
    /// Number of likeliest alternatives to report with each token of a message; `None`: no
    /// log-probabilities at all.
    pub logprobs: Option<u8>,
    /// Whether the prompts are shown before their answers, with log-probabilities if `logprobs`
    /// asks for them ([`super::Echo`]).
    pub echo: bool,
    /// Most tokens of reasoning, behind which it ends; `None`: no bound of its own.
    pub reasoning_budget: Option<u32>,
    /// Whether its reasoning may be ended while it runs ([`super::ReasoningStop`]).
    pub may_cut_reasoning: bool,
    /// Most generated tokens; `None`: as many as the context has room for.
    pub max_output_tokens: Option<u32>,
    /// Treatment of a prompt that is too long.
    pub truncation: Truncation,
    /// Whether to keep the raw tokens of prompt and output, with all markup
    /// ([`super::TurnStream::take_raw`]).
    pub raw: bool,
    /// Stop strings, which end a message. They are shown only with
    /// [`SamplingRequest::include_stop`].
    pub stop: Vec<String>,
    /// The client's key (`prompt_cache_key`) for requests with the same beginning, which becomes
    /// part of their affinity. `None`: only the beginning counts.
    pub cache_key: Option<String>,
    /// The session or the conversation that the client says the job is of, which becomes part of
    /// their affinity, before the key.
    pub session: Option<ClientSession>,
    /// The client's salt for the prefix cache: requests with another salt share no blocks with this
    /// one. `None`: the key's own.
    pub cache_salt: Option<String>,
    /// Priority: waiting requests with a lower number begin first. 0 is usual.
    pub priority: i32,
    /// Trace that the answer belongs to, if it is one of a trace.
    pub trace: Option<Trace>,
}

impl Job {
    /// What the client calls the chain that the job is of: its session before its key.
    pub(super) fn chain_name(&self) -> Option<ChainName<'_>> {
        let session = self.session.map(ChainName::Session);
        session.or_else(|| self.cache_key.as_deref().map(ChainName::Key))
    }
}

/// Treatment of a prompt that leaves no room for an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Truncation {
    /// The request is refused.
    #[default]
    Disabled,
    /// The oldest messages after the instructions are dropped until the prompt fits; the last ones
    /// stay.
    Auto,
    /// As `Auto`, for a conversation whose last message is about all others: they are shortened as
    /// if it weren't there, and it stays.
    BeforeLast,
}

/// Text that the model's output continues.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Beginning {
    /// The model answers the conversation's last message.
    #[default]
    Answer,
    /// The model continues the conversation's last message, which is its own.
    ContinueLast,
    /// The model continues each of these prompts, without template and parser: all output is text.
    Raw(Vec<RawPrompt>),
}

/// A whole prompt that the client wrote, control tokens included.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RawPrompt {
    /// Text in which the literals of added tokens are encoded as those tokens.
    Text {
        /// Text of the prompt.
        text: String,
        /// Whether the tokenizer adds its special tokens at the ends of the text (such as BOS).
        special: bool,
    },
    /// Token ids of the prompt.
    Tokens(Vec<u32>),
}

/// Sampling parameters of the request; the protocol has checked their ranges. Names and meanings
/// are vLLM's (`SamplingParams`).
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SamplingRequest {
    /// Temperature; 0 is greedy.
    pub temperature: Option<f32>,
    /// Probability mass of the nucleus, in (0, 1].
    pub top_p: Option<f32>,
    /// Number of likeliest tokens to sample from; 0 is all.
    pub top_k: Option<u32>,
    /// Least probability of a token, as a share of the likeliest one's; 0 allows all.
    pub min_p: Option<f32>,
    /// Seed of the first choice; each further choice has the next number. `None`: a random seed for
    /// each.
    pub seed: Option<u64>,
    /// Subtracted from the logit of each token that was generated; 0 changes nothing.
    pub presence_penalty: f32,
    /// Subtracted from the logit of a token for each time that it was generated; 0 changes nothing.
    pub frequency_penalty: f32,
    /// Divides the positive logits of tokens in prompt and output, and multiplies the negative
    /// ones; 1 changes nothing.
    pub repetition_penalty: Option<f32>,
    /// Biases added to the logits of single tokens: (id, bias).
    pub logit_bias: Vec<(u32, f32)>,
    /// Texts that must not occur in the output.
    pub bad_words: Vec<String>,
    /// Token ids that end the turn, in addition to the model's and the parser's.
    pub stop_token_ids: Vec<u32>,
    /// Whether only `stop_token_ids` end the turn, and not the model's and the parser's end tokens.
    pub ignore_eos: bool,
    /// Number of tokens before which neither a token nor a stop string ends the turn.
    pub min_tokens: u32,
    /// Whether the stop string that ended a message is shown.
    pub include_stop: bool,
    /// Number of choices for each prompt; `None`: one.
    pub n: Option<u32>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chain_is_named_by_the_session_before_the_key() {
        let (session, key) = (ClientSession::named(b"s"), "k");
        let job = |session: Option<ClientSession>, key: Option<&str>| Job {
            session,
            cache_key: key.map(str::to_owned),
            ..Job::default()
        };
        assert_eq!(job(Some(session), Some(key)).chain_name(), Some(ChainName::Session(session)));
        assert_eq!(job(None, Some(key)).chain_name(), Some(ChainName::Key(key)));
        assert_eq!(job(None, None).chain_name(), None);
    }
}
