//! Trial of a parser that the operator asked for by name: it is taken whatever comes of that, but the
//! start says if it doesn't read what the chat template writes, and which parser does.
//!
//! Invariant: the trial changes neither the choice nor the report of candidates.

use std::sync::Arc;

use super::Loader;
use crate::parsers::select::{misread, misread_reasoning};
use crate::parsers::trial::turns_read;
use parsers::shipped::TABLE_PARSER;
use parsers::{Plugin, PluginSource, plugins_in};

impl Loader {
    /// What speaks against this parser; `None` if it reads the template's turns with a call, or if
    /// there is nothing to try.
    pub(super) fn doubt_of_named(&mut self, plugin: &Arc<Plugin>) -> Option<String> {
        if plugin.descriptor().markers.is_empty() {
            return None;
        }
        let options = self.options_for(plugin.descriptor().name == TABLE_PARSER);
        let read = turns_read(plugin, &options, &self.facts.turns)?;
        if read == self.facts.turns.len() {
            return None;
        }
        if read > 0 {
            return Some(misread_reasoning(&self.facts.evidence()));
        }
        let others = self.others_that_read();
        Some(misread(&self.facts.evidence(), &others))
    }

    /// Names of the parsers here that read the template's turns best.
    fn others_that_read(&mut self) -> Vec<String> {
        let (candidates, pins) = (self.candidates.clone(), self.pins.clone());
        for path in plugins_in(&self.folder).unwrap_or_default() {
            let _ = self.check(PluginSource::File(path), None);
        }
        let _ = self.check_shipped(None).and_then(|()| self.check_tables(None));
        let (read_by, _) = self.readers(None);
        let names = read_by.iter().map(|&index| self.usable[index].descriptor.name.clone()).collect();
        self.usable.clear();
        self.undescribed.clear();
        (self.candidates, self.pins) = (candidates, pins);
        names
    }
}
