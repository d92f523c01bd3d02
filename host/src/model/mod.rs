//! A served model: prompt room, parser and engine joined, so that a protocol hands in a job and takes out a turn.
//!
//! Knows no protocol and no HTTP. Made once at start (`Models::load`); `Model::start` or `start_choices` once per answer.
//! What may change while it serves is its parser (`parsers`).

mod affinity;
mod choices;
mod config;
mod constraint;
mod devices;
mod error;
#[cfg(test)]
mod fixture;
mod generate;
mod job;
mod load;
mod load_error;
mod locate;
mod models;
mod options;
mod parsers;
mod raw;
mod runner;
mod served;
mod shared;
mod shipped;
mod source;
mod standing;
mod start;
mod text;
mod words;

pub use choices::Choices;
pub use devices::LocalDevices;
pub use error::{ConstraintField, StartError};
pub use generate::{EndedTurn, TurnStream};
pub use job::{Beginning, Job, RawPrompt, SamplingRequest, Truncation};
pub use load_error::ModelLoadError;
pub use locate::{NotFound, default_name};
pub use models::Models;
pub use options::{KvCacheBytes, LoadFormat, ModelOptions};
pub use parsers::{
    CandidateReport, LastLoad, LoadResult, Loads, Outcome, ParserReport, Pin, PinError, SelectError, Serving,
};
pub use raw::{RawText, RawTurn};
pub use runner::{RunnerOptions, load_runner};
pub use served::Model;
pub use shared::SharedOptions;
pub use shipped::{find_parser, shipped_parsers};
pub use source::EngineChoice;
pub use words::Tokenized;
