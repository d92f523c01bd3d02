//! Whether the items of a turn are what its request demands.

use grammar::{Demand, TextGrammar, ToolChoice, ToolDefinition};
use parser_kit::{Head, Item};

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
            judge.json(if demanded || tool.strict { &tool.schema } else { ANY_OBJECT }, arguments)
        }
    }
}
