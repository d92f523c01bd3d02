//! Answers under way (`answer`), and HTTP around them (`http`).
#![doc = include_str!("../DESIGN.md")]

pub mod answer;
pub mod http;
mod limits;
pub mod traces;

pub use limits::{HttpLimits, Limits};
