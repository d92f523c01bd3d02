//! A parser of the draft of contract 0.2 in a server: clients see the model's own ids of calls,
//! each for one call of a conversation.

use serde_json::{Value, json};
use tests::client::post;
use tests::guests::{DRAFT, exporting};
use tests::server::{Setup, TestServer};

/// The id of the only call in the answer to this input.
async fn call_id(server: &TestServer, input: &Value) -> String {
    let tools = json!([{ "type": "function", "name": "f", "parameters": { "type": "object" } }]);
    let request = json!({ "model": "qwen3-tiny", "input": input, "tools": tools, "store": false });
    let response = post(server.address, "/v1/responses", &request).await.json();
    assert_eq!(response["status"], "completed", "{response}");
    let [call] = &response["output"].as_array().expect("items")[..] else { panic!("{response}") };
    assert_eq!((&call["type"], &call["arguments"]), (&json!("function_call"), &json!("{}")));
    call["call_id"].as_str().expect("an id").to_owned()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn models_own_call_id_is_kept_until_already_used() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("draft.wasm");
    std::fs::write(&file, exporting(&[DRAFT])).expect("written");
    let rules = json!([{ "text": "f abcdefghi {}", "tokens_per_step": 0 }]);
    let mut setup = Setup::replay(folder.path(), &rules).with_parser(file.to_string_lossy());
    setup.shared.draft_contracts = true;
    let server = TestServer::start(setup).await;
    let user = json!({ "role": "user", "content": "x" });
    let first = call_id(&server, &json!([user])).await;
    assert_eq!(first, "abcdefghi");
    let call = json!({ "type": "function_call", "call_id": first, "name": "f", "arguments": "{}" });
    let result = json!({ "type": "function_call_output", "call_id": first, "output": "y" });
    let second = call_id(&server, &json!([user, call, result])).await;
    assert!(second.starts_with("call_"), "{second}");
    server.stop().await;
}
