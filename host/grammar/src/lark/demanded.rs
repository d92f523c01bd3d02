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

/// How a format writes the input of a custom tool, as far as a grammar of it can be followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum InputForm {
    /// As raw text.
    Raw,
    /// As a string of JSON.
    Json,
    /// In a notation of its own, in which none is followed.
    Other,
}

impl InputForm {
    /// The arguments of a custom tool whose grammar is followed; none for another tool, and where the
    /// form can't carry the grammar. `index` keeps the names of its rules apart from other tools'.
    ///
    /// # Errors
    /// One line naming the tool, and what is wrong with its grammar.
    fn followed(self, tool: &ToolDefinition, index: usize) -> Result<Option<ArgumentsRule>, String> {
        if tool.kind != ToolKind::Custom || tool.grammar.is_none() {
            return Ok(None);
        }
        match self {
            Self::Raw => Input::of(tool, index).map(|input| Some(ArgumentsRule::Text(input))),
            Self::Json => Ok(Self::quoted(tool).ok().flatten()),
            Self::Other => Ok(None),
        }
    }

    fn quoted(tool: &ToolDefinition) -> Result<Option<ArgumentsRule>, String> {
        Input::of(tool, 0)?.map(|input| ArgumentsRule::of_input(&input)).transpose()
    }

    /// Why the grammar of a custom tool isn't followed, if so: one line.
    pub(crate) fn refuses(self, tool: &ToolDefinition) -> Option<String> {
        match self {
            Self::Raw => None,
            Self::Json => Self::quoted(tool).err(),
            Self::Other => Some(
                "this model's format writes the input of a custom tool in a notation of its own".to_owned(),
            ),
        }
    }
}

impl<'a> DemandedTurn<'a> {
    /// What a request demands; `None` where the model is left free.
    ///
    /// Arguments follow the tool's schema where the tool is strict, a call is demanded, or the form
    /// of calls says so; otherwise they are any object, or one of the schema's keys. Inputs of custom
    /// tools follow the tools' grammars where the format can carry these (`inputs`), and are free
    /// elsewhere.
    ///
    /// # Errors
    /// One line naming the tool or schema, and what is wrong with it.
    pub(crate) fn of(demand: &'a Demand, inputs: InputForm) -> Result<Option<Self>, String> {
        let followed = |(index, tool)| inputs.followed(tool, index);
        let may_call = demand.tool_choice != ToolChoice::None;
        let tools = demand.tools.iter().enumerate().filter(|_| may_call && is_free(demand));
        if is_free(demand) && tools.map(followed).all(|rule| matches!(rule, Ok(None))) {
            return Ok(None);
        }
        let mut turn = Self::demanded(demand)?;
        for (index, callable) in turn.tools.iter_mut().enumerate() {
            if let Some(rule) = followed((index, callable.tool))? {
                callable.arguments = rule;
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
