//! Constraint of a job's answer, in the form that its engine takes: a grammar of the whole turn, by
//! the parser's template, or JSON.
//!
//! A local engine gets masks of the grammar. A remote engine makes masks itself: it gets all forms
//! of the constraint that it supports, and prefers the grammar. The grammar allows reasoning before
//! the answer; JSON that begins at once doesn't, but it is a correct constraint, too.

use std::sync::Arc;

use engine::{Constraint, EngineInfo, JsonBegins, JsonConstraint, TokenMask};
use grammar::{CallForm, Demand, ToolChoice, ToolDefinition};

use super::error::{ConstraintField, StartError};
use super::job::{Beginning, Job, SamplingRequest};
use super::opening_state::{OpeningPieces, OpeningProbe, OpeningState};
use super::parsers::{ParserBinding, ParserRequest};
use super::served::{Model, Served};
use accounts::Caller;
use mask::{GrammarError, Grammars, MaskStart, Need, json_grammar, text_grammar};
use net::printable::printable;

/// Argument of chat templates that describe tools themselves.
const BUILTIN_TOOLS: &str = "builtin_tools";
/// Why the reasoning of an answer with a form can't be cut on an engine that makes masks itself.
const NO_REST: &str = "the format has no grammar of what follows it";

impl Job {
    /// Whether a grammar may have to be compiled for the job.
    pub(super) fn is_constrained(&self) -> bool {
        self.demanding_field().is_some() || self.has_form()
    }

    /// Field of the request that demands a constraint of the answer, if one does.
    pub(super) fn demanding_field(&self) -> Option<ConstraintField> {
        match self.demand.tool_choice {
            ToolChoice::Required | ToolChoice::Named(_) => Some(ConstraintField::ToolChoice),
            ToolChoice::Auto | ToolChoice::None => {
                let schema = self.demand.response_schema.as_ref().map(|_| ConstraintField::Format);
                schema.or(self.demand.response_grammar.as_ref().map(|_| ConstraintField::Grammar))
            }
        }
    }

    /// Whether a constraint is useful but optional: reasoning has a bound, or the model is free to
    /// call tools whose calls have a form.
    fn has_form(&self) -> bool {
        let Demand { tool_choice, tools, call_form, bounds_reasoning, .. } = &self.demand;
        let is_held = self.demand.has_strict_tools() || (*call_form != CallForm::Free && !tools.is_empty());
        (*tool_choice == ToolChoice::Auto && is_held) || *bounds_reasoning
    }

    /// Whether the request says itself that calls have a form.
    fn asks_for_a_form(&self) -> bool {
        self.demanding_field().is_some() || self.demand.has_strict_tools()
    }

    /// Why the answer may get no constraint that its request doesn't ask for, if so: it has to be a
    /// turn from its beginning, in which all that a grammar allows may come, and may end.
    fn takes_no_form(&self) -> Option<&'static str> {
        let SamplingRequest { ignore_eos, min_tokens, bad_words, .. } = &self.sampling;
        if self.beginning != Beginning::Answer {
            Some("the answer continues a text")
        } else if *ignore_eos || *min_tokens > 0 || !bad_words.is_empty() {
            Some("ignore_eos, min_tokens and bad_words leave no room for it")
        } else if self.template_arguments.iter().any(|(name, _)| name == BUILTIN_TOOLS) {
            Some("the chat template describes tools that the request doesn't declare")
        } else {
            None
        }
    }

    /// Whether the client has written the whole prompt.
    pub(super) fn is_raw(&self) -> bool {
        matches!(self.beginning, Beginning::Raw(_))
    }

    fn may_call(&self) -> bool {
        self.demand.tool_choice != ToolChoice::None && !self.demand.tools.is_empty()
    }
}

/// Constraint of a job, in the form that its engine takes.
pub(super) enum AnswerConstraint {
    /// No constraint.
    Free,
    /// Source of the constraint, for an engine that makes masks itself.
    Source(Arc<Constraint>),
    /// Start of the masks, for an engine that takes masks, and the end of reasoning if its length is
    /// bounded.
    Masks(Box<MaskStart>, Option<ReasoningEnd>, Need),
}

