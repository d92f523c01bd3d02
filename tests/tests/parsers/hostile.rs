//! Hostile parsers in a real server: each stream ends well-formed as the fault policy demands, and
//! no text is lost.

use api::Protocol;
use serde_json::{Value, json};
use tests::client::post;
use tests::guests::guest;
use tests::server::{Setup, TestServer};
use turn::FaultPolicy;

const TEXT: &str = "Some text that is long enough to be cut into several steps of the engine.";

/// Guests that load and then fail while a stream runs.
const FAILING: &[&str] = &[
    "trap_in_text",
    "loop_in_text",
    "memory_bomb",
    "deep_recursion",
    "op_flood",
    "bytes_beyond_held",
    "arguments_without_call",
    "until_marker_held",
    "pass_first",
    "name_empty",
    "invented_call",
    "deep_paths",
    "note_flood",
    "trap_in_finish",
];

async fn serve(name: &str, policy: FaultPolicy) -> (TestServer, tempfile::TempDir) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join(format!("{name}.wasm"));
    std::fs::write(&file, guest(name)).expect("written");
    let rules = json!([{ "text": TEXT, "tokens_per_step": 3 }]);
    let mut setup = Setup::replay(folder.path(), &rules).with_parser(file.to_string_lossy());
    setup.model.fault_policy = policy;
    (TestServer::start(setup).await, folder)
}

fn request(stream: bool) -> Value {
    json!({ "model": "qwen3-tiny", "input": "x", "stream": stream })
}

async fn outcome(server: &TestServer) -> Value {
    let streamed = post(server.address, "/v1/responses", &request(true)).await;
    let mut check = Protocol::Responses.check();
    check.feed(&streamed.body).and_then(|()| check.finish()).expect("a well-formed stream");
    streamed.events().last().expect("a terminal event")["response"].clone()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn by_default_the_text_goes_on_as_content() {
    for name in FAILING {
        let (server, _folder) = serve(name, FaultPolicy::Continue).await;
        let response = outcome(&server).await;
        assert_eq!(response["status"], "completed", "{name}: {response}");
        let text = response["output"][0]["content"][0]["text"].as_str().expect("text");
        assert_eq!(text, TEXT, "{name}");
        server.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn where_the_operator_asks_for_it_the_response_fails() {
    for name in FAILING {
        let (server, _folder) = serve(name, FaultPolicy::Fail).await;
        let response = outcome(&server).await;
        assert_eq!(response["status"], "failed", "{name}: {response}");
        let message = response["error"]["message"].as_str().expect("a message");
        assert!(!message.contains(TEXT) && !message.contains("0x"), "{message}");
        server.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn call_invented_by_the_parser_fails_by_either_policy() {
    for policy in [FaultPolicy::Continue, FaultPolicy::Fail] {
        let (server, _folder) = serve("derived_flood", policy).await;
        let response = outcome(&server).await;
        assert_eq!(response["status"], "failed", "{response}");
        server.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn text_behind_a_broken_call_is_content_then_failure() {
    let (server, _folder) = serve("trap_in_call", FaultPolicy::ContinueInCalls).await;
    let response = outcome(&server).await;
    assert_eq!(response["status"], "failed", "{response}");
    let call = &response["output"][0];
    assert_eq!(
        (&call["type"], &call["status"]),
        (&json!("function_call"), &json!("incomplete")),
        "{response}"
    );
    let rest = response["output"][1]["content"][0]["text"].as_str().expect("the rest");
    assert_eq!(call["arguments"].as_str().expect("arguments").to_owned() + rest, TEXT, "{response}");
    let message = response["error"]["message"].as_str().expect("a message");
    assert!(message.contains("failed inside a call of"), "{message}");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn closing_nothing_and_holding_to_the_end_are_fine() {
    for name in ["close_nothing", "hold_everything"] {
        let (server, _folder) = serve(name, FaultPolicy::Fail).await;
        let response = outcome(&server).await;
        assert_eq!(response["status"], "completed", "{name}: {response}");
        let output = response["output"].as_array().expect("items");
        let text: String = output.iter().filter_map(|item| item["content"][0]["text"].as_str()).collect();
        assert_eq!(text, TEXT, "{name}");
        server.stop().await;
    }
}
