//! Benchmarks: of a model on this machine (`model`), and of any server behind a URL (`serve`).
//!
//! They print nothing: their results are values, rows of CSV, and plots. Called by `host bench`.
#![doc = include_str!("../DESIGN.md")]

mod csv;
pub mod model;
pub mod serve;
mod svg;

pub use csv::Csv;
