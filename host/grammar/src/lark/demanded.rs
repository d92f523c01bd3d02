//! What a request demands of a turn, in terms that every format shares.

use serde_json::Value;

use super::arguments::ArgumentsRule;
use super::input::Input;
use super::safe;
use super::schema::{self, Follow};
use super::writer::{Lark, json};
use crate::{CallForm, Demand, ToolChoice, ToolDefinition};
use contract::ToolKind;

/// What a turn has to be.
#[derive(Debug)]
pub(crate) struct DemandedTurn<'a> {
    /// Tools that may be called in it.
    pub(crate) tools: Vec<Callable<'a>>,
    /// Whether several calls may be made.
    pub(crate) several: bool,
    /// What the turn says beside reasoning and calls.
    pub(crate) answer: Answer,
    /// Whether nothing of a call is demanded but its envelope, which nobody has asked for: what the
    /// parser reads some other way has to stay possible.
    pub(crate) is_envelope: bool,
    /// Whether reasoning is told from what follows it.
    pub(crate) bounds_reasoning: bool,
}

/// A tool that may be called.
#[derive(Debug)]
pub(crate) struct Callable<'a> {
    /// As the request declares it.
    pub(crate) tool: &'a ToolDefinition,
    /// What its arguments must be.
    pub(crate) arguments: ArgumentsRule,
}

/// What a turn says beside reasoning and calls.
#[derive(Debug)]
pub(crate) enum Answer {
    /// Nothing: a call is demanded, and made at once.
    Nothing,
    /// Any text, before a call too.
    Free,
    /// JSON of this schema, if no call is made.
    Json(Value),
    /// Text of this grammar, if no call is made.
    Text(Input),
}

/// Whether nothing is demanded of the turn.
fn is_free(demand: &Demand) -> bool {
    !demand.bounds_reasoning
        && demand.response_schema.is_none()
        && demand.response_grammar.is_none()
        && match demand.tool_choice {
            ToolChoice::None => true,
            ToolChoice::Auto => {
                let is_held = |tool: &ToolDefinition| tool.strict || demand.call_form != CallForm::Free;
                !demand.tools.iter().any(is_held)
            }
            ToolChoice::Required | ToolChoice::Named(_) => false,
        }
}

impl<'a> DemandedTurn<'a> {
    /// What a request demands; `None` where the model is left free.
    ///
    /// Arguments follow the tool's schema where the tool is strict, a call is demanded, or the form
    /// of calls says so; otherwise they are any object, or one of the schema's keys. Inputs of custom tools follow the tools' grammars where the
    /// format writes them as raw text (`has_inputs`), and are free elsewhere.
    ///
    /// # Errors
    /// One line naming the tool or schema, and what is wrong with it.
    pub(crate) fn of(demand: &'a Demand, has_inputs: bool) -> Result<Option<Self>, String> {
        let has_grammar = |tool: &ToolDefinition| tool.kind == ToolKind::Custom && tool.grammar.is_some();
        let follows_inputs =
            has_inputs && demand.tool_choice != ToolChoice::None && demand.tools.iter().any(has_grammar);
        if is_free(demand) && !follows_inputs {
            return Ok(None);
        }
        let mut turn = Self::demanded(demand)?;
        let inputs = turn.tools.iter_mut().enumerate().filter(|_| has_inputs);
        for (index, callable) in inputs {
            if let ArgumentsRule::Text(input) = &mut callable.arguments {
                *input = Input::of(callable.tool, index)?;
            }
        }
        Ok(Some(turn))
    }

    /// The inputs that have a grammar.
    pub(crate) fn inputs(&self) -> impl Iterator<Item = &Input> {
        self.tools.iter().filter_map(|callable| match &callable.arguments {
            ArgumentsRule::Text(input) => input.as_ref(),
            _ => None,
        })
    }

    fn demanded(demand: &'a Demand) -> Result<Self, String> {
        let (tools, demanded) = match &demand.tool_choice {
            ToolChoice::None => (Vec::new(), false),
            ToolChoice::Auto => (demand.tools.iter().collect(), false),
            ToolChoice::Required => (demand.tools.iter().collect::<Vec<_>>(), true),
            ToolChoice::Named(name) => {
                (demand.tools.iter().filter(|tool| tool.name == *name).take(1).collect(), true)
            }
        };
        if demanded && tools.is_empty() {
            return Err("a tool call is demanded, but no tool of that name is declared".into());
        }
        let by_schema = demanded || demand.call_form == CallForm::Schema;
        let callable = |tool| Ok(Callable { tool, arguments: ArgumentsRule::of(tool, by_schema)? });
        let named = matches!(demand.tool_choice, ToolChoice::Named(_));
        let answer = if demanded { Answer::Nothing } else { Answer::of(demand)? };
        Ok(Self {
            several: demand.parallel_tool_calls && !named,
            is_envelope: matches!(answer, Answer::Free)
                && demand.call_form != CallForm::Schema
                && !demand.has_strict_tools(),
            bounds_reasoning: demand.bounds_reasoning,
            answer,
            tools: tools.into_iter().map(callable).collect::<Result<_, String>>()?,
        })
    }

    /// Lark expression of the final message, where it has a schema or a grammar. The message stands
    /// among markers, and spells none.
    ///
    /// # Errors
    /// The schema or grammar can't be followed among this format's markers.
    pub(crate) fn answer(&self, lark: &Lark) -> Result<Option<String>, String> {
        let forbidden = lark.forbidden(lark.active())?;
        match &self.answer {
            Answer::Nothing | Answer::Free => Ok(None),
            Answer::Json(schema) => {
                let schema = safe::without(schema.clone(), &forbidden)
                    .map_err(|error| format!("the schema of the response: {error}"))?;
                Ok(Some(json(&schema::prepared(schema, Follow::Strictly))))
            }
            Answer::Text(grammar) if forbidden.is_empty() => Ok(Some(grammar.nested())),
            Answer::Text(_) => Err("the grammar of the response can't be kept from spelling this format's markers, which are text in the model's tokenizer".into()),
        }
    }

    /// Whether a call has to be made.
    pub(crate) fn is_demanded(&self) -> bool {
        matches!(self.answer, Answer::Nothing)
    }
}

impl Answer {
    fn of(demand: &Demand) -> Result<Self, String> {
        match (&demand.response_schema, &demand.response_grammar) {
            (Some(text), _) => schema::parse(text, "the response").map(Self::Json),
            (None, Some(grammar)) => Input::answer(grammar).map(Self::Text),
            (None, None) => Ok(Self::Free),
        }
    }
}
