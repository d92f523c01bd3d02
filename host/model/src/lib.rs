//! A served model: joins prompts, parser and engine, so that a protocol passes a job and gets a
//! turn.
//!
//! Knows no protocol and no HTTP. Models are loaded once at start (`Models::load`); `Model::start`
//! or `start_choices` is called once per answer. Only the parser may change while a model serves
//! (`parsers`).
#![doc = include_str!("../DESIGN.md")]

mod affinity;
mod answer_context;
mod choices;
mod config;
mod constraint;
mod context_cut;
mod devices;
mod echo;
mod error;
mod examination;
mod failure;
#[cfg(test)]
pub(crate) mod fixture;
mod generate;
mod job;
pub mod limits;
mod load;
mod load_error;
mod load_progress;
mod locate;
mod memory;
mod models;
pub mod observe;
mod opening_state;
mod options;
mod parsers;
mod prepared;
mod raw;
mod reasoning_stop;
pub mod record;
pub mod replay;
mod runner;
mod served;
mod shared;
mod source;
mod start;
mod template_files;
mod text;
mod tokenize;
pub mod trace;
mod traced_prompt;

pub use ::parsers::shipped::{find_parser, shipped_parsers, table_of, tables};
pub use affinity::ClientSession;
pub use answer_context::{AnswerContext, GenerationNumber};
pub use choices::Choices;
pub use devices::LocalDevices;
pub use echo::{Echo, EchoedToken};
pub use engine::EngineStats;
pub use error::{ConstraintField, StartError};
pub use examination::{Examination, ExaminedParser, Examiner, MemoryNeed};
pub use generate::{EndedTurn, TurnStream};
pub use grammar::CallForm;
pub use job::{Beginning, Job, RawPrompt, SamplingRequest, Truncation};
pub use load_error::ModelLoadError;
pub use load_progress::LoadProgress;
pub use locate::{NotFound, default_name};
pub use memory::free_memory;
pub use models::Models;
pub use options::{KvCacheBytes, LoadFormat, ModelOptions};
pub use parsers::{
    CandidateOutcome, CandidateReport, LastLoad, LoadResult, Loads, ParserReport, Pin, PinError, SelectError,
    Serving,
};
pub use raw::{RawStep, RawText, RawTurn};
pub use reasoning_stop::{NotStopped, ReasoningStop};
pub use runner::{RunnerOptions, load_runner};
pub use served::{EffortLevel, Efforts, Model, Written, WrittenParser};
pub use shared::SharedOptions;
pub use source::EngineChoice;
pub use template_files::TemplateFiles;
pub use tokenize::{Tokenized, TokenizerInfo};
