//! Markers that count in a place of the turn, for the template of grammars: what ends a region
//! there, or begins another.

use super::tokens::is_token;
use super::{Delimiter, Field, Kind, Table};

impl Table {
    /// Indices of the markers that no message contains: those that begin a delimiter that counts
    /// there, of calls if the turn may have some, and those that look like special tokens.
    pub(super) fn active_markers(&self, may_call: bool) -> Vec<usize> {
        let message = self.message().filter(|message| !message.open.is_empty());
        let delimiters: Vec<&[Delimiter]> = if let Some(message) = message {
            vec![&message.close]
        } else {
            let opening = self.fields.iter().filter(|field| field.kind.is_text());
            opening.map(|field| &field.open[..]).collect()
        };
        let mut active = self.triggers(&delimiters);
        if may_call {
            active.extend(self.call_triggers());
        }
        self.with_special_tokens(&active)
    }

    /// Indices of the markers that begin a call.
    pub(super) fn call_triggers(&self) -> impl Iterator<Item = usize> {
        let calls = self.fields.iter().filter(|field| !field.kind.is_text());
        calls.flat_map(|field| &field.open).map(|open| open.trigger)
    }

    /// Whether a marker begins a call.
    pub(crate) fn opens_call(&self, marker: usize) -> bool {
        self.call_triggers().any(|trigger| trigger == marker)
    }

    /// Whether a marker, which may be a token, ends a call or a part of one.
    pub(crate) fn ends_call(&self, marker: usize) -> bool {
        let literal = &*self.markers.0[marker];
        let is_in = |end: &Delimiter| end.pattern.0.iter().any(|piece| piece.literal() == literal);
        is_token(literal)
            && self.fields.iter().enumerate().filter(|(_, field)| !field.kind.is_text()).any(
                |(index, field)| {
                    let ends = self.parameter(Some(index)).map_or(&[][..], |parameter| &parameter.ends);
                    field.close.iter().chain(ends).any(is_in)
                },
            )
    }

    /// Indices of the markers that begin these delimiters or the turn's end.
    pub(super) fn triggers(&self, delimiters: &[&[Delimiter]]) -> Vec<usize> {
        let mut triggers = Vec::new();
        for delimiters in [delimiters, &[self.ends()]].concat() {
            triggers.extend(delimiters.iter().map(|delimiter| delimiter.trigger));
        }
        triggers
    }

    /// The markers `active` and all that look like special tokens, which no message shows; in their
    /// order.
    pub(super) fn with_special_tokens(&self, active: &[usize]) -> Vec<usize> {
        let all = 0..self.markers.0.len();
        all.filter(|index| active.contains(index) || is_token(&self.markers.0[*index])).collect()
    }

    fn ends(&self) -> &[Delimiter] {
        self.implicit.map_or(&[], |implicit| &self.fields[implicit].close)
    }

    pub(super) fn message(&self) -> Option<&Field> {
        self.fields.iter().find(|field| matches!(field.kind, Kind::Content))
    }
}
