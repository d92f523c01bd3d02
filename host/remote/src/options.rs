//! The operator's settings for remote engines.

use std::path::PathBuf;
use std::str::FromStr;

use net::{ServerKey, ServerUrl};

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
    pub key: Option<ServerKey>,
    /// File with the CA certificates to trust instead of the system's.
    pub ca_file: Option<PathBuf>,
}

/// Source of the list of engines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EngineList {
    /// URLs given on the command line.
    Urls(Vec<ServerUrl>),
    /// File with one URL a line, read again at each health check.
    File(PathBuf),
}

impl EngineList {
    /// URLs of the engines as listed now, without duplicates; at least one.
    ///
    /// # Errors
    /// The file can't be read, holds no URL, or holds one that can't be used. The message is one
    /// line with the file's path and the line's number.
    pub(super) fn read(&self) -> Result<Vec<ServerUrl>, String> {
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
fn parse_lines(text: &str) -> Result<Vec<ServerUrl>, String> {
    let lines = text.lines().map(str::trim).enumerate();
    let urls = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
    let read = |(index, line): (usize, &str)| {
        line.parse::<ServerUrl>().map_err(|reason| format!("line {}: {reason}", index + 1))
    };
    once_each(urls.map(read))
}

fn once_each(urls: impl Iterator<Item = Result<ServerUrl, String>>) -> Result<Vec<ServerUrl>, String> {
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
        assert_eq!(urls.iter().map(ServerUrl::name).collect::<Vec<_>>(), ["http://a", "https://b"]);
        assert_eq!(parse_lines("#\n\n"), Err("no engine's URL in it".to_owned()));
        assert!(parse_lines("http://a\nb\n").unwrap_err().starts_with("line 2: "));
    }

    #[test]
    fn a_key_is_shown_nowhere() {
        let key = ServerKey::new("secret\n").unwrap();
        assert!(!format!("{key:?} {:?}", key.header()).contains("secret"));
        assert_eq!((key.header().as_bytes(), key.secret()), (&b"Bearer secret"[..], "secret"));
        assert!(ServerKey::new(" ").is_err() && ServerKey::new("a\nb").is_err());
        assert!("secret".parse::<ServerKey>().is_err());
    }
}
