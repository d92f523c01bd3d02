//! Completes a template for a request and a tokenizer.

mod call;
mod envelope;
mod notation;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use contract::ToolKind;

use crate::lark::{ArgumentsRule, Callable, DemandedTurn, InputForm, Lark, Markers};
use crate::markers::{define_markers, no_token};
use crate::template::check::{CALL, marker};
use crate::template::{GrammarTemplate, InputEnd, Shape, Tokens, Word, around_holes, grouped, written};
use crate::{Demand, ToolDefinition};
use call::Call;

/// The tokens that stand for a parser's markers in a model's tokenizer.
#[derive(Debug, Clone, Copy)]
pub struct MarkerTokens<'a> {
    /// For each marker the id of its token; `None` where it is text.
    pub ids: &'a [Option<u32>],
    /// Added tokens that occur in the literals of markers that aren't tokens themselves, each with
    /// its id.
    pub inner: &'a [(&'a str, u32)],
    /// Indices of the markers that end the turn.
    pub stops: &'a [u32],
}

/// Why a request can't be followed in a format: one line for its author.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ConstraintError(String);

impl From<String> for ConstraintError {
    fn from(reason: String) -> Self {
        Self(reason)
    }
}

impl GrammarTemplate {
    /// The grammar of the turns that satisfy a request, in llguidance's dialect of Lark; `None`
    /// where the model is left free.
    ///
    /// # Errors
    /// What of the request can't be followed in this format, or with this tokenizer.
    pub fn compose(
        &self,
        demand: &Demand,
        tokens: MarkerTokens<'_>,
    ) -> Result<Option<String>, ConstraintError> {
        let turn = DemandedTurn::of(demand, self.input_form())?;
        let Some(turn) = turn else { return Ok(None) };
        if turn.is_envelope && !turn.bounds_reasoning && self.restricts_text(&turn) {
            return Err("in this format a message may begin like a call".to_owned().into());
        }
        let ids = tokens.ids.iter().copied().chain(std::iter::repeat(None));
        let markers: Vec<_> = self.literals.iter().map(String::as_str).zip(ids).collect();
        let are_tokens = (0..).zip(&markers).filter(|(_, (_, id))| id.is_some());
        let indices: Vec<u32> = are_tokens.map(|(index, _)| index).collect();
        let has_token = |(literal, id): &(&str, Option<u32>)| {
            id.is_some() || tokens.inner.iter().any(|(token, _)| literal.contains(token))
        };
        let apart = (0..).zip(&markers).filter(|(_, marker)| has_token(marker)).map(|(index, _)| index);
        let composer = Composer::new(self, &turn, &indices, apart.collect());
        // A marker that has to be a token is one that text needn't be kept from spelling.
        let missing = markers.iter().find(|(_, id)| id.is_none() && self.directives.tokens == Tokens::All);
        let composer = composer.map_err(|error| missing.map_or(error, |(literal, _)| no_token(literal)))?;
        let lark = composer.whole(demand, tokens.stops)?;
        let stops = self.stops_in_strings(tokens.stops, &indices);
        Ok(Some(define_markers(&lark, &markers, tokens.inner, &stops)?))
    }

    /// Why the input of a custom tool doesn't follow the tool's grammar in this format, if so: one
    /// line.
    pub fn refuses_input(&self, tool: &ToolDefinition) -> Option<String> {
        self.input_form().refuses(tool)
    }

    fn input_form(&self) -> InputForm {
        let is_json = self.has("call", "arguments") && !self.has_notation();
        match self.directives.input {
            Some(_) => InputForm::Raw,
            None if is_json => InputForm::Json,
            None => InputForm::Other,
        }
    }

    /// The stops that strings of a grammar can spell, and which therefore have to be tokens: all of
    /// them, unless a turn can end with one of those that are `tokens`. Then the format may name
    /// others in `%value`, if its arguments are no JSON and its texts spell no marker.
    fn stops_in_strings(&self, stops: &[u32], tokens: &[u32]) -> Vec<u32> {
        let has_texts = self.directives.answer.is_some() || !self.directives.texts.is_empty();
        let is_json = has_texts || (self.has("call", "arguments") && !self.has_notation());
        let can_end = stops.iter().any(|stop| tokens.contains(stop));
        let value = self.directives.value.as_deref().unwrap_or_default();
        let is_kept_out = |stop: u32| value.iter().any(|index| u32::try_from(*index) == Ok(stop));
        let is_in_strings = |stop: &u32| is_json || !can_end || !is_kept_out(*stop);
        stops.iter().copied().filter(is_in_strings).collect()
    }
}

