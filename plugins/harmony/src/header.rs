//! The header of a message: role, channel, recipient and type of content, in whatever state the model writes them.
//!
//! Invariant: it is bounded, and what is read in it doesn't depend on how it was cut. `lib` feeds it and decides what becomes of it.

use crate::{CHANNEL, CONSTRAIN, END, START};

/// Words between two markers; one more makes it prose. Sound headers have three (`commentary to=functions.x json`).
const WORDS: usize = 6;
/// Bytes likewise.
const BYTES: usize = 256;
/// The type of a custom tool's content that is no JSON.
pub(crate) const RAW: &str = "text";
/// What a header says beside names.
const KNOWN: [&str; 6] = ["analysis", "commentary", "final", "assistant", "json", "code"];

/// A header between two of its characters.
#[derive(Debug, Default)]
pub(crate) struct Header {
    /// The marker that came last: of the header's own, or `<|end|>` where there is none.
    pub(crate) after: usize,
    /// The tool addressed, as written.
    pub(crate) recipient: Option<String>,
    /// A name where a channel should be.
    pub(crate) misplaced: Option<String>,
    /// One that the format knows.
    pub(crate) channel: &'static str,
    /// Whether the model speaks in another's name.
    pub(crate) foreign: bool,
    /// Whether the content is raw.
    pub(crate) raw: bool,
    text: String,
    words: usize,
}

impl Header {
    pub(crate) fn after(marker: usize) -> Self {
        Self { after: marker, ..Self::default() }
    }

    /// Takes more of it. If that shows that it is no header any more: how many of the bytes still were.
    pub(crate) fn push(&mut self, chunk: &str) -> Option<usize> {
        for (at, next) in chunk.char_indices() {
            let begins = !next.is_whitespace() && !self.text.ends_with(|last: char| !last.is_whitespace());
            self.words += usize::from(begins);
            let letter = next.is_alphabetic() && !next.is_ascii();
            if next == '{' || letter || self.words > WORDS || self.text.len() >= BYTES {
                return Some(at);
            }
            self.text.push(next);
        }
        None
    }

    /// It goes on after this marker: what came before is read, and what that leaves was garbage.
    pub(crate) fn go_on(&mut self, marker: usize) {
        let garbage = self.read(false);
        self.raw |= self.after == CONSTRAIN && garbage.trim() == RAW;
        self.word(garbage.rfind("to=").map_or("", |at| &garbage[at..]));
        (self.after, self.words) = (marker, 0);
    }

    /// Reads what came after the last marker; what can't be a header's is left. Where the stream `is_cut`, the last word may be too.
    pub(crate) fn read(&mut self, is_cut: bool) -> String {
        let text = std::mem::take(&mut self.text);
        let named = self.name(text.trim_start());
        let mut rest = named;
        while let Some(next) = self.word(rest) {
            rest = next.trim_start();
        }
        let is_prose = self.after != CHANNEL && self.after != CONSTRAIN && self.recipient.is_none();
        if is_prose && !rest.is_empty() {
            self.channel = "";
            rest = named.strip_prefix("assistant").map_or(named, str::trim_start);
        }
        let begun = |word: &&str| word.starts_with(rest) || rest.starts_with('<');
        let is_cut = is_cut && self.after != END && KNOWN.iter().chain(&["to=", "functions."]).any(begun);
        if is_cut { String::new() } else { rest.to_owned() }
    }

    /// Reads a name in the place of a role or a channel; returns what follows, as `word` does.
    fn name<'a>(&mut self, text: &'a str) -> &'a str {
        let name = name_of(text);
        if text.starts_with("to=") || known(text).is_some() {
            return text;
        }
        if self.after == START {
            self.foreign =
                matches!(name, "user" | "system" | "developer" | "tool" | "python") || name.contains('.');
        } else if self.after == CHANNEL && !name.is_empty() {
            self.misplaced = Some(name.into());
        }
        let is_read = self.after == START || name.starts_with("functions.");
        if is_read { text[name.len()..].trim_start() } else { text }
    }

    /// Reads a recipient or a known word.
    fn word<'a>(&mut self, text: &'a str) -> Option<&'a str> {
        let Some(rest) = text.strip_prefix("to=") else {
            let (word, rest) = known(text)?;
            if !matches!(word, "assistant" | "json" | "code") {
                self.channel = word;
            }
            return Some(rest);
        };
        let name = name_of(rest);
        if !matches!(name, "" | "assistant" | "user" | "all") {
            self.recipient = Some(name.into());
        }
        Some(&rest[name.len()..])
    }
}

/// The name that a text begins with.
fn name_of(text: &str) -> &str {
    let end = text.find(|next: char| !next.is_alphanumeric() && !"_-.:/@".contains(next));
    &text[..end.unwrap_or(text.len())]
}

/// The known word that a text begins with, and what follows it: perhaps at once, but no small letter that makes another word of it.
fn known(text: &str) -> Option<(&'static str, &str)> {
    let word = KNOWN.into_iter().find(|word| text.starts_with(word))?;
    let rest = &text[word.len()..];
    let ends = word == "assistant" || rest.starts_with("to=") || !rest.starts_with(char::is_lowercase);
    ends.then_some((word, rest))
}
