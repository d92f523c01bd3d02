//! Items: their order, pages of them, and how each type is shown.

use futures_util::future::join_all;
use serde_json::{Value, json};

use super::kit::{message, refusal, server};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pages_of_any_length_and_order_have_every_item_once() {
    let (server, client) = server().await;
    let texts: Vec<String> = (0..45).map(|number| number.to_string()).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let conversation = client.conversation(&texts[..20]).await;
    for part in texts[20..].chunks(20) {
        let items: Vec<Value> = part.iter().map(|text| message(text)).collect();
        assert_eq!(
            client.post(&format!("{conversation}/items"), json!({ "items": items })).await.status,
            200
        );
    }
    let backwards: Vec<&str> = texts.iter().rev().copied().collect();
    for limit in [1, 2, 7, 15, 44, 45, 46, 100] {
        assert_eq!(client.texts(&conversation, "asc", limit).await, texts);
        assert_eq!(client.texts(&conversation, "desc", limit).await, backwards);
    }
    let unasked = client.get(&format!("{conversation}/items")).await.json();
    assert_eq!(unasked["data"].as_array().map(Vec::len), Some(20));
    assert_eq!(unasked["data"][0]["content"][0]["text"], "44");
    for query in ["limit=0", "limit=101", "limit=many", "order=newest"] {
        let answer = client.get(&format!("{conversation}/items?{query}")).await;
        assert_eq!(refusal(&answer), (400, "invalid_value".to_owned()), "{query}");
        let param = query.split('=').next();
        assert_eq!(answer.json()["error"]["param"].as_str(), param);
    }
    let unknown = client.get(&format!("{conversation}/items?after=msg_1")).await;
    assert_eq!(refusal(&unknown), (404, "not_found".to_owned()));
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn deletions_between_pages_move_nothing() {
    let (server, client) = server().await;
    let conversation = client.conversation(&["a", "b", "c", "d", "e", "f"]).await;
    let page =
        async |query: &str| client.get(&format!("{conversation}/items?limit=2&order=asc{query}")).await;
    let texts = |list: &Value| -> Vec<String> {
        let data = list["data"].as_array().expect("a list");
        data.iter().map(|item| item["content"][0]["text"].as_str().expect("a text").to_owned()).collect()
    };
    let first = page("").await.json();
    assert_eq!(texts(&first), ["a", "b"]);
    let a = first["first_id"].as_str().expect("an id").to_owned();
    client.delete(&format!("{conversation}/items/{a}")).await;
    let b = first["last_id"].as_str().expect("an id").to_owned();
    let second = page(&format!("&after={b}")).await.json();
    assert_eq!(texts(&second), ["c", "d"]);
    // The place to go on from is gone: that is said, and no page comes twice.
    let d = second["last_id"].as_str().expect("an id").to_owned();
    client.delete(&format!("{conversation}/items/{d}")).await;
    assert_eq!(refusal(&page(&format!("&after={d}")).await), (404, "not_found".to_owned()));
    let c = second["first_id"].as_str().expect("an id").to_owned();
    assert_eq!(texts(&page(&format!("&after={c}")).await.json()), ["e", "f"]);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn items_of_a_request_stay_together_while_others_add() {
    let (server, client) = server().await;
    let conversation = client.conversation(&[]).await;
    let add = async |from: usize| {
        let items: Vec<Value> = (0..5).map(|number| message(&format!("{from}.{number}"))).collect();
        assert_eq!(
            client.post(&format!("{conversation}/items"), json!({ "items": items })).await.status,
            200
        );
    };
    join_all((0..40).map(add)).await;
    let texts = client.texts(&conversation, "asc", 100).await;
    assert_eq!(texts.len(), 200);
    let mut seen = Vec::new();
    for group in texts.chunks(5) {
        let from = group[0].strip_suffix(".0").expect("the first of a request").to_owned();
        assert_eq!(*group, (0..5).map(|number| format!("{from}.{number}")).collect::<Vec<_>>());
        seen.push(from.parse::<usize>().expect("a number"));
    }
    seen.sort_unstable();
    assert_eq!(seen, (0..40).collect::<Vec<_>>());
    server.stop().await;
}

/// Items as clients send them, and as they come back beside their ids.
fn shapes() -> Vec<(&'static str, Value, Value)> {
    let text = |kind: &str, text: &str| json!({ "type": kind, "text": text });
    vec![
        (
            "msg_",
            json!({ "type": "message", "role": "developer", "content": [text("input_text", "x")] }),
            json!({ "type": "message", "role": "developer", "content": [text("input_text", "x")], "status": "completed" }),
        ),
        (
            "msg_",
            json!({ "role": "system", "content": "x", "status": "in_progress", "id": null }),
            json!({ "type": "message", "role": "system", "content": [text("input_text", "x")], "status": "in_progress" }),
        ),
        (
            "rs_",
            json!({ "type": "reasoning", "summary": [text("summary_text", "why")] }),
            json!({ "type": "reasoning", "summary": [text("summary_text", "why")] }),
        ),
        (
            "fc_",
            json!({ "type": "function_call", "call_id": "c", "name": "f", "arguments": "{}" }),
            json!({ "type": "function_call", "call_id": "c", "name": "f", "arguments": "{}", "status": "completed" }),
        ),
        (
            "fco_",
            json!({ "type": "function_call_output", "call_id": "c", "output": "12" }),
            json!({ "type": "function_call_output", "call_id": "c", "output": "12", "status": "completed" }),
        ),
        (
            "ctc_",
            json!({ "type": "custom_tool_call", "call_id": "c", "name": "f", "input": "x" }),
            json!({ "type": "custom_tool_call", "call_id": "c", "name": "f", "input": "x", "status": "completed" }),
        ),
        (
            "ctco_",
            json!({ "type": "custom_tool_call_output", "call_id": "c", "output": "x" }),
            json!({ "type": "custom_tool_call_output", "call_id": "c", "output": "x", "status": "completed" }),
        ),
    ]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_type_gets_its_id_and_is_shown_whole() {
    let (server, client) = server().await;
    let conversation = client.conversation(&[]).await;
    let items: Vec<Value> = shapes().into_iter().map(|(_, sent, _)| sent).collect();
    let added = client.post(&format!("{conversation}/items"), json!({ "items": items })).await.json();
    let listed = client.get(&format!("{conversation}/items?order=asc")).await.json();
    assert_eq!(listed["data"], added["data"]);
    for ((prefix, sent, expected), item) in
        shapes().into_iter().zip(added["data"].as_array().expect("a list"))
    {
        let mut item = item.clone();
        let id = item.as_object_mut().expect("an object").remove("id").expect("an id");
        let id = id.as_str().expect("a string");
        assert!(id.starts_with(prefix) && id.len() == prefix.len() + 32, "{sent}: {id}");
        assert_eq!(item, expected, "{sent}");
    }
    server.stop().await;
}
