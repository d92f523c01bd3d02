//! Headers of messages: words, and markers between them, that say who speaks, on which channel, to whom, and what
//! (`assistant<|channel|>commentary to=NAME<|constrain|>json<|message|>`), in whatever state the model writes them. A format says which words
//! there are ([`Words`]); its parser feeds [`Header`] and decides what becomes of it.
//!
//! Invariant: a header is bounded, and what is read in it doesn't depend on how it was cut.

use std::marker::PhantomData;

/// Words between two markers; one more makes it prose. Sound headers have three (`commentary to=functions.x json`).
const WORDS: usize = 6;
/// Bytes likewise.
const BYTES: usize = 256;
/// What stands before a recipient.
const TO: &str = "to=";

/// The words of a format's headers.
pub(crate) trait Words {
    /// What a header says beside names.
    const KNOWN: &'static [(&'static str, Word)];
    /// Roles other than the model's. A name with a dot is another's, too.
    const OTHERS: &'static [&'static str];
    /// Recipients that are no tool.
    const NOBODY: &'static [&'static str];
    /// What stands before the name of a tool, in any place.
    const TOOL: &'static str;
    /// The type of content that is plain text, where JSON is usual.
    const RAW: &'static str;
}

/// What a known word is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Word {
    /// The role of the model; anything may follow it at once.
    Model,
    /// Where messages go.
    Channel,
    /// What their content may be.
    Type,
}

/// What a marker begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
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
pub(crate) struct Header<W> {
    /// The tool addressed, as written.
    pub(crate) recipient: Option<String>,
    /// A name where a channel should be.
    pub(crate) misplaced: Option<String>,
    /// One that the format knows, or nothing.
    pub(crate) channel: &'static str,
    /// Whether the model speaks in another's name.
    pub(crate) is_foreign: bool,
    /// Whether the content is plain text.
    pub(crate) is_raw: bool,
    words: PhantomData<W>,
    part: Part,
    text: String,
    in_word: bool,
    count: usize,
}

impl<W: Words> Header<W> {
    /// One that begins with this.
    pub(crate) fn new(part: Part) -> Self {
        let (recipient, misplaced, text, words) = (None, None, String::new(), PhantomData);
        Self {
            recipient,
            misplaced,
            channel: "",
            is_foreign: false,
            is_raw: false,
            words,
            part,
            text,
            in_word: false,
            count: 0,
        }
    }

    /// Whether one of its own markers came.
    pub(crate) fn has_begun(&self) -> bool {
        self.part != Part::Nothing
    }

    /// Takes more of it. If that shows that it is no header any more: how many of the bytes still were.
    pub(crate) fn push(&mut self, chunk: &str) -> Option<usize> {
        let end = chunk.char_indices().find(|(at, next)| self.is_ended_by(*at, *next)).map(|(at, _)| at);
        self.text.push_str(&chunk[..end.unwrap_or(chunk.len())]);
        end
    }

    /// Whether it can't go on with this character, so many bytes further.
    fn is_ended_by(&mut self, at: usize, next: char) -> bool {
        let was_in_word = std::mem::replace(&mut self.in_word, !next.is_whitespace());
        self.count += usize::from(self.in_word && !was_in_word);
        let is_letter = !next.is_ascii() && next.is_alphabetic();
        next == '{' || is_letter || self.count > WORDS || self.text.len() + at >= BYTES
    }

    /// A marker came, and it goes on with this: what came before is read, and what that leaves was garbage.
    pub(crate) fn go_on(&mut self, part: Part) {
        let garbage = self.read(false);
        if !garbage.is_empty() {
            self.is_raw |= self.part == Part::Type && garbage.trim() == W::RAW;
            self.word(garbage.rfind(TO).map_or("", |at| &garbage[at..]));
        }
        (self.part, self.count) = (part, 0);
    }

    /// Reads what came after the last marker; what can't be a header's is left. Where the stream `is_cut`, the last word may be too.
    pub(crate) fn read(&mut self, is_cut: bool) -> String {
        let text = std::mem::take(&mut self.text);
        self.in_word = false;
        let named = self.name(text.trim_start());
        let mut rest = named;
        while let Some(next) = self.word(rest) {
            rest = next.trim_start();
        }
        let is_prose = matches!(self.part, Part::Nothing | Part::Role) && self.recipient.is_none();
        if is_prose && !rest.is_empty() {
            self.channel = "";
            rest = match first::<W>(named) {
                Some((_, Word::Model, behind)) => behind.trim_start(),
                _ => named,
            };
        }
        let mut known = W::KNOWN.iter().map(|(word, _)| *word).chain([TO, W::TOOL]);
        let mut is_begun = || rest.starts_with('<') || known.any(|word| word.starts_with(rest));
        let is_cut = is_cut && self.has_begun() && is_begun();
        if is_cut { String::new() } else { rest.to_owned() }
    }

    /// Reads a name in the place of a role or a channel; returns what follows, as `word` does.
    fn name<'a>(&mut self, text: &'a str) -> &'a str {
        let name = name_of(text);
        if text.starts_with(TO) || first::<W>(text).is_some() {
            return text;
        }
        if self.part == Part::Role {
            self.is_foreign = W::OTHERS.contains(&name) || name.contains('.');
        } else if self.part == Part::Channel && !name.is_empty() {
            self.misplaced = Some(name.into());
        }
        let is_read = self.part == Part::Role || name.starts_with(W::TOOL);
        if is_read { text[name.len()..].trim_start() } else { text }
    }

    /// Reads a recipient or a known word.
    fn word<'a>(&mut self, text: &'a str) -> Option<&'a str> {
        let Some(rest) = text.strip_prefix(TO) else {
            let (word, kind, rest) = first::<W>(text)?;
            if kind == Word::Channel {
                self.channel = word;
            }
            return Some(rest);
        };
        let name = name_of(rest);
        if !name.is_empty() && !W::NOBODY.contains(&name) {
            self.recipient = Some(name.into());
        }
        Some(&rest[name.len()..])
    }
}

/// The known word that a text begins with, and what follows it: perhaps at once, but no small letter that makes another word of it.
fn first<W: Words>(text: &str) -> Option<(&'static str, Word, &str)> {
    let (word, kind) = *W::KNOWN.iter().find(|(word, _)| text.starts_with(word))?;
    let rest = &text[word.len()..];
    let ends = kind == Word::Model || rest.starts_with(TO) || !rest.starts_with(char::is_lowercase);
    ends.then_some((word, kind, rest))
}

/// The name that a text begins with.
fn name_of(text: &str) -> &str {
    let may_stand = |next: char| matches!(next, '_' | '-' | '.' | ':' | '/' | '@') || next.is_alphanumeric();
    let end = text.find(|next| !may_stand(next));
    &text[..end.unwrap_or(text.len())]
}
