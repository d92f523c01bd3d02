//! Finds and loads the parser that the operator asked for: by name, or by a choice among all
//! candidates.
//!
//! Invariant: no file is compiled or run before the pins on its name are compared with its digest.
//! There is one loader per served model, used under a lock, at start and at each reload. Content
//! that didn't change isn't compiled again, and a plugin with a descriptor section is compiled only
//! if it is chosen.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::argument::ParserArgument;
use super::facts::ModelFacts;
use super::pins::Pins;
use super::report::CandidateReport;
use crate::load_error::ModelLoadError;
use crate::options::ModelOptions;
use contract::Descriptor;
use parsers::shipped::{TABLE_PARSER, find_parser};
use parsers::{LoadProblem, Plugin, PluginSource, Runtime, TABLE_OPTION};

mod auto;
mod named;
mod usable;
use usable::Usable;

/// A plugin ready to be bound.
#[derive(Debug)]
pub(super) struct ParserChoice {
    pub(super) plugin: Arc<Plugin>,
    pub(super) options: Vec<(String, String)>,
    /// Source of the plugin, for messages.
    pub(super) source: String,
    /// Reason why it was chosen.
    pub(super) why: String,
    /// Whether the model's files have no sign of this parser's format.
    pub(super) doubtful: bool,
}

/// A parser that was made for a model which no other one reads.
#[derive(Debug, Clone)]
pub(super) struct ParserOffer {
    pub(super) source: PluginSource,
    /// How it was made.
    pub(super) why: String,
}

/// Loader of parsers for one model.
pub(super) struct Loader {
    runtime: Arc<Runtime>,
    argument: ParserArgument,
    folder: PathBuf,
    options: Vec<(String, String)>,
    pins: Pins,
    facts: ModelFacts,
    /// What serves where nothing else does.
    pub(super) offer: Option<ParserOffer>,
    /// Plugins of the last round, by digest and by whether they were loaded with the model's table.
    known: HashMap<(String, bool), Arc<Plugin>>,
    /// Plugins of this round, by the same keys.
    fresh: HashMap<(String, bool), Arc<Plugin>>,
    /// Reports on all plugins that this round has checked.
    pub(super) candidates: Vec<CandidateReport>,
    /// Plugins of this round that can be chosen.
    usable: Vec<Usable>,
    /// Plugins of this round that have no descriptor without options. The parser for tables may be
    /// among them.
    undescribed: Vec<PluginSource>,
}

impl Loader {
    /// What loads a parser beside the model's own: runtime, folder and options.
    pub(super) fn parts(&self) -> (Arc<Runtime>, PathBuf, Vec<(String, String)>) {
        (Arc::clone(&self.runtime), self.folder.clone(), self.options.clone())
    }

    pub(super) fn new(
        runtime: Arc<Runtime>,
        argument: ParserArgument,
        options: &ModelOptions,
        facts: ModelFacts,
    ) -> Self {
        Self {
            runtime,
            argument,
            folder: options.plugins.clone(),
            options: options.parser_options.clone(),
            pins: Pins::new(options.parser_pins.clone()),
            facts,
            offer: None,
            known: HashMap::new(),
            fresh: HashMap::new(),
            candidates: Vec::new(),
            usable: Vec::new(),
            undescribed: Vec::new(),
        }
    }

    /// Runs one round: checks the plugins that are there now and chooses one. At a reload,
    /// `serving` is the current parser's source.
    ///
    /// # Errors
    /// No parser can be chosen; the one asked for can't be loaded; the current one can't be used
    /// any more; a pin is violated.
    pub(super) fn choose(&mut self, serving: Option<&str>) -> Result<ParserChoice, ModelLoadError> {
        self.candidates.clear();
        self.usable.clear();
        self.undescribed.clear();
        self.fresh.clear();
        self.pins.begin();
        let choice = match self.argument.clone() {
            ParserArgument::Named(name) => self.named(&name),
            ParserArgument::Auto => self.automatic(serving),
        }?;
        self.pins.finish()?;
        self.known = std::mem::take(&mut self.fresh);
        Ok(choice)
    }

    /// Whether a parser is to be chosen for a model whose chat template writes calls.
    pub(super) fn seeks_parser(&self) -> bool {
        self.argument == ParserArgument::Auto && !self.facts.turns.is_empty()
    }

