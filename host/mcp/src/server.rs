//! One tool server. It is connected to at its first use, and again after the connection was lost;
//! tools and calls stay within their bounds.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::future::BoxFuture;
use serde_json::{Map, Value};
use tokio::sync::{Mutex, Semaphore};
use tokio::time::timeout;

use super::client::{Connection, size};
use super::config::{Approval, Endpoint, ServerConfig};
use super::endpoint::HttpEndpoint;
use super::error::McpError;
use super::metrics::{TOOL_CALLS, TOOL_FLOODS};
use super::{http, output, stdio};
use crate::limits::McpLimits;
use net::printable::MESSAGE_BYTES;
use net::printable::{cut, shortened};
use net::trace::{SpanContext, Trace};

/// Time after a failed connection in which it isn't tried again: requests get the same error
/// meanwhile.
const REST: Duration = Duration::from_secs(1);
/// Label, in metrics and logs, of all servers that requests name; no configured label has
/// parentheses.
const OF_REQUESTS: &str = "(request)";
/// Maximum size of a tool's description that the model is shown, in bytes.
const DESCRIPTION_BYTES: usize = 16 << 10;

/// A tool as its server describes it.
#[derive(Debug, Clone, PartialEq)]
pub struct McpTool {
    /// Name of letters, digits, `_`, `-`, `.` and `/`.
    pub name: String,
    /// Description for the model.
    pub description: String,
    /// JSON schema of the tool's arguments.
    pub input_schema: Map<String, Value>,
    /// Hints about the tool's behaviour (`annotations`), as the server sent them.
    pub annotations: Option<Value>,
}

/// A tool server.
pub struct McpServer {
    label: String,
    /// Label in metrics and logs, which hold nothing that a request chose.
    public_label: Arc<str>,
    config: ServerConfig,
    limits: McpLimits,
    /// Whether only public addresses may be connected to, as for a server that a request names.
    public_only: bool,
    state: Mutex<State>,
    calls: Semaphore,
}

#[derive(Default)]
struct State {
    connection: Option<Arc<Connection>>,
    failed: Option<(Instant, McpError)>,
}

/// Counts a call by its outcome when it is dropped.
struct Counted<'a> {
    server: &'a Arc<str>,
    outcome: &'static str,
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        let server = Arc::clone(self.server);
        metrics::counter!(TOOL_CALLS.name(), "server" => server, "outcome" => self.outcome).increment(1);
    }
}

/// Word for the outcome of a call that wasn't cancelled.
fn outcome(result: &Result<String, McpError>) -> &'static str {
    if result.is_ok() { "completed" } else { "failed" }
}

/// Makes the counters of a configured server, so that scrapes have them from the start.
pub(super) fn register_metrics(server: &str) {
    let _ = metrics::counter!(TOOL_FLOODS.name(), "server" => server.to_owned());
    for outcome in ["completed", "failed", "cancelled"] {
        let _ = metrics::counter!(TOOL_CALLS.name(), "server" => server.to_owned(), "outcome" => outcome);
    }
}

impl McpServer {
    /// Makes a server that isn't connected yet.
    pub fn new(label: impl Into<String>, config: ServerConfig, limits: McpLimits) -> Self {
        let calls = Semaphore::new(limits.calls_per_server);
        let label = label.into();
        let public_label = label.as_str().into();
        Self { label, public_label, config, limits, public_only: false, state: Mutex::default(), calls }
    }

    /// Makes it a server that a request names. `public_only` restricts it to host names that
    /// resolve to public addresses.
    #[must_use]
    pub fn of_request(mut self, public_only: bool) -> Self {
        self.public_label = OF_REQUESTS.into();
        self.public_only = public_only;
        self
    }

    /// Label that requests name.
    pub fn label(&self) -> &str {
        &self.label
    }

    /// Whether calls wait for approval, if the request doesn't say.
    pub fn require_approval(&self) -> Approval {
        self.config.require_approval
    }

