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
    assert_eq!((&search["arguments"]["query"], &search["call_id"]), (&json!("send a mail"), &Value::Null));
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
