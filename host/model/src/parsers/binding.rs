//! A plugin bound to the served model: all values of a stream that depend on its parser.
//!
//! Invariant: a binding is immutable. A stream takes one binding at its start and keeps it, so it
//! never sees two versions of a parser.

use std::collections::HashSet;
use std::sync::Arc;

use crate::generate::ParserStart;
use crate::job::Job;
use contract::{Descriptor, Request, ToolKind};
use grammar::{CallForm, Demand, GrammarTemplate, MarkerTokens, ToolChoice, ToolDefinition};
use parsers::{ContractVersion, Plugin};
use prompt::{Conversation, Tokenizer};
use turn::{AllowedCalls, Binding, CallIds, FaultPolicy, MarkerError, TurnSettings, values};

/// The model's tokenizer and end tokens, to which plugins are bound.
pub(crate) struct ModelTokens {
    pub(crate) tokenizer: Arc<Tokenizer>,
    /// Ids that end the model's turn with any parser.
    pub(crate) eos: Vec<u32>,
}

/// A plugin bound to the served model.
pub(crate) struct ParserBinding {
    pub(crate) plugin: Arc<Plugin>,
    /// Options that each stream's parser gets.
    options: Vec<(String, String)>,
    turns: Arc<Binding>,
    /// Ids of the markers that are tokens.
    pub(crate) marker_ids: Arc<[u32]>,
    /// Ids that end a turn: the model's own, and those of the parser's stop markers that are
    /// tokens.
    pub(crate) stop_ids: Arc<[u32]>,
    /// Tokens that stand in markers which are matched in the text.
    inner: Vec<(String, u32)>,
    /// The text that ends reasoning: tokens of markers, and text between them. `None` if no token
    /// is in it: strings could spell it.
    pub(crate) reasoning_end: Option<Vec<(Option<u32>, String)>>,
}

