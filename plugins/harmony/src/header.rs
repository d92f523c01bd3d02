//! Message headers, well-formed or not: words, with markers between them, that name the role, the
//! channel, the recipient and the type of content
//! (`assistant<|channel|>commentary to=NAME<|constrain|>json<|message|>`). The parser feeds a
//! [`Header`] and decides what message the header opens.
//!
//! Invariant: a header's length is bounded, and the result of reading a header doesn't depend on
//! how the stream is cut into chunks.

/// Most words that a header has before its channel; longer text is prose.
const WORDS: usize = 6;
/// Most words between two later markers; well-formed headers have three: `commentary
/// to=functions.x json`.
const LATER_WORDS: usize = 8;
/// Most bytes that a header has between two markers; a longer text is prose.
const BYTES: usize = 256;
/// Most of these bytes beside recipients, whose names may be long: what is no header is held no
/// longer than sixteen deltas.
const PLAIN: usize = 40;
/// Prefix of a recipient.
const TO: &str = "to=";

/// Words that a header may contain besides names.
const KNOWN: [(&str, Word); 6] = [
    ("analysis", Word::Channel),
    ("commentary", Word::Channel),
    ("final", Word::Channel),
    ("assistant", Word::Model),
    ("json", Word::Type),
    ("code", Word::Type),
];
/// Roles other than the model's. A name with a dot in place of a role counts as one, too.
const FOREIGN_ROLES: [&str; 5] = ["user", "system", "developer", "tool", "python"];
/// Recipients that are no tool.
const NON_TOOL_RECIPIENTS: [&str; 3] = ["assistant", "user", "all"];
/// Prefix of a tool's name, wherever the name stands.
pub(crate) const TOOL: &str = "functions.";
/// Type of content that says that a call's body is plain text; the default is JSON.
pub(crate) const RAW: &str = "text";

/// Kind of a known word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Word {
    /// The model's role; any text may follow it without a space.
    Model,
    /// Name of a channel.
    Channel,
    /// Type of a message's content.
    Type,
}

/// Part of a header that a marker begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    /// No part: the previous message has ended, and no marker of the header has come.
    Nothing,
    /// A role.
    Role,
    /// A channel.
    Channel,
    /// A type of content.
    Type,
}

/// Position in a header's text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum At {
    /// In white space, or before any text.
    Space,
    Word,
    /// In a word with a recipient in it.
    Recipient,
}

/// A header that is being read.
#[derive(Debug)]
pub(crate) struct Header {
    /// Recipient as written, unless it is one of [`NON_TOOL_RECIPIENTS`].
    pub(crate) recipient: Option<String>,
    /// Name that stands where a channel should be, and may be a tool's.
    pub(crate) misplaced: Option<String>,
    /// Channel, if the format knows it; otherwise empty.
    pub(crate) channel: &'static str,
    /// Whether the role is one of [`FOREIGN_ROLES`] or a name with a dot.
    pub(crate) is_foreign: bool,
    /// Whether the content is plain text.
    pub(crate) is_raw: bool,
    /// Whether words stand among the parts of a header that names a tool: its call is incomplete.
    pub(crate) has_words: bool,
    part: Part,
    text: String,
    at: At,
    /// Number of words and of bytes beside recipients since the last marker.
    count: usize,
    plain: usize,
}

impl Header {
    /// A header that begins with `part`.
    pub(crate) fn new(part: Part) -> Self {
        let (recipient, misplaced, text) = (None, None, String::new());
        Self {
            recipient,
            misplaced,
            channel: "",
            is_foreign: false,
            is_raw: false,
            has_words: false,
            part,
            text,
            at: At::Space,
            count: 0,
            plain: 0,
        }
    }

    /// Whether a marker of the header has come.
    pub(crate) fn has_begun(&self) -> bool {
        self.part != Part::Nothing
    }

    /// Adds text to the header. If not all of `chunk` can be the header's, returns how many of the
    /// bytes are.
    pub(crate) fn push(&mut self, chunk: &str) -> Option<usize> {
        for (at, next) in chunk.char_indices() {
            if self.is_ended_by(next) {
                return Some(at);
            }
            self.text.push(next);
        }
        None
    }

    /// Whether the header ends before the character `next`.
    fn is_ended_by(&mut self, next: char) -> bool {
        let was = self.at;
        self.at = match was {
            _ if next.is_whitespace() => At::Space,
            At::Recipient => At::Recipient,
            _ if self.text.ends_with(TO) || self.text.ends_with(TOOL) => At::Recipient,
            _ => At::Word,
        };
        self.count += usize::from(was == At::Space && self.at != At::Space);
        self.plain += if self.at == At::Recipient { 0 } else { next.len_utf8() };
        let is_letter = !next.is_ascii() && next.is_alphabetic();
        let is_long = self.text.len() >= BYTES || self.plain > PLAIN;
        let is_later = matches!(self.part, Part::Channel | Part::Type);
        let words = if is_later { LATER_WORDS } else { WORDS };
        next == '{' || is_letter || self.count > words || is_long
    }

