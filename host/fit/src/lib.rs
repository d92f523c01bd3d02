//! Compares a parser with a model's chat template: the template writes probes, and the parser has
//! to read them.
//!
//! Invariant: a probe counts as `same` or `differs` only if the place where the model's turn begins
//! is certain and the template shows all of the probe. Called by `host parser fit`.
#![doc = include_str!("../DESIGN.md")]

mod check;
mod cut;
mod play;
mod probes;
mod report;
mod template;

pub use check::check;
pub use report::{Difference, Fit, ProbeReport, Verdict};
pub use template::TemplateError;
