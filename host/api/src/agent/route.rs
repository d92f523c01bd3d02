//! Where a call of a tool of the server goes, and what of its result the request allows.
//!
//! Invariant: a tool that can't keep to the domains of a request isn't called, and what it found
//! elsewhere reaches neither the model nor the client.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::domains::Domains;
use super::event::{CallKind, Called};
use super::web_results::WebResult;
use mcp::{McpServer, McpTool};
use net::trace::Trace;

/// Error of calls that can't be kept to the request's domains.
const UNLIMITED: &str = "not run: this request restricts the web to some domains, and this tool can't be kept to them: search instead";
/// Error of searches whose results don't say where they were found.
const UNPLACED: &str =
    "not shown: this request restricts the web to some domains, and the results have no addresses";

/// Tool and server that a call goes to.
#[derive(Debug, Clone)]
pub(super) struct Route {
    pub(super) server: Arc<McpServer>,
    pub(super) called: Called,
    pub(super) limit: Option<WebLimit>,
}

/// Domains to which a request restricts a tool.
#[derive(Debug, Clone)]
pub(super) struct WebLimit {
    domains: Arc<Domains>,
    /// The tool's own parameter for them.
    parameter: Option<&'static str>,
}

impl Route {
    /// Runs a call with the arguments that the model wrote. Dropping the future cancels it.
    ///
    /// # Errors
    /// Tells the model and the client what went wrong.
    pub(super) async fn call(&self, arguments: String, trace: Option<&Trace>) -> Result<String, String> {
        let Some(limit) = &self.limit else { return self.run(&arguments, trace).await };
        if self.called.kind != CallKind::Search && !limit.is_known() {
            return Err(UNLIMITED.to_owned());
        }
        let text = self.run(&limit.told(arguments), trace).await?;
        limit.kept(text)
    }

    async fn run(&self, arguments: &str, trace: Option<&Trace>) -> Result<String, String> {
        let (server, name) = (&self.server, &self.called.name);
        let result = match trace {
            Some(trace) => server.call_traced(name, arguments, trace).await,
            None => server.call(name, arguments).await,
        };
        result.map_err(|error| error.to_string())
    }
}

impl WebLimit {
    /// The limit of `tool`.
    pub(super) fn new(domains: &Arc<Domains>, tool: &McpTool) -> Self {
        Self { domains: Arc::clone(domains), parameter: domains.parameter(&tool.input_schema) }
    }

    /// Whether the tool itself keeps to it.
    pub(super) fn is_known(&self) -> bool {
        self.parameter.is_some()
    }

    /// The arguments with the domains, where the tool takes them. What is no object stays: the call
    /// fails.
    fn told(&self, arguments: String) -> String {
        let Some(parameter) = self.parameter else { return arguments };
        let read: Option<Map<String, Value>> = match arguments.trim() {
            "" => Some(Map::new()),
            text => serde_json::from_str(text).ok(),
        };
        let Some(mut read) = read else { return arguments };
        read.insert(parameter.to_owned(), self.domains.argument());
        Value::Object(read).to_string()
    }

    /// What of a tool's text is of the domains. A text without addresses is taken from a tool that
    /// keeps to them.
    fn kept(&self, text: String) -> Result<String, String> {
        let Some(results) = WebResult::all(&text) else {
            return if self.is_known() || text.trim().is_empty() {
                Ok(text)
            } else {
                Err(UNPLACED.to_owned())
            };
        };
        let all = results.len();
        let kept: Vec<Value> = results
            .into_iter()
            .filter(|result| self.domains.allow(&result.url))
            .map(|result| result.entry)
            .collect();
        Ok(if kept.len() == all { text } else { Value::Array(kept).to_string() })
    }
}
