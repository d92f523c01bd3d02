//! Answers under way (`answer`), and HTTP around them (`http`).

pub mod answer;
pub mod http;
