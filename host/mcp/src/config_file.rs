//! The operator's file of tool servers: JSON in the shape that MCP clients share (`mcpServers`),
//! with extensions of this server.
//!
//! ```json
//! {
//!   "mcpServers": {
//!     "time": { "command": "mcp-server-time", "args": ["--local-timezone", "UTC"], "require_approval": "never" },
//!     "docs": { "url": "https://docs.example.org/mcp", "headers_from_env": { "authorization": "DOCS_TOKEN" } },
//!     "old": { "type": "sse", "url": "https://tools.corp.example/sse", "ca_file": "/etc/ssl/corp.pem" }
//!   },
//!   "web_search": "browser",
//!   "code_interpreter": "python"
//! }
//! ```

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use http::{HeaderName, HeaderValue};
use serde::Deserialize;

use super::config::{Approval, Endpoint, McpConfig, ServerConfig, UrlEndpoint, UrlTransport};
use net::tls;

/// Fault in a configuration, as one line.
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
    #[serde(alias = "transport", rename = "type")]
    kind: Option<TransportName>,
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
    ca_file: Option<PathBuf>,
    allowed_tools: Option<Vec<String>>,
    #[serde(default)]
    require_approval: Approval,
    timeout_seconds: Option<f32>,
}

/// Transport names that MCP clients use.
#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum TransportName {
    Stdio,
    #[serde(alias = "streamable-http", alias = "streamable_http", alias = "streamableHttp")]
    Http,
    Sse,
}

impl McpConfig {
    /// Parses a file's text; `variable` looks up environment variables.
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

/// Checks a label: labels are used in names of tools and in log lines.
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
        let (allowed_tools, require_approval) = (self.allowed_tools.clone(), self.require_approval);
        let endpoint = self.endpoint(variable)?;
        Ok(ServerConfig { endpoint, allowed_tools, require_approval, timeout })
    }

    fn endpoint(self, variable: &impl Fn(&str) -> Option<String>) -> Result<Endpoint, String> {
        let transport = match (self.kind, self.command.is_some()) {
            (None | Some(TransportName::Stdio), true) | (None, false) => UrlTransport::Either,
            (Some(TransportName::Http), false) => UrlTransport::Streamable,
            (Some(TransportName::Sse), false) => UrlTransport::Sse,
            (Some(TransportName::Stdio), false) => return Err("type: \"stdio\" needs a `command`".to_owned()),
            (Some(_), true) => return Err("type: a `command` speaks over \"stdio\" only".to_owned()),
        };
        match (self.command, self.url) {
            (Some(command), None) => {
                let env = with_secrets(self.env, self.env_from_env, variable)?;
                Ok(Endpoint::Command { command, args: self.args, env })
            }
            (None, Some(url)) if url.starts_with("http://") || url.starts_with("https://") => {
                let headers = with_secrets(self.headers, self.headers_from_env, variable)?;
                let headers = headers.into_iter().map(header).collect::<Result<_, _>>()?;
                if let Some(file) = &self.ca_file {
                    tls::certificates(file).map_err(|error| format!("ca_file: {error}"))?;
                }
                Ok(Endpoint::Url(UrlEndpoint { url, transport, headers, ca_file: self.ca_file }))
            }
            (None, Some(_)) => Err("url: expected http:// or https://".to_owned()),
            _ => Err("needs either `command` or `url`, and not both".to_owned()),
        }
    }
}

/// Values of `plain`, and of `secret` with each value looked up in the environment.
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

/// Parses a header and marks its value as sensitive, which keeps it out of logs.
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

    use crate::config::{Approval, Endpoint, McpConfig, UrlTransport};

    fn parse(config: &Value) -> Result<McpConfig, String> {
        let variable = |name: &str| (name == "TOKEN").then(|| "s3cret".to_owned());
        McpConfig::parse(&config.to_string(), variable).map_err(|error| error.to_string())
    }

    #[test]
    fn file_names_children_and_urls_with_secrets_from_env() {
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
    fn the_transport_is_named_as_other_clients_name_it() {
        for (named, transport) in [
            (json!({}), UrlTransport::Either),
            (json!({ "type": "http" }), UrlTransport::Streamable),
            (json!({ "transport": "streamable_http" }), UrlTransport::Streamable),
            (json!({ "type": "streamableHttp" }), UrlTransport::Streamable),
            (json!({ "type": "sse" }), UrlTransport::Sse),
            (json!({ "transport": "sse" }), UrlTransport::Sse),
        ] {
            let mut entry = named.clone();
            entry["url"] = json!("http://y");
            let config = parse(&json!({ "mcpServers": { "a": entry } })).unwrap();
            let Endpoint::Url(endpoint) = &config.servers["a"].endpoint else { panic!("a URL") };
            assert_eq!(endpoint.transport, transport, "{named}");
        }
        parse(&json!({ "mcpServers": { "a": { "type": "stdio", "command": "x" } } })).unwrap();
    }

    #[test]
    fn what_is_wrong_is_named_with_its_place() {
        let server = |entry: Value| json!({ "mcpServers": { "a": entry } });
        for (config, said) in [
            (server(json!({})), "servers.a: needs either"),
            (server(json!({ "command": "x", "url": "http://y" })), "servers.a: needs either"),
            (server(json!({ "url": "ftp://y" })), "servers.a: url"),
            (server(json!({ "type": "sse", "command": "x" })), "servers.a: type: a `command`"),
            (server(json!({ "type": "stdio", "url": "http://y" })), "servers.a: type: \"stdio\" needs"),
            (server(json!({ "type": "carrier pigeon", "url": "http://y" })), "carrier pigeon"),
            (
                server(json!({ "url": "https://y", "ca_file": "/nowhere.pem" })),
                "servers.a: ca_file: /nowhere.pem",
            ),
            (server(json!({ "url": "https://y", "ca_file": "Cargo.toml" })), "holds no certificate"),
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
