//! Oracle that judges a walk: it plays the walk to the format's own parser with several chunk
//! sizes, and checks the items against the request.

use contract::{Descriptor, Request};
use grammar::{CallForm, Demand, GrammarTemplate, MarkerTokens, TextGrammar, ToolChoice};
use parser_kit::{Head, Item};
use parser_sdk::Parser;
use parsers::conformance::{TextJudge, satisfies};
use registry::{GrammarTraits, Inputs, Profile};
use serde_json::Value;
use turn::values;

use super::inputs;
use super::play::{found_in, play, with_inner_as_text};
use super::requests::{Expected, custom};
use super::schemas;
use super::tables;
use parsers::conformance::walk::{FIRST_MARKER, WalkPiece, Walker, ids};

/// Whether markers are one token each, or text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Markers {
    Tokens,
    Text,
}

type Describe = fn(&[(String, String)]) -> Result<Descriptor, String>;

/// Format under test.
#[derive(Clone, Copy)]
pub(crate) struct Format {
    pub(crate) describe: Describe,
    pub(crate) play: fn(&Request, &str, &[WalkPiece], Markers, usize) -> Vec<Item>,
    /// Generation prompts with which templates of this format open a turn.
    pub(crate) prompts: &'static [&'static str],
    /// What sets its grammar apart.
    pub(crate) traits: GrammarTraits,
    /// Table that the parser interprets, for `response-template`.
    pub(crate) table: Option<&'static str>,
}

impl Format {
    /// Format of a shipped parser.
    pub(crate) const fn of<P: Parser>(format: &registry::Format) -> Self {
        let Profile { prompts, grammar: traits, .. } = *format.profile;
        Self { describe: P::describe, play: play::<P>, prompts, traits, table: None }
    }