/// A grammar being written.
struct Composer<'a> {
    template: &'a GrammarTemplate,
    turn: &'a DemandedTurn<'a>,
    lark: Lark,
    /// Indices of the markers that are tokens, or have one in them.
    apart: BTreeSet<usize>,
}

impl<'a> Composer<'a> {
    /// Begins a grammar with the rules of text. `tokens` are the markers that are tokens, and `apart`
    /// those that have one in them, too.
    fn new(
        template: &'a GrammarTemplate,
        turn: &'a DemandedTurn<'a>,
        tokens: &[u32],
        apart: BTreeSet<usize>,
    ) -> Result<Self, String> {
        let directives = &template.directives;
        let needs_token = directives.input == Some(InputEnd::Token) && turn.inputs().next().is_some();
        let quoted: Vec<String> = template.quoted(&apart, turn).into_iter().collect();
        let have_to_be = directives.tokens == Tokens::All || needs_token;
        let markers = Markers { tokens, have_to_be, quoted: &quoted };
        let alone = directives.answer.as_ref().filter(|_| turn.tools.is_empty());
        let active = alone.or_else(|| directives.texts.get("text")).cloned();
        let mut active = active.unwrap_or_else(|| (0..template.literals.len()).collect());
        if turn.is_envelope {
            let openers = template.openers(turn);
            active.retain(|index| openers.contains(index));
        }
        let mut lark = Lark::new(&template.literals, markers, active)?;
        if let Some(value) = &directives.value {
            lark.text("value", value.iter().copied())?;
        }
        for (name, markers) in directives.texts.iter().filter(|(name, _)| *name != "text") {
            lark.text(&own(name), markers.iter().copied())?;
        }
        for input in turn.inputs() {
            match directives.input {
                Some(InputEnd::Text(end)) => {
                    lark.input_before(input, end, directives.value.as_deref().unwrap_or_default())?;
                }
                _ => lark.input(input),
            }
        }
        Ok(Self { template, turn, lark, apart })
    }

    fn whole(mut self, demand: &Demand, stops: &[u32]) -> Result<String, String> {
        let calls = self.calls()?;
        let answer = match self.turn.answer(&self.lark)? {
            // The shape of turns that demand nothing has calls in it.
            None if !calls && self.turn.is_envelope && !self.template.has_open_turns(self.turn) => {
                Some("text".to_owned())
            }
            answer => answer,
        };
        let shape = match (&answer, calls) {
            (None, _) if self.turn.is_demanded() => Shape::Forced,
            (None, _) => Shape::Free,
            (Some(_), false) => Shape::Answer,
            (Some(_), true) => Shape::Either,
        };
        if let Some(why) = self.template.directives.refused.get(&shape) {
            return Err(why.clone());
        }
        if let Some(answer) = answer {
            self.lark.rule("answer", &answer);
        }
        self.own_rules();
        if let Some(turn) = self.open_turn(calls, stops) {
            return Ok(self.lark.start(&turn));
        }
        let is_text = demand.response_schema.is_none();
        let body = self.body(shape, is_text);
        let before = self.template.rule("before").map(|words| self.grouped(words)).unwrap_or_default();
        Ok(self.lark.start(&format!("{before} {body}")))
    }

    /// Defines the rules of the turn's calls; returns whether there are any.
    fn calls(&mut self) -> Result<bool, String> {
        if self.turn.tools.is_empty() {
            return Ok(false);
        }
        if let Some(why) = self.refused_calls() {
            return Err(why.to_owned());
        }
        if let Some(open) = self.open_call() {
            self.open_calls(&open)?;
            return Ok(true);
        }
        let call = self.call(self.template.rule("call").unwrap_or_default())?;
        self.lark.rule("call", &call);
        let more = self.template.rule("more").map_or("gap?".into(), |words| self.grouped(words));
        let calls = if self.is_single() { "call".to_owned() } else { format!("call ({more} call)*") };
        self.lark.rule("calls", &calls);
        if let Some(section) = self.template.rule("section") {
            let section = self.written(section);
            self.lark.rule("section", &section);
        }
        if let Tokens::These(markers) = &self.template.directives.tokens {
            let named: Vec<String> = markers.iter().map(|index| format!("token_{index}")).collect();
            self.lark.rule("tokens", &named.join(" "));
        }
        Ok(true)
    }

