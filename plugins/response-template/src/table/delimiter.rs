//! Delimiters of a table: patterns that begin with a marker, which the host finds. `Table::read`
//! makes them and collects the markers.
//!
//! Invariant: every delimiter begins with a marker, and each part of it that may be a special token
//! is a marker, too.

use super::pattern::{Pattern, Piece, parse};

/// A pattern that begins with a marker.
#[derive(Debug)]
pub(crate) struct Delimiter {
    /// Index of the marker with which the pattern begins.
    pub(crate) trigger: usize,
    /// The whole pattern, including that marker.
    pub(crate) pattern: Pattern,
}

/// The markers that a format's delimiters need.
#[derive(Debug, Default)]
pub(crate) struct Markers(pub(crate) Vec<String>);

impl Markers {
    /// A delimiter of one literal.
    ///
    /// # Errors
    /// `text` is empty.
    pub(crate) fn literal(&mut self, text: &str) -> Result<Delimiter, String> {
        self.delimiter(vec![Piece::Literal(text.to_owned())])
    }

    /// A delimiter of these pieces. Each part that may be a special token becomes a marker, since
    /// special tokens reach a parser only so.
    ///
    /// # Errors
    /// The pieces don't begin with literal text.
    #[inline(never)]
    pub(crate) fn delimiter(&mut self, pieces: Vec<Piece>) -> Result<Delimiter, String> {
        let Some(Piece::Literal(first)) =
            pieces.first().filter(|piece| **piece != Piece::Literal(String::new()))
        else {
            return Err("a delimiter that doesn't begin with literal text can't be found in a stream".into());
        };
        let trigger = self.marker(token(first));
        let pattern = Pattern(pieces);
        self.tokens(&pattern);
        Ok(Delimiter { trigger, pattern })
    }

    /// Makes a marker of each part of a pattern that may be a special token.
    pub(super) fn tokens(&mut self, pattern: &Pattern) {
        for piece in &pattern.0 {
            let Piece::Literal(literal) = piece else { continue };
            for part in parts(literal).filter(|part| part.starts_with(['<', '[']) && part.len() > 1) {
                self.marker(part);
            }
        }
    }

    /// The delimiters that a regular expression describes, one per alternative, and whether an
    /// alternative is `^`, the beginning of the text. White space at both ends and unnamed runs at
    /// the beginning are left out.
    ///
    /// # Errors
    /// The construct that can't be decided as text arrives.
    pub(crate) fn regex(&mut self, regex: &str) -> Result<(Vec<Delimiter>, bool), String> {
        let (mut delimiters, mut begins) = (Vec::new(), false);
        for Pattern(mut pieces) in parse(regex)? {
            begins |= pieces == [Piece::Edge('^')];
            if matches!(pieces[..], [Piece::Edge(_)]) {
                continue;
            }
            let is_before = |piece: &&Piece| matches!(piece, Piece::Space | Piece::Run { group: None, .. });
            pieces.drain(..pieces.iter().take_while(is_before).count());
            pieces
                .truncate(pieces.iter().rposition(|piece| *piece != Piece::Space).map_or(0, |last| last + 1));
            delimiters.push(self.delimiter(pieces)?);
        }
        Ok((delimiters, begins))
    }

    /// A delimiter that is one marker, even if `text` contains several possible tokens.
    pub(crate) fn whole(&mut self, text: &str) -> Delimiter {
        let pattern = Pattern(vec![Piece::Literal(text.to_owned())]);
        Delimiter { trigger: self.marker(text), pattern }
    }

    #[inline(never)]
    fn marker(&mut self, literal: &str) -> usize {
        self.0.iter().position(|marker| marker == literal).unwrap_or_else(|| {
            self.0.push(literal.to_owned());
            self.0.len() - 1
        })
    }
}

/// The parts of a literal that may be one token each, and the text between them.
pub(super) fn parts(literal: &str) -> impl Iterator<Item = &str> {
    let mut rest = literal;
    std::iter::from_fn(move || {
        let part = (!rest.is_empty()).then(|| token(rest))?;
        rest = &rest[part.len()..];
        Some(part)
    })
}

/// The beginning of a literal that may be one token: `<…>`, `[…]`, or the text before such.
#[inline(never)]
fn token(literal: &str) -> &str {
    let end = match literal.as_bytes().first() {
        Some(b'<') => literal.find('>').map(|at| at + 1),
        Some(b'[') => literal.find(']').map(|at| at + 1),
        _ => literal.find(['<', '[']),
    };
    &literal[..end.unwrap_or(literal.len())]
}
