//! Benchmark of a server that speaks OpenAI's API, as its clients see it.
//!
//! Invariants: requests follow from the options and the seed, not from other answers (except in
//! conversations, which continue with their own answers). Tokens are counted by the server. All
//! times of a request start when it is sent. Called by `host bench serve`.

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
pub use failure::RequestFailure;
pub use load::{Arrivals, BenchProgress, Load, run};
pub use record::{Figures, RequestRecord, Tokens};
pub use report::{Quantiles, ServeReport, TurnReport};
pub use target::{BenchTarget, TargetOptions};