    /// Lark expression of a call of any tool, by these words. What is the same for all of them is
    /// written once.
    fn call(&mut self, words: &[Word]) -> Result<String, String> {
        let is_custom = |tool: &Callable<'_>| {
            self.template.rule("custom").is_some() && is_raw_input(tool.tool.kind, &tool.arguments)
        };
        let customs: Vec<bool> = self.turn.tools.iter().map(is_custom).collect();
        let [before, call, behind] = if customs.contains(&true) {
            [&[], words, &[]]
        } else {
            around_holes(words, |name| CALL.contains(&name))
        };
        let (mut all, mut bytes) = (Vec::new(), 0);
        for ((index, tool), is_custom) in self.turn.tools.iter().enumerate().zip(customs) {
            let words = if is_custom { self.template.rule("custom").unwrap_or_default() } else { call };
            let call =
                Call { template: self.template, lark: &mut self.lark, tool, index, words }.written()?;
            bytes += call.len();
            self.lark.check_size(bytes)?;
            all.push(call);
        }
        Ok(format!("{} ({}) {}", self.written(before), all.join(" | "), self.written(behind)))
    }

    /// Why the format has no calls at all.
    fn refused_calls(&self) -> Option<&str> {
        let refused = &self.template.directives.refused;
        let mut with_calls = Shape::ALL.into_iter().filter(|shape| shape.has_calls());
        let why = refused.get(&Shape::Free)?;
        with_calls.all(|shape| refused.get(&shape) == Some(why)).then_some(why.as_str())
    }

    /// What comes behind reasoning. `is_text`: the answer has a grammar and no schema.
    fn body(&self, shape: Shape, is_text: bool) -> String {
        let for_text =
            if is_text && shape.has_answer() { format!("{}_text", shape.name()) } else { String::new() };
        let own = self.template.rule(&for_text).or_else(|| self.template.rule(shape.name()));
        let calls = self.calls_name();
        match (own, shape) {
            (Some(words), _) => {
                grouped(words, |name| if name == "calls" { calls.into() } else { self.name(name) })
            }
            (None, Shape::Forced) => format!("gap? {calls} gap?"),
            (None, Shape::Free) => format!("text ({calls} text)?"),
            (None, Shape::Answer) => "gap? answer gap?".into(),
            (None, Shape::Either) => format!("gap? (answer | {calls}) gap?"),
        }
    }

    /// Whether the turn has one call at most.
    fn is_single(&self) -> bool {
        !self.turn.several || self.template.directives.is_single
    }

    /// The rule of all calls with what stands around them.
    fn calls_name(&self) -> &'static str {
        if self.template.rule("section").is_some() { "section" } else { "calls" }
    }

    /// Defines the template's own rules.
    fn own_rules(&mut self) {
        for (name, words) in self.template.own_rules() {
            let body = self.written(words);
            self.lark.rule(&own(name), &body);
        }
    }

    fn written(&self, words: &[Word]) -> String {
        written(words, |name| self.name(name))
    }

    fn grouped(&self, words: &[Word]) -> String {
        grouped(words, |name| self.name(name))
    }

    /// How a name of the template is written.
    fn name(&self, name: &str) -> String {
        written_name(self.template, &self.lark, name)
    }
}

/// How a name of the template is written: a marker as the rule that stands for it, a rule of its
/// own under another name, so that it can't be taken for one of the host's.
fn written_name(template: &GrammarTemplate, lark: &Lark, name: &str) -> String {
    match marker(name) {
        Some(_) if name.starts_with("token_") => name.to_owned(),
        Some(index) => index.parse().map_or_else(|_| name.to_owned(), |index| lark.marker(index)),
        None if template.is_own(name) => own(name),
        None => name.to_owned(),
    }
}

/// Name under which a rule of the template's own is written.
fn own(name: &str) -> String {
    if name.contains(|char: char| char.is_ascii_uppercase()) {
        format!("OWN_{name}")
    } else {
        format!("own_{name}")
    }
}

/// Whether a tool's input is raw text that follows the tool's grammar.
fn is_raw_input(kind: ToolKind, arguments: &ArgumentsRule) -> bool {
    kind == ToolKind::Custom && matches!(arguments, ArgumentsRule::Text(Some(_)))
}
