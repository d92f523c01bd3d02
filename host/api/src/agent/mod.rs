//! Answers of several turns: generate → run the calls of the server's tools → continue, until a
//! turn calls none of them.
//!
//! [`AnswerStream`] has the shape of a turn (`next`, `abort`). It passes on the events of its
//! turns, with the events of the server's tools between them, in plain values. Knows no protocol
//! and no HTTP; `http::stream` drives it, `api` reads requests into [`Hosted`] and makes items of
//! [`ServerEvent`].
#![doc = include_str!("DESIGN.md")]

mod agent_loop;
mod answer_stream;
mod calls;
mod clearing;
mod compaction;
mod domains;
mod event;
mod hosted;
mod listing;
mod route;
mod search;
mod toolbox;
mod transcript;
mod turn_record;
mod web_results;

pub use agent_loop::Refusal;
pub use answer_stream::AnswerStream;
pub use clearing::{Cleared, ClearedResults, Clearing, ToolInputs, Trigger, clear};
pub(crate) use compaction::summary_job;
pub use compaction::{Compaction, DEFAULT_PROMPT, Occasion, compact};
pub use domains::{Domain, Domains};
pub use event::{AnswerEvent, AnswerEventRef, CallKind, Called, CompactionEvent, Consent, ServerEvent};
pub use hosted::{ApprovalRule, Approved, ForcedTool, Hosted, HostedToolKind, HostedTools};
pub use search::{DeferredTool, ToolSearch};
pub(crate) use search::{NOTHING_FOUND, SEARCH};
pub(crate) use toolbox::{BROWSER_SEARCH, PYTHON, WEB_SEARCH};
pub(crate) use turn_record::TOO_MANY;
pub(crate) use web_results::WebResult;
