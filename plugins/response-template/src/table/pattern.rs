//! Patterns of delimiters: [`Pattern::matches`] compares text with one as `re` does, as far as the
//! text has arrived. `regex` reads them.
//!
//! Invariant: the longest runs and white space win where `re` lets them, a lazy run ends at the
//! first place where the rest matches, and so does a name or key; nothing is decided that more text
//! could change. What a run without a name takes is dropped, so it takes one word at most.

use parser_sdk::Output;

use super::tokens::{is_token, token};

/// Longest text of a run without a name, in bytes.
const UNNAMED: usize = 48;

/// A sequence of pieces.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Pattern(pub(crate) Vec<Piece>);

/// A part of a pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Piece {
    /// Literal text.
    Literal(String),
    /// White space, or none.
    Space,
    /// White space that the table doesn't write, or none: between two tokens, or beside a name.
    Gap,
    /// `^` or `$`.
    Edge(char),
    /// `(?=.*?TEXT)`: this text comes.
    Ahead(String),
    /// `\b`: a word ends or begins here.
    Boundary,
    /// Characters of one class.
    Run(Run),
}

/// A run of characters of one class.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Run {
    /// Characters that end the run.
    pub(crate) except: String,
    /// Which other characters end it.
    pub(crate) class: Class,
    /// Ranges of characters that a class has.
    pub(crate) only: Vec<(char, char)>,
    /// Whether it takes as little as it can.
    pub(crate) is_lazy: bool,
    /// Whether it has a character at least.
    pub(crate) is_some: bool,
    /// Name of the run's group.
    pub(crate) group: Option<String>,
}

/// Characters that a run may have.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Class {
    #[default]
    Any,
    /// All but white space (`\S`).
    NoSpace,
    /// Letters, digits, `_` (`\w`), and those of [`Run::only`].
    Word,
    /// Those of [`Run::only`].
    Only,
}

/// Result of comparing text with a pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Match<'a> {
    /// The text doesn't match.
    No,
    /// The text may match when more text has arrived, and what it waits for.
    Partial(Wait),
    /// The text matches: the length of the match in bytes, and the text of the named group.
    Yes(usize, Option<&'a str>),
}

/// What a text that may yet match waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wait {
    /// Any byte.
    Byte,
    /// A marker, before which white space changes nothing.
    Marker,
    /// One of up to four bytes.
    Ends([u8; 4]),
}

impl Wait {
    /// What both wait for.
    pub(super) fn and(self, other: Self) -> Self {
        if self == other { self } else { Self::Byte }
    }

    /// Tells the host to hold what comes, as far as it decides nothing.
    pub(crate) fn hold(self, out: &mut Output) {
        match self {
            Self::Byte => {}
            Self::Marker => out.hold_gap(),
            Self::Ends(ends) => out.hold_head(&ends),
        }
    }
}

/// Whether a group may have this text, which is whole or goes on.
pub(crate) type Fits<'a> = &'a dyn Fn(&str, bool) -> bool;

impl Pattern {
    /// Whether `text` begins with the pattern, with text in its named group that `fits`.
    pub(crate) fn matches<'a>(&self, text: &'a str, fits: Fits) -> Match<'a> {
        matches(&self.0, text, 0, fits)
    }

    /// Name of the pattern's group.
    pub(crate) fn group(&self) -> Option<&str> {
        self.0.iter().find_map(|piece| match piece {
            Piece::Run(run) => run.group.as_deref(),
            _ => None,
        })
    }

    /// Index of the piece that is the pattern's group.
    pub(crate) fn group_at(&self) -> Option<usize> {
        self.0.iter().position(|piece| matches!(piece, Piece::Run(Run { group: Some(_), .. })))
    }
}

/// Whether `text` goes on with these pieces from byte `at` on.
fn matches<'a>(pieces: &[Piece], text: &'a str, at: usize, fits: Fits) -> Match<'a> {
    let Some((piece, behind)) = pieces.split_first() else { return Match::Yes(at, None) };
    let rest = &text[at..];
    let read = match piece {
        Piece::Literal(literal) if rest.starts_with(literal.as_str()) => literal.len(),
        Piece::Literal(literal) if literal.starts_with(rest) => return Match::Partial(Wait::Byte),
        Piece::Literal(_) | Piece::Edge(_) | Piece::Ahead(_) => return Match::No,
        Piece::Boundary => {
            let Some(next) = rest.chars().next() else { return Match::Partial(Wait::Byte) };
            if text[..at].chars().next_back().is_some_and(is_word) == is_word(next) {
                return Match::No;
            }
            0
        }
        Piece::Space | Piece::Gap => match rest.trim_start() {
            "" if behind.first().is_some_and(|next| is_token(token(next.literal()))) => {
                return Match::Partial(Wait::Marker);
            }
            next => rest.len() - next.len(),
        },
        Piece::Run(run) => return run.matches(behind, text, at, fits),
    };
    matches(behind, text, at + read, fits)
}

