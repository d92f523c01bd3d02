//! A server in front of a server, both with a store: what is kept, is kept in the one that the
//! client talks to, once.

use std::sync::Arc;

use serde_json::{Value, json};
use store::{Options, Sqlite, Store};
use tests::client::{answered, get, post};
use tests::server::{Setup, TestServer};

use crate::setup::start;

fn memory() -> Arc<Sqlite> {
    Arc::new(Sqlite::memory(&Options::default()).expect("memory can be had"))
}

/// Creates a chain of three. Returns its responses, and the texts and ids of the last one's input.
async fn chain(server: &TestServer) -> (Vec<Value>, Vec<Value>, Vec<Value>) {
    let (mut chain, mut parent) = (Vec::new(), Value::Null);
    for input in ["One?", "Two?", "Three?"] {
        let body = json!({
            "model": "qwen3-tiny", "input": input, "instructions": "Be brief.", "previous_response_id": parent,
            "temperature": 0, "max_output_tokens": 8, "reasoning": { "effort": "none" }
        });
        let response = answered(server.address, "/v1/responses", &body).await;
        parent = response["id"].clone();
        chain.push(response);
    }
    let path = format!("/v1/responses/{}/input_items?order=asc", parent.as_str().expect("an id"));
    let items = get(server.address, &path).await.json()["data"].as_array().expect("a list").clone();
    let texts = items.iter().map(|item| item["content"][0]["text"].clone()).collect();
    (chain, texts, items.iter().map(|item| item["id"].clone()).collect())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn chain_through_two_servers_is_kept_and_told_once() {
    let (behind, before) = (memory(), memory());
    let last = TestServer::start(Setup { store: Some(behind.clone()), ..Setup::default() }).await;
    let first = start(&format!("http://{}", last.address), |setup| setup.store = Some(before.clone())).await;
    let (through, texts, ids) = chain(&first).await;
    let stats = async |store: &Sqlite| store.stats().await.expect("it works");
    assert_eq!((stats(&before).await.responses, stats(&behind).await.responses), (3, 0));
    let (direct, direct_texts, _) = chain(&last).await;
    assert_eq!(stats(&before).await.responses, 3);

    // The same prompts, so neither instructions nor history came twice; and the same answers.
    for (one, other) in through.iter().zip(&direct) {
        assert_eq!(one["usage"]["input_tokens"], other["usage"]["input_tokens"]);
        assert_eq!(one["output"][0]["content"], other["output"][0]["content"]);
        assert_eq!(one["instructions"], json!("Be brief."));
    }
    assert_eq!(texts.len(), 5, "{texts:?}");
    assert_eq!(texts, direct_texts);
    let mut distinct: Vec<String> =
        ids.iter().chain(through.iter().map(|it| &it["id"])).map(Value::to_string).collect();
    distinct.sort();
    distinct.dedup();
    assert_eq!(distinct.len(), 8, "{distinct:?}");

    // Each knows its own.
    for (server, own, foreign) in [(&first, &through, &direct), (&last, &direct, &through)] {
        for (response, status) in [(&own[2], 200), (&foreign[2], 404)] {
            let path = format!("/v1/responses/{}", response["id"].as_str().expect("an id"));
            assert_eq!(get(server.address, &path).await.status, status);
        }
        let body = json!({ "model": "qwen3-tiny", "input": "x", "previous_response_id": foreign[2]["id"] });
        let refused = post(server.address, "/v1/responses", &body).await;
        assert_eq!(
            (refused.status.as_u16(), &refused.json()["error"]["code"]),
            (400, &json!("previous_response_not_found"))
        );
    }
    first.stop().await;
    last.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn other_things_are_stored_once_through_two_servers() {
    let (behind, before) = (memory(), memory());
    let last = TestServer::start(Setup { store: Some(behind.clone()), ..Setup::default() }).await;
    let first = start(&format!("http://{}", last.address), |setup| setup.store = Some(before.clone())).await;
    let brief = json!({ "model": "qwen3-tiny", "max_output_tokens": 8, "reasoning": { "effort": "none" } });
    let ask = async |more: Value| {
        let mut body = brief.clone();
        body.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
        answered(first.address, "/v1/responses", &body).await
    };
    // In the background, in a conversation, and a chat completion.
    let queued = ask(json!({ "input": "One?", "background": true })).await;
    let path = format!("/v1/responses/{}?stream=true", queued["id"].as_str().expect("an id"));
    let ended = get(first.address, &path).await.events().pop().expect("events");
    assert_eq!(ended["response"]["id"], queued["id"]);
    let conversation = answered(first.address, "/v1/conversations", &json!({})).await;
    let spoken = ask(json!({ "input": "Two?", "conversation": conversation["id"] })).await;
    let path = format!("/v1/conversations/{}/items", conversation["id"].as_str().expect("an id"));
    let items = get(first.address, &path).await.json();
    assert_eq!(items["data"].as_array().map(Vec::len), Some(2), "{items} {spoken}");
    let messages = json!([{ "role": "user", "content": "Three?" }]);
    let chat = json!({ "model": "qwen3-tiny", "messages": messages, "store": true, "max_tokens": 8 });
    let completion = answered(first.address, "/v1/chat/completions", &chat).await;
    let path = format!("/v1/chat/completions/{}", completion["id"].as_str().expect("an id"));
    assert_eq!(get(first.address, &path).await.json()["id"], completion["id"]);
    let (kept, nothing) = (before.stats().await.expect("it works"), behind.stats().await.expect("it works"));
    assert_eq!((kept.responses, kept.conversations), (3, 1));
    assert_eq!((nothing.responses, nothing.conversations), (0, 0));
    first.stop().await;
    last.stop().await;
}