/// What all parsers of a job's turns are told, and the calls that its turns may make.
pub(crate) struct ParserRequest {
    pub(crate) request: Request,
    pub(crate) calls: AllowedCalls,
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
        let binding = Self::bind(plugin, options, eos, |literal| tokenizer.token_id(literal))?;
        let ids = tokenizer.added_literals().filter_map(|token| tokenizer.token_id(token));
        let added = ids.filter_map(|id| Some((tokenizer.added_token(id)?, id)));
        // White space is text in a mask's vocabulary.
        let added = added.filter(|(token, _)| !token.is_whitespace());
        Ok(binding.with_inner(added.map(|(token, id)| (token.literal.as_str(), id))))
    }

    /// Binds a plugin to any tokenizer; `token_id` returns the id of a literal that is a token.
    pub(crate) fn bind(
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
        let inner = Vec::new();
        let unended = Self { plugin, options, turns, marker_ids, stop_ids, inner, reasoning_end: None };
        Ok(unended.with_inner([]))
    }

    /// The binding, where the tokenizer has these `added` tokens, with their ids.
    fn with_inner<'a>(mut self, added: impl IntoIterator<Item = (&'a str, u32)>) -> Self {
        let texts: Vec<&str> = self.markers().filter(|(_, id)| id.is_none()).map(|(text, _)| text).collect();
        let is_inner = |(token, _): &(&str, u32)| texts.iter().any(|text| text.contains(token));
        let inner = added.into_iter().filter(is_inner).map(|(token, id)| (token.to_owned(), id)).collect();
        self.inner = inner;
        let end = self.descriptor().reasoning_end.as_deref().map(|end| self.pieces(end));
        self.reasoning_end = end.filter(|pieces| pieces.iter().any(|(id, _)| id.is_some()));
        self
    }

    /// Markers and other facts that its turns need.
    pub(crate) fn turns(&self) -> &Binding {
        &self.turns
    }

    /// Options that each stream's parser gets.
    pub(crate) fn options(&self) -> &[(String, String)] {
        &self.options
    }

    /// The parser's descriptor.
    pub(crate) fn descriptor(&self) -> &Descriptor {
        self.plugin.descriptor()
    }

    /// Ids of the conversation's calls, which its next calls must not have: empty if the parser
    /// can't give them any.
    pub(crate) fn ids_beside(&self, conversation: &Conversation) -> Vec<String> {
        if !self.plugin.contract().is_some_and(ContractVersion::has_call_ids) {
            return Vec::new();
        }
        let calls = conversation.messages.iter().flat_map(|message| &message.tool_calls);
        calls.map(|call| call.id.clone()).collect()
    }

    /// Whether it is `none`, which reads no calls.
    pub(crate) fn is_none(&self) -> bool {
        self.plugin.size() == 0
    }

    /// Values from which one stream's parser is made.
    pub(crate) fn start(
        &self,
        ParserRequest { request, calls }: &ParserRequest,
        opening: Vec<(Option<u32>, String)>,
        fault_policy: FaultPolicy,
        held_bytes: usize,
        call_ids: CallIds,
    ) -> ParserStart {
        let mut settings = TurnSettings::of(request, call_ids);
        (settings.reads_on, settings.calls) = (true, *calls);
        (settings.fault_policy, settings.held_bytes) = (fault_policy, held_bytes);
        let (plugin, binding) = (Arc::clone(&self.plugin), Arc::clone(&self.turns));
        ParserStart { plugin, binding, request: request.clone(), settings, opening, calls: None }
    }

    /// What the parsers of a job's turns are told. They read calls that are forbidden, too, so that
    /// nothing of those is shown.
    pub(crate) fn request(&self, job: &Job) -> ParserRequest {
        let Demand { tools, tool_choice, parallel_tool_calls, .. } = &job.demand;
        let tools = tools.iter().map(|tool| values::tool(&tool.name, tool.kind, &tool.schema));
        let request = Request {
            tools: tools.collect(),
            token_markers: self.turns.markers().tokens(),
            options: self.options.clone(),
        };
        let calls = match (tool_choice, parallel_tool_calls) {
            (ToolChoice::None, _) => AllowedCalls::None,
            (_, false) => AllowedCalls::One,
            (_, true) => AllowedCalls::Any,
        };
        ParserRequest { request, calls }
    }

    /// The template of the format's grammars, if it has one.
    pub(crate) fn template(&self) -> Option<&GrammarTemplate> {
        self.plugin.template()
    }

    /// The grammar of a job's turns; `None` if the format has no template.
    ///
    /// # Errors
    /// One line: what can't be followed.
    pub(crate) fn grammar(&self, demand: &Demand) -> Result<Option<String>, String> {
        self.template().map_or(Ok(None), |template| self.composed(template, demand))
    }

    /// Checks that calls of which nothing is demanded can be held to this form.
    ///
    /// # Errors
    /// One line: why they can't.
    pub(crate) fn call_form(&self, call_form: CallForm) -> Result<(), String> {
        let (name, schema) = ("f".to_owned(), "{}".to_owned());
        let tool = ToolDefinition { name, kind: ToolKind::Function, schema, strict: false, grammar: None };
        let made = self.grammar(&Demand { tools: vec![tool], call_form, ..Demand::default() })?;
        made.map(drop).ok_or_else(|| "the model's parser has no grammar".to_owned())
    }

    /// The grammar of what follows in a turn whose reasoning the prompt has ended.
    ///
    /// # Errors
    /// One line: what can't be followed.
    pub(crate) fn grammar_behind_reasoning(&self, demand: &Demand) -> Result<Option<String>, String> {
        let rest = self.template().cloned().map(GrammarTemplate::behind_reasoning);
        rest.map_or(Ok(None), |template| self.composed(&template, demand))
    }

    fn composed(&self, template: &GrammarTemplate, demand: &Demand) -> Result<Option<String>, String> {
        let ids: Vec<_> = self.markers().map(|(_, id)| id).collect();
        let inner: Vec<_> = self.inner.iter().map(|(token, id)| (token.as_str(), *id)).collect();
        let tokens = MarkerTokens { ids: &ids, inner: &inner, stops: &self.descriptor().stops };
        template.compose(demand, tokens).map_err(|error| error.to_string())
    }

    /// The markers' literals, each with its token id, or `None` if it is matched in the text.
    pub(crate) fn markers(&self) -> impl Iterator<Item = (&str, Option<u32>)> {
        self.turns.markers().entries()
    }

    /// A text as the tokens of markers in it, with their ids, and text between them.
    pub(crate) fn pieces(&self, text: &str) -> Vec<(Option<u32>, String)> {
        let markers = self.markers().filter_map(|(literal, id)| Some((literal, id?)));
        let inner = self.inner.iter().map(|(token, id)| (token.as_str(), *id));
        let tokens: Vec<_> = markers.chain(inner).collect();
        let pieces = grammar::token_pieces(text, &tokens).into_iter();
        pieces.map(|(id, piece)| (id, piece.to_owned())).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::opening_state::tests::{demand, function, shipped};

    /// The ids of Kimi K3's tokens, of which its other markers consist.
    const TOKENS: [(&str, u32); 4] =
        [("<|open|>", 2), ("<|close|>", 3), ("<|sep|>", 4), ("<|end_of_msg|>", 5)];

    /// Binds Kimi K3's parser to a tokenizer that has these `added` tokens.
    fn bound(added: &[(&str, u32)]) -> ParserBinding {
        let plugin = Arc::clone(&shipped("kimi-k3").plugin);
        let id = |literal: &str| added.iter().find(|(token, _)| *token == literal).map(|(_, id)| *id);
        ParserBinding::bind(plugin, Vec::new(), &[], id).unwrap().with_inner(added.iter().copied())
    }

    #[test]
    fn tokens_inside_markers_count_in_grammar_and_end() {
        let tools = vec![function("f", true)];
        let forced = Demand { tools, tool_choice: ToolChoice::Required, ..demand() };
        let tokens = bound(&TOKENS);
        let grammar = tokens.grammar(&forced).unwrap().unwrap();
        assert!(grammar.contains("\nmarker_6: <[2]> \"call tool=\"\n"), "{grammar}");
        assert!(grammar.contains("\nmarker_14: <[4]>\n"), "{grammar}");
        let end: Vec<Option<u32>> = tokens.reasoning_end.unwrap().into_iter().map(|(id, _)| id).collect();
        assert_eq!(end, [Some(3), None, Some(4), Some(2), None, Some(4)]);

        let text = bound(&TOKENS[3..]);
        assert_eq!(text.reasoning_end, None);
        let grammar = text.grammar(&forced).unwrap().unwrap();
        assert!(grammar.contains("\nmarker_6: \"<|open|>call tool=\"\n"), "{grammar}");
    }
}