impl AnswerConstraint {
    /// Source for the engine's request, if it takes one.
    pub(super) fn source(&self) -> Option<Arc<Constraint>> {
        match self {
            Self::Source(source) => Some(Arc::clone(source)),
            Self::Free | Self::Masks(..) => None,
        }
    }

    /// Whether its engine takes masks.
    pub(super) fn has_masks(&self) -> bool {
        matches!(self, Self::Masks(..))
    }

    /// Whether it ends reasoning at the request's budget.
    pub(super) fn keeps_budget(&self) -> bool {
        matches!(self, Self::Masks(_, Some(ReasoningEnd { budget: Some(_), .. }), _))
    }

    /// What an engine that makes masks itself has to follow from the end of reasoning on, if anything.
    ///
    /// # Errors
    /// Why what is demanded can't be said from there on.
    pub(super) fn behind_reasoning(
        &self,
        job: &Job,
        parser: &ParserBinding,
    ) -> Result<Option<Arc<Constraint>>, &'static str> {
        let Self::Source(whole) = self else { return Ok(None) };
        let rest = || parser.grammar_behind_reasoning(&job.demand).ok().flatten();
        let grammar = whole.grammar.as_ref().and_then(|_| rest());
        let at_once = |json: &JsonConstraint| JsonConstraint { begins: JsonBegins::AtOnce, ..json.clone() };
        let json = whole.json.as_ref().map(at_once);
        if grammar.is_none() && json.is_none() {
            return if whole.is_optional { Ok(None) } else { Err(NO_REST) };
        }
        Ok(Some(Arc::new(Constraint { grammar, json, is_optional: whole.is_optional })))
    }

    /// Makes the mask of one choice of at most `limit` tokens, if the engine takes masks.
    pub(super) fn mask(&self, limit: usize) -> Option<Box<dyn TokenMask>> {
        match self {
            Self::Masks(start, end, need) => {
                let mask = match need {
                    Need::Demanded => start.mask(),
                    Need::Optional => start.mask().giving_way(),
                };
                Some(Box::new(match end {
                    Some(end) => mask.with_reasoning_bound(Arc::clone(&end.tokens), end.due(limit)),
                    None => mask,
                }))
            }
            Self::Free | Self::Source(_) => None,
        }
    }
}

/// The end of reasoning that has a bound.
pub(super) struct ReasoningEnd {
    /// Tokens that end it.
    tokens: Arc<[u32]>,
    /// Most tokens of reasoning that the request allows.
    budget: Option<u32>,
    /// Whether something is demanded behind it.
    is_demanded: bool,
}

impl ReasoningEnd {
    /// Number of tokens of an answer, of at most `limit`, behind which reasoning ends.
    fn due(&self, limit: usize) -> usize {
        let budget = self.budget.map_or(limit, |budget| budget as usize);
        if self.is_demanded { budget.min(limit - reserve(limit)) } else { budget }
    }
}

/// Number of tokens, of an answer of at most `limit`, that reasoning leaves to what was demanded: a
/// quarter, but 256 (a call with some arguments) where half of the answer has them, and no more
/// than 4,096 (a long one), so that a large limit is there for reasoning.
fn reserve(limit: usize) -> usize {
    (limit / 4).max(256.min(limit / 2)).min(4096)
}

