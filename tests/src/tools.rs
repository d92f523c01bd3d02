//! Test servers with server tools: the hostile MCP server under several labels, and requests that
//! use it.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use mcp::McpLimits;
use mcp::{Approval, Endpoint, McpConfig, McpServers, RequestUrls, ServerConfig};
use serde_json::{Value, json};

use crate::client::{Answer, post};
use crate::server::{Setup, TestServer};

/// Time limit of a tool call.
pub const CALL_TIME: Duration = Duration::from_secs(2);

/// Configuration of a server that replays `rules` and has the tool servers `hostile`, `unlisted`
/// (whose list never arrives) and `builtin`. `program` is the hostile MCP server's binary.
pub fn setup(folder: &Path, program: &str, rules: &Value) -> Setup {
    setup_with(folder, program, rules, Vec::new())
}

/// Configuration as of [`setup`], with `more` tool servers.
pub fn setup_with(folder: &Path, program: &str, rules: &Value, more: Vec<(&str, Endpoint)>) -> Setup {
    setup_with_time_limit(folder, program, rules, more, CALL_TIME)
}

/// Configuration as of [`setup_with`], with the time limit `call_time` for each call. It is far
/// longer than a test where a call must end for another reason.
pub fn setup_with_time_limit(
    folder: &Path,
    program: &str,
    rules: &Value,
    more: Vec<(&str, Endpoint)>,
    call_time: Duration,
) -> Setup {
    let command = |listing: &str| {
        let (command, args) = (program.to_owned(), vec![listing.to_owned()]);
        Endpoint::Command { command, args, env: Vec::new() }
    };
    let server = |endpoint| ServerConfig {
        endpoint,
        allowed_tools: None,
        require_approval: Approval::Always,
        timeout: Some(call_time),
    };
    let servers = [("hostile", "good"), ("unlisted", "hang"), ("builtin", "builtin")];
    let servers = servers.map(|(label, listing)| (label, command(listing))).into_iter().chain(more);
    let servers: BTreeMap<_, _> =
        servers.map(|(label, endpoint)| (label.to_owned(), server(endpoint))).collect();
    let builtin = Some("builtin".to_owned());
    let config = McpConfig { servers, web_search: builtin.clone(), code_interpreter: builtin };
    let limits = McpLimits { start_time: Duration::from_secs(1), turns: 4, ..McpLimits::default() };
    let mut setup = Setup::replay(folder, rules);
    setup.mcp = McpServers::new(config, RequestUrls::Any, &limits);
    setup.limits.mcp = limits;
    setup
}

/// Polls `has_happened` until it returns true.
///
/// # Panics
/// If it doesn't within a minute.
pub async fn eventually(what: &str, mut has_happened: impl AsyncFnMut() -> bool) {
    let asking = async {
        while !has_happened().await {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    assert!(tokio::time::timeout(Duration::from_mins(1), asking).await.is_ok(), "{what}: never happened");
}

/// Output in Qwen3's format that calls these tools.
pub fn calls(calls: &[(&str, Value)]) -> String {
    let call = |(name, arguments): &(&str, Value)| {
        format!("<tool_call>\n{{\"name\": \"{name}\", \"arguments\": {arguments}}}\n</tool_call>")
    };
    format!("<think>\nA tool.\n</think>\n\n{}", calls.iter().map(call).collect::<Vec<_>>().join("\n"))
}

/// Replay rules: `first` as answer to the user, and "Done." as answer to tool results.
pub fn rules_then_done(first: &str) -> Value {
    json!([
        { "when": { "last_role": "user" }, "text": first },
        { "when": { "last_role": "tool" }, "text": "<think>\nI see.\n</think>\n\nDone." },
    ])
}

/// Body of a request that may use the tools of `label` without approval.
pub fn request(label: &str, stream: bool) -> Value {
    let tools = json!([{ "type": "mcp", "server_label": label, "require_approval": "never" }]);
    json!({ "model": "qwen3-tiny", "input": "Go.", "tools": tools, "stream": stream })
}

/// Posts the request, checks the streamed answer against the event grammar, and returns it with its
/// last response object.
///
/// # Panics
/// If the stream breaks the grammar.
pub async fn streamed(server: &TestServer, body: &Value) -> (Answer, Value) {
    let answer = post(server.address, "/v1/responses", body).await;
    let mut check = api::Protocol::Responses.check();
    check.feed(&answer.body).and_then(|()| check.finish()).unwrap_or_else(|violation| {
        panic!("{violation}\n{}", String::from_utf8_lossy(&answer.body));
    });
    let response = answer.events().last().expect("a terminal event")["response"].clone();
    (answer, response)
}

/// Types of a response's output items.
pub fn types(response: &Value) -> Vec<&str> {
    let items = response["output"].as_array().expect("a list");
    items.iter().map(|item| item["type"].as_str().expect("a type")).collect()
}

/// Returns a response's first output item of this type.
///
/// # Panics
/// If there is none.
pub fn item<'a>(response: &'a Value, kind: &str) -> &'a Value {
    let items = response["output"].as_array().expect("a list");
    items.iter().find(|item| item["type"] == kind).unwrap_or_else(|| panic!("no {kind} in {response:#}"))
}
