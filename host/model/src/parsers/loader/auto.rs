//! Loader of `--parser auto`: checks all plugins, chooses one by their descriptors, and loads that
//! one.
//!
//! A file in the plugins folder replaces the shipped parser of its name; one that can't be used is
//! excluded from the choice. The parser for tables is tried only if no other claims a model that
//! has a table. A model that nobody claims gets the parser that reads what its chat template
//! writes, else the one that was made for it, or none.

use super::usable::Usable;
use super::{Loader, ParserChoice, ParserOffer};
use crate::load_error::ModelLoadError;
use crate::parsers::report::CandidateReport;
use crate::parsers::select::{
    ParserCandidate, Selected, claims, select, select_instead, select_reader, select_unclaimed, to_try,
    why_not, with_doubt,
};
use crate::parsers::trial::turns_read;
use contract::Descriptor;
use parsers::shipped::{SHIPPED, TABLE_PARSER, tables};
use parsers::{LoadProblem, PluginSource, TABLE_OPTION, plugins_in};

impl Loader {
    pub(super) fn automatic(&mut self, serving: Option<&str>) -> Result<ParserChoice, ModelLoadError> {
        // A missing folder counts as empty; only `--parser NAME` reports it.
        for path in plugins_in(&self.folder).unwrap_or_default() {
            self.check(PluginSource::File(path), serving)?;
        }
        self.drop_copies();
        loop {
            self.check_shipped(serving)?;
            self.check_tables(serving)?;
            let chosen = match self.select()? {
                Some(chosen) => chosen,
                None => match self.for_table(serving)? {
                    Some(choice) => return Ok(choice),
                    None => match self.select_unclaimed() {
                        Ok(chosen) => chosen,
                        Err(why) => return self.offered(why),
                    },
                },
            };
            let Usable { source, name, .. } = self.usable.swap_remove(chosen.index);
            match self.load(&source) {
                Ok(plugin) => {
                    self.record_reasons(&name);
                    return Ok(self.choice(plugin, &source, chosen.why, chosen.doubtful));
                }
                Err(error) => exclude_or_fail(error, &name, serving)?,
            }
        }
    }

    /// Checks one plugin and records the result. Loads it only if its descriptor can't be read
    /// without that.
    pub(super) fn check(
        &mut self,
        source: PluginSource,
        serving: Option<&str>,
    ) -> Result<(), ModelLoadError> {
        let name = source.name().into_owned();
        let (digest, described) = match self.runtime.read(&source) {
            Ok(content) => (content.digest(), self.describe(&content)),
            Err(error) => (None, Err(error.into())),
        };
        self.note(&source, digest.clone(), described.as_ref());
        match described {
            Ok(descriptor) => self.usable.push(Usable { source, name, digest, descriptor }),
            Err(ModelLoadError::Parser(error)) if source.table().is_none() && self.may_need_table(&error) => {
                self.undescribed.push(source);
            }
            Err(error) => exclude_or_fail(error, &name, serving)?,
        }
        Ok(())
    }

    fn may_need_table(&self, error: &parsers::PluginLoadError) -> bool {
        self.facts.table.is_some() && matches!(error.problem, LoadProblem::Options(_))
    }

    /// Returns a plugin's descriptor. If the operator set options, which may change it, the plugin
    /// is loaded with them.
    fn describe(&mut self, content: &PluginSource) -> Result<Descriptor, ModelLoadError> {
        let Some(digest) = content.digest() else { return Ok(Descriptor::default()) };
        self.check_file_pin(content, &digest)?;
        let section = if self.options.is_empty() { self.runtime.describe(content)?.descriptor } else { None };
        let descriptor = match section {
            Some(descriptor) => descriptor,
            None => self.load_with(content, &digest, false)?.descriptor().clone(),
        };
        self.pins.check(&descriptor.name, &content.name(), &digest)?;
        Ok(descriptor)
    }

    /// Checks the shipped parsers that no file replaces.
    pub(super) fn check_shipped(&mut self, serving: Option<&str>) -> Result<(), ModelLoadError> {
        for (name, bytes) in SHIPPED {
            let is_known = self.candidates.iter().any(|candidate| candidate.source == *name);
            let is_replaced = self.usable.iter().any(|usable| usable.descriptor.name == *name);
            let is_for_tables = *name == TABLE_PARSER;
            let has_no_use = self.facts.table.is_none() || !self.undescribed.is_empty();
            if is_known || is_replaced || (is_for_tables && has_no_use) {
                continue;
            }
            self.check(shipped(name, bytes), serving)?;
        }
        Ok(())
    }

