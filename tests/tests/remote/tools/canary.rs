//! One word through every door by which text from outside comes in: names, labels, prompts,
//! answers, arguments, errors and standard error of tool servers. It must be in no metric and in no
//! line of the log, whatever its level.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};

use http::Request;
use http_body_util::Full;
use serde_json::{Value, json};
use tests::client::{get, post, send};
use tests::process::ServerProcess;
use tests::tool_server_http::HttpToolServer;
use tests::tool_server_stdio::CHATTER;
use tests::tools::{calls, item, types};

const CANARY: &str = "kanarienvogel";

/// Scripted outputs: a call of an undeclared tool, a call whose arguments are no JSON, calls of a
/// server's tools, and an answer.
fn rules() -> Value {
    let hostile = json!({ "kind": CANARY, "a": format!("{CANARY}\u{1b}[2J") });
    let broken =
        format!("<tool_call>\n{{\"name\": \"{CANARY}\", \"arguments\": {{{CANARY}}}}}\n</tool_call>");
    json!([
        { "when": { "contains": "undeclared" }, "text": calls(&[(CANARY, hostile.clone())]) },
        { "when": { "contains": "broken" }, "text": format!("<think>\n</think>\n\n{broken}") },
        { "when": { "contains": "tools", "tool_results": 0 },
          "text": calls(&[("echo", hostile.clone()), ("refuse", hostile.clone()), ("fail", hostile.clone()), ("garbage", hostile)]) },
        { "text": format!("<think>\n{CANARY}\n</think>\n\n{CANARY}") },
    ])
}

/// Sends a request that isn't one of the tests' client, on a connection of its own.
fn raw(address: SocketAddr, request: &str) {
    let mut stream = TcpStream::connect(address).expect("it listens");
    stream.write_all(request.as_bytes()).expect("written");
    let mut answer = [0; 12];
    stream.read_exact(&mut answer).expect("an answer");
    assert!(answer.starts_with(b"HTTP/1.1 4"), "{request}: {}", String::from_utf8_lossy(&answer));
}

async fn names(address: SocketAddr) {
    raw(
        address,
        &format!("{CANARY} /{CANARY}?{CANARY} HTTP/1.1\r\nhost: localhost\r\ncontent-length: 0\r\n\r\n"),
    );
    raw(address, &format!("GET /v1/models/{CANARY} HTTP/1.1\r\nhost: localhost\r\n\r\n"));
    raw(address, &format!("GET /{CANARY} HTTP/{CANARY}\r\n\r\n"));
    raw(address, &format!("GET / HTTP/1.1\r\nhost: {CANARY}\r\norigin: http://{CANARY}\r\n\r\n"));
    let request =
        Request::get("/v1/models").header("host", "localhost").header("x-request-id", format!("{CANARY}!"));
    let request = request.header("authorization", format!("Bearer {CANARY}")).header("user-agent", CANARY);
    assert_eq!(send(address, request.body(Full::default()).expect("a request")).await.status, 200);
}

