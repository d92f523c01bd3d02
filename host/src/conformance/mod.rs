//! The conformance room: plays recorded turns ([`Recording`]) to a parser as the server would, through the sandbox and the real
//! [`crate::turn::Turn`], and proves what every parser must keep. `docs/cases.md` describes the format of the recordings.
//!
//! [`test()`] runs every property over a folder of cases and gives a [`Report`]; [`play_case`] and [`trace`] show one turn, [`cost()`] what a
//! delta takes.
//! Invariant: a property that is reported as kept was checked at least once, and one that isn't comes with the smallest chunking
//! found that breaks it. Only `subject` knows where parsers come from: everything else runs on any [`Subject`], so that the
//! tests can show each property failing. The command line calls it.

mod bars;
mod choices;
mod compare;
mod convert;
mod cost;
mod growth;
mod ledger;
mod limits;
mod play;
mod properties;
mod protocols;
mod record;
mod recording;
mod report;
mod shapes;
mod shrink;
mod silence;
mod splits;
mod stretch;
mod subject;
mod suite;
mod tape;
mod trace;
mod truncation;

pub use cost::{Cost, cost};
pub use play::{Outcome, play_case};
pub use protocols::{as_values, stream};
pub use record::{ParserCall, Question};
pub use recording::Recording;
pub use report::{Failure, Finding, Property, Report};
pub use subject::{Parsers, Sandboxed, Start, Subject};
pub use suite::test;
pub use trace::{TracedStep, trace};

#[cfg(test)]
mod tests;