    /// Checks the tables whose markers the chat template has, unless a parser has a table's name. A
    /// table that the operator gives by an option is the only one.
    pub(super) fn check_tables(&mut self, serving: Option<&str>) -> Result<(), ModelLoadError> {
        if self.options.iter().any(|(key, _)| key == TABLE_OPTION) {
            return Ok(());
        }
        for (name, table) in tables(&self.folder) {
            let source = match table {
                Ok(source) => source,
                Err(error) => {
                    tracing::warn!(%error, "table ignored");
                    continue;
                }
            };
            let is_known = self.candidates.iter().any(|candidate| candidate.source == source.name());
            let is_replaced = self.usable.iter().any(|usable| usable.descriptor.name == name);
            if !is_known && !is_replaced && self.fits(&source) {
                self.check(source, serving)?;
            }
        }
        Ok(())
    }

    /// Whether the chat template has all markers of a table.
    fn fits(&self, source: &PluginSource) -> bool {
        let facts = &self.facts;
        let shows = |marker: &str| {
            facts.template.contains(marker) || facts.turns.iter().any(|turn| turn.written.contains(marker))
        };
        source.table().is_some_and(|table| table.fits(shows))
    }

    /// Keeps one of several files of one parser for this model, such as a backup beside it: the one
    /// whose name is the name in the descriptor, else the one of the highest version, else the
    /// first. Otherwise they would tie, and the server wouldn't start again.
    fn drop_copies(&mut self) {
        let model = self.facts.evidence();
        let is_copy = |one: &Usable, other: &Usable| {
            let claim = claims(&model, &one.descriptor) && claims(&model, &other.descriptor);
            one.digest == other.digest || (claim && one.descriptor.name == other.descriptor.name)
        };
        let (mut kept, mut dropped): (Vec<Usable>, Vec<Usable>) = Default::default();
        for mut usable in std::mem::take(&mut self.usable) {
            let Some(other) = kept.iter_mut().find(|other| is_copy(other, &usable)) else {
                kept.push(usable);
                continue;
            };
            if usable.rank() > other.rank() {
                std::mem::swap(other, &mut usable);
            }
            dropped.push(usable);
        }
        for copy in dropped {
            let Some(other) = kept.iter().find(|other| is_copy(other, &copy)) else { continue };
            let is_same = other.digest == copy.digest;
            let why = if is_same { "has the same bytes" } else { "is the same parser by its descriptor" };
            set_why_not(&mut self.candidates, &copy.name, format!("{} {why}", other.name), !is_same);
        }
        self.usable = kept;
    }

    /// Chooses among the parsers that claim the model. If the one doesn't read a call as the
    /// template writes it, another may.
    fn select(&mut self) -> Result<Option<Selected>, ModelLoadError> {
        let chosen = select(&self.facts.evidence(), &self.parser_candidates())?;
        let Some(chosen) = chosen else { return Ok(None) };
        let has_markers = !self.usable[chosen.index].descriptor.markers.is_empty();
        if self.facts.turns.is_empty() || !has_markers {
            return Ok(Some(chosen));
        }
        let Some(read) = self.turns_read(chosen.index) else { return Ok(Some(chosen)) };
        let model = self.facts.evidence();
        if read > 0 {
            return Ok(Some(with_doubt(&model, chosen, read)));
        }
        let (read_by, _) = self.readers(Some(chosen.index));
        let model = self.facts.evidence();
        Ok(Some(select_instead(&model, &self.parser_candidates(), &chosen, &read_by)?))
    }

    /// Chooses for a model that nobody claims. The error is the reason why it is none.
    fn select_unclaimed(&mut self) -> Result<Selected, String> {
        if self.facts.turns.is_empty() {
            return select_unclaimed(&self.facts.evidence(), &self.parser_candidates());
        }
        let (read_by, read) = self.readers(None);
        let model = self.facts.evidence();
        Ok(with_doubt(&model, select_reader(&model, &self.parser_candidates(), &read_by)?, read))
    }

