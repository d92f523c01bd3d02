//! Tool servers that send without end: the call fails, the connection ends and is counted, memory
//! stays, and calls of another server go on.

use std::time::Duration;

use http::{HeaderValue, header};
use mcp::McpLimits;
use mcp::{Approval, Endpoint, McpError, McpServer, ServerConfig, UrlEndpoint, UrlTransport};
use serde_json::json;
use tests::client::metric;
use tests::measure::{growth, runs_alone};
use tests::server::{Setup, TestServer};
use tests::tool_server_http::HttpToolServer;
use tests::tool_server_sse::{KEY, SseToolServer};

/// Time limit of a call: far longer than a flood takes to be noticed.
const LONG: Duration = Duration::from_mins(1);
/// Kinds of messages that each transport can carry.
const MESSAGES: [&str; 7] = ["ping", "sampling", "log", "list_changed", "answer", "unknown", ""];

fn limits() -> McpLimits {
    McpLimits { message_bytes: 1 << 20, messages_per_second: 16, ..McpLimits::default() }
}

fn server(label: &str, endpoint: Endpoint, time: Duration) -> McpServer {
    let (allowed_tools, timeout) = (None, Some(time));
    let config = ServerConfig { endpoint, allowed_tools, require_approval: Approval::Never, timeout };
    McpServer::new(label, config, limits())
}

fn child() -> Endpoint {
    child_with("good")
}

fn child_with(listing: &str) -> Endpoint {
    let command = env!("CARGO_BIN_EXE_hostile-mcp").to_owned();
    Endpoint::Command { command, args: vec![listing.to_owned()], env: Vec::new() }
}

fn older(listening: &SseToolServer) -> Endpoint {
    let headers = vec![(header::AUTHORIZATION, HeaderValue::from_static(KEY))];
    let transport = UrlTransport::Sse;
    Endpoint::Url(UrlEndpoint { headers, transport, ..UrlEndpoint::new(listening.url("sse")) })
}

/// Error of a call that makes the server flood, while a call of another server is answered.
async fn flooded(server: &McpServer, kind: &str) -> McpError {
    let steady = self::server("steady", child(), LONG);
    assert_eq!(steady.call("echo", "{}").await, Ok("{}".to_owned()));
    let arguments = json!({ "kind": kind }).to_string();
    let (flood, echo) = tokio::join!(server.call("spam", &arguments), steady.call("echo", "{}"));
    assert_eq!(echo, Ok("{}".to_owned()), "beside {kind}");
    flood.expect_err(kind)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn floods_on_any_transport_end_and_count_a_connection() {
    if !runs_alone("tools::floods::floods_on_any_transport_end_and_count_a_connection") {
        return;
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    // It has the counters.
    let counting = TestServer::start(Setup::replay(folder.path(), &json!([{ "text": "Hello." }]))).await;
    let (behind_url, events) =
        (HttpToolServer::start(([127, 0, 0, 1], 0).into()).await, SseToolServer::start().await);
    let streamable = Endpoint::Url(UrlEndpoint::new(behind_url.url()));
    let modern = HttpToolServer::start_as("modern", ([127, 0, 0, 1], 0).into()).await;
    let more: [(&str, Endpoint, &[&str]); 5] = [
        ("child", child(), &["stderr"]),
        ("modern-child", child_with("modern"), &["stderr"]),
        ("streamable", streamable, &["empty", "other"]),
        ("modern-streamable", Endpoint::Url(UrlEndpoint::new(modern.url())), &["empty", "other"]),
        ("events", older(&events), &["other"]),
    ];
    for (transport, endpoint, more) in more {
        for kind in MESSAGES.iter().chain(more) {
            let label = format!("{transport}-{kind}");
            let server = server(&label, endpoint.clone(), LONG);
            let grown = growth(async {
                assert_eq!(flooded(&server, kind).await, McpError::Flooded(16), "{label}");
            });
            let grown = Box::pin(grown).await;
            assert!(grown < 64 << 20, "{label}: memory grew by {} MiB", grown >> 20);
            let series = format!("sluice_tool_floods_total{{server=\"{label}\"}}");
            assert_eq!(metric(counting.address, &series).await.to_string(), "1", "{label}");
            // It is connected to again, but not at once.
            assert_eq!(server.call("echo", "{}").await, Err(McpError::Flooded(16)), "{label}");
        }
    }
    counting.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn message_of_many_values_ends_its_connection_unbuilt() {
    let (behind_url, events) =
        (HttpToolServer::start(([127, 0, 0, 1], 0).into()).await, SseToolServer::start().await);
    let streamable = Endpoint::Url(UrlEndpoint::new(behind_url.url()));
    for endpoint in [child(), streamable, older(&events)] {
        let server = server("values", endpoint, LONG);
        assert!(matches!(flooded(&server, "values").await, McpError::TooManyValues(_)));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bytes_without_a_message_end_and_prolong_nothing() {
    let (behind_url, events) =
        (HttpToolServer::start(([127, 0, 0, 1], 0).into()).await, SseToolServer::start().await);
    for kind in ["comment", "empty"] {
        let server = server("events", older(&events), LONG);
        assert_eq!(flooded(&server, kind).await, McpError::TooLarge(1 << 20), "{kind}");
    }
    let short = Duration::from_millis(300);
    let streamable = Endpoint::Url(UrlEndpoint::new(behind_url.url()));
    for (endpoint, kind) in [(older(&events), "drip"), (streamable, "comment")] {
        let server = server("drip", endpoint, short);
        // The first call connects, which may take a while.
        let _ = server.tools().await;
        assert_eq!(flooded(&server, kind).await, McpError::Timeout(short), "{kind}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn as_many_calls_as_one_likes_are_no_flood() {
    let server = server("busy", child(), LONG);
    for _ in 0..500 {
        assert_eq!(server.call("echo", "{}").await, Ok("{}".to_owned()));
    }
}
