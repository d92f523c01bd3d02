//! Delimiters of a table: patterns that begin with a marker, which the host finds. `Table::read`
//! makes them and collects the markers.
//!
//! Invariant: every delimiter begins with a marker, and each part of it that may be a special token
//! is a marker, too.

use std::sync::Arc;

use super::pattern::{Class, Pattern, Piece, Run, is_word};
use super::regex::parse;
use super::tokens::{is_token, parts, token};

/// A pattern that begins with a marker.
#[derive(Debug)]
pub(crate) struct Delimiter {
    /// Index of the marker with which the pattern begins.
    pub(crate) trigger: usize,
    /// Whether that marker may be part of JSON.
    pub(crate) is_json: bool,
    /// The whole pattern, including that marker.
    pub(crate) pattern: Pattern,
}

impl Delimiter {
    /// The literal text of the pattern.
    pub(super) fn text(&self) -> String {
        self.pattern.0.iter().map(Piece::literal).collect()
    }
}

/// Whether a region is open when the message begins.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Beginning {
    Closed,
    /// `^`.
    Open,
    /// `(?=.*?TEXT)`: if this text comes.
    OpenIf(String),
}

/// The markers that a format's delimiters need.
#[derive(Debug, Default)]
pub(crate) struct Markers(pub(crate) Vec<Arc<str>>);

impl Markers {
    /// The markers' literals.
    pub(crate) fn literals(&self) -> Vec<String> {
        self.0.iter().map(ToString::to_string).collect()
    }

    /// A delimiter of one literal.
    ///
    /// # Errors
    /// `text` is empty.
    pub(crate) fn literal(&mut self, text: &str) -> Result<Delimiter, String> {
        self.delimiter(&[Piece::Literal(text.to_owned())])
    }

    /// A delimiter of these pieces. Each part that may be a special token becomes a marker, since
    /// special tokens reach a parser only so.
    ///
    /// # Errors
    /// The pieces don't begin with literal text, or never match.
    #[inline(never)]
    pub(crate) fn delimiter(&mut self, pieces: &[Piece]) -> Result<Delimiter, String> {
        check(pieces)?;
        let Some(Piece::Literal(first)) =
            pieces.first().filter(|piece| **piece != Piece::Literal(String::new()))
        else {
            return Err("a delimiter that doesn't begin with literal text can't be found in a stream".into());
        };
        let trigger = self.marker(token(first));
        let pattern = Pattern(with_gaps(pieces));
        self.tokens(&pattern);
        Ok(self.triggered(trigger, pattern))
    }

    /// The same delimiter with its group in quotes of the other kind, or in none, if it has quotes.
    pub(crate) fn otherwise(&mut self, pattern: &Pattern) -> Vec<Delimiter> {
        let Some(at) = pattern.group_at() else { return Vec::new() };
        let pieces = &pattern.0;
        let before = at.checked_sub(1).and_then(|before| pieces[before].literal().strip_suffix('"'));
        let after = pieces.get(at + 1).and_then(|after| after.literal().strip_prefix('"'));
        let (Some(before), Some(after), Piece::Run(run)) = (before, after, &pieces[at]) else {
            return Vec::new();
        };
        let spelt = |quote: &str, except: &str, class| {
            let run = Run { except: [except, &run.except].concat(), class, ..run.clone() };
            let [before, after] = [[before, quote].concat(), [quote, after].concat()].map(Piece::Literal);
            [&pieces[..at - 1], &[before, Piece::Run(run), after], &pieces[at + 2..]].concat()
        };
        let spelt = [spelt("'", "'", run.class), spelt("", "'>", Class::NoSpace)];
        spelt.into_iter().filter_map(|pieces| self.delimiter(&pieces).ok()).collect()
    }

    /// A delimiter without what stands before the last token in front of its group or its end, if
    /// anything does.
    pub(crate) fn bare(&mut self, pattern: &Pattern) -> Option<Delimiter> {
        let Pattern(pieces) = pattern;
        let before = &pieces[..pattern.group_at().unwrap_or(pieces.len())];
        let last = before.iter().rposition(|piece| is_token(piece.literal())).filter(|last| *last > 0)?;
        self.delimiter(&pieces[last..]).ok()
    }

    /// Makes a marker of each part of a pattern that may be a special token.
    pub(super) fn tokens(&mut self, pattern: &Pattern) {
        for piece in &pattern.0 {
            let Piece::Literal(literal) = piece else { continue };
            for part in parts(literal).filter(|part| is_token(part)) {
                self.marker(part);
            }
        }
    }

