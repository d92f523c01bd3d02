//! Server tools: which of them a request allows, clients that disconnect while a call runs, and
//! Harmony's own calls.

use std::time::Duration;

use http::{HeaderValue, header};
use mcp::{Endpoint, UrlEndpoint, UrlTransport};
use serde_json::{Value, json};
use tests::client::{json_request, open, post};
use tests::server::{Setup, TestServer};
use tests::tool_server_http::HttpToolServer;
use tests::tool_server_sse::{KEY, SseToolServer};
use tests::tools::{
    calls, eventually, item, request, rules_then_done, setup, setup_with, setup_with_time_limit, streamed,
    types,
};

const HOSTILE: &str = env!("CARGO_BIN_EXE_hostile-mcp");

/// Body of a request with all kinds of tools, whose `tool_choice` allows those in `allowed`.
fn choosing(allowed: &Value) -> Value {
    json!({
        "model": "qwen3-tiny", "input": "Go.", "stream": true, "enable_response_messages": true,
        "tools": [
            { "type": "mcp", "server_label": "hostile", "require_approval": "never" },
            { "type": "web_search" }, { "type": "code_interpreter", "container": { "type": "auto" } },
            { "type": "function", "name": "mine", "parameters": { "type": "object" } }
        ],
        "tool_choice": { "type": "allowed_tools", "mode": "auto", "tools": allowed }
    })
}

/// Names of the tools that the model was shown.
fn shown(response: &Value) -> Vec<String> {
    let prompt = response["input_messages"][0]["message"].as_str().expect("the prompt");
    let declarations = prompt.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    declarations.filter_map(|tool| tool["function"]["name"].as_str().map(str::to_owned)).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn server_tools_left_out_are_not_shown_listed_or_run() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let words = calls(&[
        ("echo", json!({ "a": 1 })),
        ("fail", json!({})),
        ("browser.search", json!({ "query": "oslo" })),
        ("python", json!({ "code": "1" })),
    ]);
    let server = TestServer::start(setup(folder.path(), HOSTILE, &rules_then_done(&words))).await;
    let search = ["browser.search", "browser.open", "browser.find"];
    // Allowed tools; names that the model is shown; types of the calls that the server runs;
    // whether the answer has a list of tools.
    for (allowed, seen, ran, listed) in [
        (
            json!([{ "type": "mcp", "server_label": "hostile", "name": "echo" }]),
            &["echo"][..],
            &["mcp_call"][..],
            true,
        ),
        (json!([{ "type": "web_search" }]), &search[..], &["web_search_call"][..], false),
        (json!([{ "type": "web_search_preview" }]), &search[..], &["web_search_call"][..], false),
        (json!([{ "type": "code_interpreter" }]), &["python"][..], &["code_interpreter_call"][..], false),
        (json!([{ "type": "function", "name": "mine" }]), &["mine"][..], &[][..], false),
        // The name of a function doesn't allow a server tool of that name.
        (json!([{ "type": "function", "name": "web_search" }]), &[][..], &[][..], false),
        (json!([{ "type": "mcp", "server_label": "other" }]), &[][..], &[][..], false),
    ] {
        let (_, response) = streamed(&server, &choosing(&allowed)).await;
        assert_eq!(shown(&response), seen, "{allowed}");
        let kinds = types(&response);
        let server_calls: Vec<&str> = kinds
            .iter()
            .copied()
            .filter(|kind| kind.ends_with("_call") && *kind != "function_call")
            .collect();
        assert_eq!(server_calls, ran, "{allowed}");
        assert_eq!(kinds.contains(&"mcp_list_tools"), listed, "{allowed}");
        assert_eq!(response["tools"].as_array().map(Vec::len), Some(4), "{allowed}");
    }
    let (_, response) = streamed(
        &server,
        &choosing(&json!([
            { "type": "mcp", "server_label": "hostile" }, { "type": "function", "name": "mine" }
        ])),
    )
    .await;
    assert_eq!(shown(&response).len(), 15, "all of the server and the function");
    assert_eq!(item(&response, "mcp_call")["name"], "echo");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn agreed_call_runs_though_its_tool_is_not_shown() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let rules = json!([{ "when": { "contains": "{\"a\":1}" }, "text": "<think>\n</think>\n\nIt ran." }]);
    let server = TestServer::start(setup(folder.path(), HOSTILE, &rules)).await;
    let mut body = choosing(&json!([{ "type": "function", "name": "mine" }]));
    body["input"] = json!([
        { "role": "user", "content": "Go." },
        { "type": "mcp_approval_request", "id": "mcpr_1", "server_label": "hostile", "name": "echo", "arguments": "{\"a\": 1}" },
        { "type": "mcp_approval_response", "approval_request_id": "mcpr_1", "approve": true },
    ]);
    let (_, response) = streamed(&server, &body).await;
    assert_eq!(item(&response, "mcp_call")["output"], "{\"a\":1}");
    assert_eq!(item(&response, "message")["content"][0]["text"], "It ran.");
    assert_eq!(shown(&response), ["mine"]);
    server.stop().await;
}

