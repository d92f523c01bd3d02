//! Domains of the web to which a request restricts a search. A domain stands for its subdomains as
//! well; one with a path, for what is there and below, and one `*` in the path for any text.

use serde_json::{Map, Value};
use url::Url;

/// Names that tools of the web have for such lists: of the domains to keep to, and of those to leave
/// out.
const PARAMETERS: [[&str; 2]; 3] = [
    ["allowed_domains", "blocked_domains"],
    ["include_domains", "exclude_domains"],
    ["includeDomains", "excludeDomains"],
];

/// Most bytes of a domain with its path, of its host, and of a part of that between dots.
const LONGEST: usize = 2048;
const LONGEST_HOST: usize = 253;
const LONGEST_LABEL: usize = 63;

/// Which pages a search may find.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Domains {
    /// Those of these domains.
    Only(Vec<Domain>),
    /// All but those of these domains.
    AllBut(Vec<Domain>),
}

/// A domain, or a part of its pages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Domain {
    /// As the client wrote it.
    written: String,
    /// In lower case, of ASCII.
    host: String,
    /// The path up to its end or its `*`, without the slash at its end.
    path: String,
    /// The path behind `*`.
    behind: Option<String>,
}

impl Domain {
    /// Reads a domain; a scheme before it makes no difference.
    ///
    /// # Errors
    /// Says what is expected.
    pub(crate) fn parse(written: &str) -> Result<Self, &'static str> {
        const EXPECTED: &str = "expected a domain such as \"example.com\" or \"example.com/blog\", with at most one * in its path";
        if written.len() > LONGEST {
            return Err("a domain with its path has at most 2,048 bytes");
        }
        let schemes = ["https://", "http://"];
        let bare = schemes.iter().find_map(|scheme| written.strip_prefix(scheme)).unwrap_or(written);
        let (host, path) = bare.split_at(bare.find('/').unwrap_or(bare.len()));
        let is_odd = |c: char| c.is_whitespace() || c.is_control() || "@:*\\".contains(c);
        let is_plain = !host.is_empty()
            && !host.contains(is_odd)
            && !path.contains(|c: char| c.is_whitespace() || c.is_control())
            && path.matches('*').count() <= 1;
        let url = Url::parse(&format!("https://{bare}"))
            .ok()
            .filter(|url| is_plain && url.query().is_none() && url.fragment().is_none());
        let url = url.ok_or(EXPECTED)?;
        let host = url.host_str().map(bare_host).filter(|host| is_host(host)).ok_or(EXPECTED)?;
        let (path, behind) = match url.path().split_once('*') {
            Some((path, behind)) => (path, Some(behind.trim_end_matches('/').to_owned())),
            None => (url.path().trim_end_matches('/'), None),
        };
        Ok(Self { written: written.to_owned(), host: host.to_owned(), path: path.to_owned(), behind })
    }

    fn has(&self, page: &Url) -> bool {
        let Some(host) = page.host_str().map(bare_host) else { return false };
        let below = host.strip_suffix(&self.host);
        let is_of_host = below.is_some_and(|below| below.is_empty() || below.ends_with('.'));
        is_of_host && page.path().strip_prefix(&self.path).is_some_and(|rest| self.has_rest(rest))
    }

    /// Whether a path goes on behind `path` as this one does.
    fn has_rest(&self, rest: &str) -> bool {
        let ends = |rest: &[u8]| rest.first().is_none_or(|next| *next == b'/');
        match self.behind.as_deref() {
            None => ends(rest.as_bytes()),
            Some("") => true,
            Some(behind) => {
                let (behind, rest) = (behind.as_bytes(), rest.as_bytes());
                let mut places = rest.windows(behind.len()).enumerate();
                places.any(|(at, part)| part == behind && ends(&rest[at + behind.len()..]))
            }
        }
    }
}

/// Whether a host has the form of one, which no URL demands.
fn is_host(host: &str) -> bool {
    let is_label = |label: &str| (1..=LONGEST_LABEL).contains(&label.len());
    host.len() <= LONGEST_HOST && host.split('.').all(is_label)
}

/// A host without the dot at its end, which says that it is whole.
fn bare_host(host: &str) -> &str {
    host.strip_suffix('.').unwrap_or(host)
}

impl Domains {
    /// Whether a search may find the page at this address. One that can't be read, it may not.
    pub(super) fn allow(&self, address: &str) -> bool {
        let page = Url::parse(address).or_else(|_| Url::parse(&format!("https://{address}")));
        let Some(page) = page.ok().filter(Url::has_host) else { return false };
        match self {
            Self::Only(domains) => domains.iter().any(|domain| domain.has(&page)),
            Self::AllBut(domains) => !domains.iter().any(|domain| domain.has(&page)),
        }
    }

