//! The operator's file of tool servers: JSON, in the shape that MCP clients share (`mcpServers`), and what is ours beside it.
//!
//! ```json
//! {
//!   "mcpServers": {
//!     "time": { "command": "mcp-server-time", "args": ["--local-timezone", "UTC"], "require_approval": "never" },
//!     "docs": { "url": "https://docs.example.org/mcp", "headers_from_env": { "authorization": "DOCS_TOKEN" } }
//!   },
//!   "web_search": "browser",
//!   "code_interpreter": "python"
//! }
//! ```

use std::collections::BTreeMap;
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
    /// Streamable HTTP.
    Url {
        /// `http` or `https`.
        url: String,
        /// Sent with every request.
        headers: Vec<(HeaderName, HeaderValue)>,
    },
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

/// What is wrong with a configuration, in one line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ConfigError(String);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(alias = "mcpServers", default)]
    servers: BTreeMap<String, Entry>,
    web_search: Option<String>,
    code_interpreter: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    command: Option<String>,
    #[serde(default)]
    args: Vec<String>,
    #[serde(default)]
    env: BTreeMap<String, String>,
    #[serde(default)]
    env_from_env: BTreeMap<String, String>,
    url: Option<String>,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    #[serde(default)]
    headers_from_env: BTreeMap<String, String>,
    allowed_tools: Option<Vec<String>>,
    #[serde(default)]
    require_approval: Approval,
    timeout_seconds: Option<f32>,
}

impl McpConfig {
    /// Reads a file's text; `variable` looks up environment variables.
    pub fn parse(text: &str, variable: impl Fn(&str) -> Option<String>) -> Result<Self, ConfigError> {
        let file: File = serde_json::from_str(text).map_err(|error| ConfigError(error.to_string()))?;
        let named = |role: &str, label: Option<&String>| match label {
            Some(label) if !file.servers.contains_key(label) => {
                Err(ConfigError(format!("{role}: there is no server {label:?}")))
            }
            _ => Ok(()),
        };
        named("web_search", file.web_search.as_ref())?;
        named("code_interpreter", file.code_interpreter.as_ref())?;
        let mut servers = BTreeMap::new();
        for (label, entry) in file.servers {
            let server = check_label(&label).and_then(|()| entry.check(&variable));
            let server = server.map_err(|error| ConfigError(format!("servers.{label}: {error}")))?;
            servers.insert(label, server);
        }
        Ok(Self { servers, web_search: file.web_search, code_interpreter: file.code_interpreter })
    }
}

/// Labels stand in names of tools and in log lines.
fn check_label(label: &str) -> Result<(), String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    if label.is_empty() || label.len() > 64 || !label.chars().all(plain) {
        return Err("a label has 1 to 64 letters, digits, `_` or `-`".to_owned());
    }
    Ok(())
}

impl Entry {
    fn check(self, variable: &impl Fn(&str) -> Option<String>) -> Result<ServerConfig, String> {
        let timeout = self.timeout_seconds.map(Duration::try_from_secs_f32).transpose();
        let timeout = timeout.map_err(|_| "timeout_seconds: expected a positive number".to_owned())?;
        let endpoint = match (self.command, self.url) {
            (Some(command), None) => {
                let env = with_secrets(self.env, self.env_from_env, variable)?;
                Endpoint::Command { command, args: self.args, env }
            }
            (None, Some(url)) if url.starts_with("http://") || url.starts_with("https://") => {
                let headers = with_secrets(self.headers, self.headers_from_env, variable)?;
                Endpoint::Url { url, headers: headers.into_iter().map(header).collect::<Result<_, _>>()? }
            }
            (None, Some(_)) => return Err("url: expected http:// or https://".to_owned()),
            _ => return Err("needs either `command` or `url`, and not both".to_owned()),
        };
        let (allowed_tools, require_approval) = (self.allowed_tools, self.require_approval);
        Ok(ServerConfig { endpoint, allowed_tools, require_approval, timeout })
    }
}

/// `plain`, and `secret` with each value looked up in the environment.
fn with_secrets(
    plain: BTreeMap<String, String>,
    secret: BTreeMap<String, String>,
    variable: &impl Fn(&str) -> Option<String>,
) -> Result<Vec<(String, String)>, String> {
    let mut all: Vec<_> = plain.into_iter().collect();
    for (name, from) in secret {
        let value = variable(&from).ok_or(format!("the environment has no variable {from}"))?;
        all.push((name, value));
    }
    Ok(all)
}

/// A header, its value kept out of logs.
pub(super) fn header((name, value): (String, String)) -> Result<(HeaderName, HeaderValue), String> {
    let parsed = HeaderName::try_from(&name).map_err(|_| format!("{name:?} is no name of a header"))?;
    let mut value =
        HeaderValue::try_from(value).map_err(|_| format!("the value of header {name} can't be sent"))?;
    value.set_sensitive(true);
    Ok((parsed, value))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{Approval, Endpoint, McpConfig};

    fn parse(config: &Value) -> Result<McpConfig, String> {
        let variable = |name: &str| (name == "TOKEN").then(|| "s3cret".to_owned());
        McpConfig::parse(&config.to_string(), variable).map_err(|error| error.to_string())
    }

    #[test]
    fn a_file_names_children_and_urls_and_takes_secrets_from_the_environment() {
        let config = parse(&json!({
            "mcpServers": {
                "time": { "command": "mcp-server-time", "env": { "TZ": "UTC" }, "env_from_env": { "KEY": "TOKEN" },
                          "require_approval": "never", "timeout_seconds": 1.5 },
                "docs": { "url": "https://example.org/mcp", "headers_from_env": { "authorization": "TOKEN" } }
            },
            "web_search": "docs"
        }))
        .unwrap();
        let Endpoint::Command { env, .. } = &config.servers["time"].endpoint else { panic!("a child") };
        assert_eq!(env[1], ("KEY".to_owned(), "s3cret".to_owned()));
        assert_eq!(config.servers["time"].require_approval, Approval::Never);
        assert_eq!(config.servers["docs"].require_approval, Approval::Always);
        assert!(!format!("{:?}", config.servers["docs"]).contains("s3cret"), "a header is kept out of logs");
    }

    #[test]
    fn what_is_wrong_is_named_with_its_place() {
        let server = |entry: Value| json!({ "mcpServers": { "a": entry } });
        for (config, said) in [
            (server(json!({})), "servers.a: needs either"),
            (server(json!({ "command": "x", "url": "http://y" })), "servers.a: needs either"),
            (server(json!({ "url": "ftp://y" })), "servers.a: url"),
            (server(json!({ "command": "x", "env_from_env": { "A": "NONE" } })), "no variable NONE"),
            (server(json!({ "url": "http://y", "headers": { "a b": "c" } })), "no name of a header"),
            (server(json!({ "command": "x", "timeout_seconds": -1 })), "timeout_seconds"),
            (server(json!({ "command": "x", "nonsense": 1 })), "nonsense"),
            (json!({ "mcpServers": { "a b": { "command": "x" } } }), "a label has"),
            (json!({ "web_search": "none" }), "web_search: there is no server"),
        ] {
            let error = parse(&config).unwrap_err();
            assert!(error.contains(said), "{config}: {error}");
        }
    }
}
