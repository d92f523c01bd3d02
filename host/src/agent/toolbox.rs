//! The server's tools of one answer, by the names that the model knows them by.
//!
//! A tool of an MCP server is shown by its own name; where that is taken, as `LABEL.NAME`, and it may always be called so.
//! The built-in ones are called `browser.search`, `browser.open`, `browser.find` and `python`, as gpt-oss was trained to.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::{Value, json};

use super::event::{CallKind, Called, Consent, RoundEvent, ServerEvent};
use super::hosted::{Approved, HostedTools, Purpose};
use crate::mcp::{McpServer, McpTool};
use crate::model::Job;
use crate::parser::contract::{Payload, Tool, ToolKind};
use crate::prompt::ToolDeclaration;

/// Said of a call that was agreed to after its tool had gone.
pub(super) const NO_SUCH_TOOL: &str = "the server has no such tool any more";

/// The tools.
#[derive(Debug, Default)]
pub(super) struct Toolbox {
    /// By the names that the model has for them.
    routes: HashMap<String, Route>,
    /// All that the request allows, by label and name: also those that the model isn't shown.
    allowed: HashMap<(String, String), Route>,
}

/// Where a call goes.
#[derive(Debug, Clone)]
pub(super) struct Route {
    pub(super) server: Arc<McpServer>,
    pub(super) called: Called,
}

impl Toolbox {
    /// Takes the tools that `hosted` allows of `listed`, and shows them to the model. `builtin`: the model's template
    /// describes the built-in tools itself.
    pub(super) fn add(&mut self, hosted: &HostedTools, listed: &[McpTool], builtin: bool, job: &mut Job) {
        for tool in listed {
            let allowed = hosted.allowed.as_ref().is_none_or(|allowed| allowed.contains(&tool.name));
            let Some((name, kind)) = allowed.then(|| shown_as(hosted.purpose, &tool.name)).flatten() else {
                continue;
            };
            let asks = kind == CallKind::Mcp && hosted.approval.asks(&tool.name);
            let label = hosted.server.label();
            let called = Called {
                kind,
                server: label.to_owned(),
                name: tool.name.clone(),
                consent: if asks { Consent::Asked } else { Consent::NotNeeded },
            };
            let route = Route { server: Arc::clone(&hosted.server), called };
            self.allowed.insert((label.to_owned(), tool.name.clone()), route.clone());
            if hosted.chosen.as_ref().is_some_and(|chosen| !chosen.contains(&tool.name)) {
                continue;
            }
            let full = format!("{label}.{}", tool.name);
            let taken = self.routes.contains_key(name) || job.tools.iter().any(|tool| tool.name == *name);
            let name = if taken { full.clone() } else { name.to_owned() };
            if !(builtin && kind != CallKind::Mcp) {
                declare(&name, tool, job);
            }
            self.routes.entry(full).or_insert_with(|| route.clone());
            self.routes.insert(name, route);
        }
    }

    /// Tells of a call that the client has agreed to; where it goes with which arguments, or how its end is told.
    pub(super) fn approved(
        &self,
        approved: Approved,
        out: &mut Vec<RoundEvent>,
    ) -> Result<(Route, String), RoundEvent> {
        let Approved { id: call_id, server, name, arguments } = approved;
        let route = self.allowed.get(&(server.clone(), name.clone())).cloned();
        let consent = Consent::Given(call_id.clone());
        let called = Called { kind: CallKind::Mcp, server, name, consent };
        out.push(RoundEvent::Server(ServerEvent::CallBegun { call_id: call_id.clone(), called }));
        if !arguments.is_empty() {
            let (call_id, delta) = (call_id.clone(), arguments.clone());
            out.push(RoundEvent::Server(ServerEvent::CallText { call_id, delta }));
        }
        out.push(RoundEvent::Server(ServerEvent::CallWritten { call_id: call_id.clone() }));
        route.map(|route| (route, arguments)).ok_or_else(|| {
            let result = Err(NO_SUCH_TOOL.to_owned());
            RoundEvent::Server(ServerEvent::CallEnded { call_id, result })
        })
    }

    /// Where the call of this name goes; none if it isn't the server's.
    pub(super) fn route(&self, name: &str, payload: Payload) -> Option<Route> {
        let mut route = self.routes.get(name)?.clone();
        if let CallKind::Code { raw } = &mut route.called.kind {
            *raw = payload == Payload::Text;
        }
        Some(route)
    }
}

/// The name by which the model knows a tool, and what a call of it is; none if it is of no use there.
fn shown_as(purpose: Purpose, name: &str) -> Option<(&str, CallKind)> {
    match (purpose, name) {
        (Purpose::Mcp, name) => Some((name, CallKind::Mcp)),
        (Purpose::WebSearch, "search") => Some(("browser.search", CallKind::Search)),
        (Purpose::WebSearch, "open") => Some(("browser.open", CallKind::OpenPage)),
        (Purpose::WebSearch, "find") => Some(("browser.find", CallKind::FindInPage)),
        (Purpose::CodeInterpreter, "python") => Some(("python", CallKind::Code { raw: false })),
        _ => None,
    }
}

/// Shows a tool to the parser and to the template, as a function.
fn declare(name: &str, tool: &McpTool, job: &mut Job) {
    let parameters = Value::Object(tool.input_schema.clone());
    job.tools.push(Tool {
        name: name.to_owned(),
        description: tool.description.clone(),
        kind: ToolKind::Function,
        parameters_json: parameters.to_string(),
        strict: false,
        grammar: None,
    });
    let function = json!({ "name": name, "description": tool.description, "parameters": parameters });
    let declaration = json!({ "type": "function", "function": function });
    job.conversation
        .tools
        .push(ToolDeclaration { name: name.to_owned(), declaration: declaration.to_string() });
}

/// The names that a template's `builtin_tools` takes.
pub(super) fn builtin_names(tools: &[HostedTools]) -> Vec<Value> {
    let has = |purpose| tools.iter().any(|tools| tools.purpose == purpose && tools.may_be_called());
    let names = [("browser", Purpose::WebSearch), ("python", Purpose::CodeInterpreter)];
    names.into_iter().filter(|(_, purpose)| has(*purpose)).map(|(name, _)| json!(name)).collect()
}
