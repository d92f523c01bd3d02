//! Tools of Responses whose calls have items of their own: what a client gets, sends back and is shown, and the server's search of tools.

use serde_json::{Value, json};
use tests::client::{answered, post};
use tests::server::{Setup, TestServer};
use tests::tools::{calls, item, streamed, types};

/// Texts of the prompts of a response's turns.
fn prompts(response: &Value) -> Vec<&str> {
    let messages = response["input_messages"].as_array().expect("asked for");
    messages.iter().map(|message| message["message"].as_str().expect("a text")).collect()
}

async fn scripted(folder: &tempfile::TempDir, rules: &Value) -> TestServer {
    TestServer::start(Setup::replay(folder.path(), rules)).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn shell_and_patch_are_called_answered_and_seen_again() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let operation = json!({ "type": "create_file", "path": "a.txt", "diff": "+hello" });
    let first = calls(&[("shell", json!({ "commands": ["ls", "pwd"] })), ("apply_patch", operation.clone())]);
    let rules = json!([
        { "when": { "tool_results": 0 }, "text": first },
        { "when": { "tool_results": 2 }, "text": "<think>\n</think>\n\nDone." },
    ]);
    let server = scripted(&folder, &rules).await;
    let tools = json!([{ "type": "shell", "environment": { "type": "local" } }, { "type": "apply_patch" }]);
    let body = json!({ "model": "qwen3-tiny", "input": "Go.", "stream": true, "tools": tools });
    let (_, response) = streamed(&server, &body).await;
    assert_eq!(types(&response), ["reasoning", "shell_call", "apply_patch_call"]);
    let [thought, shell, patch] = [0, 1, 2].map(|index| &response["output"][index]);
    assert_eq!(
        (&shell["action"]["commands"], &shell["status"]),
        (&json!(["ls", "pwd"]), &json!("completed"))
    );
    assert_eq!(patch["operation"], operation);

    let printed = json!([{ "stdout": "a.txt", "stderr": "", "outcome": { "type": "exit", "exit_code": 0 } }]);
    let results = json!([
        { "type": "shell_call_output", "call_id": shell["call_id"], "output": printed },
        { "type": "apply_patch_call_output", "call_id": patch["call_id"], "status": "completed" },
    ]);
    let mut by_id = json!({
        "model": "qwen3-tiny", "previous_response_id": response["id"], "input": results, "tools": tools,
        "enable_response_messages": true
    });
    let answer = answered(server.address, "/v1/responses", &by_id).await;
    assert_eq!(item(&answer, "message")["content"][0]["text"], "Done.");
    // Sent whole, as a client without a store does, the model sees the same.
    let mut sent = vec![json!({ "role": "user", "content": "Go." })];
    sent.extend([thought, shell, patch, &results[0], &results[1]].map(Value::clone));
    (by_id["input"], by_id["previous_response_id"]) = (json!(sent), Value::Null);
    let again = answered(server.address, "/v1/responses", &by_id).await;
    assert_eq!(prompts(&answer), prompts(&again));
    assert!(prompts(&answer)[0].contains("a.txt\nexit code: 0"), "{}", prompts(&answer)[0]);
    // A result without its call is the client's mistake.
    by_id["input"] = json!([results[0]]);
    assert_eq!(post(server.address, "/v1/responses", &by_id).await.status.as_u16(), 400);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_search_finds_tools_and_leaves_the_prompt_before_it_alone() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let searched = calls(&[("tool_search", json!({ "query": "send a mail" }))]);
    let rules = json!([
        { "when": { "tool_results": 0 }, "text": searched },
        { "when": { "tool_results": 1 }, "text": calls(&[("mail__send", json!({ "to": "Ada" }))]) },
        { "when": { "tool_results": 2 }, "text": "<think>\n</think>\n\nSent." },
    ]);
    let server = scripted(&folder, &rules).await;
    let function = |name: &str, about: &str| json!({ "type": "function", "name": name, "description": about, "parameters": { "type": "object" }, "defer_loading": true });
    let mail = json!({ "type": "namespace", "name": "mail", "description": "Post.", "tools": [function("send", "Sends a mail.")] });
    let others = (0..400).map(|number| function(&format!("tool_{number}"), "Does something else."));
    let tools: Vec<Value> = others.chain([mail, json!({ "type": "tool_search" })]).collect();
    let body = json!({
        "model": "qwen3-tiny", "input": "Write to Ada.", "stream": true, "tools": tools,
        "enable_response_messages": true
    });
    let (_, response) = streamed(&server, &body).await;
    let kinds = ["reasoning", "tool_search_call", "tool_search_output", "reasoning", "function_call"];
    assert_eq!(types(&response), kinds);
    let [search, found, call] = [1, 2, 4].map(|index| &response["output"][index]);
    assert_eq!(search["arguments"], json!({ "query": "send a mail", "paths": ["mail"] }));
    assert_eq!(search["call_id"], Value::Null);
    assert_eq!(found["tools"][0]["tools"][0]["name"], "send");
    assert_eq!((&call["namespace"], &call["name"]), (&json!("mail"), &json!("send")));
    let [first, second] = prompts(&response)[..] else { panic!("two turns") };
    assert!(!first.contains("tool_17") && !first.contains("mail__send"), "{first}");
    assert!(second.starts_with(first), "the cached prefix is lost: {second}");
    assert!(second[first.len()..].contains("mail__send"));

    let result = json!([{ "type": "function_call_output", "call_id": call["call_id"], "output": "ok" }]);
    let mut next = body.clone();
    (next["previous_response_id"], next["input"]) = (response["id"].clone(), result);
    let (_, answer) = streamed(&server, &next).await;
    assert_eq!(item(&answer, "message")["content"][0]["text"], "Sent.");
    let third = prompts(&answer)[0];
    assert!(third.starts_with(second), "{third}");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_model_that_only_searches_comes_to_an_end() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let rules = json!([{ "when": {}, "text": calls(&[("tool_search", json!({ "query": "x" }))]) }]);
    let server = scripted(&folder, &rules).await;
    let mut body = json!({ "model": "qwen3-tiny", "input": "Go.", "stream": true, "tools": [{ "type": "tool_search" }] });
    let (_, response) = streamed(&server, &body).await;
    assert_eq!(response["status"], "failed");
    assert!(response["error"]["message"].as_str().expect("a text").contains("went on calling tools"));
    body["max_tool_calls"] = json!(1);
    let (_, response) = streamed(&server, &body).await;
    assert_eq!(response["status"], "failed");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_flood_of_searches_of_tools_comes_to_an_end() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let searches = vec![("tool_search", json!({ "query": "mail", "limit": 20 })); 200];
    let rules = json!([
        { "when": { "tool_results": 0 }, "text": calls(&searches) },
        { "when": { "tool_results": 200 }, "text": "<think>\n</think>\n\nDone." },
    ]);
    let mut setup = Setup::replay(folder.path(), &rules);
    setup.model.context = Some(1 << 20);
    let server = TestServer::start(setup).await;
    let function = |number: usize| json!({ "type": "function", "name": format!("mail_{number}"), "description": "Sends a mail.", "parameters": { "type": "object" }, "defer_loading": true });
    let tools: Vec<Value> = (0..500).map(function).chain([json!({ "type": "tool_search" })]).collect();
    let body = json!({ "model": "qwen3-tiny", "input": "Go.", "stream": true, "tools": tools, "max_tool_calls": 150 });
    let (_, response) = streamed(&server, &body).await;
    let found = response["output"]
        .as_array()
        .expect("items")
        .iter()
        .filter(|item| item["type"] == "tool_search_output");
    let found: Vec<usize> = found.map(|item| item["tools"].as_array().expect("tools").len()).collect();
    assert_eq!(found, [vec![20; 150], vec![0; 50]].concat());
    assert_eq!(item(&response, "message")["content"][0]["text"], "Done.");
    server.stop().await;
}