    /// Lists the tools that the operator allows, which may be as large as an output. The connection
    /// caches the list only for as long as the server's answer permits (`ttlMs`), and until the
    /// server reports a change.
    // Boxed, as below: an async function's body is compiled in the crate that polls it, and all of
    // the library with it.
    pub fn tools(&self) -> BoxFuture<'_, Result<Vec<McpTool>, McpError>> {
        Box::pin(self.list())
    }

    async fn list(&self) -> Result<Vec<McpTool>, McpError> {
        let McpLimits { start_time: time, tools_per_server: most, message_bytes, output_bytes, .. } =
            self.limits;
        let list = async |connection: &Connection| connection.list(most, message_bytes, time).await;
        let (mut tools, mut bytes) = (Vec::new(), 0);
        for tool in self.within(time, list).await? {
            let size = size(&tool);
            if let Some(tool) = self.tool(tool) {
                bytes += size;
                tools.push(tool);
            }
        }
        // The list becomes a part of answers, of those that fail as well.
        if bytes > output_bytes { Err(McpError::TooLarge(output_bytes)) } else { Ok(tools) }
    }

    /// Runs a tool; `arguments` is the JSON text that the model wrote. Dropping the future cancels
    /// the call.
    pub fn call<'a>(&'a self, tool: &'a str, arguments: &'a str) -> BoxFuture<'a, Result<String, McpError>> {
        Box::pin(self.counted(tool, arguments, None))
    }

    /// As [`Self::call`], in an answer that belongs to a trace: the call becomes a part of it, and
    /// the server is told of it.
    pub fn call_traced<'a>(
        &'a self,
        tool: &'a str,
        arguments: &'a str,
        trace: &'a Trace,
    ) -> BoxFuture<'a, Result<String, McpError>> {
        Box::pin(async move {
            let mut call = trace.tool(Arc::clone(&self.public_label));
            let result = self.counted(tool, arguments, Some(call.context())).await;
            call.outcome = outcome(&result);
            result
        })
    }

    async fn counted(
        &self,
        tool: &str,
        arguments: &str,
        context: Option<&SpanContext>,
    ) -> Result<String, McpError> {
        let mut counted = Counted { server: &self.public_label, outcome: "cancelled" };
        let result = self.run(tool, arguments, context).await;
        counted.outcome = outcome(&result);
        result
    }

    async fn run(
        &self,
        tool: &str,
        arguments: &str,
        context: Option<&SpanContext>,
    ) -> Result<String, McpError> {
        let time = self.call_time();
        let arguments = object(arguments)?;
        let call = async |connection: &Connection| connection.call(tool, arguments, context, time).await;
        let result = match timeout(time, self.calls.acquire()).await {
            Ok(_turn) => self.within(time, call).await?,
            Err(_) => return Err(McpError::Timeout(time)),
        };
        output::text(&result, self.limits.output_bytes)
    }

    /// Runs `exchange` over the open connection, within `time`. After an error that may leave the
    /// connection unusable, later callers open another one; callers that still use it keep it.
    async fn within<T>(
        &self,
        time: Duration,
        exchange: impl AsyncFnOnce(&Connection) -> Result<T, McpError>,
    ) -> Result<T, McpError> {
        let began = Instant::now();
        let connection = self.connection().await?;
        let left = time.saturating_sub(began.elapsed());
        let result = timeout(left, exchange(&connection)).await.unwrap_or(Err(McpError::Timeout(time)));
        if let Err(error) = &result {
            tracing::warn!(server = %self.public_label, error = error.kind(), "a tool server failed");
            if error.breaks_connection() {
                let mut state = self.state.lock().await;
                state.connection.take_if(|current| Arc::ptr_eq(current, &connection));
                if matches!(error, McpError::Flooded(_)) {
                    state.failed = Some((Instant::now(), error.clone()));
                }
            }
        }
        result
    }

    /// Returns the open connection, or opens one. Concurrent callers wait for the same one.
    async fn connection(&self) -> Result<Arc<Connection>, McpError> {
        let mut state = self.state.lock().await;
        if let Some(connection) = state.connection.as_ref().filter(|connection| connection.is_open()) {
            return Ok(Arc::clone(connection));
        }
        state.connection = None;
        if let Some((_, error)) = state.failed.as_ref().filter(|(at, _)| at.elapsed() < REST) {
            return Err(error.clone());
        }
        let opened = timeout(self.limits.start_time, Box::pin(self.open())).await;
        match opened.unwrap_or(Err(McpError::Timeout(self.limits.start_time))) {
            Ok(connection) => {
                tracing::info!(server = %self.public_label, "connected to a tool server");
                Ok(Arc::clone(state.connection.insert(Arc::new(connection))))
            }
            Err(error) => {
                tracing::warn!(server = %self.public_label, error = error.kind(), "no connection to a tool server");
                state.failed = Some((Instant::now(), error.clone()));
                Err(error)
            }
        }
    }

    async fn open(&self) -> Result<Connection, McpError> {
        let (label, limits) = (Arc::clone(&self.public_label), &self.limits);
        match &self.config.endpoint {
            Endpoint::Command { command, args, env } => {
                stdio::open((command, args, env), label, limits).await
            }
            Endpoint::Url(at) => {
                let (public_only, post_time) = (self.public_only, self.call_time());
                http::open(&HttpEndpoint { at, public_only, label, limits, post_time }).await
            }
        }
    }

    /// Time limit of one call.
    fn call_time(&self) -> Duration {
        self.config.timeout.unwrap_or(self.limits.call_time)
    }

    /// Converts a listed tool; none if the operator doesn't allow it or its name can't be shown to
    /// a model.
    fn tool(&self, tool: rmcp::model::Tool) -> Option<McpTool> {
        let name = tool.name.into_owned();
        let allowed = self.config.allowed_tools.as_ref().is_none_or(|allowed| allowed.contains(&name));
        if !allowed {
            return None;
        }
        if !is_plain(&name) {
            tracing::warn!(server = %self.public_label, "a tool with an unusable name is left out");
            return None;
        }
        let description = tool.description.unwrap_or_default();
        Some(McpTool {
            name,
            description: cut(&description, DESCRIPTION_BYTES).to_owned(),
            input_schema: Arc::unwrap_or_clone(tool.input_schema),
            annotations: tool.annotations.and_then(|annotations| serde_json::to_value(annotations).ok()),
        })
    }
}

impl std::fmt::Debug for McpServer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("McpServer").field("label", &self.public_label).finish_non_exhaustive()
    }
}

fn is_plain(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '/');
    (1..=128).contains(&name.len()) && name.chars().all(plain)
}

/// Parses the arguments that a model wrote; empty text is an empty object.
fn object(arguments: &str) -> Result<Map<String, Value>, McpError> {
    if arguments.trim().is_empty() {
        return Ok(Map::new());
    }
    // A message of serde_json may quote a string whole.
    let fault = |error: serde_json::Error| McpError::Arguments(shortened(error.to_string(), MESSAGE_BYTES));
    serde_json::from_str(arguments).map_err(fault)
}