impl Piece {
    /// The literal text; empty for other pieces.
    pub(super) fn literal(&self) -> &str {
        if let Self::Literal(text) = self { text } else { "" }
    }
}

impl Run {
    /// Whether `text` goes on with this run from byte `at` on, and `behind` it.
    fn matches<'a>(&self, behind: &[Piece], text: &'a str, at: usize, fits: Fits) -> Match<'a> {
        let rest = &text[at..];
        let end = rest.find(|char| !self.takes(char));
        let is_fit = |run: &str, is_whole| match self.group {
            Some(_) => fits(run, is_whole),
            None => is_markup(run),
        };
        let may_go_on = end.is_none() && is_fit(rest, false);
        // A name or key ends where the pattern can go on: how far a longer one would go isn't known.
        let next = behind.iter().find_map(|piece| piece.literal().chars().next());
        let is_lazy = self.is_lazy || (self.group.is_some() && next.is_some_and(|next| self.takes(next)));
        if end.is_none() && !is_lazy {
            return if may_go_on { Match::Partial(self.wait(next)) } else { Match::No };
        }
        let end = end.unwrap_or(rest.len());
        let is_short = |end: &usize| *end == 0 && (self.is_some || self.group.is_some());
        let mut ends = rest[..end].char_indices().map(|(at, _)| at).chain([end]).filter(|end| !is_short(end));
        let ending_at = |length| {
            Some((length, matches(behind, text, at + length, fits))).filter(|(_, found)| *found != Match::No)
        };
        let ended = if is_lazy { ends.find_map(ending_at) } else { ends.rev().find_map(ending_at) };
        if let Some((length, found)) = ended {
            let run = &rest[..length];
            return if is_fit(run, true) { self.named(found, run) } else { Match::No };
        }
        if may_go_on { Match::Partial(self.wait(next)) } else { Match::No }
    }

    /// What may end a name or key, behind which the pattern goes on with `next`.
    fn wait(&self, next: Option<char>) -> Wait {
        let mut ends = [0; 4];
        let chars = self.except.chars().chain(next.filter(|next| !self.except.contains(*next)));
        if self.group.is_none() || self.class != Class::Any || chars.clone().count() > ends.len() {
            return Wait::Byte;
        }
        for (end, char) in ends.iter_mut().zip(chars) {
            match u8::try_from(char) {
                Ok(byte) if byte.is_ascii() => *end = byte,
                _ => return Wait::Byte,
            }
        }
        Wait::Ends(ends)
    }

    /// The match of a pattern whose group this run is, or isn't.
    fn named<'a>(&self, found: Match<'a>, run: &'a str) -> Match<'a> {
        match found {
            Match::Yes(bytes, None) if self.group.is_some() => Match::Yes(bytes, Some(run)),
            found => found,
        }
    }

    pub(super) fn takes(&self, char: char) -> bool {
        let is_named = || self.only.iter().any(|(from, to)| (from..=to).contains(&&char));
        let is_in = match self.class {
            Class::Any => true,
            Class::NoSpace => !char.is_whitespace(),
            Class::Word => is_word(char) || is_named(),
            Class::Only => is_named(),
        };
        // No name or key has the beginning of a tag in it.
        let is_tag = self.group.is_some() && char == '<';
        is_in && !is_tag && !self.except.contains(char)
    }
}

/// Whether text is one word at most, tokens and white space around it aside.
fn is_markup(text: &str) -> bool {
    let (mut words, mut in_word, mut in_token) = (0, false, false);
    for char in text.chars() {
        let was = std::mem::replace(&mut in_word, !in_token && char != '<' && !char.is_whitespace());
        words += usize::from(in_word && !was);
        in_token = char == '<' || (in_token && char != '>');
    }
    words <= 1 && text.len() <= UNNAMED
}

pub(super) fn is_word(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}
