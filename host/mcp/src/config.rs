//! Configuration of tool servers, from the operator's file (`config_file`) or from a request, after
//! its checks.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use http::{HeaderName, HeaderValue};
use serde::Deserialize;

/// Configuration of all tool servers.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct McpConfig {
    /// Servers by the label that requests name.
    pub servers: BTreeMap<String, ServerConfig>,
    /// Label of the server behind `web_search` (tools `search`, `open`, `find`).
    pub web_search: Option<String>,
    /// Label of the server behind `code_interpreter` (a tool `python`).
    pub code_interpreter: Option<String>,
}

/// Configuration of one server.
#[derive(Debug, Clone, PartialEq)]
pub struct ServerConfig {
    /// How the server is reached.
    pub endpoint: Endpoint,
    /// Tools that may be used; none: all.
    pub allowed_tools: Option<Vec<String>>,
    /// Whether calls wait for the client's approval, if the request doesn't say.
    pub require_approval: Approval,
    /// Time limit of one call; none: the default of all servers.
    pub timeout: Option<Duration>,
}

/// How a server is reached.
#[derive(Debug, Clone, PartialEq)]
pub enum Endpoint {
    /// A child process that speaks over its standard input and output.
    Command {
        /// Program, looked up in `PATH`.
        command: String,
        /// Arguments of the program.
        args: Vec<String>,
        /// Environment variables, besides the few that every program gets.
        env: Vec<(String, String)>,
    },
    /// A server behind a URL.
    Url(UrlEndpoint),
}

/// Endpoint of a server behind a URL.
#[derive(Debug, Clone, PartialEq)]
pub struct UrlEndpoint {
    /// URL with the scheme `http` or `https`.
    pub url: String,
    /// Transport that the server speaks.
    pub transport: UrlTransport,
    /// Headers of every request.
    pub headers: Vec<(HeaderName, HeaderValue)>,
    /// File of CA certificates (PEM) to trust instead of the system's; read at every connect.
    pub ca_file: Option<PathBuf>,
}

impl UrlEndpoint {
    /// Endpoint with a URL and defaults for everything else.
    pub fn new(url: impl Into<String>) -> Self {
        Self { url: url.into(), transport: UrlTransport::default(), headers: Vec::new(), ca_file: None }
    }
}

/// Transport of a server behind a URL.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum UrlTransport {
    /// Streamable HTTP, or server-sent events if the server refuses it.
    #[default]
    Either,
    /// Streamable HTTP.
    Streamable,
    /// HTTP with server-sent events, the protocol's transport of 2024.
    Sse,
}

/// Whether calls wait for the client's approval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Approval {
    /// Calls run at once.
    Never,
    /// Calls wait for approval, which is also the protocol's default.
    #[default]
    Always,
}