/// A server with the tool servers whose model is the embedded one, with this parser.
async fn generating(folder: &std::path::Path, parser: Option<&str>) -> TestServer {
    let mut setup = setup(folder, HOSTILE, &json!([]));
    setup.model = Setup::default().model;
    TestServer::start(match parser {
        Some(parser) => setup.with_parser(parser),
        None => setup,
    })
    .await
}

/// Body of a request with all kinds of tools that has to call one of them.
fn forcing(choice: &Value, seed: u64) -> Value {
    let mut body = choosing(&json!([]));
    let more = json!({
        "tool_choice": choice, "seed": seed, "temperature": 1.6, "max_output_tokens": 300, "max_tool_calls": 1,
        "enable_response_messages": false
    });
    body.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
    body
}

/// It was refused.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tool_of_the_server_that_is_demanded_is_called_first() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let server = generating(folder.path(), None).await;
    for (choice, kind) in [
        (json!({ "type": "mcp", "server_label": "hostile", "name": "echo" }), "mcp_call"),
        (json!({ "type": "web_search" }), "web_search_call"),
        (json!({ "type": "web_search_preview" }), "web_search_call"),
        (json!({ "type": "code_interpreter" }), "code_interpreter_call"),
    ] {
        for seed in 0..4 {
            let (answer, response) = streamed(&server, &forcing(&choice, seed)).await;
            assert!(!answer.headers.contains_key("x-sluice-warning"), "{:?}", answer.headers);
            let first =
                types(&response).into_iter().find(|kind| !["mcp_list_tools", "reasoning"].contains(kind));
            assert_eq!(first, Some(kind), "{choice}: {response:#}");
            if kind == "mcp_call" {
                assert_eq!(item(&response, kind)["name"], "echo");
            }
        }
    }
    server.stop().await;
}

/// The header says so.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_model_that_cannot_be_held_to_a_call_of_the_servers_is_left_free() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let server = generating(folder.path(), Some("none")).await;
    let (answer, _) = streamed(&server, &forcing(&json!({ "type": "web_search" }), 0)).await;
    let warning = answer.headers["x-sluice-warning"].to_str().expect("text").to_owned();
    assert!(warning.contains("tool_choice ignored: the model's parser has no grammar"), "{warning}");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tool_that_is_demanded_and_not_there_is_said() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let server = TestServer::start(setup(folder.path(), HOSTILE, &rules_then_done("Hi."))).await;
    let refused = async |choice: &Value| {
        let mut body = request("hostile", false);
        body["tool_choice"] = choice.clone();
        let answer = post(server.address, "/v1/responses", &body).await;
        assert_eq!(answer.status, 400, "{choice}");
        answer.json()["error"].clone()
    };
    for choice in [
        json!({ "type": "web_search" }),
        json!({ "type": "code_interpreter" }),
        json!({ "type": "file_search" }),
        json!({ "type": "mcp", "server_label": "unlisted", "name": "echo" }),
    ] {
        let error = refused(&choice).await;
        assert_eq!(error["param"], "tool_choice", "{choice}");
        assert!(error["message"].as_str().is_some_and(|said| said.contains("not there")), "{error}");
    }
    let error = refused(&json!({ "type": "mcp", "server_label": "hostile" })).await;
    assert_eq!(error["param"], "tool_choice.name");
    // What a server has is known once it is asked.
    let error = refused(&json!({ "type": "mcp", "server_label": "hostile", "name": "moon" })).await;
    assert!(error["message"].as_str().is_some_and(|said| said.contains("doesn't list that tool")), "{error}");
    server.stop().await;
}

/// Replay rules that call `hang` for "Go", else the counter that the user names.
fn leaving() -> Value {
    json!([
        { "when": { "last_role": "user", "last_user_contains": "Go" }, "text": calls(&[("hang", json!({}))]) },
        { "when": { "last_role": "user", "last_user_contains": "begun" }, "text": calls(&[("begun", json!({}))]) },
        { "when": { "last_role": "user" }, "text": calls(&[("cancelled", json!({}))]) },
        { "when": { "last_role": "tool" }, "text": "<think>\n</think>\n\nDone." },
    ])
}