    /// Reads the text before a marker that begins `part`. Of what `read` leaves, a recipient and
    /// [`RAW`] count, and single words are garbage. A sentence is none of the header's: returns its
    /// length in bytes, and that of the text behind it. In a header that names a tool it is
    /// [noted](Self::has_words), unless a part that came before begins the header again.
    pub(crate) fn begin_part(&mut self, part: Part) -> Option<(usize, usize)> {
        let is_again = part == self.part || (part == Part::Channel && self.part == Part::Type);
        let garbage = self.read(false);
        if garbage.is_empty() {
            (self.part, self.count, self.plain) = (part, 0, 0);
            return None;
        }
        self.is_raw |= self.part == Part::Type && garbage.trim() == RAW;
        let (before, recipient) = garbage.split_at(garbage.rfind(TO).unwrap_or(garbage.len()));
        let mut words = self.before_channel(before.trim_end());
        let (mut names_tool, mut behind) = (self.names_tool(), garbage.len() - words.len());
        let after = self.word(recipient).unwrap_or_default().trim_start();
        if !self.is_sentence(words) {
            (names_tool, words, behind) = (self.names_tool(), after.trim_end(), after.len());
            behind -= words.len();
        }
        let has_words = self.is_sentence(words);
        if has_words && names_tool && is_again {
            (self.recipient, self.misplaced, names_tool) = (None, None, false);
        }
        self.has_words |= has_words && names_tool;
        (self.part, self.count, self.plain) = (part, 0, 0);
        (has_words && !names_tool).then_some((words.len(), behind))
    }

    /// Whether the text so far names a tool, whose name may be found nowhere else.
    fn names_tool(&self) -> bool {
        self.recipient.is_some() || self.misplaced.as_ref().is_some_and(|name| name.starts_with(TOOL))
    }

    /// The words before the channel with which `text` ends, if it does; reads the channel.
    fn before_channel<'a>(&mut self, text: &'a str) -> &'a str {
        match text.rsplit_once(char::is_whitespace) {
            Some((words, last)) if matches!(first(last), Some((_, Word::Channel, ""))) => {
                self.word(last);
                words.trim_end()
            }
            _ => text,
        }
    }

    /// Whether the words are a sentence and no garbage, of which headers have a word or two.
    fn is_sentence(&self, words: &str) -> bool {
        let most = if self.part == Part::Role { 1 } else { 2 };
        let is_ended = words.ends_with(['.', '!', '?']) && words.contains(char::is_alphabetic);
        is_ended || words.split_whitespace().nth(most).is_some()
    }

    /// Reads the text after the last marker; returns what can't be a header's. If the stream
    /// `is_cut`, an incomplete last word is not returned.
    pub(crate) fn read(&mut self, is_cut: bool) -> String {
        let text = std::mem::take(&mut self.text);
        self.at = At::Space;
        let named = self.name(text.trim_start());
        let mut rest = named;
        while let Some(next) = self.word(rest) {
            rest = next.trim_start();
        }
        let is_prose = matches!(self.part, Part::Nothing | Part::Role) && self.recipient.is_none();
        if is_prose && !rest.is_empty() {
            self.channel = "";
            rest = match first(named) {
                Some((_, Word::Model, behind)) => behind.trim_start(),
                _ => named,
            };
        }
        let mut known = KNOWN.iter().map(|(word, _)| *word).chain([TO, TOOL]);
        let mut is_begun = || rest.starts_with('<') || known.any(|word| word.starts_with(rest));
        let is_cut = is_cut && self.has_begun() && is_begun();
        if is_cut { String::new() } else { rest.to_owned() }
    }

    /// Reads a name that stands in place of a role or a channel; returns the text that is still to
    /// be read.
    fn name<'a>(&mut self, text: &'a str) -> &'a str {
        let name = name_of(text);
        if text.starts_with(TO) || first(text).is_some() {
            return text;
        }
        if self.part == Part::Role {
            self.is_foreign = FOREIGN_ROLES.contains(&name) || name.contains('.');
        } else if self.part == Part::Channel && !name.is_empty() {
            self.misplaced = Some(name.into());
        }
        let rest = text[name.len()..].trim_start();
        let is_role = self.is_foreign || rest.is_empty() || rest.starts_with(TO) || first(rest).is_some();
        let is_read = (self.part == Part::Role && is_role) || name.starts_with(TOOL);
        if is_read { rest } else { text }
    }

    /// Reads a recipient or a known word; returns the text after it, or `None` if there is neither.
    fn word<'a>(&mut self, text: &'a str) -> Option<&'a str> {
        let Some(rest) = text.strip_prefix(TO) else {
            let (word, kind, rest) = first(text)?;
            if kind == Word::Channel {
                self.channel = word;
            }
            return Some(rest);
        };
        let name = name_of(rest);
        if !name.is_empty() && !NON_TOOL_RECIPIENTS.contains(&name) {
            self.recipient = Some(name.into());
        }
        Some(&rest[name.len()..])
    }
}

/// The known word that `text` begins with, its kind, and the text after it. A lowercase letter
/// right after a word makes it another word, except after the model's role and in `to=`.
fn first(text: &str) -> Option<(&'static str, Word, &str)> {
    let (word, kind) = *KNOWN.iter().find(|(word, _)| text.starts_with(word))?;
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
