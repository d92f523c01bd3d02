//! The end of a running response's reasoning, asked for by its client, on the CPU engine: without a grammar and
//! with one, and where it isn't possible.

use std::cell::Cell;
use std::time::Duration;

use serde_json::{Value, json};
use tests::client::{Answer, post};
use tests::server::{Setup, TestServer};
use tests::tools::types;

use super::support::{error, id, read, replaying};

/// Most tokens of an answer. The bound of reasoning before something that is demanded is at three quarters.
const MOST: u64 = 2400;

/// A response in the background that thinks until its limit: no control token may come but `<think>`.
async fn thinking(server: &TestServer, more: &Value) -> String {
    let forbidden: serde_json::Map<_, _> =
        (704..713).filter(|id| *id != 707).map(|id| (id.to_string(), json!(-100))).collect();
    let mut body = json!({
        "model": "qwen3-tiny", "input": "What is the weather in Helsinki?", "background": true, "temperature": 0,
        "max_output_tokens": MOST, "logit_bias": forbidden,
    });
    body.as_object_mut().expect("an object").extend(more.as_object().expect("fields").clone());
    let queued = post(server.address, "/v1/responses", &body).await;
    assert_eq!(queued.status, 200, "{}", String::from_utf8_lossy(&queued.body));
    id(&queued.json()).to_owned()
}

async fn end(server: &TestServer, id: &str) -> Answer {
    post(server.address, &format!("/v1/responses/{id}/end_reasoning"), &Value::Null).await
}

/// Asks for the end of the reasoning until there is some.
async fn end_once_it_thinks(server: &TestServer, id: &str) -> Answer {
    loop {
        let answer = end(server, id).await;
        if answer.status == 200 || answer.json()["error"]["code"] != "response_not_reasoning" {
            return answer;
        }
    }
}

/// A response's events, once it has ended, and the response.
async fn told(server: &TestServer, id: &str) -> (Vec<Value>, Value) {
    let events = read(server.address, &format!("/v1/responses/{id}?stream=true")).await.events();
    let last = events.last().expect("events")["response"].clone();
    (events, last)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn answer_follows_the_reasoning_that_its_client_ends() {
    let server = TestServer::start(Setup::default()).await;
    let tool = json!({ "type": "function", "name": "get_weather", "parameters": { "type": "object" } });
    let schema = json!({ "type": "object", "properties": { "days": { "type": "integer", "maximum": 9 } },
        "required": ["days"], "additionalProperties": false });
    let format = json!({ "format": { "type": "json_schema", "name": "trip", "schema": schema } });
    // Whether the grammar lets reasoning come once only, and whether the answer is JSON.
    for (more, is_once, is_json) in [
        (json!({}), false, false),
        (json!({ "tools": [tool] }), false, false),
        (json!({ "reasoning": { "max_tokens": MOST } }), true, false),
        (json!({ "text": format }), true, true),
    ] {
        let id = thinking(&server, &more).await;
        let asked = end_once_it_thinks(&server, &id).await;
        assert_eq!(asked.status, 200, "{}", String::from_utf8_lossy(&asked.body));
        assert_eq!((&asked.json()["id"], &asked.json()["status"]), (&json!(id), &json!("in_progress")));
        let (events, response) = told(&server, &id).await;
        let items = response["output"].as_array().expect("items");
        // Only the client can have ended it.
        assert_eq!((&items[0]["type"], &items[0]["status"]), (&json!("reasoning"), &json!("completed")));
        assert!(items.len() > 1, "{more}: {response}");
        let done = |kind: &str| events.iter().filter(|event| event["type"] == kind).count();
        assert_eq!(done("response.output_item.done"), items.len());
        let usage = &response["usage"];
        if !is_once {
            assert_eq!(usage["input_tokens_details"]["cached_tokens"], 0, "the prompt is new: {usage}");
            assert_eq!(usage["output_tokens"], MOST);
            continue;
        }
        let thoughts = usage["output_tokens_details"]["reasoning_tokens"].as_u64().expect("a count");
        assert!((1..MOST * 3 / 4).contains(&thoughts), "{more}: {usage}");
        assert_eq!((items.len(), &items[1]["type"]), (2, &json!("message")), "{more}: {response}");
        let text = items[1]["content"][0]["text"].as_str().expect("a text");
        assert!(!text.is_empty() && !text.contains("think"), "{text}");
        if is_json {
            assert!(serde_json::from_str::<Value>(text).expect("JSON")["days"].is_u64(), "{text}");
            assert_eq!(response["status"], "completed");
        }
        // It stays as it ended.
        assert_eq!(error(&end(&server, &id).await), (409, json!("response_not_reasoning")));
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn response_goes_on_where_its_reasoning_can_not_be_ended() {
    let hanging = |last: &str, text: &str| json!({ "when": { "last_user_contains": last }, "text": text, "finish": "hang" });
    let server = replaying(&json!([hanging("think", "<think>\nWell"), hanging("write", "It begins")])).await;
    for (input, delta, code) in
        [("think", "Well", "reasoning_not_endable"), ("write", "It begins", "response_not_reasoning")]
    {
        let body = json!({ "model": "qwen3-tiny", "input": input, "background": true });
        let id = id(&post(server.address, "/v1/responses", &body).await.json()).to_owned();
        if code == "reasoning_not_endable" {
            assert_eq!(error(&end_once_it_thinks(&server, &id).await), (409, json!(code)));
        }
        let path = format!("/v1/responses/{id}");
        let cancelled = post(server.address, &format!("{path}/cancel"), &Value::Null).await.json();
        let text = cancelled["output"][0]["content"][0]["text"].as_str().unwrap_or_default();
        assert!(delta.starts_with(text), "{cancelled}");
        assert_eq!(error(&end(&server, &id).await), (409, json!("response_not_reasoning")));
    }
    assert_eq!(end(&server, "resp_none").await.status, 404);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_many_ends_at_once_the_reasoning_ends_once() {
    let server = TestServer::start(Setup::default()).await;
    let id = thinking(&server, &json!({ "reasoning": { "max_tokens": MOST } })).await;
    let (has_ended, refused) = (Cell::new(0), Cell::new(0));
    let ends = (0..8).map(|_| async {
        while refused.get() < 200 {
            match end(&server, &id).await.status.as_u16() {
                200 => has_ended.set(has_ended.get() + 1),
                409 if has_ended.get() == 0 => {}
                409 => refused.set(refused.get() + 1),
                other => panic!("status {other}"),
            }
        }
    });
    let ended = tokio::time::timeout(Duration::from_mins(1), futures_util::future::join_all(ends)).await;
    ended.expect("the reasoning can be ended");
    let (_, response) = told(&server, &id).await;
    assert_eq!(types(&response), ["reasoning", "message"]);
    server.stop().await;
}