/// The server lives, and says what is too much.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn huge_patches_and_ten_thousand_deferred_tools_are_refused_in_words() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let server = scripted(&folder, &json!([{ "text": "<think>\n</think>\n\nHi." }])).await;
    let operation =
        json!({ "type": "create_file", "path": "a", "diff": format!("+{}", "x".repeat(30 << 20)) });
    let patch = json!([
        { "role": "user", "content": "Go." },
        { "type": "apply_patch_call", "call_id": "c", "operation": operation },
        { "type": "apply_patch_call_output", "call_id": "c", "status": "completed" },
    ]);
    let deferred = |tool: Value| json!(vec![tool; 10_000]);
    let function = json!({ "type": "function", "name": "f", "defer_loading": true });
    let custom = json!({ "name": "f", "input_schema": {}, "defer_loading": true });
    let ask = json!([{ "role": "user", "content": "Hi." }]);
    for (path, body, what) in [
        ("/v1/responses", json!({ "input": patch, "tools": [{ "type": "apply_patch" }] }), "context"),
        (
            "/v1/responses",
            json!({ "input": "Hi.", "tools": deferred(function) }),
            "at most 512 tools, got 10000",
        ),
        (
            "/v1/messages",
            json!({ "messages": ask, "max_tokens": 9, "tools": deferred(custom) }),
            "at most 512 tools, got 10000",
        ),
    ] {
        let mut body = body;
        body["model"] = json!("qwen3-tiny");
        let answer = post(server.address, path, &body).await;
        let message = answer.json()["error"]["message"].as_str().expect("a text").to_owned();
        assert!(answer.status == 400 && message.contains(what), "{path}: {message:.300}");
    }
    let body = json!({ "model": "qwen3-tiny", "input": "Hi." });
    assert_eq!(
        item(&answered(server.address, "/v1/responses", &body).await, "message")["content"][0]["text"],
        "Hi."
    );
    server.stop().await;
}
