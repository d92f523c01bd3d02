//! A server's base URL and the key for it, as operators give them.

use std::path::Path;
use std::str::FromStr;

use http::HeaderValue;
use reqwest::Url;
use system::bounded::{self, SETTINGS_BYTES};

/// A server's base URL: `http` or `https`, no query, and a path that ends in `/`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerUrl(Url);

/// API key for servers. It appears in no output.
#[derive(Clone, PartialEq, Eq)]
pub struct ServerKey(HeaderValue);

impl ServerUrl {
    /// Name of the server in logs, metrics and messages: its URL.
    pub fn name(&self) -> &str {
        self.0.as_str().trim_end_matches('/')
    }

    /// Whether the server is reached through TLS.
    pub fn is_https(&self) -> bool {
        self.0.scheme() == "https"
    }

    /// The URL of one of the server's routes.
    pub fn route(&self, path: &str) -> Url {
        let mut url = self.0.clone();
        url.set_path(&format!("{}{path}", self.0.path()));
        url
    }
}

impl std::fmt::Display for ServerUrl {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for ServerUrl {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let expected = || format!("`{text}` is no engine's URL: expected http://HOST:PORT or https://…");
        let mut url = Url::parse(text.trim()).map_err(|_| expected())?;
        let is_plain = matches!(url.scheme(), "http" | "https") && url.has_host();
        if !is_plain || url.query().is_some() || url.fragment().is_some() {
            return Err(expected());
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(
                "an engine's URL holds a name or a password: give the key by the switch for it".to_owned()
            );
        }
        // A trailing `/v1` is removed: other clients of these engines expect it in their base URL,
        // so operators may give it.
        let path = url.path().trim_end_matches('/');
        let path = format!("{}/", path.strip_suffix("/v1").unwrap_or(path));
        url.set_path(&path);
        Ok(Self(url))
    }
}

/// What precedes the key in its header.
const BEARER: &str = "Bearer ";

impl ServerKey {
    /// Value of the `Authorization` header.
    pub fn header(&self) -> HeaderValue {
        self.0.clone()
    }

    /// The key itself, for whoever calls the server in this process's place.
    pub fn secret(&self) -> &str {
        self.0.to_str().ok().and_then(|value| value.strip_prefix(BEARER)).unwrap_or_default()
    }

    /// A key from its text; white space around it is removed.
    ///
    /// # Errors
    /// It is empty, or has characters that no header can have.
    pub fn new(key: &str) -> Result<Self, String> {
        let key = key.trim();
        if key.is_empty() {
            return Err("the key is empty".to_owned());
        }
        let mut value = HeaderValue::from_str(&format!("{BEARER}{key}"))
            .map_err(|_| "the key holds characters that no header can".to_owned())?;
        value.set_sensitive(true);
        Ok(Self(value))
    }
}

/// Parses `env:VARIABLE` or `file:PATH`. The key itself is not accepted, since other users could
/// read it from the command line.
impl FromStr for ServerKey {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let key = match text.split_once(':') {
            Some(("env", name)) => {
                std::env::var(name).map_err(|_| format!("the environment has no variable {name}"))?
            }
            Some(("file", path)) => {
                bounded::text(Path::new(path), SETTINGS_BYTES).map_err(|error| format!("{path}: {error}"))?
            }
            _ => return Err("expected env:VARIABLE or file:PATH, which hold the key".to_owned()),
        };
        Self::new(&key).map_err(|reason| format!("{text}: {reason}"))
    }
}

impl std::fmt::Debug for ServerKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ServerKey")
    }
}
