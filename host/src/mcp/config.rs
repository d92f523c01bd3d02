//! The tool servers that there are: what the operator's file (`config_file`) or a request says, checked.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use http::{HeaderName, HeaderValue};
use serde::Deserialize;

/// All servers, by label.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct McpConfig {
    /// The servers, by the label that requests name.
    pub servers: BTreeMap<String, ServerConfig>,
    /// Label of the one behind `web_search` (tools `search`, `open`, `find`).
    pub web_search: Option<String>,
    /// Label of the one behind `code_interpreter` (a tool `python`).
    pub code_interpreter: Option<String>,
}

/// One server.
#[derive(Debug, Clone, PartialEq)]
pub struct ServerConfig {
    /// Where it is.
    pub endpoint: Endpoint,
    /// Tools that may be used; none: all.
    pub allowed_tools: Option<Vec<String>>,
    /// Whether calls wait for the client's approval where the request doesn't say.
    pub require_approval: Approval,
    /// Time of one call; none: the server's default.
    pub timeout: Option<Duration>,
}

/// How a server is reached.
#[derive(Debug, Clone, PartialEq)]
pub enum Endpoint {
    /// A child process that speaks over its standard input and output.
    Command {
        /// Program, looked up in `PATH`.
        command: String,
        /// Its arguments.
        args: Vec<String>,
        /// All of its environment but for the few variables that every program gets.
        env: Vec<(String, String)>,
    },
    /// Behind a URL.
    Url(UrlEndpoint),
}

/// A server behind a URL.
#[derive(Debug, Clone, PartialEq)]
pub struct UrlEndpoint {
    /// `http` or `https`.
    pub url: String,
    /// What is spoken there.
    pub transport: UrlTransport,
    /// Sent with every request.
    pub headers: Vec<(HeaderName, HeaderValue)>,
    /// Certificates (PEM) that are trusted there in place of the system's; read at every connect.
    pub ca_file: Option<PathBuf>,
}

impl UrlEndpoint {
    /// A URL without anything else.
    pub fn new(url: impl Into<String>) -> Self {
        Self { url: url.into(), transport: UrlTransport::default(), headers: Vec::new(), ca_file: None }
    }
}

/// What is spoken behind a URL.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum UrlTransport {
    /// Streamable HTTP, or server-sent events where that is refused.
    #[default]
    Either,
    /// Streamable HTTP.
    Streamable,
    /// HTTP with server-sent events, as the protocol had it in 2024.
    Sse,
}

/// Whether calls wait for the client's approval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Approval {
    /// They run at once.
    Never,
    /// They wait; so does the protocol's own default.
    #[default]
    Always,
}
