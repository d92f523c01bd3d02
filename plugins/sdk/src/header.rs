//! Headers of messages: words, and markers between them, that say who speaks, on which channel, to whom, and what
//! (`assistant<|channel|>commentary to=NAME<|constrain|>json<|message|>`), in whatever state the model writes them. A format says which words
//! there are ([`Words`]); its parser feeds [`Header`] and decides what becomes of it.
//!
//! Invariant: a header is bounded, and what is read in it doesn't depend on how it was cut.

/// Words between two markers; one more makes it prose. Sound headers have three (`commentary to=functions.x json`).
const WORDS: usize = 6;
/// Bytes likewise.
const BYTES: usize = 256;
/// What stands before a recipient.
const TO: &str = "to=";

/// The words of a format's headers.
#[derive(Debug)]
pub struct Words {
    /// The role of the model.
    pub model: &'static str,
    /// Those of others. A name with a dot is another's, too.
    pub others: &'static [&'static str],
    /// Where messages go.
    pub channels: &'static [&'static str],
    /// What their content may be.
    pub types: &'static [&'static str],
    /// The type of content that is plain text, where JSON is usual.
    pub raw: &'static str,
    /// Recipients that are no tool.
    pub nobody: &'static [&'static str],
    /// What stands before the name of a tool, in any place.
    pub tool: &'static str,
}

/// What a marker begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// Nothing: the message before it has ended, and the header hasn't begun.
    Nothing,
    /// A role.
    Role,
    /// A channel.
    Channel,
    /// A type of content.
    Type,
}

/// A header between two of its characters.
#[derive(Debug)]
pub struct Header {
    /// The tool addressed, as written.
    pub recipient: Option<String>,
    /// A name where a channel should be.
    pub misplaced: Option<String>,
    /// One that the format knows, or nothing.
    pub channel: &'static str,
    /// Whether the model speaks in another's name.
    pub is_foreign: bool,
    /// Whether the content is plain text.
    pub is_raw: bool,
    words: &'static Words,
    part: Part,
    text: String,
    count: usize,
}

impl Header {
    /// One that begins with this.
    pub fn new(words: &'static Words, part: Part) -> Self {
        let (recipient, misplaced, text) = (None, None, String::new());
        Self {
            recipient,
            misplaced,
            channel: "",
            is_foreign: false,
            is_raw: false,
            words,
            part,
            text,
            count: 0,
        }
    }

    /// Whether one of its own markers came.
    pub fn has_begun(&self) -> bool {
        self.part != Part::Nothing
    }

    /// Takes more of it. If that shows that it is no header any more: how many of the bytes still were.
    pub fn push(&mut self, chunk: &str) -> Option<usize> {
        for (at, next) in chunk.char_indices() {
            let begins = !next.is_whitespace() && !self.text.ends_with(|last: char| !last.is_whitespace());
            self.count += usize::from(begins);
            let letter = next.is_alphabetic() && !next.is_ascii();
            if next == '{' || letter || self.count > WORDS || self.text.len() >= BYTES {
                return Some(at);
            }
            self.text.push(next);
        }
        None
    }

    /// A marker came, and it goes on with this: what came before is read, and what that leaves was garbage.
    pub fn go_on(&mut self, part: Part) {
        let garbage = self.read(false);
        self.is_raw |= self.part == Part::Type && garbage.trim() == self.words.raw;
        self.word(garbage.rfind(TO).map_or("", |at| &garbage[at..]));
        (self.part, self.count) = (part, 0);
    }

    /// Reads what came after the last marker; what can't be a header's is left. Where the stream `is_cut`, the last word may be too.
    pub fn read(&mut self, is_cut: bool) -> String {
        let text = std::mem::take(&mut self.text);
        let named = self.name(text.trim_start());
        let mut rest = named;
        while let Some(next) = self.word(rest) {
            rest = next.trim_start();
        }
        let is_prose = matches!(self.part, Part::Nothing | Part::Role) && self.recipient.is_none();
        if is_prose && !rest.is_empty() {
            self.channel = "";
            rest = named.strip_prefix(self.words.model).map_or(named, str::trim_start);
        }
        let begun = |word: &str| word.starts_with(rest) || rest.starts_with('<');
        let is_cut = is_cut && self.has_begun() && self.words.known().chain([TO, self.words.tool]).any(begun);
        if is_cut { String::new() } else { rest.to_owned() }
    }

    /// Reads a name in the place of a role or a channel; returns what follows, as `word` does.
    fn name<'a>(&mut self, text: &'a str) -> &'a str {
        let name = name_of(text);
        if text.starts_with(TO) || self.words.first(text).is_some() {
            return text;
        }
        if self.part == Part::Role {
            self.is_foreign = self.words.others.contains(&name) || name.contains('.');
        } else if self.part == Part::Channel && !name.is_empty() {
            self.misplaced = Some(name.into());
        }
        let is_read = self.part == Part::Role || name.starts_with(self.words.tool);
        if is_read { text[name.len()..].trim_start() } else { text }
    }

    /// Reads a recipient or a known word.
    fn word<'a>(&mut self, text: &'a str) -> Option<&'a str> {
        let Some(rest) = text.strip_prefix(TO) else {
            let (word, rest) = self.words.first(text)?;
            if self.words.channels.contains(&word) {
                self.channel = word;
            }
            return Some(rest);
        };
        let name = name_of(rest);
        if !name.is_empty() && !self.words.nobody.contains(&name) {
            self.recipient = Some(name.into());
        }
        Some(&rest[name.len()..])
    }
}

impl Words {
    /// What a header says beside names.
    fn known(&self) -> impl Iterator<Item = &'static str> {
        self.channels.iter().chain(self.types).chain([&self.model]).copied()
    }

    /// The known word that a text begins with, and what follows it: perhaps at once, but no small letter that makes another word of it.
    fn first<'a>(&self, text: &'a str) -> Option<(&'static str, &'a str)> {
        let word = self.known().find(|word| text.starts_with(word))?;
        let rest = &text[word.len()..];
        let ends = word == self.model || rest.starts_with(TO) || !rest.starts_with(char::is_lowercase);
        ends.then_some((word, rest))
    }
}

/// The name that a text begins with.
fn name_of(text: &str) -> &str {
    let end = text.find(|next: char| !next.is_alphanumeric() && !"_-.:/@".contains(next));
    &text[..end.unwrap_or(text.len())]
}
