//! Bounds of what a model serves, with their default values, and the rows of those that the operator
//! can change.

use std::time::Duration;

use accounts::AccountLimits;
use parsers::ParserLimits;
use prompt::PromptLimits;
use remote::RemoteLimits;

/// Maximum number of blocking threads, which make prompts: more would only compete for cores with
/// each other and with the engine. Half of them may compile grammars.
pub const PROMPT_THREADS: usize = 16;

bounds::limits! {
    /// Bounds of queues and masks; those of requests' accounts, prompts, parsers and remote engines.
    ModelLimits, "Limits":

    mask_time: Duration = Duration::from_millis(5), "mask-time", Milliseconds, 1..=10_000, "Average CPU time per token for the masks of a constrained answer, beyond the allowance of 100 tokens";
    waiting_requests: usize = 1024, "max-waiting", Count("ANSWERS"), 1..=1_000_000, "Answers that may be queued for the engine; further requests get 429. With several keys, one may have half of the places at most";
    stream_queue: usize = 64, "stream-queue", Count("STEPS"), 1..=65_536, "Steps of an answer that may be queued for a slow client; while the queue is full, the engine pauses the answer";
    /// Bounds of what requests may use before an answer begins.
    accounts: AccountLimits = AccountLimits::default();
    /// Bounds of a parser.
    parser: ParserLimits = ParserLimits::default();
    /// Bounds of remote engines.
    remote: RemoteLimits = RemoteLimits::default();
    /// Bounds of prompts.
    prompt: PromptLimits = PromptLimits::default();
}
