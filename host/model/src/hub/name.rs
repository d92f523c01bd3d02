//! Name of a model on the hub: `ORG/NAME`, with `@REVISION` for another revision than `main`.

use std::fmt;

/// Revision of a name that says none.
const MAIN: &str = "main";
/// Longest name and longest revision, in bytes.
const MAX_LENGTH: usize = 200;

/// Name of a model on the hub. Its parts are plain file names, so they can stand in paths and URLs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HubName {
    repository: String,
    revision: String,
}

impl HubName {
    /// Reads `ORG/NAME` or `ORG/NAME@REVISION`, in the characters that the hub allows. The revision
    /// is a branch, a tag or a commit.
    ///
    /// ```
    /// let name = model::hub::HubName::parse("Qwen/Qwen3-0.6B@refs/pr/1").unwrap();
    /// assert_eq!((name.repository(), name.revision()), ("Qwen/Qwen3-0.6B", "refs/pr/1"));
    /// assert!(model::hub::HubName::parse("../secret").is_none());
    /// ```
    pub fn parse(text: &str) -> Option<Self> {
        let (repository, revision) = text.split_once('@').unwrap_or((text, MAIN));
        let (organisation, name) = repository.split_once('/')?;
        let is_valid = text.len() <= MAX_LENGTH
            && is_plain(organisation)
            && is_plain(name)
            && revision.split('/').all(is_plain);
        is_valid.then(|| Self { repository: repository.to_owned(), revision: revision.to_owned() })
    }

    /// `ORG/NAME`.
    pub fn repository(&self) -> &str {
        &self.repository
    }

    /// Branch, tag or commit.
    pub fn revision(&self) -> &str {
        &self.revision
    }
}

impl fmt::Display for HubName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.repository)?;
        if self.revision == MAIN { Ok(()) } else { write!(f, "@{}", self.revision) }
    }
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
            assert_eq!(HubName::parse(name).unwrap().to_string(), name.replace("@main", ""), "{name}");
        }
        let wrong =
            ["Qwen3", "../up", "a/../b", "a/b/c", "/etc", "a/", "a/b@", "a/b@../c", "a/b@c//d", "a/b@.x"];
        for name in wrong.into_iter().chain(["a/b:Q4", "a/b?x", "a b/c", "a/b@c@d"]) {
            assert_eq!(HubName::parse(name), None, "{name}");
        }
        assert_eq!(HubName::parse(&format!("a/{}", "b".repeat(200))), None);
    }
}
