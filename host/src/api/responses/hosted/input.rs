//! Items of tools that the server ran, in the input of a later request: calls and their outputs as the conversation has them, and
//! the client's answers to requests for approval.

use std::collections::HashMap;

use serde_json::{Value, json};

use crate::agent::Approved;
use crate::api::error::ApiError;
use crate::api::history::History;
use crate::api::json::Object;
use crate::api::warnings::Warnings;
use crate::prompt::HistoryCall;

/// Said to the model of a call that the client didn't agree to.
const REFUSED: &str = "The user did not allow this call.";

/// The items of one input that answer or are answered by others of it.
#[derive(Debug, Default)]
pub(in super::super) struct Exchanges<'a> {
    /// Whether the client agreed, by id of the request for approval; and why.
    answers: HashMap<&'a str, (bool, Option<&'a str>)>,
    /// Requests for approval whose call has run already, by id: the call's item.
    run: HashMap<&'a str, &'a Value>,
}

impl<'a> Exchanges<'a> {
    /// Looks through the input of `body`.
    pub(in super::super) fn of(body: &Object<'a>) -> Self {
        let mut exchanges = Self::default();
        for item in items(body) {
            let id = item["approval_request_id"].as_str();
            match (item["type"].as_str(), id) {
                (Some("mcp_approval_response"), Some(id)) => {
                    let answer = (item["approve"] == true, item["reason"].as_str());
                    exchanges.answers.insert(id, answer);
                }
                (Some("mcp_call"), Some(id)) => {
                    exchanges.run.insert(id, item);
                }
                _ => {}
            }
        }
        exchanges
    }

    /// Takes one item into the history; false if it isn't of a tool that a server runs.
    pub(in super::super) fn item(
        &self,
        kind: &str,
        item: Object<'_>,
        history: &mut History,
        warnings: &mut Warnings,
    ) -> Result<bool, ApiError> {
        match kind {
            "mcp_call" => self.call(item, history)?,
            "mcp_approval_request" => self.request(item, history, warnings)?,
            "code_interpreter_call" => code(item, history)?,
            // The tools are listed again, and the answer to a request stands with the request.
            "mcp_list_tools" | "mcp_approval_response" => {}
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// A call that ran; one that was agreed to stands where it was asked for.
    fn call(&self, item: Object<'_>, history: &mut History) -> Result<(), ApiError> {
        let asked = item.string("approval_request_id")?.is_some_and(|id| self.answers.contains_key(id));
        if asked {
            return Ok(());
        }
        history.call(written(item, item.required_string("id")?)?);
        history.result(Some(item.required_string("id")?), None, outcome(item.map));
        Ok(())
    }

    /// A call that the client was asked for: with its result, where it has one already, or room for it, where it runs now.
    fn request(
        &self,
        item: Object<'_>,
        history: &mut History,
        warnings: &mut Warnings,
    ) -> Result<(), ApiError> {
        let id = item.required_string("id")?;
        let Some((approved, reason)) = self.answers.get(id) else {
            warnings.add("mcp_approval_request without a response left out");
            return Ok(());
        };
        history.call(written(item, id)?);
        let result = match (approved, self.run.get(id).and_then(|call| call.as_object())) {
            (true, Some(call)) => outcome(call),
            (true, None) => String::new(),
            (false, _) => reason.map_or(REFUSED.to_owned(), |reason| format!("{REFUSED} {reason}")),
        };
        history.result(Some(id), None, result);
        Ok(())
    }
}

/// Calls that the client has agreed to and that haven't run, in order.
pub(super) fn approved(body: &Object<'_>) -> Result<Vec<Approved>, ApiError> {
    let exchanges = Exchanges::of(body);
    let path = body.at("input");
    let mut approved = Vec::new();
    for (index, value) in items(body).iter().enumerate() {
        if value["type"] != "mcp_approval_request" {
            continue;
        }
        let item = Object::new(value, path.element(index))?;
        let id = item.required_string("id")?;
        let agreed = exchanges.answers.get(id).is_some_and(|(approve, _)| *approve);
        if agreed && !exchanges.run.contains_key(id) {
            let HistoryCall { id, name, arguments } = written(item, id)?;
            let server = item.required_string("server_label")?.to_owned();
            approved.push(Approved { id, server, name, arguments });
        }
    }
    Ok(approved)
}

/// Labels of servers whose tools the client has listed already.
pub(super) fn listed_servers<'a>(body: &Object<'a>) -> Vec<&'a str> {
    let listed = |item: &&Value| item["type"] == "mcp_list_tools" && item["error"].is_null();
    items(body).iter().filter(listed).filter_map(|item| item["server_label"].as_str()).collect()
}

fn items<'a>(body: &Object<'a>) -> &'a [Value] {
    body.get("input").and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn written(item: Object<'_>, id: &str) -> Result<HistoryCall, ApiError> {
    let name = item.required_string("name")?.to_owned();
    Ok(HistoryCall {
        id: id.to_owned(),
        name,
        arguments: item.string("arguments")?.unwrap_or_default().to_owned(),
    })
}

/// What the model was told of a call.
fn outcome(item: &serde_json::Map<String, Value>) -> String {
    match (item.get("output").and_then(Value::as_str), item.get("error")) {
        (Some(output), _) => output.to_owned(),
        (None, Some(Value::String(error))) => format!("Error: {error}"),
        (None, Some(Value::Null) | None) => String::new(),
        (None, Some(error)) => {
            let text = error.pointer("/content/0/text").or_else(|| error.get("message"));
            format!("Error: {}", text.and_then(Value::as_str).unwrap_or("the call failed"))
        }
    }
}

/// Code that ran, and what it printed.
fn code(item: Object<'_>, history: &mut History) -> Result<(), ApiError> {
    let id = item.required_string("id")?;
    let code = item.string("code")?.unwrap_or_default();
    let arguments = json!({ "code": code }).to_string();
    history.call(HistoryCall { id: id.to_owned(), name: "python".to_owned(), arguments });
    let logs = item.list("outputs")?.unwrap_or_default().iter().filter_map(|output| output["logs"].as_str());
    history.result(Some(id), None, logs.collect::<Vec<_>>().join("\n"));
    Ok(())
}