    /// Format of a table.
    pub(crate) const fn of_table(table: &'static str, prompts: &'static [&'static str]) -> Self {
        type Interpreter = registry::response_template::Parser;
        let (describe, play): (Describe, _) = (Interpreter::describe, play::<Interpreter>);
        Self { describe, play, prompts, traits: GrammarTraits::USUAL, table: Some(table) }
    }

    /// What the parser says of itself.
    pub(crate) fn descriptor(&self) -> Descriptor {
        (self.describe)(&self.options()).expect("the format describes itself")
    }

    /// Parser options, as an operator sets them.
    fn options(&self) -> Vec<(String, String)> {
        self.table.iter().map(|table| ("response_template".into(), (*table).to_owned())).collect()
    }

    /// Expected result of a request in this format: some tables allow only letters in names.
    pub(crate) fn expected(&self, name: &str, expected: Expected) -> Expected {
        if self.table.is_some() && name.contains("names") { Expected::Either("name") } else { expected }
    }

    /// Whether this request can be constrained only where markers are tokens.
    pub(crate) fn only_tokens(&self, request: &Demand) -> bool {
        let has_grammar = request.tools.iter().any(|tool| tool.grammar.is_some());
        let calls = !request.tools.is_empty() && request.tool_choice != ToolChoice::None;
        match self.table {
            Some(table) => calls && tables::needs_tokens(table),
            None => self.traits.only_tokens || (self.traits.inputs == Inputs::BeforeToken && has_grammar),
        }
    }

    /// Walks through `grammar` (the request's own, except in tests of the oracle) with each seed
    /// and prompt, and judges the results.
    pub(crate) fn judge(
        &self,
        request: &Demand,
        grammar: &str,
        markers: Markers,
        seeds: std::ops::Range<u64>,
    ) -> Result<(), String> {
        let fresh = self.walker(grammar, markers)?;
        for seed in seeds {
            for prompt in self.prompts {
                let tell = |error| format!("seed {seed}, {markers:?}, prompt {prompt:?}: {error}");
                self.judge_walk(request, &fresh, prompt, seed, markers).map_err(tell)?;
            }
        }
        Ok(())
    }

    /// What the parser is told of a request in this mode.
    fn told(&self, request: &Demand, markers: Markers) -> Request {
        let tools = request.tools.iter().map(|tool| values::tool(&tool.name, tool.kind, &tool.schema));
        let are_tokens = (0..).zip(self.tokens_in(&self.descriptor(), markers));
        Request {
            tools: tools.collect(),
            token_markers: are_tokens.filter(|(_, is_token)| *is_token).map(|(index, _)| index).collect(),
            options: self.options(),
        }
    }

    /// Literals of the markers that are text in this mode.
    pub(crate) fn text_markers(&self, markers: Markers) -> Vec<String> {
        let descriptor = self.descriptor();
        let tokens = self.tokens_in(&descriptor, markers);
        let literals = descriptor.markers.into_iter().zip(tokens);
        literals.filter(|(_, is_token)| !is_token).map(|(literal, _)| literal).collect()
    }

    /// The template of the format's grammars.
    pub(crate) fn template(&self) -> GrammarTemplate {
        let descriptor = self.descriptor();
        let text = descriptor.grammar.expect("the format has a template");
        GrammarTemplate::parse(&text, &descriptor.markers).unwrap_or_else(|error| panic!("{error}\n{text}"))
    }

    /// The grammar that the server composes by a template for a request in this mode.
    pub(crate) fn composed(
        &self,
        template: &GrammarTemplate,
        request: &Demand,
        markers: Markers,
    ) -> Result<Option<String>, String> {
        let descriptor = self.descriptor();
        let ids: Vec<_> = ids(&self.tokens_in(&descriptor, markers)).collect();
        let first = u32::try_from(descriptor.markers.len()).expect("few") + FIRST_MARKER;
        let inner: Vec<_> = self.inner_in(markers).iter().copied().zip(first..).collect();
        let tokens = MarkerTokens { ids: &ids, inner: &inner, stops: &descriptor.stops };
        template.compose(request, tokens).map_err(|error| error.to_string())
    }

    /// [`Self::composed`] by the format's own template.
    pub(crate) fn grammar(&self, request: &Demand, markers: Markers) -> Result<Option<String>, String> {
        self.composed(&self.template(), request, markers)
    }

    /// Whether inputs of custom tools follow this grammar.
    pub(crate) fn carries(&self, grammar: &TextGrammar) -> bool {
        self.template().refuses_input(&custom(Some(grammar.clone()))).is_none()
    }

    /// Makes a walker at the beginning of a grammar.
    pub(crate) fn walker(&self, grammar: &str, markers: Markers) -> Result<Walker, String> {
        let descriptor = self.descriptor();
        let (mut literals, mut tokens) = (descriptor.markers.clone(), self.tokens_in(&descriptor, markers));
        for token in self.inner_in(markers) {
            literals.push((*token).to_owned());
            tokens.push(true);
        }
        Walker::new(grammar, &literals, &tokens)
    }

    /// Tokens inside markers in this mode.
    fn inner_in(&self, markers: Markers) -> &'static [&'static str] {
        if markers == Markers::Tokens { self.traits.inner } else { &[] }
    }

    /// Walks once after this prompt and judges the result.
    pub(crate) fn judge_walk(
        &self,
        request: &Demand,
        fresh: &Walker,
        prompt: &str,
        seed: u64,
        markers: Markers,
    ) -> Result<(), String> {
        let descriptor = self.descriptor();
        let mut walker = fresh.opened(prompt).expect("the prompt is part of the grammar");
        let pieces = walker.walk(seed)?;
        let tell = |error| format!("{error}\n{pieces:?}");
        self.judge_turn(request, &descriptor, prompt, &pieces, markers).map_err(tell)
    }

    /// Whether each marker is a token in this mode.
    fn tokens_in(&self, descriptor: &Descriptor, markers: Markers) -> Vec<bool> {
        let is_token = |index: usize| match markers {
            Markers::Tokens if self.table.is_some() => tables::is_token(&descriptor.markers[index]),
            Markers::Tokens => self.traits.tokens.is_empty() || self.traits.tokens.contains(&index),
            Markers::Text => descriptor.stops.iter().any(|stop| *stop as usize == index),
        };
        (0..descriptor.markers.len()).map(is_token).collect()
    }