    /// The parameter by which a tool with this schema takes the domains.
    pub(super) fn parameter(&self, schema: &Map<String, Value>) -> Option<&'static str> {
        let properties = schema.get("properties")?.as_object()?;
        let takes_list = |name: &&str| {
            let kind = properties.get(*name).map(|property| &property["type"]);
            kind.is_some_and(|kind| kind.is_null() || kind == "array")
        };
        let side = usize::from(matches!(self, Self::AllBut(_)));
        PARAMETERS.iter().map(|names| names[side]).find(takes_list)
    }

    /// The domains as a tool takes them.
    pub(super) fn argument(&self) -> Value {
        let (Self::Only(domains) | Self::AllBut(domains)) = self;
        domains.iter().map(|domain| domain.written.as_str()).collect()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Domain, Domains};

    fn only(domain: &str) -> Domains {
        Domains::Only(vec![Domain::parse(domain).unwrap_or_else(|error| panic!("{domain}: {error}"))])
    }

    #[test]
    fn a_domain_has_its_subdomains_and_what_is_below_its_path() {
        for (domain, inside, outside) in [
            (
                "example.com",
                &[
                    "https://example.com",
                    "http://Docs.EXAMPLE.com:8080/a?b#c",
                    "https://example.com./a",
                    "example.com/a",
                ][..],
                &[
                    "https://myexample.com",
                    "https://example.com.evil.test",
                    "https://example.com@evil.test/",
                    "https://evil.test/example.com",
                    "https://evil.test\\@example.com/",
                    "",
                    "mailto:a@example.com",
                ][..],
            ),
            (
                "docs.example.com",
                &["https://docs.example.com", "https://v2.docs.example.com"],
                &["https://example.com", "https://api.example.com"],
            ),
            (
                "https://example.com/blog/",
                &["https://example.com/blog", "https://www.example.com/blog/post-1"],
                &["https://example.com/", "https://example.com/blogs", "https://example.com/a/blog"],
            ),
            (
                "example.com/*",
                &["https://example.com/", "https://example.com/a/b"],
                &["https://example.org/a"],
            ),
            (
                "example.com/*/articles",
                &["https://example.com/en/articles", "https://example.com/a/b/articles/1"],
                &["https://example.com/articles", "https://example.com/en/articles2"],
            ),
        ] {
            let filter = only(domain);
            for (page, is_allowed) in
                inside.iter().map(|page| (page, true)).chain(outside.iter().map(|page| (page, false)))
            {
                assert_eq!(filter.allow(page), is_allowed, "{domain}: {page}");
            }
        }
    }

    #[test]
    fn what_is_left_out_is_not_found_and_neither_is_what_has_no_address() {
        let filter = Domains::AllBut(vec![Domain::parse("example.com").unwrap()]);
        assert!(filter.allow("https://example.org/"));
        for page in ["https://a.example.com/", "page 7", "data:text/plain,x", ""] {
            assert!(!filter.allow(page), "{page}");
        }
    }

    #[test]
    fn what_is_no_domain_is_refused() {
        for wrong in [
            "",
            "*.example.com",
            "ex*.com",
            "example.com/*/a/*",
            "a b",
            "example.com:80",
            "u@example.com",
            "example.com?a",
            "example.com/#a",
            "/a",
            ".",
            "ftp://example.com",
            "..",
            ".com",
            "a..b",
            "exam\nple.com",
            " example.com",
            "example.com\t",
            "example.com/a b",
            "[::1]",
            "xn--\u{7f}.com",
            "a%00b.com",
            "example.com%2fb",
            &format!("{}.com", "a".repeat(64)),
            &"a.".repeat(128),
            &format!("example.com/{}", "a".repeat(2048)),
        ] {
            assert!(Domain::parse(wrong).is_err(), "{wrong:?}");
        }
        for right in ["localhost", "example.com.", "xn--mnchen-3ya.example", &"a.".repeat(126), "10.0.0.1"] {
            assert!(Domain::parse(right).is_ok(), "{right:?}");
        }
    }

    #[test]
    fn tools_that_take_domains_are_known_by_their_schema() {
        let blocked = Domains::AllBut(vec![Domain::parse("example.com").unwrap()]);
        assert_eq!(blocked.argument(), json!(["example.com"]));
        for (properties, of_only, of_all_but) in [
            (
                json!({ "allowed_domains": { "type": "array" }, "blocked_domains": {} }),
                Some("allowed_domains"),
                Some("blocked_domains"),
            ),
            (json!({ "include_domains": { "anyOf": [] } }), Some("include_domains"), None),
            (json!({ "excludeDomains": { "type": "array" } }), None, Some("excludeDomains")),
            (json!({ "allowed_domains": { "type": "string" } }), None, None),
        ] {
            let schema = json!({ "properties": properties });
            let schema = schema.as_object().unwrap();
            assert_eq!(
                (only("a.example").parameter(schema), blocked.parameter(schema)),
                (of_only, of_all_but)
            );
        }
        assert_eq!(blocked.parameter(&serde_json::Map::new()), None);
    }
}
