//! Engines elsewhere: vLLM, SGLang or llama.cpp behind a URL generate, and everything else stays here.
//!
//! `engine` is trait `Engine` over all engines of a model; `routing` chooses one for a request; `wire/` has what each kind speaks;
//! `stream` reads an answer; `probe` and `watch` find out what is there.
//! Invariants: token ids go out and come in, so that templates, parsers and control tokens are this server's; what an engine can't follow is
//! refused by name and never left out; nothing that is sent to one engine is sent to another once a token of its answer was read.

mod abort;
mod attempt;
mod engine;
mod facts;
mod load;
mod metrics;
mod options;
mod pool;
mod probe;
mod reading;
mod request;
pub mod routing;

mod stream;
mod upstream;
mod vocabulary;
mod watch;
mod wire;
mod words;

use std::time::Duration;

pub use engine::{RemoteEngine, RemoteError, RemoteModel};
pub(crate) use metrics::describe;
pub use options::{EngineKey, EngineList, EngineUrl, RemoteOptions};
pub use probe::ProbeError;
pub(crate) use upstream::{connection_words, read_body};
pub use wire::EngineKind;

/// Time for an engine to say something of itself.
const PROBE_TIME: Duration = Duration::from_secs(5);
/// Time for an answer of one token, which may wait behind others.
const PROBE_ANSWER_TIME: Duration = Duration::from_mins(1);
