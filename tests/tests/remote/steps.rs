//! Several tokens in one step of a remote engine.

use serde_json::{Value, json};
use tests::client::post;
use tests::fake_engine::{Action, FakeEngine, Identity, done, event, head, ids};

use crate::setup::server_for;

/// Whole answer whose tokens come in one event.
fn at_once(text: &str) -> Vec<u8> {
    [head(), event(&ids(text), Some("stop")), done()].concat()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tokens_behind_a_stop_string_are_not_counted() {
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

/// Starts a llama.cpp that answers with these events.
async fn llamacpp(events: Vec<Value>) -> FakeEngine {
    let events = events.iter().flat_map(|event| format!("data: {event}\n\n").into_bytes()).collect();
    let answer = [head(), events].concat();
    let identity = Identity { owner: "llamacpp", ..Identity::default() };
    FakeEngine::start_as(identity, ([127, 0, 0, 1], 0).into(), move |_, _| vec![Action::Send(answer.clone())])
        .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tokens_of_a_character_that_was_cut_off_are_counted() {
    let end =
        |count: usize, kind: &str| json!({ "stop": true, "stop_type": kind, "tokens_predicted": count });
    let token = |text: &str, id: u32, count: usize| json!({ "content": text, "tokens": [id], "tokens_predicted": count });
    let stop = ids("").pop().expect("the end token");
    let cases = [
        // The limit is inside the first character, or inside the second.
        (vec![end(2, "limit")], 2, "incomplete"),
        (vec![token("Hi", 300, 1), end(3, "limit")], 3, "incomplete"),
        // A character of four tokens, whose text is one or two of ours.
        (vec![token("\u{e3}", 96, 4), token("", stop, 5), end(5, "eos")], 5, "completed"),
        // An engine that counts more than it may have generated.
        (vec![token("Hi", 300, 1), end(1000, "limit")], 8, "incomplete"),
    ];
    for (events, tokens, status) in cases {
        let engine = llamacpp(events.clone()).await;
        let server = server_for(&engine.url()).await;
        let question = json!({ "model": "qwen3-tiny", "input": "Hi", "max_output_tokens": 8 });
        let answer = post(server.address, "/v1/responses", &question).await.json();
        assert_eq!(
            (&answer["usage"]["output_tokens"], &answer["status"]),
            (&json!(tokens), &json!(status)),
            "{events:?}"
        );
        server.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn token_without_logprob_has_an_entry_that_says_so() {
    let begin = ids("<think>\n\n</think>\n\n");
    let mut events: Vec<Value> = begin[..begin.len() - 1]
        .iter()
        .enumerate()
        .map(|(at, id)| json!({ "content": "a", "tokens": [id], "tokens_predicted": at + 1 }))
        .collect();
    let count = events.len();
    let likely = json!([{ "id": 332, "logprob": -0.25, "top_logprobs": [{ "id": 332, "logprob": -0.25 }] }]);
    events.push(json!({ "content": "Hello", "tokens": [332], "tokens_predicted": count + 1, "completion_probabilities": likely }));
    events.push(json!({ "content": "\u{e3}", "tokens": [96], "tokens_predicted": count + 3 }));
    events.push(json!({ "stop": true, "stop_type": "limit", "tokens_predicted": count + 3 }));
    let engine = llamacpp(events).await;
    let server = server_for(&engine.url()).await;
    let message = json!([{ "role": "user", "content": "Hi" }]);
    let question = json!({ "model": "qwen3-tiny", "messages": message, "logprobs": true, "top_logprobs": 1 });
    let answer = post(server.address, "/v1/chat/completions", &question).await.json();
    let entries = answer["choices"][0]["logprobs"]["content"].as_array().expect("a list").clone();
    // The entries are of the whole text, without holes.
    let bytes: Vec<u8> = entries
        .iter()
        .flat_map(|entry| entry["bytes"].as_array().expect("bytes"))
        .map(|byte| u8::try_from(byte.as_u64().expect("a number")).expect("a byte"))
        .collect();
    assert_eq!(String::from_utf8(bytes).as_deref(), Ok("Hello\u{e3}"), "{answer}");
    let told = |entry: &Value| (entry["logprob"].clone(), entry["top_logprobs"].as_array().map(Vec::len));
    assert_eq!(told(&entries[0]), (json!(-0.25), Some(1)));
    assert!(
        entries.len() > 1 && entries[1..].iter().all(|entry| told(entry) == (json!(-9999.0), Some(0))),
        "{answer}"
    );
    server.stop().await;
}
