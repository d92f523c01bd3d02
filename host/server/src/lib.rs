//! Requests that are accepted (`accept`), answers under way (`answer`), what is stored of them
//! (`state`), and the transports around them (`http`, `ws`).
#![doc = include_str!("../DESIGN.md")]

pub mod accept;
pub mod answer;
pub mod http;
mod inspector;
mod limits;
mod page;
mod page_files;
pub mod server_metrics;
pub mod state;
pub mod traces;
mod ws;

pub use limits::{HttpLimits, ServerLimits};
