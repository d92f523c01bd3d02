//! A plugin bound to the served model: everything of a stream that depends on which parser it has.
//!
//! Invariant: immutable. A stream takes one binding at its start and no other, so it never sees two versions of a parser.

use std::collections::HashSet;
use std::sync::Arc;

use crate::model::generate::ParserStart;
use crate::model::job::Job;
use crate::parser::Plugin;
use crate::parser::contract::{Descriptor, Request};
use crate::prompt::Tokenizer;
use crate::turn::{FaultPolicy, MarkerError, MarkerTable, TurnSettings};

/// What a plugin is bound to.
pub(in crate::model) struct ModelTokens {
    pub(in crate::model) tokenizer: Arc<Tokenizer>,
    /// Ids that end the model's turn, whatever the parser.
    pub(in crate::model) eos: Vec<u32>,
}

/// The parser of streams that start now.
pub(in crate::model) struct ParserBinding {
    pub(in crate::model) plugin: Arc<Plugin>,
    /// Settings that each stream's parser gets.
    options: Vec<(String, String)>,
    markers: Arc<MarkerTable>,
    /// Ids of the markers that are tokens.
    pub(in crate::model) marker_ids: Arc<[u32]>,
    /// What ends a turn: the model's own ids, and the parser's stop markers where they are tokens.
    pub(in crate::model) stop_ids: Arc<[u32]>,
}

impl ParserBinding {
    /// Binds a plugin that was loaded with `options`.
    ///
    /// # Errors
    /// Its markers can't be candidate for.
    pub(super) fn new(
        plugin: Arc<Plugin>,
        options: Vec<(String, String)>,
        model_tokens: &ModelTokens,
    ) -> Result<Self, MarkerError> {
        let ModelTokens { tokenizer, eos } = model_tokens;
        Self::bind(plugin, options, eos, |literal| tokenizer.token_id(literal))
    }

    /// The same for any tokenizer, by the ids that it gives markers.
    pub(in crate::model) fn bind(
        plugin: Arc<Plugin>,
        options: Vec<(String, String)>,
        eos: &[u32],
        token_id: impl Fn(&str) -> Option<u32>,
    ) -> Result<Self, MarkerError> {
        let id = |literal: &String| token_id(literal);
        let descriptor = plugin.descriptor();
        let markers = Arc::new(MarkerTable::new(&descriptor.markers, &token_id)?);
        let marker_ids = descriptor.markers.iter().filter_map(id).collect();
        let stops = descriptor.stops.iter().filter_map(|index| descriptor.markers.get(*index as usize));
        let mut seen = HashSet::new();
        let stop_ids = eos.iter().copied().chain(stops.filter_map(id));
        let stop_ids = stop_ids.filter(|id| seen.insert(*id)).collect();
        Ok(Self { plugin, options, markers, marker_ids, stop_ids })
    }

    /// What the parser is.
    pub(in crate::model) fn descriptor(&self) -> &Descriptor {
        self.plugin.descriptor()
    }

    /// What one stream's parser is made of.
    pub(in crate::model) fn start(
        &self,
        job: &Job,
        opening: Vec<(Option<u32>, String)>,
        fault_policy: FaultPolicy,
        held_bytes: usize,
    ) -> ParserStart {
        let descriptor = self.descriptor();
        let mut settings = TurnSettings::new(descriptor.name.clone(), Arc::clone(&self.markers));
        settings.stops = descriptor.stops.clone().into();
        settings.trim = descriptor.trim;
        settings.tools = job.tools.iter().map(|tool| tool.name.clone()).collect();
        settings.fault_policy = fault_policy;
        settings.held_bytes = held_bytes;
        ParserStart { plugin: Arc::clone(&self.plugin), request: self.request(job), settings, opening }
    }

    /// What one stream's parser is told of the job. The schema of its answer is left out: only grammars are made of it.
    pub(in crate::model) fn request(&self, job: &Job) -> Request {
        Request {
            tools: job.tools.clone(),
            tool_choice: job.tool_choice.clone(),
            parallel_tool_calls: job.parallel_tool_calls,
            options: self.options.clone(),
            ..Request::default()
        }
    }

    /// The markers' literals, each with the token as which it is matched, if it isn't matched in the text.
    pub(in crate::model) fn markers(&self) -> impl Iterator<Item = (&str, Option<u32>)> {
        self.markers.entries()
    }
}
