//! Literals of the markers that come as tokens, and where they stand in a text.

use turn::{MarkerTable, TokenText};

/// Literals of the markers that are matched by token id, each with its id.
#[derive(Debug)]
pub(super) struct TokenLiterals(Box<[(u32, Box<str>)]>);

/// A literal in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Occurrence {
    pub(super) id: u32,
    /// The byte at which it begins.
    pub(super) at: usize,
    /// The byte behind it.
    pub(super) end: usize,
}

impl TokenLiterals {
    pub(super) fn of(markers: &MarkerTable) -> Self {
        Self(markers.entries().filter_map(|(literal, id)| Some((id?, literal.into()))).collect())
    }

    /// Whether no marker comes as a token.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The literal of this token, if it is a marker.
    pub(super) fn get(&self, id: u32) -> Option<&str> {
        self.0.iter().find(|(marker, _)| *marker == id).map(|(_, literal)| &**literal)
    }

    /// The leftmost literal from byte `from` on, and of those the longest.
    fn next(&self, text: &str, from: usize) -> Option<Occurrence> {
        let found = self.0.iter().filter_map(|(id, literal)| {
            let at = from + text[from..].find(&**literal)?;
            Some(Occurrence { id: *id, at, end: at + literal.len() })
        });
        found.min_by_key(|found| (found.at, usize::MAX - found.end))
    }

    /// All literals in a text, in order.
    pub(super) fn all(&self, text: &str) -> Vec<Occurrence> {
        std::iter::successors(self.next(text, 0), |last| self.next(text, last.end)).collect()
    }

    /// A prompt in pieces: each literal is the token.
    pub(super) fn split<'a>(&self, prompt: &'a str) -> Vec<TokenText<'a>> {
        let (mut pieces, mut told) = (Vec::new(), 0);
        for Occurrence { id, at, end } in self.all(prompt) {
            pieces.push(TokenText::new(None, &prompt[told..at]));
            pieces.push(TokenText::new(Some(id), &prompt[at..end]));
            told = end;
        }
        pieces.push(TokenText::new(None, &prompt[told..]));
        pieces.retain(|piece| !piece.text.is_empty());
        pieces
    }
}