    /// Pieces as a host sees them, which finds the markers that aren't tokens by their text.
    fn found(&self, pieces: &[WalkPiece], descriptor: &Descriptor, markers: Markers) -> Vec<WalkPiece> {
        match markers {
            Markers::Text => pieces.to_vec(),
            Markers::Tokens => {
                let pieces = with_inner_as_text(pieces, &descriptor.markers, self.traits.inner);
                found_in(&pieces, &descriptor.markers, &self.tokens_in(descriptor, markers))
            }
        }
    }

    /// Items that the parser reads from these pieces after this prompt.
    pub(crate) fn read(
        &self,
        request: &Demand,
        prompt: &str,
        pieces: &[WalkPiece],
        markers: Markers,
    ) -> Vec<Item> {
        let pieces = self.found(pieces, &self.descriptor(), markers);
        (self.play)(&self.told(request, markers), prompt, &pieces, markers, usize::MAX)
    }

    fn judge_turn(
        &self,
        request: &Demand,
        descriptor: &Descriptor,
        prompt: &str,
        pieces: &[WalkPiece],
        markers: Markers,
    ) -> Result<(), String> {
        let pieces = self.found(pieces, descriptor, markers);
        let told = self.told(request, markers);
        let items = (self.play)(&told, prompt, &pieces, markers, usize::MAX);
        for cut in [1, 3] {
            let again = (self.play)(&told, prompt, &pieces, markers, cut);
            if again != items {
                return Err(format!("cut every {cut} bytes it gives {again:?} instead of {items:?}"));
            }
        }
        let leaks = items.iter().map(|item| leaks_nothing(descriptor, markers, item));
        let judged = match request.call_form {
            // Text may spell markers there that the parser takes for text.
            CallForm::Envelope if self.holds_heads_alone(request, markers) => {
                names_are_declared(request, &items)
            }
            CallForm::Envelope => satisfies(request, &items, self),
            _ if request.bounds_reasoning => satisfies(request, &items, self),
            _ => satisfies(request, &items, self).and_then(|()| leaks.collect()),
        };
        judged.map_err(|error| format!("{error}: {items:?}"))
    }

    /// Whether only the heads of the request's calls are held: values are raw text, which markers
    /// end that are text, too.
    fn holds_heads_alone(&self, request: &Demand, markers: Markers) -> bool {
        let grammar = self.grammar(request, markers).ok().flatten();
        grammar.is_some_and(|grammar| grammar.contains(" call /(?s:.+)/?"))
    }
}

impl TextJudge for Format {
    fn json(&self, schema: &str, text: &str) -> Result<(), String> {
        let schema: Value = serde_json::from_str(schema).map_err(|error| error.to_string())?;
        let instance: Value =
            serde_json::from_str(text).map_err(|error| format!("{text:?} is not JSON: {error}"))?;
        schemas::is_valid(&schema, &instance)
    }

    fn input(&self, grammar: &TextGrammar, text: &str) -> Result<(), String> {
        if self.carries(grammar) { inputs::matches(grammar, text) } else { Ok(()) }
    }

    fn answer(&self, grammar: &TextGrammar, text: &str) -> Result<(), String> {
        inputs::matches(grammar, text)
    }
}

/// Checks that the first call, if there is one, is a declared tool's.
fn names_are_declared(request: &Demand, items: &[Item]) -> Result<(), String> {
    let mut names = items.iter().filter_map(|item| match &item.head {
        Head::ToolCall(call) => Some(call.name.as_str()),
        _ => None,
    });
    match names.next().filter(|name| !request.tools.iter().any(|tool| tool.name == *name)) {
        Some(name) => Err(format!("{name:?} isn't declared")),
        None => Ok(()),
    }
}

/// Checks that no marker is shown where markers are text. (Where they are tokens, their spelling is
/// text like any other.)
fn leaks_nothing(descriptor: &Descriptor, markers: Markers, item: &Item) -> Result<(), String> {
    let is_call = matches!(item.head, Head::ToolCall(_));
    // A table's other delimiters have a meaning inside calls only.
    let mut marks = descriptor
        .markers
        .iter()
        .filter(|marker| marker.starts_with('<') || descriptor.name != "response-template");
    let shown = marks.find(|marker| item.text.contains(marker.as_str()));
    match shown {
        Some(marker) if markers == Markers::Text && !is_call => Err(format!("{marker:?} is shown")),
        _ => Ok(()),
    }
}
