//! Name of a model on the hub: `ORG/NAME`, with `@REVISION` for another revision than `main`, and
//! `:QUANT` or `:FILE.gguf` for a GGUF file of it. Names that other tools print are read, too.

use std::fmt;

use engine::split_gguf_name;

/// Longest name, with revision and file, in bytes.
const MAX_LENGTH: usize = 400;
/// Hosts of the hub, in addresses and in the names that Ollama takes.
const HOSTS: [&str; 2] = ["huggingface.co/", "hf.co/"];
/// Ending of files.
const GGUF: &str = ".gguf";

/// Name of a model on the hub. Its parts are plain file names, so they can stand in paths and URLs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HubName {
    repository: String,
    /// `None` if the name says none.
    revision: Option<String>,
    gguf: Option<GgufSelector>,
}

/// What a name says of the GGUF file that is meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum GgufSelector {
    /// A part of its name: `Q4_K_M`.
    Quant(String),
    /// Its path in the repository, or the last part of that.
    File(String),
}

impl HubName {
    /// Revision of a name that says none.
    pub(super) const MAIN: &str = "main";

    /// Reads `ORG/NAME[@REVISION][:QUANT|:FILE.gguf]` or `ORG/NAME/FILE.gguf`, in the characters
    /// that the hub allows, also behind the hub's host; or the address of a repository or of a GGUF
    /// file. The revision is a branch, a tag or a commit.
    ///
    /// ```
    /// let name = hub::HubName::parse("Qwen/Qwen3-0.6B@refs/pr/1").unwrap();
    /// assert_eq!((name.repository(), name.revision()), ("Qwen/Qwen3-0.6B", "refs/pr/1"));
    /// assert!(hub::HubName::parse("../secret").is_none());
    /// ```
    pub fn parse(text: &str) -> Option<Self> {
        if text.len() > MAX_LENGTH {
            return None;
        }
        let (name, revision) = match without_host(text) {
            Some(address) => from_address(address)?,
            None => (text.to_owned(), None),
        };
        let (name, selector) = match name.split_once(':') {
            Some((name, selector)) => (name, Some(selector)),
            None => file_behind(&name),
        };
        let (repository, own_revision) = name.split_once('@').map_or((name, None), |(r, at)| (r, Some(at)));
        let revision = own_revision.map(str::to_owned).or(revision);
        let (organisation, model) = repository.split_once('/')?;
        let is_valid = is_plain(organisation)
            && is_plain(model)
            && revision.as_deref().is_none_or(is_plain_path)
            && selector.is_none_or(is_plain_path);
        let selects = if selector.is_some_and(is_gguf) { GgufSelector::File } else { GgufSelector::Quant };
        let gguf = selector.map(|text| selects(text.to_owned()));
        is_valid.then(|| Self { repository: repository.to_owned(), revision, gguf })
    }

    /// `ORG/NAME`.
    pub fn repository(&self) -> &str {
        &self.repository
    }

    /// Branch, tag or commit; `main` if the name says none.
    pub fn revision(&self) -> &str {
        self.revision.as_deref().unwrap_or(Self::MAIN)
    }

    /// Whether the name is `ORG/NAME` alone, without revision and file.
    pub fn is_repository(&self) -> bool {
        self.revision.is_none() && self.gguf.is_none()
    }

    /// Which GGUF file is meant, if the name says so.
    pub(super) fn gguf(&self) -> Option<&GgufSelector> {
        self.gguf.as_ref()
    }

    /// What clients call the model: `ORG/NAME`, `ORG/NAME:QUANT`, or the file's name without its
    /// ending and its number as a part, as if it were given by its path.
    pub fn model_name(&self) -> String {
        match &self.gguf {
            None => self.repository.clone(),
            Some(GgufSelector::Quant(quant)) => format!("{}:{quant}", self.repository),
            Some(GgufSelector::File(path)) => {
                let stem = stem(path.rsplit('/').next().unwrap_or(path));
                split_gguf_name(stem).map_or(stem, |(name, ..)| name).to_owned()
            }
        }
    }
}

impl fmt::Display for HubName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.repository)?;
        if let Some(revision) = &self.revision {
            write!(f, "@{revision}")?;
        }
        match &self.gguf {
            None => Ok(()),
            Some(GgufSelector::Quant(text) | GgufSelector::File(text)) => write!(f, ":{text}"),
        }
    }
}

/// What follows the hub's host, if `text` begins with it.
fn without_host(text: &str) -> Option<&str> {
    let text = text.strip_prefix("https://").unwrap_or(text);
    HOSTS.iter().find_map(|host| text.strip_prefix(host))
}

