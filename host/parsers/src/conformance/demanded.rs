//! Whether the items of a turn are what its request demands.

use grammar::{CallForm, Demand, TextGrammar, ToolChoice, ToolDefinition};
use parser_kit::{Head, Item};
use serde_json::Value;

use contract::{Payload, ToolKind};

/// Schema of the arguments of a function that needn't satisfy its own.
const ANY_OBJECT: &str = r#"{"type":"object"}"#;

/// Judge of texts.
pub trait TextJudge {
    /// Checks that a text is JSON of this schema.
    ///
    /// # Errors
    /// What is wrong.
    fn json(&self, schema: &str, text: &str) -> Result<(), String>;

    /// Checks that the input of a custom tool follows the tool's grammar.
    ///
    /// # Errors
    /// What is wrong.
    fn input(&self, grammar: &TextGrammar, text: &str) -> Result<(), String>;

    /// Checks that an answer follows its grammar.
    ///
    /// # Errors
    /// What is wrong.
    fn answer(&self, grammar: &TextGrammar, text: &str) -> Result<(), String>;
}

/// Checks that these items answer the request: the calls that it demands with valid arguments and
/// no message beside them, or an answer.
///
/// # Errors
/// What is missing, too much or wrong.
pub fn satisfies(demand: &Demand, items: &[Item], judge: &dyn TextJudge) -> Result<(), String> {
    let mut calls = 0;
    let mut messages = Vec::new();
    for item in items {
        if !item.complete {
            return Err("an item is cut off".into());
        }
        match &item.head {
            Head::ToolCall(call) => {
                calls += 1;
                let tool = demand.tools.iter().find(|tool| tool.name == call.name);
                let tool = tool.ok_or_else(|| format!("{:?} isn't declared", call.name))?;
                call_satisfies(demand, tool, call.payload, &item.text, judge)?;
            }
            Head::Message(_) => messages.push(item.text.as_str()),
            Head::Reasoning => {}
        }
    }
    let named = matches!(demand.tool_choice, ToolChoice::Named(_));
    let demanded = named || demand.tool_choice == ToolChoice::Required;
    match calls {
        0 if demanded => return Err("no call".into()),
        2.. if named || !demand.parallel_tool_calls => return Err(format!("{calls} calls")),
        _ if demanded && !messages.is_empty() => return Err("a message beside the demanded call".into()),
        _ => {}
    }
    if calls > 0 {
        return Ok(());
    }
    match (&demand.response_schema, &demand.response_grammar, messages.as_slice()) {
        (None, None, _) => Ok(()),
        (Some(schema), _, [message]) => judge.json(schema, message),
        (None, Some(grammar), [message]) => judge.answer(grammar, message),
        _ => Err(format!("{} messages", messages.len())),
    }
}

fn call_satisfies(
    demand: &Demand,
    tool: &ToolDefinition,
    payload: Payload,
    arguments: &str,
    judge: &dyn TextJudge,
) -> Result<(), String> {
    let demanded = match &demand.tool_choice {
        ToolChoice::Named(name) if *name != tool.name => {
            return Err(format!("{:?} wasn't asked for", tool.name));
        }
        ToolChoice::None => return Err("no call was allowed".into()),
        choice => *choice != ToolChoice::Auto,
    };
    match tool.kind {
        ToolKind::Custom if payload != Payload::Text => Err("a custom tool's input isn't text".into()),
        ToolKind::Custom => tool.grammar.as_ref().map_or(Ok(()), |grammar| judge.input(grammar, arguments)),
        ToolKind::Function => {
            let is_by_schema = demanded || tool.strict || demand.call_form == CallForm::Schema;
            judge.json(if is_by_schema { &tool.schema } else { ANY_OBJECT }, arguments)?;
            has_declared_keys(&tool.schema, arguments)
        }
    }
}

fn is_closed(schema: &Value) -> bool {
    let says_more = ["patternProperties", "$ref"].iter().any(|keyword| schema.get(keyword).is_some());
    schema["additionalProperties"] == Value::Bool(false) && !says_more
}

/// Checks that arguments have the keys of a schema alone, if it allows no others.
fn has_declared_keys(schema: &str, arguments: &str) -> Result<(), String> {
    let parsed = |text| serde_json::from_str::<Value>(text).unwrap_or_default();
    let (schema, arguments) = (parsed(schema), parsed(arguments));
    let mut keys = arguments.as_object().into_iter().flat_map(|members| members.keys());
    match keys.find(|key| schema["properties"].get(key.as_str()).is_none()) {
        Some(key) if is_closed(&schema) => Err(format!("{key:?} is no key of the schema")),
        _ => Ok(()),
    }
}
