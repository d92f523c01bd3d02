//! Answers for which the server runs tools, end to end: scripted turns, a real tool server.

use std::time::Duration;

use serde_json::{Value, json};
use tests::client::{json_request, open, post};
use tests::mask::masked;
use tests::server::TestServer;
use tests::tool_server_http::HttpToolServer;
use tests::tools::{calls, item, request, rules_then_done, setup, setup_with_time_limit, streamed, types};

const HOSTILE: &str = env!("CARGO_BIN_EXE_hostile-mcp");

async fn serving(rules: &Value) -> (TestServer, tempfile::TempDir) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    (TestServer::start(setup(folder.path(), HOSTILE, rules)).await, folder)
}

/// Types of the events, without deltas and without the events between `added` and `done` of
/// reasoning and messages.
fn shape(events: &[Value]) -> Vec<&str> {
    let kinds = events.iter().filter_map(|event| event["type"].as_str()?.strip_prefix("response."));
    let kept = |kind: &&str| {
        !["delta", "content_part", "reasoning_text", "output_text"].iter().any(|part| kind.contains(part))
    };
    kinds.filter(kept).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_runs_and_the_model_goes_on_with_its_result() {
    let (server, _folder) = serving(&json!([
        { "when": { "last_role": "user" }, "text": calls(&[("echo", json!({ "a": 1 }))]) },
        { "when": { "last_role": "tool", "contains": "{\"a\":1}" }, "text": "<think>\nI see.\n</think>\n\nOne." },
    ]))
    .await;
    let (answer, response) = streamed(&server, &request("hostile", true)).await;
    assert_eq!(response["status"], "completed");
    let kinds = ["mcp_list_tools", "reasoning", "mcp_call", "reasoning", "message"];
    assert_eq!(types(&response), kinds);
    assert_eq!(
        shape(&answer.events()),
        [
            "created",
            "in_progress",
            "output_item.added",
            "mcp_list_tools.in_progress",
            "mcp_list_tools.completed",
            "output_item.done",
            "output_item.added",
            "output_item.done",
            "output_item.added",
            "mcp_call.in_progress",
            "mcp_call_arguments.done",
            "mcp_call.completed",
            "output_item.done",
            "output_item.added",
            "output_item.done",
            "output_item.added",
            "output_item.done",
            "completed",
        ]
    );
    let call = item(&response, "mcp_call");
    assert_eq!((&call["name"], &call["output"]), (&json!("echo"), &json!("{\"a\":1}")));
    assert_eq!((&call["server_label"], &call["error"]), (&json!("hostile"), &Value::Null));
    let whole = post(server.address, "/v1/responses", &request("hostile", false)).await.json();
    assert_eq!(masked(&whole), masked(&response));

    // The whole answer is input of the next request: it has the call and its result, and tools
    // aren't listed again.
    let mut next = request("hostile", true);
    let mut input = vec![json!({ "role": "user", "content": "Go." })];
    input.extend(response["output"].as_array().expect("a list").iter().cloned());
    input.push(json!({ "role": "user", "content": "Again." }));
    next["input"] = json!(input);
    let (_, response) = streamed(&server, &next).await;
    assert_eq!(types(&response), ["reasoning", "mcp_call", "reasoning", "message"]);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn usage_and_token_limit_span_all_turns_together() {
    let (server, _folder) = serving(&rules_then_done(&calls(&[("echo", json!({}))]))).await;
    let (_, response) = streamed(&server, &request("hostile", true)).await;
    let usage = &response["usage"];
    let all = usage["output_tokens"].as_u64().expect("a number");
    for limit in 1..all {
        let mut body = request("hostile", true);
        body["max_output_tokens"] = json!(limit);
        let (_, response) = streamed(&server, &body).await;
        assert_eq!(response["status"], "incomplete", "{limit} of {all}");
        assert!(response["usage"]["output_tokens"].as_u64() <= Some(limit), "{limit} of {all}");
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tool_faults_are_failed_calls_and_the_model_goes_on() {
    for (tool, said) in [
        ("fail", "there is no such city"),
        ("refuse", "wrong arguments"),
        ("die", "closed the connection"),
        ("hang", "did not answer within"),
        ("large", "larger than"),
        ("flood", "larger than"),
        ("garbage", "did not answer within"),
    ] {
        let (server, _folder) = serving(&rules_then_done(&calls(&[(tool, json!({}))]))).await;
        let (answer, response) = streamed(&server, &request("hostile", true)).await;
        assert_eq!(response["status"], "completed", "{tool}");
        let call = item(&response, "mcp_call");
        let error = call["error"]["content"][0]["text"].as_str().unwrap_or_default();
        assert!(error.contains(said), "{tool}: {error}");
        assert_eq!((&call["status"], &call["output"]), (&json!("failed"), &Value::Null), "{tool}");
        assert!(shape(&answer.events()).contains(&"mcp_call.failed"), "{tool}");
        assert_eq!(item(&response, "message")["content"][0]["text"], "Done.", "{tool}");
        server.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_of_one_turn_run_beside_each_other() {
    // Each call waits until the other has arrived.
    let listening = HttpToolServer::start(([127, 0, 0, 1], 0).into()).await;
    let (server, _folder) =
        serving(&rules_then_done(&calls(&[("meet", json!({})), ("meet", json!({}))]))).await;
    let mut body = request("other", true);
    body["tools"][0]["server_url"] = json!(listening.url());
    let (_, response) = streamed(&server, &body).await;
    assert_eq!(
        types(&response),
        ["mcp_list_tools", "reasoning", "mcp_call", "mcp_call", "reasoning", "message"]
    );
    assert_eq!([&response["output"][2]["output"], &response["output"][3]["output"]], ["met", "met"]);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn unavailable_list_is_told_and_the_model_goes_on() {
    let (server, _folder) = serving(&json!([{ "text": "<think>\n</think>\n\nNo tools." }])).await;
    let (answer, response) = streamed(&server, &request("unlisted", true)).await;
    assert!(shape(&answer.events()).contains(&"mcp_list_tools.failed"));
    let list = item(&response, "mcp_list_tools");
    assert!(list["error"].as_str().is_some_and(|error| error.contains("did not answer")), "{list}");
    assert_eq!(response["status"], "completed");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn call_awaits_the_clients_approval_and_runs_or_not() {
    let (server, _folder) = serving(&json!([
        { "when": { "last_role": "user" }, "text": calls(&[("echo", json!({ "a": 1 }))]) },
        { "when": { "last_role": "tool", "contains": "{\"a\":1}" }, "text": "<think>\n</think>\n\nIt ran." },
        { "when": { "last_role": "tool", "contains": "not allow this call. Too risky." }, "text": "<think>\n</think>\n\nI may not." },
    ]))
    .await;
    let mut body = request("hostile", true);
    // The operator's default for this server is to require approval.
    body["tools"][0]["require_approval"] = Value::Null;
    let (_, response) = streamed(&server, &body).await;
    assert_eq!(types(&response), ["mcp_list_tools", "reasoning", "mcp_approval_request"]);
    let asked = item(&response, "mcp_approval_request");
    assert_eq!((&asked["name"], &asked["arguments"]), (&json!("echo"), &json!("{\"a\":1}")));

    for approve in [true, false] {
        let mut input = vec![json!({ "role": "user", "content": "Go." })];
        input.extend(response["output"].as_array().expect("a list").iter().cloned());
        input.push(json!({
            "type": "mcp_approval_response", "approval_request_id": asked["id"], "approve": approve, "reason": "Too risky."
        }));
        body["input"] = json!(input);
        let (_, response) = streamed(&server, &body).await;
        let text = &item(&response, "message")["content"][0]["text"];
        if !approve {
            assert_eq!((types(&response), text), (vec!["message"], &json!("I may not.")));
            continue;
        }
        assert_eq!((types(&response), text), (vec!["mcp_call", "message"], &json!("It ran.")));
        let call = item(&response, "mcp_call");
        assert_eq!((&call["approval_request_id"], &call["output"]), (&asked["id"], &json!("{\"a\":1}")));

        // The approval is sent again together with the call's result, so the call doesn't run a
        // second time.
        input.extend(response["output"].as_array().expect("a list").iter().cloned());
        input.push(json!({ "role": "user", "content": "Go." }));
        body["input"] = json!(input);
        let (_, response) = streamed(&server, &body).await;
        assert_eq!(types(&response), ["reasoning", "mcp_approval_request"]);
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn clients_call_ends_the_response_behind_the_servers() {
    let words = calls(&[("echo", json!({ "a": 1 })), ("get_weather", json!({ "city": "Oslo" }))]);
    let (server, _folder) = serving(&rules_then_done(&words)).await;
    let mut body = request("hostile", true);
    let function = json!({ "type": "function", "name": "get_weather", "parameters": { "type": "object" } });
    body["tools"].as_array_mut().expect("a list").push(function);
    let (_, response) = streamed(&server, &body).await;
    assert_eq!(types(&response), ["mcp_list_tools", "reasoning", "mcp_call", "function_call"]);
    assert_eq!(item(&response, "mcp_call")["output"], "{\"a\":1}");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_beyond_max_tool_calls_do_not_run() {
    let echo = || ("echo", json!({ "a": 1 }));
    let (server, _folder) = serving(&rules_then_done(&calls(&[echo(), echo(), echo()]))).await;
    let mut body = request("hostile", true);
    body["max_tool_calls"] = json!(2);
    let (_, response) = streamed(&server, &body).await;
    let run: Vec<_> =
        response["output"].as_array().expect("a list").iter().map(|item| &item["output"]).collect();
    assert_eq!(run.iter().filter(|output| output.is_string()).count(), 2, "{response:#}");
    assert_eq!(item(&response, "message")["content"][0]["text"], "Done.");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_model_that_never_stops_calling_is_stopped() {
    let (server, _folder) = serving(&json!([{ "text": calls(&[("echo", json!({}))]) }])).await;
    let (_, response) = streamed(&server, &request("hostile", true)).await;
    assert_eq!((&response["status"], &response["error"]["code"]), (&json!("failed"), &json!("server_error")));
    assert_eq!(types(&response).iter().filter(|kind| **kind == "mcp_call").count(), 4);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_stops_ends_calls_under_way_at_once() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let rules = rules_then_done(&calls(&[("hang", json!({}))]));
    let mut setup =
        setup_with_time_limit(folder.path(), HOSTILE, &rules, Vec::new(), Duration::from_hours(1));
    setup.limits.http.grace = Duration::from_millis(1);
    let server = TestServer::start(setup).await;
    let address = server.address;
    let mut stream = open(address, json_request("/v1/responses", request("hostile", true).to_string())).await;
    let mut body = Vec::new();
    while !String::from_utf8_lossy(&body).contains("mcp_call_arguments.done") {
        body.extend(stream.next().await.expect("the stream goes on"));
    }
    server.stop().await;
    while let Some(more) = stream.next().await {
        body.extend(more);
    }
    let mut check = api::Protocol::Responses.check();
    check.feed(&body).and_then(|()| check.finish()).expect("the stream ends well");
    assert!(String::from_utf8_lossy(&body).contains("response.failed"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tools_not_run_by_the_server_are_ignored_and_warned() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut setup = setup(folder.path(), HOSTILE, &json!([{ "text": "<think>\n</think>\n\nHi." }]));
    setup.mcp = mcp::McpServers::default();
    let server = TestServer::start(setup).await;
    let tools = json!([
        { "type": "mcp", "server_label": "hostile", "server_url": "https://example.org/mcp" },
        { "type": "web_search" }, { "type": "code_interpreter", "container": { "type": "auto" } }
    ]);
    let body = json!({ "model": "qwen3-tiny", "input": "Hi.", "tools": tools });
    let answer = post(server.address, "/v1/responses", &body).await;
    assert_eq!(types(&answer.json()), ["message"]);
    let warnings: Vec<_> =
        answer.headers.iter().filter(|(name, _)| name.as_str().contains("warning")).collect();
    assert!(!warnings.is_empty(), "{:?}", answer.headers);
    server.stop().await;
}

/// The parts of gpt-oss's template that matter here.
const HARMONY: &str = "{% if builtin_tools %}<|start|>system<|message|>{{ builtin_tools | join(' ') }}<|end|>{% endif %}\
    {% for message in messages %}<|start|>{{ message.role }}<|message|>{{ message.content }}<|end|>{% endfor %}\
    {% if add_generation_prompt %}<|start|>assistant{% endif %}";

/// Replay rules that call the built-in tools in gpt-oss's own way.
fn harmony_rules() -> Value {
    let call = |to: &str, body: &str| format!("<|channel|>analysis to={to} code<|message|>{body}<|call|>");
    json!([
        { "when": { "tool_results": 0 }, "text": format!("<|channel|>analysis<|message|>Search.<|end|><|start|>assistant{}", call("browser.search", "{\"query\": \"oslo\"}")) },
        { "when": { "tool_results": 1 }, "text": call("python", "print(1)") },
        { "when": { "tool_results": 2, "contains": "print(1)" }, "text": "<|channel|>final<|message|>Done.<|return|>" },
    ])
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn harmonys_built_in_tools_run_on_their_servers() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut setup = setup(folder.path(), HOSTILE, &harmony_rules()).with_parser("harmony");
    setup.model.chat_template = Some(HARMONY.to_owned());
    let server = TestServer::start(setup).await;
    let tools =
        json!([{ "type": "web_search" }, { "type": "code_interpreter", "container": { "type": "auto" } }]);
    let body = json!({
        "model": "qwen3-tiny", "input": "Go.", "tools": tools, "stream": true, "enable_response_messages": true
    });
    let (answer, response) = streamed(&server, &body).await;
    assert_eq!(types(&response), ["reasoning", "web_search_call", "code_interpreter_call", "message"]);
    let action = json!({ "type": "search", "query": "oslo" });
    assert_eq!(item(&response, "web_search_call")["action"], action);
    let code = item(&response, "code_interpreter_call");
    assert_eq!(code["code"], "print(1)");
    assert_eq!(code["outputs"], json!([{ "type": "logs", "logs": "{\"code\":\"print(1)\"}" }]));
    let events = answer.events();
    let kinds: Vec<_> = events.iter().filter_map(|event| event["type"].as_str()).collect();
    let at =
        |kind: &str| kinds.iter().position(|known| *known == kind).unwrap_or_else(|| panic!("no {kind}"));
    assert!(at("response.web_search_call.searching") < at("response.web_search_call.completed"));
    assert!(
        at("response.code_interpreter_call_code.delta") < at("response.code_interpreter_call.interpreting")
    );
    // The template gets the names of the tools, and describes them itself.
    let prompt = response["input_messages"][0]["message"].as_str().expect("the prompt");
    assert!(prompt.contains("browser python"), "{prompt}");
    server.stop().await;
}

/// What was left out was found all the same. gpt-oss's template tells of all tools of the web, so those that can't be
/// kept to the domains are refused when they are called.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn searches_are_kept_to_their_domains_and_pages_are_not_opened() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let call = |to: &str, body: &Value| format!("<|channel|>analysis to={to} code<|message|>{body}<|call|>");
    let page = |at: &str, text: &str| json!({ "url": format!("https://{at}/a"), "text": text });
    let found = json!({ "query": "q", "results": [page("docs.good.example", "It is wet."), page("bad.example", "It is dry.")] });
    let rules = json!([
        { "when": { "tool_results": 0 }, "text": call("browser.search", &found) },
        { "when": { "tool_results": 1, "contains": "It is wet." }, "text": call("browser.open", &json!({ "id": 1 })) },
        { "when": { "tool_results": 2, "contains": "restricts the web" }, "text": "<|channel|>final<|message|>Done.<|return|>" },
    ]);
    let mut setup = setup(folder.path(), HOSTILE, &rules).with_parser("harmony");
    setup.model.chat_template = Some(HARMONY.to_owned());
    let server = TestServer::start(setup).await;
    for filters in
        [json!({ "allowed_domains": ["good.example"] }), json!({ "blocked_domains": ["bad.example"] })]
    {
        let body = json!({
            "model": "qwen3-tiny", "input": "Go.", "tools": [{ "type": "web_search", "filters": filters }], "stream": true,
            "enable_response_messages": true
        });
        let (_, response) = streamed(&server, &body).await;
        let statuses: Vec<&Value> =
            response["output"].as_array().expect("items").iter().map(|item| &item["status"]).collect();
        assert_eq!(types(&response), ["web_search_call", "web_search_call", "message"]);
        assert_eq!(statuses, ["completed", "failed", "completed"]);
        // The call itself repeats what the model wrote: behind it stands what was found.
        let prompt = response["input_messages"][1]["message"].as_str().expect("the prompt");
        let result = prompt.rsplit("<|start|>tool").next().expect("the result");
        assert!(result.contains("It is wet.") && !result.contains("It is dry."), "{prompt}");
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn built_in_tools_are_functions_to_other_models() {
    let search = ("browser.search", json!({ "query": "oslo" }));
    let python = ("python", json!({ "code": "1" }));
    let (server, _folder) = serving(&json!([
        { "when": { "last_role": "user", "tool_declared": "browser.find" }, "text": calls(&[search, python]) },
        { "when": { "last_role": "tool" }, "text": "<think>\n</think>\n\nDone." },
    ]))
    .await;
    let tools = json!([{ "type": "web_search_preview" }, { "type": "code_interpreter" }]);
    let body = json!({ "model": "qwen3-tiny", "input": "Go.", "tools": tools, "stream": true });
    let (_, response) = streamed(&server, &body).await;
    let kinds = ["reasoning", "web_search_call", "code_interpreter_call", "message"];
    assert_eq!(types(&response), kinds);
    assert_eq!(item(&response, "code_interpreter_call")["code"], "1");
    server.stop().await;
}