/// Name and revision in an address without its host; `main`, which every address has, is none: `ORG/NAME`, `ORG/NAME/tree/REVISION` or
/// `ORG/NAME/resolve/REVISION/FILE.gguf`.
fn from_address(address: &str) -> Option<(String, Option<String>)> {
    let address = address.split(['?', '#']).next()?.trim_end_matches('/');
    let parts: Vec<&str> = address.split('/').collect();
    let other = |revision: &str| Some(revision.replace("%2F", "/")).filter(|name| name != HubName::MAIN);
    match parts.as_slice() {
        [organisation, name, "tree", revision] => Some((format!("{organisation}/{name}"), other(revision))),
        [organisation, name, "resolve" | "blob", revision, file @ ..] if is_gguf(address) => {
            Some((format!("{organisation}/{name}:{}", file.join("/")), other(revision)))
        }
        _ => Some((address.to_owned(), None)),
    }
}

/// `ORG/NAME/FILE.gguf` as `ORG/NAME` and the file.
fn file_behind(name: &str) -> (&str, Option<&str>) {
    let file = name.match_indices('/').nth(1).filter(|_| is_gguf(name) && !name.contains('@'));
    file.map_or((name, None), |(at, _)| (&name[..at], Some(&name[at + 1..])))
}

/// Whether a path is that of a GGUF file.
pub fn is_gguf(path: &str) -> bool {
    let ending = path.len().checked_sub(GGUF.len()).filter(|at| *at > 0);
    ending.is_some_and(|at| path.as_bytes()[at..].eq_ignore_ascii_case(GGUF.as_bytes()))
}

/// A GGUF file's path without its ending.
pub(super) fn stem(path: &str) -> &str {
    if is_gguf(path) { &path[..path.len() - GGUF.len()] } else { path }
}

/// Whether `path` has plain parts only.
pub(super) fn is_plain_path(path: &str) -> bool {
    path.split('/').all(is_plain)
}

/// Whether `part` is a file name in the characters that the hub allows, and no hidden one.
fn is_plain(part: &str) -> bool {
    !part.is_empty()
        && !part.starts_with('.')
        && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
}

/// Whether `text` is the id of a commit, which names itself.
pub(super) fn is_commit(text: &str) -> bool {
    is_hexadecimal(text, 40)
}

/// Whether `text` has `length` hexadecimal digits and nothing else, as digests have.
pub(super) fn is_hexadecimal(text: &str, length: usize) -> bool {
    text.len() == length && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

#[cfg(test)]
mod tests {
    use super::HubName;

    #[test]
    fn only_plain_names_are_of_the_hub() {
        for name in ["Qwen/Qwen3-0.6B", "org/x@main", "org/x@v1.0", "org/x@refs/pr/7", "o/n_1.2"] {
            assert_eq!(HubName::parse(name).unwrap().to_string(), name, "{name}");
        }
        let wrong =
            ["Qwen3", "../up", "a/../b", "a/b/c", "/etc", "a/", "a/b@", "a/b@../c", "a/b@c//d", "a/b@.x"];
        let gguf = ["a/b:", "a/b:../Q4", "a/b:Q4:Q8", "a/b:/x.gguf", "a/b/../x.gguf", "../a/b/x.gguf"];
        for name in wrong.into_iter().chain(gguf).chain(["a/b?x", "a b/c", "a/b@c@d", "ä/ö.ggüf"]) {
            assert_eq!(HubName::parse(name), None, "{name}");
        }
        assert_eq!(HubName::parse(&format!("a/{}", "b".repeat(400))), None);
    }

    #[test]
    fn gguf_files_are_named_as_other_tools_name_them() {
        for (given, name, client) in [
            ("org/x-GGUF:Q4_K_M", "org/x-GGUF:Q4_K_M", "org/x-GGUF:Q4_K_M"),
            ("org/x@v1:ud-q4_k_xl", "org/x@v1:ud-q4_k_xl", "org/x:ud-q4_k_xl"),
            ("hf.co/org/x:IQ4_XS", "org/x:IQ4_XS", "org/x:IQ4_XS"),
            ("huggingface.co/org/x", "org/x", "org/x"),
            ("https://huggingface.co/org/x/", "org/x", "org/x"),
            ("https://huggingface.co/org/x/tree/refs%2Fpr%2F1", "org/x@refs/pr/1", "org/x"),
            ("org/x/x-Q8_0.gguf", "org/x:x-Q8_0.gguf", "x-Q8_0"),
            ("org/x@v1:BF16/x-00001-of-00002.gguf", "org/x@v1:BF16/x-00001-of-00002.gguf", "x"),
            ("https://hf.co/org/x/blob/main/a/x.GGUF", "org/x:a/x.GGUF", "x"),
            ("https://hf.co/org/x/resolve/v1/x.gguf?download=true", "org/x@v1:x.gguf", "x"),
        ] {
            let read = HubName::parse(given).unwrap();
            assert_eq!((read.to_string().as_str(), read.model_name().as_str()), (name, client), "{given}");
            assert_eq!(HubName::parse(name), Some(read), "{name}");
        }
    }
}
