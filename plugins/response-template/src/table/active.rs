//! Markers that count in a place of the turn, for the template of grammars: what ends a region there, or begins another.

use super::{Delimiter, Field, Kind, Table};

impl Table {
    /// Indices of the markers that no message contains: those that begin a delimiter that counts there, of calls if the turn may have some,
    /// and those that look like special tokens.
    pub(super) fn active_markers(&self, may_call: bool) -> Vec<usize> {
        let calls = may_call || self.implicit.is_none();
        let opens =
            self.fields.iter().filter(|field| calls || field.kind.is_text()).flat_map(|field| &field.open);
        match self.message().filter(|message| !message.open.is_empty()) {
            Some(delimited) => self.with_special_tokens(self.triggers(&delimited.close)),
            None => self.with_special_tokens(self.triggers(opens)),
        }
    }

    /// Indices of the markers that begin these delimiters or the turn's end.
    pub(super) fn triggers<'a>(&'a self, delimiters: impl IntoIterator<Item = &'a Delimiter>) -> Vec<usize> {
        delimiters.into_iter().chain(self.ends()).map(|delimiter| delimiter.trigger).collect()
    }

    /// Adds to the markers `active` all that look like special tokens, which no message shows.
    pub(super) fn with_special_tokens(&self, active: Vec<usize>) -> Vec<usize> {
        let all = self.markers.0.iter().enumerate();
        let tokens = all.filter(|(_, literal)| literal.len() > 1 && literal.starts_with(['<', '[']));
        let mut triggers: Vec<usize> = tokens.map(|(index, _)| index).chain(active).collect();
        triggers.sort_unstable();
        triggers.dedup();
        triggers
    }

    fn ends(&self) -> &[Delimiter] {
        self.implicit.map_or(&[], |implicit| &self.fields[implicit].close)
    }

    pub(super) fn message(&self) -> Option<&Field> {
        self.fields.iter().find(|field| matches!(field.kind, Kind::Content))
    }
}
