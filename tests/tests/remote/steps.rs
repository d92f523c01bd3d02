//! Several tokens in one step of a remote engine.

use serde_json::{Value, json};
use tests::client::post;
use tests::fake_engine::{Action, FakeEngine, done, event, head, ids};

use crate::setup::server_for;

/// Whole answer whose tokens come in one event.
fn at_once(text: &str) -> Vec<u8> {
    [head(), event(&ids(text), Some("stop")), done()].concat()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tokens_behind_a_stop_string_are_not_counted_though_they_came_with_it() {
    let engine =
        FakeEngine::start(|_, _| vec![Action::Send(at_once("<think>\n\n</think>\n\nHello there today."))])
            .await;
    let server = server_for(&engine.url()).await;
    let question = json!({
        "model": "qwen3-tiny",
        "messages": [{ "role": "user", "content": "Who are you?" }],
        "stop": [" there"],
        "return_token_ids": true,
    });
    let answer = post(server.address, "/v1/chat/completions", &question).await.json();
    let choice = &answer["choices"][0];
    assert_eq!((&choice["message"]["content"], &choice["finish_reason"]), (&json!("Hello"), &json!("stop")));
    let shown = choice["token_ids"].as_array().map(Vec::len);
    assert_eq!(answer["usage"]["completion_tokens"].as_u64().map(usize::try_from), shown.map(Ok), "{answer}");
    let until = ids("<think>\n\n</think>\n\nHello there");
    assert_eq!(choice["token_ids"], Value::from(until[..until.len() - 1].to_vec()));
    server.stop().await;
}
