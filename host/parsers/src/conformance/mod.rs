//! Conformance tests of parsers: plays recorded turns ([`Recording`]) to a parser as the server
//! would, through the sandbox and the real [`turn::Turn`], and checks the properties that every
//! parser must have. `docs/cases.md` describes the format of the recordings.
//!
//! [`test()`] checks every property over a list of case files and returns a [`Report`];
//! [`play_case`] and [`trace`] show one turn, [`cost()`] measures the CPU time of a delta.
//! Invariant: a finding has its number of checks, and a property without checks doesn't count as
//! kept. A chunking that breaks split invariance or truncation is reported as the smallest one
//! found. Only `subject` knows where parsers come from: everything else runs on any [`Subject`], so
//! that the tests can show each property failing. The command line calls this module.

mod case_file;
mod compare;
mod cost;
mod coverage;
mod demanded;
mod grammars;
mod growth;
mod ledger;
mod limits;
mod lost_quote;
mod nothing_lost;
mod play;
mod properties;
mod recording;
mod report;
mod samples;
mod shapes;
mod shrink;
mod silence;
mod splits;
mod stretch;
mod subject;
mod suite;
mod tape;
mod thresholds;
mod trace;
mod truncation;
pub mod walk;

pub use crate::trace::{CallInput, ParserCall};
pub use cost::{Cost, cost};
pub use demanded::{TextJudge, satisfies};
pub use grammars::walked_cases;
pub use play::{Outcome, play_case};
pub use recording::Recording;
pub use report::{Failure, Finding, Property, Report};
pub use subject::{Measures, ParserSource, Sandboxed, Start, Subject, TurnCheck};
pub use suite::{test, test_recordings};
pub use trace::{TracedStep, trace};

#[cfg(test)]
mod tests;
