//! A plugin bound to the served model: all values of a stream that depend on its parser.
//!
//! Invariant: a binding is immutable. A stream takes one binding at its start and keeps it, so it never sees two versions of a parser.

use std::collections::HashSet;
use std::sync::Arc;

use crate::model::generate::ParserStart;
use crate::model::job::Job;
use crate::parser::Plugin;
use crate::prompt::Tokenizer;
use crate::random;
use contract::{Descriptor, Request, ToolChoice};
use turn::{Binding, FaultPolicy, MarkerError, TurnSettings};

/// The model's tokenizer and end tokens, to which plugins are bound.
pub(in crate::model) struct ModelTokens {
    pub(in crate::model) tokenizer: Arc<Tokenizer>,
    /// Ids that end the model's turn with any parser.
    pub(in crate::model) eos: Vec<u32>,
}

/// A plugin bound to the served model.
pub(in crate::model) struct ParserBinding {
    pub(in crate::model) plugin: Arc<Plugin>,
    /// Options that each stream's parser gets.
    options: Vec<(String, String)>,
    turns: Arc<Binding>,
    /// Ids of the markers that are tokens.
    pub(in crate::model) marker_ids: Arc<[u32]>,
    /// Ids that end a turn: the model's own, and those of the parser's stop markers that are tokens.
    pub(in crate::model) stop_ids: Arc<[u32]>,
}

impl ParserBinding {
    /// Binds a plugin that was loaded with `options`.
    ///
    /// # Errors
    /// The plugin's markers are invalid.
    pub(super) fn new(
        plugin: Arc<Plugin>,
        options: Vec<(String, String)>,
        model_tokens: &ModelTokens,
    ) -> Result<Self, MarkerError> {
        let ModelTokens { tokenizer, eos } = model_tokens;
        Self::bind(plugin, options, eos, |literal| tokenizer.token_id(literal))
    }

    /// Binds a plugin to any tokenizer; `token_id` returns the id of a literal that is a token.
    pub(in crate::model) fn bind(
        plugin: Arc<Plugin>,
        options: Vec<(String, String)>,
        eos: &[u32],
        token_id: impl Fn(&str) -> Option<u32>,
    ) -> Result<Self, MarkerError> {
        let id = |literal: &String| token_id(literal);
        let descriptor = plugin.descriptor();
        let turns = Binding::new(descriptor, &token_id)?;
        let marker_ids = descriptor.markers.iter().filter_map(id).collect();
        let stops = descriptor.stops.iter().filter_map(|index| descriptor.markers.get(*index as usize));
        let mut seen = HashSet::new();
        let stop_ids = eos.iter().copied().chain(stops.filter_map(id));
        let stop_ids = stop_ids.filter(|id| seen.insert(*id)).collect();
        Ok(Self { plugin, options, turns, marker_ids, stop_ids })
    }

    /// The parser's descriptor.
    pub(in crate::model) fn descriptor(&self) -> &Descriptor {
        self.plugin.descriptor()
    }

    /// Whether it is `none`, which reads no calls.
    pub(in crate::model) fn is_none(&self) -> bool {
        self.plugin.size() == 0
    }

    /// Values from which one stream's parser is made.
    pub(in crate::model) fn start(
        &self,
        job: &Job,
        opening: Vec<(Option<u32>, String)>,
        fault_policy: FaultPolicy,
        held_bytes: usize,
    ) -> ParserStart {
        let mut request = self.request(job);
        let call_ids = Box::new(|| format!("call_{}", random::hex::<12>()));
        let settings =
            TurnSettings { reads_on: true, fault_policy, held_bytes, ..TurnSettings::of(&request, call_ids) };
        // A parser reads calls that are forbidden, too, so that nothing of them is shown.
        if request.tool_choice == ToolChoice::None {
            request.tool_choice = ToolChoice::Auto;
        }
        let (plugin, binding) = (Arc::clone(&self.plugin), Arc::clone(&self.turns));
        ParserStart { plugin, binding, request, settings, opening }
    }

    /// The request as a parser is told of it. It lacks the answer's schema, which only grammars need.
    pub(in crate::model) fn request(&self, job: &Job) -> Request {
        Request {
            tools: job.tools.clone(),
            tool_choice: job.tool_choice.clone(),
            parallel_tool_calls: job.parallel_tool_calls,
            token_markers: self.turns.markers().tokens(),
            options: self.options.clone(),
            ..Request::default()
        }
    }

    /// The markers' literals, each with its token id, or `None` if it is matched in the text.
    pub(in crate::model) fn markers(&self) -> impl Iterator<Item = (&str, Option<u32>)> {
        self.turns.markers().entries()
    }
}
