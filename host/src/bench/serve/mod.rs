//! Load on a server that speaks OpenAI's API, and what its clients see of it.
//!
//! Invariants: what is sent follows from the options and the seed, not from what others answer (but for conversations, which go on with their own
//! answers); tokens are counted by the server; a time begins when a request is sent. Called by `host bench serve`.

mod api;
mod conversations;
mod exchange;
mod failure;
mod load;
mod plot;
mod record;
mod report;
mod target;
mod words;

pub use api::Api;
pub use conversations::Conversations;
pub use failure::Failure;
pub use load::{Arrivals, Load, Progress, run};
pub use record::{Figures, Record, Tokens};
pub use report::{Quantiles, Report, TurnReport};
pub use target::{Target, TargetOptions};