impl Served {
    /// Makes the constraint of a job. `opening` is the part of the turn that the prompt has
    /// written.
    pub(super) fn constraint(
        &self,
        job: &Job,
        parser: &ParserBinding,
        request: &ParserRequest,
        opening: &OpeningPieces,
        caller: &Caller,
    ) -> Result<AnswerConstraint, StartError> {
        let probe = OpeningProbe { parser, request, opening };
        let (engine, grammars) = (self.source.info(), &self.grammars);
        let generates = self.source.generates();
        let builder = ConstraintBuilder { job, parser, probe, engine, generates, grammars, caller };
        check_inputs(job, parser)?;
        match job.demanding_field() {
            Some(field) if builder.engine.constraints.masks => builder.masks(field),
            Some(field) => Ok(AnswerConstraint::Source(Arc::new(builder.required(field)?))),
            None if job.has_form() => builder.optional(),
            None => Ok(AnswerConstraint::Free),
        }
    }
}

impl Model {
    /// Whether the answer may get a constraint that its request doesn't ask for.
    ///
    /// # Errors
    /// Why not.
    pub(super) fn takes_a_form(&self, job: &Job) -> Result<(), &'static str> {
        if !self.served.source.follows_grammars() {
            return Err("the engine follows no grammars of tokens");
        }
        job.takes_no_form().map_or(Ok(()), Err)
    }

    /// Whether the model can be held to a call, as far as that is known before its prompt is made.
    ///
    /// # Errors
    /// Why not.
    pub fn can_force_calls(&self, job: &Job) -> Result<(), &'static str> {
        let Served { source, parsers, .. } = &*self.served;
        if !source.info().constraints.masks && !source.follows_grammars() {
            Err("the engine follows no grammar of calls")
        } else if parsers.current().template().is_none() {
            Err("the model's parser has no grammar")
        } else if job.beginning != Beginning::Answer {
            Err("the answer continues a text")
        } else {
            Ok(())
        }
    }

    /// Line on the budget of reasoning that isn't kept.
    pub(super) fn unkept_budget(&self, job: &Job) -> Option<String> {
        job.reasoning_budget.filter(|_| !self.served.engine_keeps_budgets)?;
        let parser = self.served.parsers.current();
        // Such an engine gets a grammar of the whole turn, and another one where its reasoning ends;
        // JSON alone needs none.
        let is_json = job.demand.response_schema.is_some() && !job.may_call();
        let needs_rest = !self.takes_masks() && job.asks_for_a_form() && !is_json;
        let why = if !self.served.source.generates() {
            "a script writes the answer"
        } else if job.is_raw() {
            "nothing tells thoughts from text behind a raw prompt"
        } else if parser.reasoning_end.is_none() {
            "the model's parser knows no end of reasoning for it"
        } else if needs_rest && !parser.grammar_behind_reasoning(&job.demand).is_ok_and(|made| made.is_some())
        {
            NO_REST
        } else {
            return None;
        };
        Some(format!("reasoning has no bound: {why}"))
    }
}

impl Served {
    /// The operator's bound on reasoning for a job's effort.
    pub(super) fn budget_by_effort(&self, job: &Job) -> Option<u32> {
        let effort = job.template_arguments.iter().find(|(name, _)| name == "reasoning_effort");
        self.budget_of(effort.and_then(|(_, effort)| effort.as_str()).unwrap_or("default"))
    }

    /// The operator's bound on reasoning for an effort, or for `default`.
    pub(super) fn budget_of(&self, effort: &str) -> Option<u32> {
        let of = |wanted: &str| self.reasoning_budgets.iter().rfind(|(effort, _)| effort == wanted);
        of(effort).or_else(|| of("default")).map(|(_, tokens)| *tokens)
    }

    /// Lines on the grammars of custom tools that the model is shown and needn't follow: where the
    /// engine follows none, or the model's format can't carry one.
    pub(super) fn unfollowed_grammars(&self, job: &Job) -> Vec<String> {
        let (engine, parser) = (self.source.info(), self.parsers.current());
        let follows = engine.constraints.masks || engine.constraints.grammar;
        let no_engine = || (!follows).then(|| "the engine follows no grammar of calls".to_owned());
        let why = |tool: &ToolDefinition| no_engine().or_else(|| refuses_input(&parser, tool));
        let line = |tool: &ToolDefinition| {
            let why = why(tool)?.replace('"', "`");
            let why = why.split(' ').map(printable).collect::<Vec<_>>().join(" ");
            Some(format!("grammar of tool {} is not followed: {why}", printable(&tool.name)))
        };
        let tools = job.demand.tools.iter().filter(|tool| tool.grammar.is_some() && job.may_call());
        tools.filter_map(line).collect()
    }
}

