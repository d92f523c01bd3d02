//! Which requests are answered, over real sockets: `Host` and `Origin` on a loopback address
//! without a key, pages that may read answers (CORS), and the prefix cache by key.

use http::{HeaderValue, Method, Request, header};
use http_body_util::Full;
use serde_json::{Value, json};
use tests::client::{Answer, json_request, send};
use tests::server::{Setup, TestServer};

const PAGE: &str = "https://app.example";

/// Builds a request to `path` with these headers: `POST` if there is a JSON body, else `GET`.
fn request(
    path: &str,
    body: Option<&Value>,
    headers: &[(&'static str, &'static str)],
) -> Request<Full<bytes::Bytes>> {
    let mut request = json_request(path, body.map(Value::to_string).unwrap_or_default());
    if body.is_none() {
        *request.method_mut() = Method::GET;
    }
    for (name, value) in headers {
        request.headers_mut().insert(*name, HeaderValue::from_static(value));
    }
    request
}

async fn asked(server: &TestServer, path: &str, headers: &[(&'static str, &'static str)]) -> Answer {
    send(server.address, request(path, None, headers)).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn foreign_hosts_and_origins_are_refused_everywhere() {
    let server = TestServer::start(Setup::default()).await;
    for (name, value, code) in [
        ("host", "rebound.example", "host_not_allowed"),
        ("origin", "https://evil.example", "origin_not_allowed"),
    ] {
        for (address, path) in [
            (server.address, "/v1/models"),
            (server.address, "/health"),
            (server.address, "/nothing"),
            (server.admin, "/admin/parsers"),
            (server.admin, "/metrics"),
        ] {
            let answer = send(address, request(path, None, &[(name, value)])).await;
            assert_eq!(answer.status, 403, "{name} {path}");
            assert_eq!(answer.json()["error"]["code"], code, "{name} {path}");
            assert!(answer.headers.contains_key("x-request-id"));
        }
        let answer = send(server.address, request("/v1/messages", Some(&json!({})), &[(name, value)])).await;
        assert_eq!(
            (answer.status.as_u16(), &answer.json()["error"]["type"]),
            (403, &json!("permission_error"))
        );
        assert_eq!(answer.json()["type"], "error");
    }
    for (name, value) in
        [("host", "app.localhost:8000"), ("host", "[::1]"), ("origin", "http://127.0.0.1:3000")]
    {
        assert_eq!(asked(&server, "/v1/models", &[(name, value)]).await.status, 200, "{name} {value}");
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn allowed_host_is_answered_and_a_key_skips_the_check() {
    let hosts = vec!["models.example".parse().expect("a host")];
    let server = TestServer::start(Setup { hosts, ..Setup::default() }).await;
    assert_eq!(asked(&server, "/v1/models", &[("host", "models.example:8000")]).await.status, 200);
    assert_eq!(asked(&server, "/v1/models", &[("host", "other.example")]).await.status, 403);
    server.stop().await;
    let server = TestServer::start(Setup { keys: vec!["secret".to_owned()], ..Setup::default() }).await;
    let headers = [("host", "other.example"), ("origin", "https://evil.example"), ("x-api-key", "secret")];
    assert_eq!(asked(&server, "/v1/models", &headers).await.status, 200);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_empty_key_is_no_key() {
    let server = TestServer::start(Setup { keys: vec!["secret".to_owned()], ..Setup::default() }).await;
    assert_eq!(asked(&server, "/v1/models", &[("x-api-key", "")]).await.status, 401);
    assert_eq!(asked(&server, "/v1/models", &[("x-api-key", "secret")]).await.status, 200);
    server.stop().await;
}

fn text(answer: &Answer, name: header::HeaderName) -> Option<&str> {
    answer.headers.get(name).map(|value| value.to_str().expect("text"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn named_origins_pages_may_ask_and_read_all_answers() {
    let cors_origins = vec![PAGE.parse().expect("an origin")];
    let server =
        TestServer::start(Setup { cors_origins, keys: vec!["secret".to_owned()], ..Setup::default() }).await;
    let mut preflight = request(
        "/v1/responses",
        None,
        &[
            ("origin", PAGE),
            ("access-control-request-method", "POST"),
            ("access-control-request-headers", "authorization,content-type,x-stainless-lang"),
        ],
    );
    *preflight.method_mut() = Method::OPTIONS;
    let answer = send(server.address, preflight).await;
    assert_eq!(answer.status, 200, "no key is asked for: {:?}", answer.body);
    assert_eq!(text(&answer, header::ACCESS_CONTROL_ALLOW_ORIGIN), Some(PAGE));
    assert_eq!(text(&answer, header::ACCESS_CONTROL_ALLOW_METHODS), Some("GET,POST,DELETE"));
    let allowed = text(&answer, header::ACCESS_CONTROL_ALLOW_HEADERS);
    assert_eq!(allowed, Some("authorization,content-type,x-stainless-lang"));

    let hello = json!({ "model": "qwen3-tiny", "input": "Hello", "max_output_tokens": 2, "stream": true });
    let headers = [("origin", PAGE), ("authorization", "Bearer secret")];
    let answer = send(server.address, request("/v1/responses", Some(&hello), &headers)).await;
    assert!(answer.events().len() > 2);
    assert_eq!(text(&answer, header::ACCESS_CONTROL_ALLOW_ORIGIN), Some(PAGE));
    assert!(
        text(&answer, header::ACCESS_CONTROL_EXPOSE_HEADERS)
            .is_some_and(|names| names.contains("x-request-id"))
    );
    let keyless = asked(&server, "/v1/models", &[("origin", PAGE)]).await;
    assert_eq!(
        (keyless.status.as_u16(), text(&keyless, header::ACCESS_CONTROL_ALLOW_ORIGIN)),
        (401, Some(PAGE))
    );
    let other =
        asked(&server, "/v1/models", &[("origin", "https://evil.example"), ("x-api-key", "secret")]).await;
    assert_eq!(text(&other, header::ACCESS_CONTROL_ALLOW_ORIGIN), None);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn named_origin_alone_passes_and_cors_defaults_to_off() {
    let cors_origins = vec![PAGE.parse().expect("an origin")];
    let server = TestServer::start(Setup { cors_origins, ..Setup::default() }).await;
    let answer = asked(&server, "/v1/models", &[("origin", PAGE)]).await;
    assert_eq!(
        (answer.status.as_u16(), text(&answer, header::ACCESS_CONTROL_ALLOW_ORIGIN)),
        (200, Some(PAGE))
    );
    assert_eq!(asked(&server, "/v1/models", &[("origin", "https://evil.example")]).await.status, 403);
    server.stop().await;
    let cors_origins = vec!["*".parse().expect("an origin")];
    let server = TestServer::start(Setup { cors_origins, ..Setup::default() }).await;
    let answer = asked(&server, "/v1/models", &[("origin", "https://any.example")]).await;
    assert_eq!(
        (answer.status.as_u16(), text(&answer, header::ACCESS_CONTROL_ALLOW_ORIGIN)),
        (200, Some("*"))
    );
    let rebound = [("origin", "https://any.example"), ("host", "any.example")];
    assert_eq!(asked(&server, "/v1/models", &rebound).await.status, 403);
    server.stop().await;
    let server = TestServer::start(Setup::default()).await;
    let answer = asked(&server, "/v1/models", &[("origin", "http://localhost:3000")]).await;
    assert_eq!((answer.status.as_u16(), text(&answer, header::ACCESS_CONTROL_ALLOW_ORIGIN)), (200, None));
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn other_origins_pages_cannot_use_the_admin_address() {
    for keys in [Vec::new(), vec!["secret".to_owned()]] {
        let cors_origins = vec!["*".parse().expect("an origin"), PAGE.parse().expect("an origin")];
        let server = TestServer::start(Setup { cors_origins, keys, ..Setup::default() }).await;
        let own = format!("http://{}", server.admin);
        for origin in [PAGE, "https://any.example", "http://localhost:3000", "null", ""] {
            for (method, path) in [
                (Method::GET, "/admin/parsers"),
                (Method::GET, "/admin/answers"),
                (Method::GET, "/admin/answers/1/tap"),
                (Method::POST, "/admin/parse"),
                (Method::GET, "/metrics"),
                (Method::GET, "/health"),
                (Method::POST, "/admin/parsers/reload"),
                (Method::OPTIONS, "/admin/parsers/reload"),
                (Method::GET, "/nothing"),
            ] {
                let headers = [("x-api-key", "secret"), ("access-control-request-method", "POST")];
                let mut asked = request(path, None, &headers);
                asked.headers_mut().insert("origin", HeaderValue::from_str(origin).expect("a header"));
                *asked.method_mut() = method.clone();
                // A form's type needs no preflight.
                asked.headers_mut().insert("content-type", HeaderValue::from_static("text/plain"));
                let answer = send(server.admin, asked).await;
                assert_eq!(answer.status, 403, "{origin} {method} {path}");
                assert_eq!(answer.json()["error"]["code"], "origin_not_allowed");
                let cors = |name: &header::HeaderName| name.as_str().starts_with("access-control-");
                assert!(!answer.headers.keys().any(cors), "{:?}", answer.headers);
            }
        }
        let mut asked = request("/admin/parsers", None, &[("x-api-key", "secret")]);
        asked.headers_mut().insert("host", HeaderValue::from_str(&server.admin.to_string()).expect("a host"));
        asked.headers_mut().insert("origin", HeaderValue::from_str(&own).expect("a header"));
        let answer = send(server.admin, asked).await;
        assert_eq!((answer.status.as_u16(), text(&answer, header::ACCESS_CONTROL_ALLOW_ORIGIN)), (200, None));
        server.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files_of_the_inspector_are_given_to_any_origin_by_known_names_only() {
    let server = TestServer::start(Setup::default()).await;
    for path in ["/inspector", "/inspector/main.js"] {
        let file = |name: &'static str, value| send(server.admin, request(path, None, &[(name, value)]));
        // A browser's module scripts name their page's origin, which a proxy may show by another name.
        let answer = file("origin", "https://inspector.example").await;
        assert_eq!((answer.status.as_u16(), text(&answer, header::ACCESS_CONTROL_ALLOW_ORIGIN)), (200, None));
        assert_eq!(
            text(&answer, "cross-origin-resource-policy".parse().expect("a name")),
            Some("same-origin")
        );
        assert_eq!(file("host", "rebound.example").await.status, 403, "{path}");
    }
    let beside = request("/inspectors", None, &[("origin", "https://inspector.example")]);
    assert_eq!(send(server.admin, beside).await.status, 403);
    server.stop().await;
}

/// Number of prompt tokens that the prefix cache had for the client with `key`.
async fn cached(server: &TestServer, key: &'static str) -> u64 {
    let body = json!({ "model": "qwen3-tiny", "max_tokens": 1,
                       "messages": [{ "role": "user", "content": "A secret of many words. ".repeat(20) }] });
    let answer =
        send(server.address, request("/v1/chat/completions", Some(&body), &[("authorization", key)])).await;
    assert_eq!(answer.status, 200);
    answer.json()["usage"]["prompt_tokens_details"]["cached_tokens"].as_u64().expect("a number")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn prefix_cache_is_shared_only_by_keys_of_one_name() {
    let keys = ["a=one", "two", "three", "a=four"].map(str::to_owned).into();
    let server = TestServer::start(Setup { keys, ..Setup::default() }).await;
    for key in ["Bearer one", "Bearer two", "Bearer three"] {
        assert_eq!(cached(&server, key).await, 0, "{key} finds what another name has asked");
        assert!(cached(&server, key).await > 0, "{key} doesn't find what it has asked");
    }
    assert!(
        cached(&server, "Bearer four").await > 0,
        "a second key of a name doesn't find what the first has asked"
    );
    server.stop().await;
}
