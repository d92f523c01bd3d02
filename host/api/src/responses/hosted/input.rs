//! Reader of input items of tools that the server ran for earlier requests: calls with their
//! outputs, and the client's answers to requests for approval.

use std::collections::HashMap;

use serde_json::json;

use crate::agent::Approved;
use crate::error::ApiError;
use crate::history::History;
use crate::json::{Field, JsonObject, Value};
use crate::responses::fields::{
    self, APPROVAL_REQUEST, APPROVE, ARGUMENTS_TEXT, CODE, ERROR, OUTPUTS, REASON,
};
use crate::responses::input_items::Input;
use crate::warnings::Warnings;
use prompt::HistoryCall;

/// Result that the model sees of a call that the client didn't approve.
const REFUSED: &str = "The user did not allow this call.";

/// What an error or an output of code has.
const MESSAGE: Field<&str> = Field::new("message", "");
const LOGS: Field<&str> = Field::new("logs", "");

/// The client's answer to a request for approval.
#[derive(Debug)]
struct Approval<'a> {
    is_given: bool,
    reason: Option<&'a str>,
}

/// Items of one input that belong together: requests for approval, the client's answers, and the
/// calls that ran.
#[derive(Debug, Default)]
pub(in crate::responses) struct Approvals<'a> {
    /// By id of the request for approval.
    answers: HashMap<&'a str, Approval<'a>>,
    /// Items of approved calls that have run already, by id of the request for approval.
    run: HashMap<&'a str, JsonObject<'a>>,
}

impl<'a> Approvals<'a> {
    /// Collects them from an input.
    pub(in crate::responses) fn of(input: Input<'a>) -> Result<Self, ApiError> {
        let mut approvals = Self::default();
        for (kind, path, item) in input.sought() {
            let text = |value: Option<Value<'a>>| value.and_then(Value::as_str);
            match (kind, text(item.field(APPROVAL_REQUEST))) {
                ("mcp_approval_response", Some(id)) => {
                    let is_given = matches!(item.field(APPROVE), Some(Value::Bool(true)));
                    approvals.answers.insert(id, Approval { is_given, reason: text(item.field(REASON)) });
                }
                ("mcp_call", Some(id)) => {
                    approvals.run.insert(id, JsonObject::new(item, path)?);
                }
                _ => {}
            }
        }
        Ok(approvals)
    }

    /// Adds one item of a tool that a server runs to the history.
    pub(in crate::responses) fn item(
        &self,
        kind: &str,
        item: JsonObject<'_>,
        history: &mut History,
        warnings: &mut Warnings,
    ) -> Result<(), ApiError> {
        match kind {
            "mcp_call" => self.call(item, history),
            "mcp_approval_request" => self.request(item, history, warnings),
            "code_interpreter_call" => code(item, history),
            // Tools are listed again, and an answer is read together with its request.
            _ => Ok(()),
        }
    }

    /// Adds a call that ran, with its result. An approved call is added where its request for
    /// approval is.
    fn call(&self, item: JsonObject<'_>, history: &mut History) -> Result<(), ApiError> {
        let asked = item.get(APPROVAL_REQUEST)?.is_some_and(|id| self.answers.contains_key(id));
        if asked {
            return Ok(());
        }
        history.call(written(item, item.require(fields::ID)?)?);
        history.result(Some(item.require(fields::ID)?), None, outcome(item));
        Ok(())
    }

    /// Adds a call that needed approval, with its result if it has run, or with an empty one if it
    /// is going to run in this answer.
    fn request(
        &self,
        item: JsonObject<'_>,
        history: &mut History,
        warnings: &mut Warnings,
    ) -> Result<(), ApiError> {
        let id = item.require(fields::ID)?;
        let Some(Approval { is_given, reason }) = self.answers.get(id) else {
            warnings.add("mcp_approval_request without a response left out");
            return Ok(());
        };
        history.call(written(item, id)?);
        let result = match (is_given, self.run.get(id)) {
            (true, Some(call)) => outcome(*call),
            (true, None) => String::new(),
            (false, _) => reason.map_or(REFUSED.to_owned(), |reason| format!("{REFUSED} {reason}")),
        };
        history.result(Some(id), None, result);
        Ok(())
    }
}

/// Calls that the client has approved and that haven't run, in the order of the input.
pub(super) fn approved(input: Input<'_>) -> Result<Vec<Approved>, ApiError> {
    let approvals = Approvals::of(input)?;
    let mut approved = Vec::new();
    for (path, value) in input.of_kind("mcp_approval_request") {
        let item = JsonObject::new(value, path)?;
        let id = item.require(fields::ID)?;
        let agreed = approvals.answers.get(id).is_some_and(|answer| answer.is_given);
        if agreed && !approvals.run.contains_key(id) {
            let HistoryCall { id, name, arguments } = written(item, id)?;
            let server = item.require(fields::SERVER_LABEL)?.to_owned();
            approved.push(Approved { id, server, name, arguments });
        }
    }
    Ok(approved)
}

/// Labels of the servers whose list of tools is in the input, without an error.
pub(super) fn listed_servers<'a>(input: Input<'a>) -> Vec<&'a str> {
    let listed = |item: &Value<'a>| item.field(ERROR).is_none_or(Value::is_null);
    let label = |item: Value<'a>| item.field(fields::SERVER_LABEL).and_then(Value::as_str);
    input.of_kind("mcp_list_tools").map(|(_, item)| item).filter(listed).filter_map(label).collect()
}

fn written(item: JsonObject<'_>, id: &str) -> Result<HistoryCall, ApiError> {
    let name = item.require(fields::NAME)?.to_owned();
    Ok(HistoryCall {
        id: id.to_owned(),
        name,
        arguments: item.get(ARGUMENTS_TEXT)?.unwrap_or_default().to_owned(),
    })
}

/// The result of a call as the model saw it.
fn outcome(item: JsonObject<'_>) -> String {
    match (item.value(fields::OUTPUT).and_then(Value::as_str), item.value(ERROR)) {
        (Some(output), _) => output.to_owned(),
        (None, None) => String::new(),
        (None, Some(Value::String(error))) => format!("Error: {}", error.get()),
        (None, Some(error)) => {
            let first =
                error.field(fields::CONTENT).and_then(Value::as_list).and_then(|list| list.iter().next());
            let text = first.and_then(|part| part.field(fields::TEXT)).or_else(|| error.field(MESSAGE));
            format!("Error: {}", text.and_then(Value::as_str).unwrap_or("the call failed"))
        }
    }
}

/// Adds code that ran, and its output.
fn code(item: JsonObject<'_>, history: &mut History) -> Result<(), ApiError> {
    let id = item.require(fields::ID)?;
    let code = item.get(CODE)?.unwrap_or_default();
    let arguments = json!({ "code": code }).to_string();
    history.call(HistoryCall { id: id.to_owned(), name: "python".to_owned(), arguments });
    let outputs = item.list(OUTPUTS)?;
    let logs = outputs.iter().filter_map(|(_, output)| output.field(LOGS).and_then(Value::as_str));
    history.result(Some(id), None, logs.collect::<Vec<_>>().join("\n"));
    Ok(())
}
