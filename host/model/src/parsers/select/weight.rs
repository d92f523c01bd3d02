//! Counts of a candidate's markers, by which candidates are compared.

use std::cmp::Reverse;
use std::fmt::Write as _;

use super::{Evidence, ParserCandidate};

/// Counts of a candidate's markers.
pub(super) struct Weight<'a> {
    pub(super) index: usize,
    pub(super) name: &'a str,
    own: usize,
    /// Number of the markers in the turns with a call that the template writes.
    pub(super) in_turns: usize,
    pub(super) in_template: Vec<&'a str>,
    tokens: usize,
}

impl<'a> Weight<'a> {
    /// Counts the markers `own` of a candidate.
    pub(super) fn of(
        model: &Evidence,
        index: usize,
        candidate: &ParserCandidate<'a>,
        own: &[&'a str],
    ) -> Self {
        let in_turns = |marker: &str| model.turns.iter().any(|turn| turn.written.contains(marker));
        let in_turns = own.iter().filter(|marker| in_turns(marker)).count();
        let in_template: Vec<_> =
            own.iter().copied().filter(|marker| model.template.contains(marker)).collect();
        let tokens = own.iter().filter(|marker| model.tokens.contains(**marker)).count();
        Self { index, name: candidate.name, own: own.len(), in_turns, in_template, tokens }
    }

    /// Order of candidates, the best first.
    pub(super) fn order(&self) -> Reverse<(usize, usize, Reverse<usize>, usize)> {
        let has = self.in_template.len();
        Reverse((self.in_turns, has, Reverse(self.own - has), self.tokens))
    }

    /// The counts, for people.
    pub(super) fn describe(&self) -> String {
        let mut line = format!(
            "{} ({} of its {} own markers in the template, {} among the added tokens",
            self.name,
            self.in_template.len(),
            self.own,
            self.tokens
        );
        if let Some(marker) = self.in_template.first() {
            let _ = write!(line, ", e.g. {marker}");
        }
        line + ")"
    }
}
