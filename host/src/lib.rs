//! Sluice's server as a library; the binary `host` is a thin command line over it.

#![warn(clippy::print_stderr)]

pub mod accounts;
pub mod agent;
pub mod answer;
pub mod api;
pub mod bench;
pub mod http;
pub mod limits;
pub mod mask;
pub mod mcp;
pub mod model;
pub mod printable;
pub mod prompt;
pub mod remote;
pub mod replay;
mod sse;
mod tls;