    fn named(&mut self, name: &str) -> Result<ParserChoice, ModelLoadError> {
        let source = find_parser(name, &self.folder)?;
        let plugin = self.load(&source)?;
        let doubt = self.doubt_of_named(&plugin);
        let why = doubt.as_ref().map_or_else(String::new, |doubt| format!(", though {doubt}"));
        Ok(self.choice(plugin, &source, format!("it was asked for{why}"), doubt.is_some()))
    }

    fn choice(
        &self,
        plugin: Arc<Plugin>,
        source: &PluginSource,
        why: String,
        doubtful: bool,
    ) -> ParserChoice {
        let options = self.options_for(plugin.descriptor().name == TABLE_PARSER);
        ParserChoice { plugin, options, source: source.name().into_owned(), why, doubtful }
    }

    /// The operator's options, and the model's table if `with_table` and the operator gave none.
    fn options_for(&self, with_table: bool) -> Vec<(String, String)> {
        let mut options = self.options.clone();
        let given = options.iter().any(|(key, _)| key == TABLE_OPTION);
        if let (true, false, Some(table)) = (with_table, given, &self.facts.table) {
            options.push((TABLE_OPTION.to_owned(), table.clone()));
        }
        options
    }

    /// Reads, checks and loads one plugin, and records the result in `candidates`.
    fn load(&mut self, source: &PluginSource) -> Result<Arc<Plugin>, ModelLoadError> {
        let (digest, plugin) = match self.runtime.read(source) {
            Ok(content) => (content.digest(), self.load_content(&content)),
            Err(error) => (None, Err(error.into())),
        };
        self.note(source, digest, plugin.as_ref().map(|plugin| plugin.descriptor()));
        plugin
    }

    /// Records the result of checking a plugin in `candidates`, in place of an earlier one.
    fn note(
        &mut self,
        source: &PluginSource,
        digest: Option<String>,
        descriptor: Result<&Descriptor, &ModelLoadError>,
    ) {
        let candidate = CandidateReport::new(source, digest, descriptor);
        match self.candidates.iter_mut().find(|other| other.source == candidate.source) {
            Some(before) => *before = candidate,
            None => self.candidates.push(candidate),
        }
    }

    fn load_content(&mut self, content: &PluginSource) -> Result<Arc<Plugin>, ModelLoadError> {
        let Some(digest) = content.digest() else { return Ok(self.runtime.load(content, &[])?) };
        self.check_file_pin(content, &digest)?;
        let plugin = self.load_digested(content, &digest)?;
        self.pins.check(&plugin.descriptor().name, &content.name(), &digest)?;
        Ok(plugin)
    }

    /// Compares the pins on the file's name with its digest.
    fn check_file_pin(&mut self, content: &PluginSource, digest: &str) -> Result<(), ModelLoadError> {
        let name = content.name();
        let file = Path::new(&*name).file_name().map(|file| file.to_string_lossy().into_owned());
        Ok(self.pins.check(file.as_deref().unwrap_or(&name), &name, digest)?)
    }

    /// Loads a plugin, with the model's table only if it is the parser for tables, which needs the
    /// table for its descriptor.
    fn load_digested(&mut self, content: &PluginSource, digest: &str) -> Result<Arc<Plugin>, ModelLoadError> {
        let plain = self.load_with(content, digest, false);
        let wants_table = match &plain {
            Ok(plugin) => plugin.descriptor().name == TABLE_PARSER,
            Err(error) => matches!(error.problem, LoadProblem::Options(_)),
        };
        if !wants_table || self.facts.table.is_none() {
            return Ok(plain?);
        }
        match self.load_with(content, digest, true) {
            Ok(plugin) if plugin.descriptor().name == TABLE_PARSER => Ok(plugin),
            Err(error) => Err(error.into()),
            Ok(_) => Ok(plain?),
        }
    }

    fn load_with(
        &mut self,
        content: &PluginSource,
        digest: &str,
        with_table: bool,
    ) -> Result<Arc<Plugin>, parsers::PluginLoadError> {
        let key = (digest.to_owned(), with_table);
        let plugin = match self.known.get(&key).or_else(|| self.fresh.get(&key)) {
            Some(plugin) => Arc::clone(plugin),
            None => self.runtime.load(content, &self.options_for(with_table))?,
        };
        self.fresh.insert(key, Arc::clone(&plugin));
        Ok(plugin)
    }
}

#[cfg(test)]
mod tests;
