//! Pins of parsers, `--parser-sha256 NAME=HEX`: the digest that a parser's content must have. A pin
//! is checked at each load of its parser: by the file's name before the file is used, and by the
//! parser's own name before it serves.

use std::str::FromStr;

/// A parser's name and the SHA-256 that its component must have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pin {
    name: String,
    digest: String,
}

impl FromStr for Pin {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let pin = text.rsplit_once('=').map(|(name, digest)| (name.trim(), digest.trim()));
        match pin {
            Some((name, digest)) if !name.is_empty() && is_digest(digest) => {
                Ok(Self { name: name.to_owned(), digest: digest.to_ascii_lowercase() })
            }
            _ => {
                Err("expected NAME=HEX with the 64 hex digits of a SHA-256, as sha256sum prints it"
                    .to_owned())
            }
        }
    }
}

fn is_digest(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Violation of a pin.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PinError {
    /// The content has another digest.
    #[error(
        "parser {parser}: its SHA-256 is {found}, but --parser-sha256 {name} allows {pinned} alone; restore the file, or \
         change the pin if you mean this one"
    )]
    Mismatch {
        /// Source of the parser, for messages.
        parser: String,
        /// Name in the pin.
        name: String,
        /// Digest of the content.
        found: String,
        /// Digest in the pin.
        pinned: String,
    },
    /// The pin was compared with no parser, for example because of a typing error in its name.
    #[error("--parser-sha256 {name}: no parser of this name was looked at, only {}", list(.seen))]
    Unused {
        /// Name in the pin.
        name: String,
        /// Names of the parsers that were checked.
        seen: Vec<String>,
    },
}

/// All pins, and the names that were checked in one round of loading.
#[derive(Debug, Clone, Default)]
pub(super) struct Pins {
    pins: Vec<Pin>,
    seen: Vec<String>,
}

impl Pins {
    pub(super) fn new(pins: Vec<Pin>) -> Self {
        Self { pins, seen: Vec::new() }
    }

    /// Begins a round of loading.
    pub(super) fn begin(&mut self) {
        self.seen.clear();
    }

    /// Checks content whose name is `name`, with or without `.wasm`. `parser` is its source, for
    /// messages.
    ///
    /// # Errors
    /// A pin of that name has another digest.
    pub(super) fn check(&mut self, name: &str, parser: &str, digest: &str) -> Result<(), PinError> {
        let name = bare(name);
        if !self.seen.iter().any(|seen| seen == name) {
            self.seen.push(name.to_owned());
        }
        let broken = self.pins.iter().find(|pin| bare(&pin.name) == name && pin.digest != digest);
        broken.map_or(Ok(()), |pin| {
            Err(PinError::Mismatch {
                parser: parser.to_string(),
                name: pin.name.clone(),
                found: digest.to_owned(),
                pinned: pin.digest.clone(),
            })
        })
    }

    /// Checks at the end of a round that every pin was compared with some content.
    ///
    /// # Errors
    /// A pin was compared with none.
    pub(super) fn finish(&self) -> Result<(), PinError> {
        let unused = self.pins.iter().find(|pin| !self.seen.iter().any(|seen| seen == bare(&pin.name)));
        unused.map_or(Ok(()), |pin| Err(PinError::Unused { name: pin.name.clone(), seen: self.seen.clone() }))
    }
}

fn list(names: &[String]) -> String {
    if names.is_empty() { "none at all".to_owned() } else { names.join(", ") }
}

fn bare(name: &str) -> &str {
    name.strip_suffix(".wasm").unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pins(text: &str) -> Pins {
        Pins::new(vec![text.parse().unwrap()])
    }

    #[test]
    fn a_pin_is_a_name_and_a_whole_digest() {
        let digest = "AB".repeat(32);
        let pin: Pin = format!("a=b.wasm={digest}").parse().unwrap();
        assert_eq!(pin, Pin { name: "a=b.wasm".to_owned(), digest: "ab".repeat(32) });
        let wrong = [String::new(), digest.clone(), format!("={digest}"), format!("a={}", &digest[1..])];
        for text in [&wrong[..], &[format!("a={}", "xy".repeat(32))]].concat() {
            assert!(text.parse::<Pin>().is_err(), "{text}");
        }
    }

    #[test]
    fn pins_match_without_ending_and_mismatch_shows_both() {
        let (right, wrong) = ("aa".repeat(32), "bb".repeat(32));
        for (pinned, asked) in [("q", "q.wasm"), ("q.wasm", "q"), ("q", "q")] {
            let mut pins = pins(&format!("{pinned}={right}"));
            assert_eq!(pins.check(asked, "plugins/q.wasm", &right), Ok(()));
            let line = pins.check(asked, "plugins/q.wasm", &wrong).unwrap_err().to_string();
            assert!(
                line.contains(&right) && line.contains(&wrong) && line.contains("plugins/q.wasm"),
                "{line}"
            );
            assert_eq!(pins.check("other", "other", &wrong), Ok(()));
        }
    }

    #[test]
    fn a_pin_that_was_compared_with_nothing_is_an_error() {
        let mut pins = pins(&format!("qwen33={}", "aa".repeat(32)));
        pins.check("qwen3", "qwen3", "x").unwrap();
        let line = pins.finish().unwrap_err().to_string();
        assert_eq!(line, "--parser-sha256 qwen33: no parser of this name was looked at, only qwen3");
        pins.check("qwen33.wasm", "x", &"aa".repeat(32)).unwrap();
        assert_eq!(pins.finish(), Ok(()));
        pins.begin();
        assert!(pins.finish().is_err());
    }
}
