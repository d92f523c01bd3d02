//! What `/` is for whom: the page for browsers, JSON for programs, and who may have either.

use http::{HeaderValue, Method, Request};
use http_body_util::Full;
use mcp::{McpConfig, McpLimits, McpServers, RequestUrls};
use serde_json::json;
use tests::client::{Answer, json_request, send};
use tests::server::{Setup, TestServer};

const BROWSER: &str = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";

async fn get(server: &TestServer, path: &str, headers: &[(&'static str, &'static str)]) -> Answer {
    let mut request: Request<Full<bytes::Bytes>> = json_request(path, String::new());
    *request.method_mut() = Method::GET;
    for (name, value) in headers {
        request.headers_mut().insert(*name, HeaderValue::from_static(value));
    }
    send(server.address, request).await
}

fn header<'a>(answer: &'a Answer, name: &str) -> &'a str {
    answer.headers.get(name).map_or("", |value| value.to_str().expect("a plain header"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn browsers_get_the_page_and_programs_json() {
    let server = TestServer::start(Setup::default()).await;
    for accept in ["*/*", "application/json"] {
        let answer = get(&server, "/", &[("accept", accept)]).await;
        let index = answer.json();
        assert_eq!(
            (header(&answer, "content-type"), header(&answer, "vary")),
            ("application/json", "accept")
        );
        assert_eq!(
            (&index["name"], &index["store"], &index["tools"], &index["inspector"]),
            (&json!("sluice"), &json!(true), &json!([]), &json!(null))
        );
    }
    let page = get(&server, "/", &[("accept", BROWSER)]).await;
    assert_eq!(page.status, 200);
    assert_eq!(
        (header(&page, "content-type"), header(&page, "vary")),
        ("text/html; charset=utf-8", "accept")
    );
    for path in ["/page/main.js", "/page/base.css"] {
        let file = get(&server, path, &[]).await;
        for answer in [&page, &file] {
            assert_eq!(answer.status, 200, "{path}");
            assert!(
                header(answer, "content-security-policy")
                    .starts_with("default-src 'none'; script-src 'self'; ")
            );
            assert_eq!(header(answer, "x-content-type-options"), "nosniff");
            assert_eq!(header(answer, "cross-origin-resource-policy"), "same-origin");
        }
    }
    assert_eq!(get(&server, "/page/none.js", &[]).await.status, 404);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_tool_server_is_offered_once() {
    let servers = json!({ "mcpServers": { "browser": { "command": "x" }, "time": { "command": "x" } }, "web_search": "browser" });
    let config = McpConfig::parse(&servers.to_string(), |_| None).expect("a configuration");
    let mcp = McpServers::new(config, RequestUrls::default(), &McpLimits::default());
    let server = TestServer::start(Setup { mcp, ..Setup::default() }).await;
    let tools = json!([{ "type": "mcp", "server_label": "time" }, { "type": "web_search" }]);
    assert_eq!(get(&server, "/", &[]).await.json()["tools"], tools);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_page_needs_no_key_and_what_it_asks_does() {
    let server = TestServer::start(Setup { keys: vec!["secret".to_owned()], ..Setup::default() }).await;
    assert_eq!(get(&server, "/", &[("accept", BROWSER)]).await.status, 200);
    assert_eq!(get(&server, "/page/main.js", &[]).await.status, 200);
    let refused = get(&server, "/", &[("accept", "application/json")]).await;
    assert_eq!((refused.status.as_u16(), header(&refused, "vary")), (401, "accept"));
    assert_eq!(get(&server, "/", &[("x-api-key", "secret")]).await.json()["name"], "sluice");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn foreign_hosts_and_origins_get_no_page() {
    let server = TestServer::start(Setup::default()).await;
    let (host, origin) = (("host", "rebound.example"), ("origin", "https://evil.example"));
    // The page's files hold nothing of the server, and a proxy may call it by another name than `Host`.
    for (path, foreign, status) in
        [("/", host, 403), ("/", origin, 403), ("/page/main.js", host, 403), ("/page/main.js", origin, 200)]
    {
        let answer = get(&server, path, &[("accept", BROWSER), foreign]).await;
        assert_eq!(answer.status, status, "{foreign:?} {path}");
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_the_page_browsers_get_json() {
    let server = TestServer::start(Setup { no_page: true, ..Setup::default() }).await;
    let answer = get(&server, "/", &[("accept", BROWSER)]).await;
    assert_eq!((header(&answer, "content-type"), header(&answer, "vary")), ("application/json", ""));
    assert_eq!(get(&server, "/page/main.js", &[]).await.status, 404);
    server.stop().await;
}