/// Why the grammar of a custom tool's input isn't followed in the parser's format, if so.
fn refuses_input(parser: &ParserBinding, tool: &ToolDefinition) -> Option<String> {
    let none = || Some("this model's parser has no grammar".to_owned());
    parser.template().map_or_else(none, |template| template.refuses_input(tool))
}

/// Checks that the format can carry the grammars of the tools of which one has to be called.
fn check_inputs(job: &Job, parser: &ParserBinding) -> Result<(), StartError> {
    let is_demanded = |name: &str| match &job.demand.tool_choice {
        ToolChoice::Required => true,
        ToolChoice::Named(demanded) => demanded == name,
        ToolChoice::Auto | ToolChoice::None => false,
    };
    let tools = job.demand.tools.iter().filter(|tool| tool.grammar.is_some() && is_demanded(&tool.name));
    let mut refused = tools.filter_map(|tool| Some((tool, refuses_input(parser, tool)?)));
    let Some((tool, why)) = refused.next() else { return Ok(()) };
    let reason = format!("the grammar of tool {:?} can't be followed: {why}", tool.name);
    Err(StartError::Constraint { field: ConstraintField::Tools, reason })
}

#[cfg(test)]
mod tests;

/// Makes the forms of one job's constraint.
struct ConstraintBuilder<'a> {
    job: &'a Job,
    parser: &'a ParserBinding,
    probe: OpeningProbe<'a>,
    engine: &'a EngineInfo,
    /// Whether a model writes the answer, and not a script.
    generates: bool,
    grammars: &'a Grammars,
    caller: &'a Caller,
}

