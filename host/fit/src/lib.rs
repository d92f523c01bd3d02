//! Compares a parser with a model's chat template: the template writes probes, and the parser has
//! to read them.
//!
//! Invariant: a probe counts as `same` or `differs` only if the place where the model's turn begins
//! is certain and the template shows all of the probe. Called by `host parser fit`.
#![doc = include_str!("../DESIGN.md")]

mod check;
mod conversation;
mod cut;
mod derive;
mod losses;
mod play;
mod probes;
mod recorded;
mod report;
mod template;
mod writer;

pub use check::{Material, check};
pub use derive::{
    Arguments, Cases, Confidence, Delimiters, Derivation, DerivedCalls, DerivedFormat, FormatPart, Inferred,
    Underivable, Underived, cases, derive,
};
pub use recorded::{Recorded, RecordedOutput};
pub use report::{CaseReport, Difference, Fit, FitVerdict, ProbeReport, RecordedReport};
pub use template::ChatTemplateError;
