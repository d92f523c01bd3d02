//! Tools that the server runs, over the Model Context Protocol: the operator's servers, their
//! connections, lists and calls.
//!
//! Knows no client protocol, no model and no job. A tool server that dies, hangs, or answers
//! garbage or far too much causes a [`McpError`] of the current call, within its limits of time and
//! memory; the next call opens a new connection. `api::agent` calls it; `cli::serve` reads the
//! configuration.
#![doc = include_str!("../DESIGN.md")]

mod allowance;
mod bounded;
mod client;
mod config;
mod config_file;
mod endpoint;
mod error;
mod http;
mod limits;
mod metered_client;
mod metrics;
mod output;
mod request_url;
mod screen;
mod server;
mod servers;
mod sse;
mod stdio;
mod values;

pub use config::{Approval, Endpoint, McpConfig, ServerConfig, UrlEndpoint, UrlTransport};
pub use config_file::ConfigError;
pub use error::McpError;
pub use limits::McpLimits;
pub use metrics::METRICS;
pub use request_url::{RequestUrls, UrlError};
pub use server::{McpServer, McpTool};
pub use servers::{McpServers, RequestServerError};
