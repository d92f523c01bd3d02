//! Client side of MCP: the identity that servers see, and one open connection.

use std::sync::Arc;
use std::time::Duration;

use rmcp::model::{CallToolRequestParams, CallToolResponse, JsonObject, PaginatedRequestParams, Tool};
use rmcp::service::{RunningService, ServiceError, ServiceExt};
use rmcp::transport::Transport;
use rmcp::{ClientHandler, RoleClient};

use super::allowance::Allowance;
use super::error::McpError;
use super::screen::Screen;

/// Maximum number of pages of a tool list that are requested.
const PAGES: usize = 32;

/// Client handler that offers servers nothing: no sampling, no roots, no elicitation.
struct Client;

impl ClientHandler for Client {}

/// An open connection. Dropping it closes it.
pub(super) struct Connection {
    service: RunningService<RoleClient, Client>,
    allowance: Arc<Allowance>,
}

impl Connection {
    /// Opens a connection and completes the handshake.
    pub(super) async fn open<T>(transport: T, allowance: Arc<Allowance>) -> Result<Self, McpError>
    where
        T: Transport<RoleClient> + 'static,
    {
        let screen = Screen::new(transport, Arc::clone(&allowance));
        match Client.serve(screen).await {
            Ok(service) => Ok(Self { service, allowance }),
            Err(error) => Err(allowance.violation().cloned().unwrap_or(McpError::of_handshake(&error))),
        }
    }

    /// Whether the connection can still be used.
    pub(super) fn is_open(&self) -> bool {
        !self.service.is_closed() && !self.service.peer().is_transport_closed()
    }

    /// Lists the server's tools, page by page: at most `most` of them, of `most_bytes` bytes together.
    pub(super) async fn list(
        &self,
        most: usize,
        most_bytes: usize,
        time: Duration,
    ) -> Result<Vec<Tool>, McpError> {
        let (mut tools, mut bytes) = (Vec::new(), 0);
        let mut cursor = None;
        for _ in 0..PAGES {
            let page =
                self.service.peer().list_tools(Some(PaginatedRequestParams::default().with_cursor(cursor)));
            let page = page.await.map_err(|error| self.error(&error, time))?;
            bytes += page.tools.iter().map(size).sum::<usize>();
            if bytes > most_bytes {
                return Err(McpError::TooLarge(most_bytes));
            }
            tools.extend(page.tools);
            cursor = page.next_cursor;
            if cursor.is_none() || tools.len() >= most {
                break;
            }
        }
        tools.truncate(most);
        Ok(tools)
    }

    /// Runs a tool; a result that needs a second exchange is an error.
    pub(super) async fn call(
        &self,
        tool: &str,
        arguments: JsonObject,
        time: Duration,
    ) -> Result<rmcp::model::CallToolResult, McpError> {
        let request = CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments);
        match self.service.peer().call_tool_once(request).await {
            Ok(CallToolResponse::Complete(result)) => Ok(result),
            Ok(_) => Err(McpError::Interactive),
            Err(error) => Err(self.error(&error, time)),
        }
    }

    /// Converts an error; why the connection was ended says more than what the library makes of that.
    fn error(&self, error: &ServiceError, time: Duration) -> McpError {
        self.allowance.violation().cloned().unwrap_or_else(|| McpError::of_service(error, time))
    }
}

/// Size of a tool's description and schema as JSON, in bytes.
pub(super) fn size(tool: &Tool) -> usize {
    serde_json::to_vec(tool).map_or(0, |json| json.len())
}