    /// The delimiters that a regular expression describes, one per alternative, and where the
    /// region is open at the beginning. White space at both ends and unnamed runs at the beginning
    /// are left out.
    ///
    /// # Errors
    /// The construct that can't be decided as text arrives.
    pub(crate) fn regex(&mut self, regex: &str) -> Result<(Vec<Delimiter>, Beginning), String> {
        let (mut delimiters, mut beginning) = (Vec::new(), Beginning::Closed);
        for Pattern(mut pieces) in parse(regex)? {
            match &mut pieces[..] {
                [Piece::Edge('^')] => {
                    beginning = Beginning::Open;
                    continue;
                }
                [Piece::Ahead(text)] => {
                    beginning = Beginning::OpenIf(std::mem::take(text));
                    continue;
                }
                [Piece::Edge(_)] => continue,
                _ => {}
            }
            let is_before =
                |piece: &&Piece| matches!(piece, Piece::Space | Piece::Run(Run { group: None, .. }));
            pieces.drain(..pieces.iter().take_while(is_before).count());
            pieces
                .truncate(pieces.iter().rposition(|piece| *piece != Piece::Space).map_or(0, |last| last + 1));
            delimiters.push(self.delimiter(&pieces)?);
        }
        Ok((delimiters, beginning))
    }

    /// A delimiter that is one marker, even if `text` contains several possible tokens.
    pub(crate) fn whole(&mut self, text: &str) -> Delimiter {
        let pattern = Pattern(vec![Piece::Literal(text.to_owned())]);
        let trigger = self.marker(text);
        self.triggered(trigger, pattern)
    }

    /// Whether each marker begins with another, or another with it.
    pub(super) fn nested(&self) -> Vec<bool> {
        let is_nested = |marker: &Arc<str>| {
            let mut others = self.0.iter().filter(|other| *other != marker);
            others.any(|other| other.starts_with(&**marker) || marker.starts_with(&**other))
        };
        self.0.iter().map(is_nested).collect()
    }

    fn triggered(&self, trigger: usize, pattern: Pattern) -> Delimiter {
        let marker = &self.0[trigger];
        let is_json = marker.starts_with(['{', '"']) || (marker.starts_with('[') && !marker.ends_with(']'));
        Delimiter { trigger, is_json, pattern }
    }

    #[inline(never)]
    fn marker(&mut self, literal: &str) -> usize {
        self.0.iter().position(|marker| **marker == *literal).unwrap_or_else(|| {
            self.0.push(literal.into());
            self.0.len() - 1
        })
    }
}

/// Checks that text can match these pieces of one delimiter.
fn check(pieces: &[Piece]) -> Result<(), String> {
    if matches!(pieces.last(), Some(Piece::Run(Run { is_lazy: true, .. }))) {
        return Err("a lazy run at the end of a pattern takes nothing".into());
    }
    if pieces.iter().any(|piece| matches!(piece, Piece::Edge(_) | Piece::Ahead(_))) {
        return Err("`^`, `$` and `(?=` can't be part of a longer pattern".into());
    }
    let never = pieces.windows(3).any(|three| match three {
        [Piece::Literal(before), Piece::Boundary, Piece::Literal(behind)] => {
            before.chars().next_back().is_some_and(is_word) == behind.chars().next().is_some_and(is_word)
        }
        _ => false,
    });
    if never { Err("`\\b` stands where it never matches".into()) } else { Ok(()) }
}

/// The pieces with white space allowed beside each token that stands beside other literal text or a
/// group.
fn with_gaps(pieces: &[Piece]) -> Vec<Piece> {
    let mut all: Vec<Piece> = Vec::new();
    let whole = pieces.iter().flat_map(|piece| match piece {
        Piece::Literal(text) => parts(text).map(|part| Piece::Literal(part.to_owned())).collect(),
        other => vec![other.clone()],
    });
    let is_text = |piece: &Piece| {
        !piece.literal().is_empty() || matches!(piece, Piece::Run(Run { group: Some(_), .. }))
    };
    for piece in whole {
        let is_beside = all.last().is_some_and(|last| {
            let ends_token = is_token(last.literal()) && last.literal().ends_with(['>', ']']);
            let has_space = last.literal().ends_with(char::is_whitespace)
                || piece.literal().starts_with(char::is_whitespace);
            let is_token = ends_token || is_token(piece.literal());
            is_token && !has_space && is_text(last) && is_text(&piece)
        });
        all.extend(is_beside.then_some(Piece::Gap));
        all.push(piece);
    }
    all
}
