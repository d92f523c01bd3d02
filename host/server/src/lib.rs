//! Answers under way (`answer`), and HTTP around them (`http`).
#![doc = include_str!("../DESIGN.md")]

pub mod answer;
pub mod http;
pub mod traces;
