//! Client side of MCP: the identity that servers see, the two lifecycles of the protocol, and one
//! open connection.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, ClientConfig, JsonObject, PaginatedRequestParams,
    ProtocolVersion, RequestParamsMeta as _, Tool,
};
use rmcp::service::{
    ClientInitializeError, ClientLifecycleMode, ClientServiceExt, RunningService, ServiceError,
};
use rmcp::transport::Transport;
use rmcp::{ClientHandler, RoleClient};
use tokio::time::timeout;

use super::allowance::Allowance;
use super::error::McpError;
use super::screen::Screen;
use net::trace::SpanContext;

/// Maximum number of pages of a tool list that are requested.
const PAGES: usize = 32;

/// Bytes of listed tools after which a connection that keeps them is replaced by a new one.
const LISTED: usize = 32 << 20;

/// Client handler that offers servers nothing: no sampling, no roots, no elicitation.
struct Client;

impl ClientHandler for Client {
    fn get_info(&self) -> ClientConfig {
        // The version of the handshake, which the versions after it don't have.
        let mut config = ClientConfig::default();
        config.protocol_version = ProtocolVersion::LATEST_WITH_INITIALIZE;
        config
    }
}

/// An open connection. Dropping it closes it.
pub(super) struct Connection {
    service: RunningService<RoleClient, Client>,
    allowance: Arc<Allowance>,
    /// Bytes of all tools that were listed.
    listed: AtomicUsize,
    /// Whether the library keeps the schema of every tool that was ever listed, for headers of
    /// calls.
    keeps_schemas: bool,
}

impl Connection {
    /// Opens a connection over what `connect` makes: in the lifecycle without a handshake (protocol
    /// version 2026-07-28) or, if the server refuses that, by the handshake. A server that neither
    /// takes nor refuses the former within `time` is asked for the latter over a new transport.
    pub(super) async fn open<T>(
        connect: impl Fn() -> Result<(T, Arc<Allowance>), McpError>,
        time: Duration,
    ) -> Result<Self, McpError>
    where
        T: Transport<RoleClient> + 'static,
    {
        let newest = vec![ProtocolVersion::V_2026_07_28];
        let automatic = ClientLifecycleMode::Auto { preferred_versions: newest, legacy_version: None };
        let (transport, allowance) = connect()?;
        match timeout(time, Self::begin(transport, &allowance, automatic)).await {
            Ok(Ok(connection)) => Ok(connection),
            Ok(Err(error)) if allowance.violation().is_some() || is_final(&error) => {
                Err(Self::failure(&error, &allowance))
            }
            Ok(Err(_)) | Err(_) => {
                let (transport, allowance) = connect()?;
                Self::shake_hands(transport, allowance).await
            }
        }
    }

    /// Opens a connection by the handshake.
    pub(super) async fn shake_hands<T>(transport: T, allowance: Arc<Allowance>) -> Result<Self, McpError>
    where
        T: Transport<RoleClient> + 'static,
    {
        let begun = Self::begin(transport, &allowance, ClientLifecycleMode::Initialize).await;
        begun.map_err(|error| Self::failure(&error, &allowance))
    }

    async fn begin<T>(
        transport: T,
        allowance: &Arc<Allowance>,
        lifecycle: ClientLifecycleMode,
    ) -> Result<Self, ClientInitializeError>
    where
        T: Transport<RoleClient> + 'static,
    {
        let screen = Screen::new(transport, Arc::clone(allowance));
        let service = Client.serve_with_lifecycle(screen, lifecycle).await?;
        let allowance = Arc::clone(allowance);
        Ok(Self { service, allowance, listed: AtomicUsize::new(0), keeps_schemas: false })
    }

    fn failure(error: &ClientInitializeError, allowance: &Allowance) -> McpError {
        allowance.violation().cloned().unwrap_or_else(|| McpError::of_handshake(error))
    }

    /// Marks a connection over HTTP. Without a handshake it has no session, and is replaced when it
    /// has listed very much.
    #[must_use]
    pub(super) fn over_http(mut self) -> Self {
        let server = self.service.peer().peer_info();
        self.keeps_schemas = server.is_some_and(|server| !server.protocol_version.has_initialize());
        self
    }

    /// Whether the connection can still be used.
    pub(super) fn is_open(&self) -> bool {
        let is_full = self.keeps_schemas && self.listed.load(Ordering::Relaxed) > LISTED;
        !is_full && !self.service.is_closed() && !self.service.peer().is_transport_closed()
    }

    /// Lists the server's tools, page by page: at most `most` of them, of `most_bytes` bytes
    /// together.
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
            let page = self.exchange(page, time).await?;
            let page_bytes = page.tools.iter().map(size).sum::<usize>();
            self.listed.fetch_add(page_bytes, Ordering::Relaxed);
            bytes += page_bytes;
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

    /// Runs a tool, as a part of a trace if there is one; a result that needs a second exchange is an
    /// error.
    pub(super) async fn call(
        &self,
        tool: &str,
        arguments: JsonObject,
        context: Option<&SpanContext>,
        time: Duration,
    ) -> Result<rmcp::model::CallToolResult, McpError> {
        let mut request = CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments);
        if let Some(context) = context {
            request.set_traceparent(&context.to_string());
        }
        match self.exchange(self.service.peer().call_tool_once(request), time).await? {
            CallToolResponse::Complete(result) => Ok(result),
            _ => Err(McpError::Interactive),
        }
    }

    /// The answer of an exchange, or why the connection was ended meanwhile: the library may be busy
    /// with what came before it tells whoever waits.
    async fn exchange<T>(
        &self,
        answer: impl Future<Output = Result<T, ServiceError>>,
        time: Duration,
    ) -> Result<T, McpError> {
        tokio::select! {
            biased;
            answer = answer => answer.map_err(|error| self.error(&error, time)),
            () = self.allowance.ended() => Err(self.allowance.violation().expect("set before it ends").clone()),
        }
    }

    /// Converts an error; why the connection was ended says more than what the library makes of
    /// that.
    fn error(&self, error: &ServiceError, time: Duration) -> McpError {
        self.allowance.violation().cloned().unwrap_or_else(|| McpError::of_service(error, time))
    }
}

/// Whether another handshake can't succeed: the server answered one, or asks for authorisation.
fn is_final(error: &ClientInitializeError) -> bool {
    let answered = matches!(
        error,
        ClientInitializeError::JsonRpcError(_) | ClientInitializeError::LegacyFallbackFailed { .. }
    );
    answered
        || matches!(
            McpError::of_handshake(error),
            McpError::Status(401 | 403 | 429) | McpError::Certificate(_)
        )
}

/// Size of a tool's description and schema as JSON, in bytes.
pub(super) fn size(tool: &Tool) -> usize {
    serde_json::to_vec(tool).map_or(0, |json| json.len())
}