    /// Candidates that read the template's turns best, of those that are alike by their markers,
    /// and how many turns they read. `but` isn't asked.
    pub(super) fn readers(&mut self, but: Option<usize>) -> (Vec<usize>, usize) {
        let groups = to_try(&self.facts.evidence(), &self.parser_candidates(), but);
        let (mut most, mut best) = (0, Vec::new());
        for group in groups {
            let mut read: Vec<_> =
                group.iter().map(|&index| (self.turns_read(index).unwrap_or(0), index)).collect();
            read.retain(|(count, _)| *count > most);
            let Some(&(count, _)) = read.iter().max() else { continue };
            best = read.iter().filter(|one| one.0 == count).map(|one| one.1).collect();
            most = count;
            if most == self.facts.turns.len() {
                break;
            }
        }
        (best, most)
    }

    /// Number of the template's turns that a candidate reads; `None` if it can't be loaded, which
    /// is reported when it is chosen.
    fn turns_read(&mut self, index: usize) -> Option<usize> {
        let source = self.usable[index].source.clone();
        let plugin = self.load(&source).ok()?;
        turns_read(&plugin, &self.options, &self.facts.turns)
    }

    fn parser_candidates(&self) -> Vec<ParserCandidate<'_>> {
        let usable = self.usable.iter();
        usable.map(|Usable { name, descriptor, .. }| ParserCandidate { name, descriptor }).collect()
    }

    /// The choice for a model that no other parser reads, which is why: the one that was made for it.
    fn offered(&mut self, why: String) -> Result<ParserChoice, ModelLoadError> {
        let Some(ParserOffer { source, why: made }) = self.offer.clone() else {
            return self.without_parser(why);
        };
        match self.load(&source) {
            Ok(plugin) => {
                self.record_reasons(&source.name());
                Ok(self.choice(plugin, &source, made, false))
            }
            Err(error) => {
                tracing::warn!(%error, "the parser that was made for the model can't be used");
                self.without_parser(why)
            }
        }
    }

    /// The choice for a model that no parser reads: all its output is text.
    fn without_parser(&mut self, why: String) -> Result<ParserChoice, ModelLoadError> {
        let source = PluginSource::None;
        let plugin = self.load(&source)?;
        self.record_reasons("none");
        Ok(self.choice(plugin, &source, why, true))
    }

    /// Records for the other candidates why `chosen` was preferred.
    fn record_reasons(&mut self, chosen: &str) {
        let model = self.facts.evidence();
        for usable in &self.usable {
            let why = why_not(&model, &usable.descriptor, chosen);
            set_why_not(&mut self.candidates, &usable.name, why, false);
        }
    }

    /// Loads the parser for tables, from the folder or the shipped one, if the model has a table.
    fn for_table(&mut self, serving: Option<&str>) -> Result<Option<ParserChoice>, ModelLoadError> {
        if self.facts.table.is_none() {
            return Ok(None);
        }
        let named = self.usable.iter().filter(|usable| usable.descriptor.name == TABLE_PARSER);
        let mut sources: Vec<_> = named.map(|usable| usable.source.clone()).collect();
        sources.append(&mut self.undescribed);
        if !sources.iter().any(|source| source.name() == TABLE_PARSER) {
            let tables = SHIPPED.iter().filter(|(name, _)| *name == TABLE_PARSER);
            sources.extend(tables.map(|(name, bytes)| shipped(name, bytes)));
        }
        for source in sources {
            match self.load(&source) {
                Ok(plugin) if plugin.descriptor().name == TABLE_PARSER => {
                    let why =
                        "nobody claims the model, and its tokenizer_config.json says how its output is read";
                    return Ok(Some(self.choice(plugin, &source, why.to_owned(), false)));
                }
                Ok(_) => {}
                Err(error) => exclude_or_fail(error, &source.name(), serving)?,
            }
        }
        Ok(None)
    }
}

fn shipped(name: &str, bytes: &'static [u8]) -> PluginSource {
    PluginSource::Bytes { name: name.to_owned(), bytes: bytes.into() }
}

fn set_why_not(candidates: &mut [CandidateReport], source: &str, why: String, is_other_build: bool) {
    if let Some(candidate) = candidates.iter_mut().find(|candidate| candidate.source == source) {
        candidate.not_chosen = Some(why);
        candidate.is_other_build = is_other_build;
    }
}

/// Excludes a plugin that can't be used from the choice. Its error ends the round if it is the
/// current parser or violates a pin.
fn exclude_or_fail(error: ModelLoadError, name: &str, serving: Option<&str>) -> Result<(), ModelLoadError> {
    if matches!(error, ModelLoadError::Pin(_)) || serving == Some(name) { Err(error) } else { Ok(()) }
}