async fn bodies(address: SocketAddr) {
    let tool = json!({ "type": "function", "name": CANARY, "description": CANARY,
        "parameters": { "type": "object", "properties": { CANARY: { "type": CANARY } } } });
    let chat_tool =
        json!({ "type": "function", "function": { "name": CANARY, "parameters": { "type": "object" } } });
    let user = |text: &str| json!([{ "role": "user", "content": format!("{CANARY} {text}") }]);
    for (path, status, body) in [
        ("/v1/responses", 404, json!({ "model": CANARY, "input": CANARY })),
        (
            "/v1/responses",
            200,
            json!({ "model": "bench", "input": user("text"), CANARY: CANARY, "user": CANARY,
            "metadata": { CANARY: CANARY }, "safety_identifier": CANARY, "prompt_cache_key": CANARY }),
        ),
        (
            "/v1/responses",
            200,
            json!({ "model": "bench", "input": user("undeclared"), "tools": [tool.clone()] }),
        ),
        (
            "/v1/responses",
            200,
            json!({ "model": "bench", "input": user("broken"), "tools": [tool], "stream": true }),
        ),
        ("/v1/responses", 400, json!({ "model": "bench", "input": CANARY, "temperature": CANARY })),
        ("/v1/chat/completions", 200, json!({ "model": "bench", "messages": user("undeclared") })),
        (
            "/v1/chat/completions",
            200,
            json!({ "model": "bench", "messages": user("broken"), "tools": [chat_tool] }),
        ),
        (
            "/v1/chat/completions",
            400,
            json!({ "model": "bench", "messages": user("text"), "guided_grammar": CANARY }),
        ),
        (
            "/v1/chat/completions",
            400,
            json!({ "model": "bench", "messages": [{ "role": CANARY, "content": CANARY }] }),
        ),
        (
            "/v1/chat/completions",
            400,
            json!({ "model": "bench", "messages": user("text"), "guided_json": { CANARY: CANARY } }),
        ),
        (
            "/v1/messages",
            500,
            json!({ "model": "bench", "messages": user("broken"), "max_tokens": 99,
            "tools": [{ "name": CANARY, "input_schema": { "type": "object" } }] }),
        ),
        ("/v1/completions", 200, json!({ "model": "bench", "prompt": CANARY, "max_tokens": 9 })),
        ("/tokenize", 200, json!({ "model": "bench", "prompt": CANARY })),
    ] {
        let answer = post(address, path, &body).await;
        assert_eq!(answer.status, status, "{path} {body}: {}", String::from_utf8_lossy(&answer.body));
    }
}

/// Servers of a request's own and a child that repeats on standard error what it is asked.
async fn tools(address: SocketAddr, url: &str) {
    let input = format!("{CANARY} tools");
    let named = json!({ "server_label": CANARY, "server_url": url, "headers": { CANARY: CANARY }, "authorization": CANARY });
    let missing = json!({ "server_label": format!("{CANARY}-2"), "server_url": format!("http://127.0.0.1:9/{CANARY}") });
    for mut tool in [named, missing, json!({ "server_label": "chatty" })] {
        tool["type"] = json!("mcp");
        tool["require_approval"] = json!("never");
        let body = json!({ "model": "bench", "input": input, "tools": [tool] });
        let response = post(address, "/v1/responses", &body).await.json();
        assert!(types(&response).contains(&"mcp_list_tools"), "{response:#}");
        if tool["server_label"] != json!(format!("{CANARY}-2")) {
            assert!(item(&response, "mcp_call")["output"].as_str().is_some_and(|text| text.contains(CANARY)));
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn foreign_words_are_in_no_metric_and_no_log_line() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let listening = HttpToolServer::start(([127, 0, 0, 1], 0).into()).await;
    let config = folder.path().join("mcp.json");
    let chatty = json!({ "command": env!("CARGO_BIN_EXE_hostile-mcp"), "args": ["chatty"] });
    std::fs::write(&config, json!({ "mcpServers": { "chatty": chatty } }).to_string()).expect("written");
    let arguments =
        ["--mcp", config.to_str().expect("UTF-8"), "--mcp-request-urls", "any", "--mcp-call-seconds", "2"];
    let server = ServerProcess::start_logging(&rules(), &arguments);
    let address = server.address;
    names(address).await;
    bodies(address).await;
    tools(address, &listening.url()).await;
    let metrics = String::from_utf8(get(address, "/metrics").await.body.to_vec()).expect("UTF-8");
    let log = server.stop();
    let hits: Vec<&str> =
        metrics.lines().chain(log.lines()).filter(|line| line.to_lowercase().contains(CANARY)).collect();
    assert!(hits.is_empty(), "{hits:#?}");
    // It was the whole log, and calls of servers that requests named are counted under one label.
    assert!(log.matches(" answered ").count() >= 20 && log.contains("the model called tools"), "{log}");
    assert!(
        metrics.contains("sluice_tool_calls_total{server=\"(request)\",outcome=\"completed\"} 1\n"),
        "{metrics}"
    );
    // What a child says at its start is shown, and does nothing to a terminal.
    assert!(log.contains(&CHATTER.replace('\u{1b}', "\\u{1b}")) && !log.contains('\u{1b}'));
}
