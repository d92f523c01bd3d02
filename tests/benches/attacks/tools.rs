//! Tool servers that send messages without end, as child processes and over event streams. The call
//! has five seconds.

use std::time::Duration;

use serde_json::{Value, json};
use tests::post::{self, Answer};
use tests::process::ServerProcess;
use tests::tool_server_sse::{KEY, SseToolServer};
use tests::tools::{calls, request, rules_then_done};

use super::row::{Bars, Row, deadline};

const BARS: Bars = Bars { cpu: Duration::from_secs(1), peak_mib: 64.0, kept_mib: 64.0 };
const CALL_SECONDS: u32 = 5;

/// Runs the asked attacks, each against a server of its own.
pub(crate) fn run(is_asked: &impl Fn(&str) -> bool) {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let events = runtime.block_on(SseToolServer::start());
    let servers = json!({"mcpServers": {
        "child": {"command": env!("CARGO_BIN_EXE_hostile-mcp"), "timeout_seconds": CALL_SECONDS},
        "events": {"url": events.url("sse"), "type": "sse", "headers": {"authorization": KEY},
            "timeout_seconds": CALL_SECONDS},
    }});
    let file = folder.path().join("mcp.json");
    std::fs::write(&file, servers.to_string()).expect("a temporary folder can be written");
    let file = file.to_str().expect("UTF-8");
    let messages = ["ping", "log", "list_changed", "values"];
    for (label, more) in [("child", ["stderr", "sampling"]), ("events", ["comment", "other"])] {
        for kind in messages.into_iter().chain(more) {
            let name = format!("tool server, {label}: {kind}");
            if is_asked(&name) {
                let server = ServerProcess::start(&rules(kind), &["--mcp", file, "--parser", "qwen3.wasm"]);
                assert_eq!(ask(&server, label, "Echo."), [Ok(200)], "the tool server is connected");
                Row::measure(&server, || ask(&server, label, "Flood.")).print(&name, BARS);
            }
        }
    }
}

/// Replay rules that call the tool `spam` with this kind, or `echo` where the user asks for it.
fn rules(kind: &str) -> Value {
    let echo = json!({"when": {"last_role": "user", "last_user_contains": "Echo."}, "text": calls(&[("echo", json!({}))])});
    let mut rules = rules_then_done(&calls(&[("spam", json!({ "kind": kind }))]));
    rules.as_array_mut().expect("a list").insert(0, echo);
    rules
}

fn ask(server: &ServerProcess, label: &str, input: &str) -> Vec<Answer> {
    let mut body = request(label, false);
    body["model"] = json!("bench");
    body["input"] = json!(input);
    post::post(server.address, "/v1/responses", body.to_string().as_bytes(), 1, deadline())
}
