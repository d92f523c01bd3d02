//! Tool servers that misbehave, over stdio and over both HTTP transports: each fault is an error of
//! its call, within the limits of time and memory, and the next call works.

use std::time::Duration;

use http::{HeaderValue, header};
use mcp::McpLimits;
use mcp::{Approval, Endpoint, McpError, McpServer, ServerConfig, UrlEndpoint, UrlTransport};
use net::trace::{SpanContext, Trace, TracedPart};
use serde_json::{Value, json};
use tests::measure::{growth, runs_alone};
use tests::tool_server_http::HttpToolServer;
use tests::tool_server_sse::{KEY, SseToolServer};

const TIMEOUT: Duration = Duration::from_secs(2);

fn configured(endpoint: Endpoint) -> ServerConfig {
    ServerConfig { endpoint, allowed_tools: None, require_approval: Approval::Never, timeout: Some(TIMEOUT) }
}

fn child(listing: &str) -> Endpoint {
    let command = env!("CARGO_BIN_EXE_hostile-mcp").to_owned();
    let env = vec![("GIVEN".to_owned(), "1".to_owned())];
    Endpoint::Command { command, args: vec![listing.to_owned()], env }
}

fn stdio_with(listing: &str, limits: McpLimits) -> McpServer {
    McpServer::new("hostile", configured(child(listing)), limits)
}

fn stdio() -> McpServer {
    stdio_with("good", McpLimits::default())
}

async fn http() -> (McpServer, HttpToolServer) {
    http_with("good", McpLimits::default()).await
}

async fn http_with(listing: &str, limits: McpLimits) -> (McpServer, HttpToolServer) {
    let listening = HttpToolServer::start_as(listing, ([127, 0, 0, 1], 0).into()).await;
    let endpoint = Endpoint::Url(UrlEndpoint::new(listening.url()));
    (McpServer::new("hostile", configured(endpoint), limits), listening)
}

/// Client of the stream at this path of a server of server-sent events, with its key.
fn sse(listening: &SseToolServer, path: &str, transport: UrlTransport) -> McpServer {
    let headers = vec![(header::AUTHORIZATION, HeaderValue::from_static(KEY))];
    let endpoint = UrlEndpoint { headers, transport, ..UrlEndpoint::new(listening.url(path)) };
    let limits = McpLimits { start_time: Duration::from_secs(1), ..McpLimits::default() };
    McpServer::new("hostile", configured(Endpoint::Url(endpoint)), limits)
}