impl ConstraintBuilder<'_> {
    /// Makes masks of the format's grammar, or of the schema if the format has none for it.
    fn masks(&self, field: ConstraintField) -> Result<AnswerConstraint, StartError> {
        self.check_beginning(field)?;
        let refused = |error: GrammarError| match error {
            GrammarError::Refused(error) => at_fault(field, error.with_place(self.schemas()).to_string()),
            GrammarError::Busy => StartError::NoGrammarMemory,
            GrammarError::Left => StartError::Left,
        };
        let (grammar, opening, mut reasoning_end) = match self.parser_grammar(field) {
            Ok(grammar) => (grammar, self.probe.opening, self.reasoning_end()),
            Err(error) => {
                let json = self.json().ok_or(error)?;
                let end = match &json.begins {
                    JsonBegins::After { id: Some(id), text } => Some(vec![(Some(*id), text.clone())]),
                    _ => None,
                };
                (json_grammar(&json).map_err(refused)?, &[][..], end)
            }
        };
        let (is_demanded, budget) = (self.job.demanding_field().is_some(), self.job.reasoning_budget);
        // What a script thinks is checked, and not cut short.
        if !self.generates || !(is_demanded || self.job.demand.bounds_reasoning) {
            reasoning_end = None;
        }
        let stops = &self.parser.stop_ids;
        let need = if self.job.asks_for_a_form() { Need::Demanded } else { Need::Optional };
        let start = self.grammars.start(&grammar, opening, stops, self.caller, need).map_err(refused)?;
        let tokens = reasoning_end.map(|pieces| start.tokenize(&pieces)).filter(|end| !end.is_empty());
        let reasoning_end = tokens.map(|tokens| ReasoningEnd { tokens, budget, is_demanded });
        Ok(AnswerConstraint::Masks(Box::new(start), reasoning_end, need))
    }

    /// The text that ends reasoning; behind a raw prompt no text does.
    fn reasoning_end(&self) -> Option<Vec<(Option<u32>, String)>> {
        self.parser.reasoning_end.clone().filter(|_| !self.job.is_raw())
    }

    /// Schemas that the answer must follow, each with the name of its owner.
    fn schemas(&self) -> impl Iterator<Item = (String, serde_json::Value)> {
        let tools = self.job.demand.tools.iter().filter(|tool| tool.strict);
        let tools = tools.map(|tool| (format!("tool {:?}", tool.name), &tool.schema));
        let response =
            self.job.demand.response_schema.iter().map(|schema| ("the response".to_owned(), schema));
        response.chain(tools).filter_map(|(of, schema)| Some((of, serde_json::from_str(schema).ok()?)))
    }

    fn check_beginning(&self, field: ConstraintField) -> Result<(), StartError> {
        if matches!(self.job.beginning, Beginning::Answer | Beginning::Raw(_)) {
            return Ok(());
        }
        let reason =
            "an answer that is begun can't be constrained: end with a message of the user's".to_owned();
        Err(StartError::Constraint { field, reason })
    }

    /// Makes all forms of the constraint that the engine supports; at least one.
    fn required(&self, field: ConstraintField) -> Result<Constraint, StartError> {
        self.check_beginning(field)?;
        let refused = |reason: &str| StartError::Constraint { field, reason: reason.to_owned() };
        let json = if self.engine.constraints.json { self.json() } else { None };
        if !self.engine.constraints.grammar {
            let json = Some(json.ok_or_else(|| refused(&self.only_json()))?);
            return Ok(Constraint { grammar: None, json, is_optional: false });
        }
        match self.grammar(field) {
            Ok(grammar) => Ok(Constraint { grammar: Some(grammar), json, is_optional: false }),
            // The JSON schema alone is a correct constraint, too.
            Err(_) if json.is_some() => Ok(Constraint { grammar: None, json, is_optional: false }),
            Err(error) => Err(error),
        }
    }

    /// Makes the optional constraint of calls, in a turn that may have none. If the tools allow none
    /// the turn is free. It is refused only for now, where memory is short and the request asks for it.
    fn optional(&self) -> Result<AnswerConstraint, StartError> {
        let (field, engine) = (ConstraintField::Tools, self.engine.constraints);
        let made = if engine.masks {
            self.masks(field)
        } else if engine.grammar {
            let grammar = self.check_beginning(field).and_then(|()| self.grammar(field));
            let source = |grammar| Constraint { grammar: Some(grammar), json: None, is_optional: true };
            grammar.map(|grammar| AnswerConstraint::Source(Arc::new(source(grammar))))
        } else {
            Ok(AnswerConstraint::Free)
        };
        match made {
            Err(StartError::Constraint { .. }) => Ok(AnswerConstraint::Free),
            Err(StartError::NoGrammarMemory) if !self.job.asks_for_a_form() => Ok(AnswerConstraint::Free),
            made => made,
        }
    }

    /// Makes the JSON form of the constraint: only where the output is JSON alone, or reasoning and
    /// then JSON.
    fn json(&self) -> Option<JsonConstraint> {
        let schema = self.job.demand.response_schema.clone().filter(|_| !self.job.may_call())?;
        let begins = match self.probe.state() {
            OpeningState::Message => JsonBegins::AtOnce,
            OpeningState::Reasoning(end) => {
                let (text, id) = self.parser.markers().nth(end?)?;
                JsonBegins::After { text: text.to_owned(), id }
            }
            OpeningState::Elsewhere => return None,
        };
        Some(JsonConstraint { schema, begins })
    }

    /// Makes the parser's grammar for engines that match it from the first generated token on. The
    /// grammar describes a whole turn, so it is refused where the generation prompt has left a part
    /// of the turn open.
    fn grammar(&self, field: ConstraintField) -> Result<String, StartError> {
        let refused = |reason: String| StartError::Constraint { field, reason };
        if !self.probe.is_at_beginning() {
            let reason = match self.probe.state() {
                OpeningState::Reasoning(_) => {
                    "this model's answer begins inside its reasoning, where it can't be constrained yet: turn thinking off"
                }
                OpeningState::Message | OpeningState::Elsewhere => {
                    "this model's answer begins inside a part of its format, where it can't be constrained yet"
                }
            };
            return Err(refused(reason.to_owned()));
        }
        if self.is_behind_reasoning() {
            let made = self.parser.grammar_behind_reasoning(&self.job.demand);
            return self.made(made, field);
        }
        self.parser_grammar(field)
    }

    /// Whether the prompt has ended the turn's reasoning, such as with an empty block: an engine that begins
    /// a whole turn there could let the model think after all.
    fn is_behind_reasoning(&self) -> bool {
        let Some((id, text)) = self.reasoning_end().and_then(|end| end.into_iter().next()) else {
            return false;
        };
        let is_end = |piece: &(Option<u32>, String)| match id {
            Some(_) => piece.0 == id,
            None => piece.1.contains(&text),
        };
        self.probe.opening.iter().any(is_end)
    }

    /// Makes the format's grammar of the whole turn, including the part that the prompt has
    /// written.
    fn parser_grammar(&self, field: ConstraintField) -> Result<String, StartError> {
        if self.job.is_raw() {
            return self.raw_grammar().map_err(|reason| at_fault(field, reason));
        }
        self.made(self.parser.grammar(&self.job.demand), field)
    }

    fn made(
        &self,
        made: Result<Option<String>, String>,
        field: ConstraintField,
    ) -> Result<String, StartError> {
        let made = made.map_err(|reason| at_fault(field, reason))?;
        made.ok_or_else(|| StartError::Constraint { field, reason: self.no_grammar(field) })
    }

    /// Reason why nothing can be demanded of the answer's format, and what to do.
    fn no_grammar(&self, field: ConstraintField) -> String {
        let (cannot, instead) = match field {
            ConstraintField::ToolChoice => ("calls can't be forced", "send \"auto\""),
            _ => ("the answer can't be made to follow it", "leave it out"),
        };
        let parser = &self.parser.descriptor().name;
        format!(
            "{cannot}, since the model is served with the parser {parser}, which has no grammar: {instead}, or serve the model with its format's parser (--parser auto, or --parser NAME)"
        )
    }

    /// Makes the grammar of the text behind a raw prompt, in which no parser has markers. A grammar
    /// in Lark may name tokens, since who writes the whole prompt writes control tokens, too.
    fn raw_grammar(&self) -> Result<String, String> {
        match (&self.job.demand.response_schema, &self.job.demand.response_grammar) {
            (Some(schema), _) => {
                let json = JsonConstraint { schema: schema.clone(), begins: JsonBegins::AtOnce };
                json_grammar(&json).map_err(|error| error.to_string())
            }
            (None, Some(grammar)) if grammar.syntax == "lark" => Ok(grammar.definition.clone()),
            (None, Some(grammar)) => text_grammar(&grammar.syntax, &grammar.definition),
            (None, None) => Err("there is nothing to follow".to_owned()),
        }
    }

    /// Reason why an engine that supports JSON alone can't follow the constraint.
    fn only_json(&self) -> String {
        let engine = &self.engine.name;
        let why = match (&self.job.demand.response_schema, self.job.may_call()) {
            (None, _) => "calls can't be forced",
            (Some(_), true) => "tools may be called beside the answer here",
            (Some(_), false) => "this model's format writes more around an answer",
        };
        format!("the engine ({engine}) follows nothing but JSON schemas, and {why}")
    }
}

/// Error for a request that the parser or the grammar's compiler refuses. If the reason names a
/// tool, the field at fault is the tools, else a format's schema rather than the format.
fn at_fault(field: ConstraintField, reason: String) -> StartError {
    let field = match field {
        _ if reason.contains("tool \"") => ConstraintField::Tools,
        ConstraintField::Format => ConstraintField::Schema,
        field => field,
    };
    StartError::Constraint { field, reason }
}
