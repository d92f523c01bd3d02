//! The operator's settings for remote engines.

use std::path::{Path, PathBuf};
use std::str::FromStr;

use http::HeaderValue;
use reqwest::Url;

use super::kind::EngineKind;
use system::bounded::{self, SETTINGS_BYTES};

/// Settings of the engines of one model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemoteOptions {
    /// List of the engines.
    pub engines: EngineList,
    /// Protocol of all engines; if none, each is probed.
    pub kind: Option<EngineKind>,
    /// API key for all engines.
    pub key: Option<EngineKey>,
    /// File with the CA certificates to trust instead of the system's.
    pub ca_file: Option<PathBuf>,
}

/// Source of the list of engines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EngineList {
    /// URLs given on the command line.
    Urls(Vec<EngineUrl>),
    /// File with one URL a line, read again at each health check.
    File(PathBuf),
}

/// An engine's base URL: `http` or `https`, no query, and a path that ends in `/`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EngineUrl(Url);

/// API key for engines. It appears in no output.
#[derive(Clone, PartialEq, Eq)]
pub struct EngineKey(HeaderValue);

impl EngineList {
    /// URLs of the engines as listed now, without duplicates; at least one.
    ///
    /// # Errors
    /// The file can't be read, holds no URL, or holds one that can't be used. The message is one
    /// line with the file's path and the line's number.
    pub(super) fn read(&self) -> Result<Vec<EngineUrl>, String> {
        match self {
            Self::Urls(urls) => Ok(urls.clone()),
            Self::File(path) => {
                let place = path.display();
                let text =
                    bounded::text(path, SETTINGS_BYTES).map_err(|error| format!("{place}: {error}"))?;
                parse_lines(&text).map_err(|reason| format!("{place}: {reason}"))
            }
        }
    }
}

/// Reads one URL a line; empty lines and lines that begin with `#` are skipped.
fn parse_lines(text: &str) -> Result<Vec<EngineUrl>, String> {
    let lines = text.lines().map(str::trim).enumerate();
    let urls = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
    let read = |(index, line): (usize, &str)| {
        line.parse::<EngineUrl>().map_err(|reason| format!("line {}: {reason}", index + 1))
    };
    once_each(urls.map(read))
}

fn once_each(urls: impl Iterator<Item = Result<EngineUrl, String>>) -> Result<Vec<EngineUrl>, String> {
    let mut each = Vec::new();
    for url in urls {
        let url = url?;
        if !each.contains(&url) {
            each.push(url);
        }
    }
    if each.is_empty() { Err("no engine's URL in it".to_owned()) } else { Ok(each) }
}

/// Parses `URL[,URL…]` or `@FILE`.
impl FromStr for EngineList {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.strip_prefix('@') {
            Some("") => Err("@: the name of a file is missing".to_owned()),
            Some(file) => Ok(Self::File(file.into())),
            None => Ok(Self::Urls(once_each(text.split(',').map(str::parse))?)),
        }
    }
}

impl EngineUrl {
    /// Name of the engine in logs, metrics and messages: its URL.
    pub(super) fn name(&self) -> &str {
        self.0.as_str().trim_end_matches('/')
    }

    /// Whether the engine is reached through TLS.
    pub fn is_https(&self) -> bool {
        self.0.scheme() == "https"
    }

    /// The URL of one of the engine's routes.
    pub fn route(&self, path: &str) -> Url {
        let mut url = self.0.clone();
        url.set_path(&format!("{}{path}", self.0.path()));
        url
    }
}

impl std::fmt::Display for EngineUrl {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for EngineUrl {
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

impl EngineKey {
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
impl FromStr for EngineKey {
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

impl std::fmt::Debug for EngineKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("EngineKey")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn urls(text: &str) -> Vec<String> {
        match text.parse().unwrap() {
            EngineList::Urls(urls) => urls.iter().map(|url| url.route("x").to_string()).collect(),
            EngineList::File(_) => panic!("{text}"),
        }
    }

    #[test]
    fn a_base_url_may_end_as_other_clients_have_it() {
        for text in ["http://a:8000", "http://a:8000/", "http://a:8000/v1", "http://a:8000/v1/"] {
            assert_eq!(urls(text), ["http://a:8000/x"]);
        }
        assert_eq!(urls("https://gate/models/v1,http://b"), ["https://gate/models/x", "http://b/x"]);
        assert_eq!(urls("http://b,http://b/v1"), ["http://b/x"]);
    }

    #[test]
    fn what_is_no_base_url_is_refused() {
        for text in ["", "b:8000", "ftp://b", "http://", "http://b?x=1", "http://b#x", "http://u:p@b", "@"] {
            assert!(text.parse::<EngineList>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_file_has_one_url_a_line() {
        let urls = parse_lines("# engines\nhttp://a\n\n  https://b/v1  \nhttp://a/\n").unwrap();
        assert_eq!(urls.iter().map(EngineUrl::name).collect::<Vec<_>>(), ["http://a", "https://b"]);
        assert_eq!(parse_lines("#\n\n"), Err("no engine's URL in it".to_owned()));
        assert!(parse_lines("http://a\nb\n").unwrap_err().starts_with("line 2: "));
    }

    #[test]
    fn a_key_is_shown_nowhere() {
        let key = EngineKey::new("secret\n").unwrap();
        assert!(!format!("{key:?} {:?}", key.header()).contains("secret"));
        assert_eq!((key.header().as_bytes(), key.secret()), (&b"Bearer secret"[..], "secret"));
        assert!(EngineKey::new(" ").is_err() && EngineKey::new("a\nb").is_err());
        assert!("secret".parse::<EngineKey>().is_err());
    }
}
