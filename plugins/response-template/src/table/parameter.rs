//! What grammars ask of the spelling of a parameter.

use super::{Class, Delimiter, Parameter, Piece, Run};

impl Parameter {
    /// Whether the delimiter before a value may have any key that a grammar writes.
    pub(super) fn has_any_keys(&self) -> bool {
        let is_fit = |piece: &Piece| match piece {
            Piece::Run(Run { except, class, .. }) => {
                !matches!(class, Class::Word | Class::Only)
                    && except.chars().all(|char| "<>=\"".contains(char) || char.is_whitespace())
            }
            _ => true,
        };
        self.keys[0].pattern.0.iter().all(is_fit)
    }

    /// Ends that hold no other one: a value that spells none of them spells no end.
    pub(super) fn least_ends(&self) -> impl Iterator<Item = &Delimiter> {
        let holds = move |end: &Delimiter, other: &Delimiter| {
            other.text().len() < end.text().len() && end.text().contains(&other.text())
        };
        self.ends.iter().filter(move |end| !self.ends.iter().any(|other| holds(end, other)))
    }

    /// The end of a value that has a line of its own.
    pub(super) fn end_of_line(&self) -> &Delimiter {
        let first = &self.ends[0];
        let own = ["\n", &first.text()].concat();
        self.ends.iter().find(|end| end.text() == own).unwrap_or(first)
    }
}