/// Checks the error of every fault, which is the same for all transports.
async fn faults(server: &McpServer) {
    let echoed = async || server.call("echo", r#"{"a": 1}"#).await;
    assert_eq!(echoed().await, Ok(r#"{"a":1}"#.to_owned()));
    assert_eq!(server.call("fail", "").await, Err(McpError::Tool("there is no such city".to_owned())));
    assert!(matches!(server.call("refuse", "{}").await, Err(McpError::Refused { code: -32602, .. })));
    assert!(matches!(server.call("echo", "[1]").await, Err(McpError::Arguments(_))));
    assert_eq!(server.call("large", "").await, Err(McpError::TooLarge(1 << 20)));
    for (tool, fault) in [("die", McpError::Closed), ("hang", McpError::Timeout(TIMEOUT))] {
        assert_eq!(server.call(tool, "").await, Err(fault), "{tool}");
        assert!(echoed().await.is_ok(), "after {tool}");
    }
    for tool in ["wrong", "garbage"] {
        server.call(tool, "").await.expect_err(tool);
        assert!(echoed().await.is_ok(), "after {tool}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn childs_faults_are_call_errors_and_the_next_works() {
    faults(&stdio()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn url_faults_are_call_errors_and_the_next_works() {
    let (server, _listening) = http().await;
    faults(&server).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn server_refusing_the_handshake_is_listed_and_called() {
    let (behind_url, listening) = http_with("modern", McpLimits::default()).await;
    for server in [&stdio_with("modern", McpLimits::default()), &behind_url] {
        assert_eq!(server.tools().await.expect("a list").len(), 14);
        faults(server).await;
    }
    assert!(listening.discovered() > 0);
}

/// Neither is a refusal of the new lifecycle, by which a server tells that it is older.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn older_silent_or_fragile_server_gets_the_handshake() {
    // The time of a call includes the attempt that isn't answered, so the calls get the usual, long
    // one.
    let limits = McpLimits { start_time: Duration::from_secs(4), ..McpLimits::default() };
    let listening = async |listing| HttpToolServer::start_as(listing, ([127, 0, 0, 1], 0).into()).await;
    let (silent, fragile) = (listening("mute").await, listening("fragile").await);
    let url = |server: &HttpToolServer| Endpoint::Url(UrlEndpoint::new(server.url()));
    for endpoint in [url(&silent), url(&fragile), child("fragile")] {
        let config = ServerConfig { timeout: None, ..configured(endpoint) };
        let server = McpServer::new("hostile", config, limits.clone());
        assert_eq!(server.call("echo", "{}").await, Ok("{}".to_owned()));
    }
}

/// The MCP library keeps each schema that it ever saw over HTTP without a handshake.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn server_of_changing_tools_is_reconnected_at_times() {
    let (server, listening) = http_with("anew", McpLimits::default()).await;
    for _ in 0..130 {
        assert_eq!(server.tools().await.expect("a list").len(), 1);
    }
    // 65 MiB, of which a connection keeps 32.
    assert_eq!(listening.discovered(), 3);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn event_stream_faults_are_call_errors_and_next_works() {
    let listening = SseToolServer::start().await;
    let server = sse(&listening, "sse", UrlTransport::Sse);
    faults(&server).await;
    assert_eq!(server.call("flood", "").await, Err(McpError::TooLarge(4 << 20)));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn older_transport_is_found_unless_another_is_named() {
    let listening = SseToolServer::start().await;
    let found = sse(&listening, "sse", UrlTransport::Either).call("echo", "{}").await;
    assert_eq!(found, Ok("{}".to_owned()));
    let named = sse(&listening, "sse", UrlTransport::Streamable).call("echo", "{}").await;
    assert_eq!(named, Err(McpError::Status(405)));
    // Both transports are refused; the error is that of the first.
    let missing = sse(&listening, "missing", UrlTransport::Either).tools().await;
    assert_eq!(missing, Err(McpError::Status(405)));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn badly_begun_event_stream_is_refused() {
    let listening = SseToolServer::start().await;
    for (path, said) in [
        ("silent", "did not answer within 1 s"),
        ("ended", "ended before it named an endpoint"),
        ("foreign", "endpoint is on another origin"),
        ("flood", "larger than"),
        ("comment", "larger than"),
        ("other", "sent too much"),
        ("drip", "did not answer within 1 s"),
        ("moved", "is no event stream"),
        ("page", "is no event stream"),
        ("missing", "HTTP status 404"),
    ] {
        let error = sse(&listening, path, UrlTransport::Sse).tools().await.expect_err(path);
        assert!(error.to_string().contains(said), "{path}: {error}");
    }
    let mut url = UrlEndpoint::new(listening.url("sse"));
    url.transport = UrlTransport::Sse;
    let without_key = McpServer::new("hostile", configured(Endpoint::Url(url)), McpLimits::default());
    assert_eq!(without_key.tools().await, Err(McpError::Status(401)));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn outputs_of_100_mb_are_refused_and_memory_stays() {
    if !runs_alone("tools::servers::outputs_of_100_mb_are_refused_and_memory_stays") {
        return;
    }
    let (behind_url, _listening) = http().await;
    let older = SseToolServer::start().await;
    for server in [stdio(), behind_url, sse(&older, "sse", UrlTransport::Sse)] {
        let grown = growth(async {
            for _ in 0..3 {
                let result = server.call("flood", "").await;
                assert!(result.is_err(), "100 MB were taken");
            }
        });
        let grown = grown.await;
        assert!(grown < 80 << 20, "memory grew by {} MiB", grown >> 20);
        assert!(server.call("echo", "").await.is_ok());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_run_side_by_side_and_fail_alone() {
    let (server, _listening) = http().await;
    // Each of the first two waits until the other has arrived.
    let (one, other, hang, fine) = tokio::join!(
        server.call("meet", "{}"),
        server.call("meet", "{}"),
        server.call("hang", ""),
        server.call("echo", "{}")
    );
    assert_eq!([one, other], [Ok("met".to_owned()), Ok("met".to_owned())]);
    assert_eq!(hang, Err(McpError::Timeout(TIMEOUT)));
    assert_eq!(fine, Ok("{}".to_owned()));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hanging_endless_huge_or_unusable_lists_are_bounded() {
    let quick = || McpLimits { start_time: Duration::from_secs(1), ..McpLimits::default() };
    for listing in ["hang", "garbage"] {
        let listed = stdio_with(listing, quick()).tools().await;
        assert_eq!(listed, Err(McpError::Timeout(Duration::from_secs(1))), "{listing}");
    }
    let endless = stdio_with("endless", McpLimits::default()).tools().await.expect("the first of them");
    assert_eq!(endless.len(), McpLimits::default().tools_per_server);
    for (limits, most) in [
        (McpLimits { message_bytes: 16 << 20, ..McpLimits::default() }, 1 << 20),
        (McpLimits::default(), 4 << 20),
    ] {
        assert_eq!(stdio_with("huge", limits).tools().await, Err(McpError::TooLarge(most)));
    }
    let names = stdio_with("names", McpLimits::default()).tools().await.expect("a list");
    assert_eq!(names.iter().map(|tool| tool.name.as_str()).collect::<Vec<_>>(), ["good"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_tools_that_the_operator_allows_are_listed() {
    let command = env!("CARGO_BIN_EXE_hostile-mcp").to_owned();
    let mut config = configured(Endpoint::Command { command, args: Vec::new(), env: Vec::new() });
    config.allowed_tools = Some(vec!["echo".to_owned()]);
    let tools = McpServer::new("hostile", config, McpLimits::default()).tools().await.expect("a list");
    assert_eq!(tools.iter().map(|tool| tool.name.as_str()).collect::<Vec<_>>(), ["echo"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_child_gets_no_environment_but_its_own() {
    let names = stdio().call("environment", "").await.expect("names");
    assert!(names.split(' ').any(|name| name == "GIVEN"), "{names}");
    // Cargo sets these for tests.
    assert!(!names.contains("CARGO"), "{names}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_cannot_be_reached_is_an_error_at_once() {
    let nowhere = Endpoint::Command { command: "no-such-program".into(), args: Vec::new(), env: Vec::new() };
    let nobody = UrlEndpoint::new("http://127.0.0.1:9/mcp");
    let older = UrlEndpoint { transport: UrlTransport::Sse, ..nobody.clone() };
    for endpoint in [nowhere, Endpoint::Url(nobody), Endpoint::Url(older)] {
        let server = McpServer::new("none", configured(endpoint), McpLimits::default());
        assert_eq!(server.tools().await, Err(McpError::Unreachable));
        assert_eq!(server.call("echo", "").await, Err(McpError::Unreachable));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_of_a_trace_are_told_to_their_server() {
    let (server, listening) = http().await;
    let trace = Trace::noted(SpanContext::root());
    assert!(server.call_traced("echo", "{}", &trace).await.is_ok());
    assert!(server.call_traced("fail", "{}", &trace).await.is_err());
    drop(server.call_traced("echo", "{}", &trace));
    assert!(server.call("echo", "{}").await.is_ok());
    let passed_on = Trace::passed_on(SpanContext::root());
    assert!(server.call_traced("echo", "{}", &passed_on).await.is_ok());
    let mut told = Vec::new();
    for part in trace.take_parts() {
        let TracedPart::Tool { context, server, began, ended, outcome } = part else { panic!("{part:?}") };
        assert_eq!((&*server, context.trace_id()), ("hostile", trace.context().trace_id()));
        assert!(began <= ended);
        told.push((context.to_string(), outcome));
    }
    assert_eq!(told.iter().map(|(_, outcome)| *outcome).collect::<Vec<_>>(), ["completed", "failed"]);
    let both = |context: Value| (context.clone(), context);
    let expected = [
        both(json!(told[0].0)),
        both(json!(told[1].0)),
        both(Value::Null),
        both(json!(passed_on.context().to_string())),
    ];
    assert_eq!(listening.contexts(), expected);
}
