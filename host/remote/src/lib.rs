//! Remote engines: vLLM, SGLang or llama.cpp behind a URL generate tokens; everything else happens
//! in this server.
//!
//! `engine` implements `Engine` over all engines of a model; `routing` chooses one for a request;
//! `wire/` has the protocol of each kind; `stream` reads an answer; `probe` and `watch` find out
//! which engines there are and what they can do. Invariants: requests and answers are token ids, so
//! templates, parsers and control tokens are this server's. A field that an engine can't follow is
//! refused by its name and never left out. A request goes to no second engine once a token of its
//! answer was read.
#![doc = include_str!("../DESIGN.md")]

mod abort;
mod attempt;
mod engine;
mod facts;
mod identity;
mod kind;
mod limits;
mod load;
mod metrics;
mod options;
mod pattern;
mod pool;
mod probe;
mod reading;
mod request;
pub mod routing;
mod schema;
mod stream;
mod tokens;
mod upstream;
mod vocabulary;
mod watch;
mod wire;
mod words;

use std::time::Duration;

pub use engine::{RemoteEngine, RemoteError, RemoteModel};
pub use kind::EngineKind;
pub use limits::RemoteLimits;
pub use metrics::METRICS;
pub use options::{EngineList, RemoteOptions};
pub use probe::{PROBE_HEADER, ProbeError};

/// Time limit of a probe that generates one token; the engine may have to queue it.
const PROBE_ANSWER_TIME: Duration = Duration::from_mins(1);
