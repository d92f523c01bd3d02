//! Messages of remote engines. No log holds any of them, since they may quote what the engine was
//! sent; clients see the reasons that an engine gives for refusing their own requests.

/// Maximum number of characters of an engine's message.
const MOST: usize = 200;
/// Maximum number of characters of an engine's version.
const MOST_OF_VERSION: usize = 40;

/// An engine's message as one line of printable ASCII, cut at `MOST` characters.
pub(super) fn plain(words: &str) -> String {
    let plain = |char: char| if char.is_ascii_graphic() || char == ' ' { char } else { '?' };
    words.chars().take(MOST).map(plain).collect()
}

/// A message without what looks like an address or a path, which clients mustn't learn. Such words
/// become `…`; JSON pointers (`#/…`) stay.
pub(super) fn without_places(words: &str) -> String {
    let shown = |word| if is_place(word) { "…" } else { word };
    words.split(' ').map(shown).collect::<Vec<_>>().join(" ")
}

fn is_place(word: &str) -> bool {
    let core = word.trim_matches(|char: char| !char.is_ascii_alphanumeric() && !"/\\~#.".contains(char));
    let is_path =
        core.contains('/') && !core.starts_with('#') || core.contains('\\') || core.starts_with('~');
    let has_port = core.rsplit_once(':').is_some_and(|(host, port)| {
        host.contains(['.', ':']) && port.parse::<u16>().is_ok() || host.eq_ignore_ascii_case("localhost")
    });
    is_path || has_port || core.parse::<std::net::IpAddr>().is_ok()
}

/// Whether a text is an engine's version and nothing else: no log or client is told anything
/// longer, or with other characters.
pub(super) fn is_version(text: &str) -> bool {
    let is_plain = |char: char| char.is_ascii_alphanumeric() || ".+_-".contains(char);
    (1..=MOST_OF_VERSION).contains(&text.len()) && text.chars().all(is_plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_and_paths_are_left_out() {
        let told = "bad grammar in /srv/models/x.gguf (see http://10.0.0.7:8000/docs) at 10.0.0.7:80 or 10.0.0.7, localhost:1 C:\\x: line 3:7";
        assert_eq!(without_places(told), "bad grammar in … (see … at … or … … … line 3:7");
        let schema = "schema at #/properties/a/items: minimum 3.5 > maximum 1, unknown type 'strin'";
        assert_eq!(without_places(schema), schema);
    }

    #[test]
    fn a_version_is_short_and_of_plain_characters() {
        for version in ["0.32.0", "b11434-1a2b3c4", "0.5.23.post1+cu130"] {
            assert!(is_version(version), "{version}");
        }
        for other in ["", "a b", "1.0\u{1b}[31m", &"1".repeat(41)] {
            assert!(!is_version(other), "{other:?}");
        }
    }
}
