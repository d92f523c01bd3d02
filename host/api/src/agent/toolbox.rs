//! Tools of the server in one answer, by the names that the model uses for them.
//!
//! A tool of an MCP server is shown by its own name; if that is taken, as `LABEL.NAME`, by which it
//! may always be called. The built-in tools are called `browser.search`, `browser.open`,
//! `browser.find` and `python`, as gpt-oss was trained to.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::{Value, json};

use super::event::{AnswerEvent, CallKind, Called, Consent, ServerEvent};
use super::hosted::{Approved, ForcedTool, HostedToolKind, HostedTools};
use super::route::{Route, WebLimit};
use contract::{Payload, ToolKind};
use grammar::ToolDefinition;
use mcp::McpTool;
use model::Job;
use prompt::ToolDeclaration;

/// Name by which the model knows the search of the web.
pub(crate) const BROWSER_SEARCH: &str = "browser.search";
/// Name of the search on its server.
pub(crate) const WEB_SEARCH: &str = "search";
/// Name of the code interpreter, on its server and for the model.
pub(crate) const PYTHON: &str = "python";

/// Error of an approved call whose tool no longer exists.
pub(super) const NO_SUCH_TOOL: &str = "the server has no such tool any more";

/// Tools of the server in one answer.
#[derive(Debug, Default)]
pub(super) struct Toolbox {
    /// Tools by the names that the model uses.
    routes: HashMap<String, Route>,
    /// All tools that the request allows, by label and name, including those that the model isn't
    /// shown.
    allowed: HashMap<(String, String), Route>,
    /// Whether the server searches tools for the model.
    pub(super) searches: bool,
    /// What the model calls the tool that it has to call, if that is among the tools.
    forced: Option<String>,
}

impl Toolbox {
    /// A box without tools; `searches` says that the server searches others for the model.
    pub(super) fn new(searches: bool) -> Self {
        Self { searches, ..Self::default() }
    }

    /// Adds those tools of `listed` that `hosted` allows, and shows them to the model, which has to
    /// call the `forced` one. `builtin` says that the model's template describes the built-in tools by
    /// itself.
    pub(super) fn add(
        &mut self,
        hosted: &HostedTools,
        listed: &[McpTool],
        builtin: bool,
        forced: Option<&ForcedTool>,
        job: &mut Job,
    ) {
        for tool in listed {
            let allowed = hosted.allowed.as_ref().is_none_or(|allowed| allowed.contains(&tool.name));
            let allowed = allowed && !hosted.denied.contains(&tool.name);
            let Some((name, kind)) = allowed.then(|| shown_as(hosted.kind, &tool.name)).flatten() else {
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
            let limit = hosted.domains.as_ref().map(|domains| WebLimit::new(domains, tool));
            let can_run = kind == CallKind::Search || limit.as_ref().is_none_or(WebLimit::is_known);
            let route = Route { server: Arc::clone(&hosted.server), called, limit };
            self.allowed.insert((label.to_owned(), tool.name.clone()), route.clone());
            if hosted.chosen.as_ref().is_some_and(|chosen| !chosen.contains(&tool.name)) {
                continue;
            }
            let full = format!("{label}.{}", tool.name);
            let taken =
                self.routes.contains_key(name) || job.demand.tools.iter().any(|tool| tool.name == *name);
            let name = if taken { full.clone() } else { name.to_owned() };
            if can_run && !(builtin && kind != CallKind::Mcp) {
                declare(&name, tool, job);
            }
            let is_forced = |forced: &ForcedTool| {
                (forced.kind, forced.server.as_str(), &forced.name) == (hosted.kind, label, &tool.name)
            };
            if forced.is_some_and(is_forced) {
                self.forced = Some(name.clone());
            }
            self.routes.entry(full).or_insert_with(|| route.clone());
            self.routes.insert(name, route);
        }
    }

    /// What the model calls the tool that it has to call.
    pub(super) fn take_forced(&mut self) -> Option<String> {
        self.forced.take()
    }

    /// Reports an approved call in `out`. Returns its route and arguments, or the event to send if
    /// its tool no longer exists.
    pub(super) fn begin_approved(
        &self,
        approved: Approved,
        out: &mut Vec<AnswerEvent>,
    ) -> Result<(Route, String), AnswerEvent> {
        let Approved { id: call_id, server, name, arguments } = approved;
        let route = self.allowed.get(&(server.clone(), name.clone())).cloned();
        let consent = Consent::Given(call_id.clone());
        let called = Called { kind: CallKind::Mcp, server, name, consent };
        out.push(AnswerEvent::Server(ServerEvent::CallBegun { call_id: call_id.clone(), called }));
        if !arguments.is_empty() {
            let (call_id, delta) = (call_id.clone(), arguments.clone());
            out.push(AnswerEvent::Server(ServerEvent::CallText { call_id, delta }));
        }
        out.push(AnswerEvent::Server(ServerEvent::CallWritten { call_id: call_id.clone() }));
        route.map(|route| (route, arguments)).ok_or_else(|| {
            let result = Err(NO_SUCH_TOOL.to_owned());
            AnswerEvent::Server(ServerEvent::CallEnded { call_id, result })
        })
    }

    /// Route of a call of this name; none if the tool isn't the server's.
    pub(super) fn route(&self, name: &str, payload: Payload) -> Option<Route> {
        let mut route = self.routes.get(name)?.clone();
        if let CallKind::Code { raw } = &mut route.called.kind {
            *raw = payload == Payload::Text;
        }
        Some(route)
    }
}

/// Name by which the model knows a tool, and the kind of its calls; none if the tool has no use for
/// this kind.
fn shown_as(kind: HostedToolKind, name: &str) -> Option<(&str, CallKind)> {
    match (kind, name) {
        (HostedToolKind::Mcp, name) => Some((name, CallKind::Mcp)),
        (HostedToolKind::WebSearch, WEB_SEARCH) => Some((BROWSER_SEARCH, CallKind::Search)),
        (HostedToolKind::WebSearch, "open") => Some(("browser.open", CallKind::OpenPage)),
        (HostedToolKind::WebSearch, "find") => Some(("browser.find", CallKind::FindInPage)),
        (HostedToolKind::CodeInterpreter, PYTHON) => Some((PYTHON, CallKind::Code { raw: false })),
        _ => None,
    }
}

/// Declares a tool as a function to the parser and to the template.
fn declare(name: &str, tool: &McpTool, job: &mut Job) {
    let parameters = Value::Object(tool.input_schema.clone());
    job.demand.tools.push(ToolDefinition {
        name: name.to_owned(),
        kind: ToolKind::Function,
        schema: parameters.to_string(),
        strict: false,
        grammar: None,
    });
    let function = json!({ "name": name, "description": tool.description, "parameters": parameters });
    let declaration = json!({ "type": "function", "function": function });
    job.conversation
        .tools
        .push(ToolDeclaration { name: name.to_owned(), declaration: declaration.to_string() });
}

/// Names for the variable `builtin_tools` of a template.
pub(super) fn builtin_names(tools: &[HostedTools]) -> Vec<Value> {
    let has = |kind| tools.iter().any(|tools| tools.kind == kind && tools.may_be_called());
    let names = [("browser", HostedToolKind::WebSearch), ("python", HostedToolKind::CodeInterpreter)];
    names.into_iter().filter(|(_, kind)| has(*kind)).map(|(name, _)| json!(name)).collect()
}