/// Asks a tool server, by a request of its own, for its number of calls that have `begun` or were
/// `cancelled`.
async fn counted(server: &TestServer, label: &str, what: &str) -> Value {
    let mut body = request(label, true);
    body["input"] = json!(what);
    let (_, response) = streamed(server, &body).await;
    item(&response, "mcp_call")["output"].clone()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn leaving_client_cancels_the_call_not_the_server() {
    let (listening, older) =
        (HttpToolServer::start(([127, 0, 0, 1], 0).into()).await, SseToolServer::start().await);
    let headers = vec![(header::AUTHORIZATION, HeaderValue::from_static(KEY))];
    let events = UrlEndpoint { headers, transport: UrlTransport::Sse, ..UrlEndpoint::new(older.url("sse")) };
    let more =
        vec![("web", Endpoint::Url(UrlEndpoint::new(listening.url()))), ("events", Endpoint::Url(events))];
    let folder = tempfile::tempdir().expect("a temporary folder");
    // A call that ends has been cancelled, since the time limit is never reached.
    let mut setup = setup_with_time_limit(folder.path(), HOSTILE, &leaving(), more, Duration::from_hours(1));
    // The server notices the disconnected client when it sends the next comment.
    setup.limits.http.keep_alive = Duration::from_millis(100);
    let server = TestServer::start(setup).await;
    for label in ["hostile", "web", "events"] {
        let body = request(label, true).to_string();
        let mut stream = open(server.address, json_request("/v1/responses", body)).await;
        let mut seen = Vec::new();
        while !String::from_utf8_lossy(&seen).contains("mcp_call_arguments.done") {
            seen.extend(stream.next().await.expect("the stream goes on"));
        }
        eventually("the call arrives", async || counted(&server, label, "begun").await == "1").await;
        assert_eq!(listening.open_requests(), usize::from(label == "web"));
        drop(stream);
        eventually("the call is given up", async || counted(&server, label, "cancelled").await == "1").await;
        eventually("its request is closed", async || listening.open_requests() == 0).await;
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_beyond_the_bound_wait_for_their_turn() {
    let listening = HttpToolServer::start(([127, 0, 0, 1], 0).into()).await;
    // Calls run in pairs, as each waits until another has arrived.
    let meet = || ("meet", json!({}));
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut setup =
        setup(folder.path(), HOSTILE, &rules_then_done(&calls(&[meet(), meet(), meet(), meet()])));
    setup.limits.mcp.calls_at_once = 2;
    let server = TestServer::start(setup).await;
    let mut body = request("other", true);
    body["tools"][0]["server_url"] = json!(listening.url());
    let (_, response) = streamed(&server, &body).await;
    let items = response["output"].as_array().expect("a list");
    assert_eq!(items.iter().filter(|item| item["output"] == "met").count(), 4, "{response:#}");
    assert_eq!(listening.most_open_requests(), 2);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn server_named_by_request_may_speak_older_transport() {
    let older = SseToolServer::start().await;
    let folder = tempfile::tempdir().expect("a temporary folder");
    let rules = rules_then_done(&calls(&[("echo", json!({ "a": 1 }))]));
    let server = TestServer::start(setup(folder.path(), HOSTILE, &rules)).await;
    let mut body = request("other", true);
    body["tools"][0]["server_url"] = json!(older.url("sse"));
    body["tools"][0]["authorization"] = json!(KEY.trim_start_matches("Bearer "));
    let (_, response) = streamed(&server, &body).await;
    assert_eq!(item(&response, "mcp_call")["output"], "{\"a\":1}");
    body["tools"][0]["authorization"] = Value::Null;
    let (_, response) = streamed(&server, &body).await;
    let error = &item(&response, "mcp_list_tools")["error"];
    assert!(error.as_str().is_some_and(|said| said.contains("HTTP status 401")), "{error}");
    server.stop().await;
}

/// The parts of Harmony's template that matter here.
const HARMONY: &str = "{% for message in messages %}<|start|>{{ message.role }}<|message|>{{ message.content }}<|end|>{% endfor %}\
    {% if add_generation_prompt %}<|start|>assistant{% endif %}";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn harmonys_container_runs_on_its_labels_server() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let call = "<|channel|>analysis to=container.exec <|constrain|>json<|message|>{\"cmd\":[\"ls\"]}<|call|>";
    let rules = json!([
        { "when": { "tool_results": 0 }, "text": call },
        { "when": { "contains": "{\"cmd\":[\"ls\"]}" }, "text": "<|channel|>final<|message|>Done.<|return|>" },
    ]);
    let container = Endpoint::Command {
        command: HOSTILE.to_owned(),
        args: vec!["container".to_owned()],
        env: Vec::new(),
    };
    let mut setup =
        setup_with(folder.path(), HOSTILE, &rules, vec![("container", container)]).with_parser("harmony");
    setup.model.chat_template = Some(HARMONY.to_owned());
    let server = TestServer::start(setup).await;
    let (_, response) = streamed(&server, &request("container", true)).await;
    assert_eq!(types(&response), ["mcp_list_tools", "mcp_call", "message"], "{response:#}");
    let call = item(&response, "mcp_call");
    assert_eq!((&call["server_label"], &call["name"]), (&json!("container"), &json!("exec")));
    assert_eq!(
        (&call["arguments"], &call["output"]),
        (&json!("{\"cmd\":[\"ls\"]}"), &json!("{\"cmd\":[\"ls\"]}"))
    );
    server.stop().await;
}
