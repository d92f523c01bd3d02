//! What grammars ask of the spelling of a parameter.

use super::{Delimiter, Parameter, Piece};

impl Parameter {
    /// Whether the delimiter before a value may have any key that a grammar writes.
    pub(super) fn has_any_keys(&self) -> bool {
        let is_fit = |piece: &Piece| match piece {
            Piece::Run { except, word, .. } => {
                !word && except.chars().all(|char| "<>=\"".contains(char) || char.is_whitespace())
            }
            _ => true,
        };
        self.keys[0].pattern.0.iter().all(is_fit)
    }

    /// Ends that hold no other one: a value that spells none of them spells no end.
    pub(super) fn least_ends(&self) -> impl Iterator<Item = &Delimiter> {
        let text = |end: &Delimiter| end.pattern.0.iter().map(Piece::literal).collect::<String>();
        let holds = move |end: &Delimiter, other: &Delimiter| {
            text(other).len() < text(end).len() && text(end).contains(&text(other))
        };
        self.ends.iter().filter(move |end| !self.ends.iter().any(|other| holds(end, other)))
    }
}
