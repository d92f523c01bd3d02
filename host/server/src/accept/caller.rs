//! The caller of a generating request.

use std::time::Instant;

use axum::extract::Request;
use http::{HeaderMap, HeaderValue};

use crate::http::answer::RequestId;
use accounts::Principal;
use model::ClientSession;
use net::trace::SpanContext;
use remote::PROBE_HEADER;

/// Headers by which agents name their session, the first that is there counts: Claude Code's,
/// `OpenCode`'s (and that of a Sluice in front), Codex's, and its older one.
const SESSIONS: [&str; 4] = ["x-claude-code-session-id", "x-session-affinity", "session-id", "session_id"];

/// Who sent a request, and when.
#[derive(Debug, Clone)]
pub(crate) struct Caller {
    /// Owner of the request and of what is kept of it.
    pub(crate) principal: Principal,
    /// Id of the request, for the log.
    pub(crate) id: String,
    /// When the request came.
    pub(crate) began: Instant,
    /// The span that asked for it.
    pub(crate) span: Option<SpanContext>,
    /// The session that it is of, as its client calls it.
    pub(crate) session: Option<ClientSession>,
    /// Whether the request says that a server in front of this one probes it.
    pub(crate) is_probe: bool,
}

impl Caller {
    /// The caller of a request.
    pub(crate) fn of(request: &Request) -> Self {
        let extensions = request.extensions();
        Self {
            principal: extensions.get::<Principal>().cloned().unwrap_or_default(),
            id: extensions.get::<RequestId>().map(|id| id.0.clone()).unwrap_or_default(),
            began: Instant::now(),
            span: request.headers().get("traceparent").and_then(span_of),
            session: session_of(request.headers()),
            is_probe: request.headers().contains_key(PROBE_HEADER),
        }
    }

    /// The owner of what the request stores and may see.
    pub(crate) fn owner(&self) -> store::Owner {
        store::Owner::new(self.principal.name())
    }

    /// The owner of a stored response, which runs now; `id` is for the log.
    pub(crate) fn of_owner(owner: &store::Owner, id: String) -> Self {
        let principal = Principal::new(owner.name());
        Self { principal, id, began: Instant::now(), span: None, session: None, is_probe: false }
    }
}

/// The session of a request with these headers.
pub(crate) fn session_of(headers: &HeaderMap) -> Option<ClientSession> {
    let names = SESSIONS.iter().filter_map(|header| headers.get(*header));
    names.map(HeaderValue::as_bytes).find(|name| !name.is_empty()).map(ClientSession::named)
}

fn span_of(header: &HeaderValue) -> Option<SpanContext> {
    header.to_str().ok().and_then(SpanContext::parse)
}
