//! Stored chat completions: `store: true`, and the routes that read, list, change and delete them.

use http::Method;
use serde_json::{Value, json};
use tests::client::Answer;
use tests::server::{Setup, TestServer, memory};

use super::kit::{Client, refusal};

const COMPLETIONS: &str = "/v1/chat/completions";

/// A server that says the same to everybody, under two names.
async fn saying(keys: &[&str]) -> TestServer {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut setup = Setup::replay(folder.path(), &json!([{ "text": "<think>\nwhy\n</think>\n\nsaid" }]));
    setup.model.parser = Some("qwen3".to_owned());
    setup.model.served_names = vec!["one".to_owned(), "two".to_owned()];
    setup.keys = keys.iter().map(|key| (*key).to_owned()).collect();
    TestServer::start(setup).await
}

/// A request, with further fields.
fn request(more: &Value) -> Value {
    let mut body = json!({ "model": "one", "messages": [{ "role": "user", "content": "x" }] });
    body.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
    body
}

async fn completed(client: Client, more: Value) -> Value {
    let answer = client.post(COMPLETIONS, request(&more)).await;
    assert_eq!(answer.status, 200, "{:?}", answer.body);
    answer.json()
}

fn path(completion: &Value) -> String {
    format!("{COMPLETIONS}/{}", completion["id"].as_str().expect("an id"))
}

/// Ids of a list, which is asked for page by page.
async fn listed(client: Client, query: &str, limit: usize) -> Vec<Value> {
    let (mut ids, mut after) = (Vec::new(), String::new());
    loop {
        let list = client.get(&format!("{COMPLETIONS}?limit={limit}&{query}{after}")).await.json();
        let data = list["data"].as_array().unwrap_or_else(|| panic!("{query}: {list}"));
        assert!(data.len() <= limit);
        ids.extend(data.iter().map(|completion| completion["id"].clone()));
        if list["has_more"] == json!(false) {
            return ids;
        }
        after = format!("&after={}", list["last_id"].as_str().expect("an id"));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn completion_is_read_as_sent_changed_and_deleted() {
    let server = saying(&[]).await;
    let client = Client::new(&server, "any");
    let sent = completed(client, json!({ "store": true, "n": 2, "metadata": { "a": "1" } })).await;
    assert_eq!(sent["choices"][1]["message"]["content"], "said");
    let mut expected = sent.clone();
    expected["metadata"] = json!({ "a": "1" });
    assert_eq!(client.get(&path(&sent)).await.json(), expected);
    let list = client.get(COMPLETIONS).await.json();
    let id = &sent["id"];
    assert_eq!(
        list,
        json!({ "object": "list", "data": [expected], "first_id": id, "last_id": id, "has_more": false })
    );

    expected["metadata"] = json!({ "b": "2", "c": "\"3\\" });
    let changed = client.post(&path(&sent), json!({ "metadata": expected["metadata"] })).await;
    assert_eq!((changed.status.as_u16(), changed.json()), (200, expected.clone()));
    assert_eq!(client.get(&path(&sent)).await.json(), expected);
    let wrong = client.post(&path(&sent), json!({ "metadata": { "a": 1 } })).await;
    assert_eq!((wrong.status.as_u16(), &wrong.json()["error"]["param"]), (400, &json!("metadata.a")));
    assert_eq!(
        refusal(&client.post(&path(&sent), json!({})).await),
        (400, "missing_required_parameter".to_owned())
    );
    assert_eq!(client.post(&path(&sent), json!({ "metadata": null })).await.json()["metadata"], json!({}));

    let deleted = client.delete(&path(&sent)).await;
    assert_eq!(deleted.json(), json!({ "id": id, "object": "chat.completion.deleted", "deleted": true }));
    for answer in [
        client.get(&path(&sent)).await,
        client.delete(&path(&sent)).await,
        client.post(&path(&sent), json!({ "metadata": {} })).await,
        client.get(&format!("{}/messages", path(&sent))).await,
    ] {
        assert_eq!(refusal(&answer), (404, "not_found".to_owned()));
    }
    assert!(listed(client, "", 9).await.is_empty());
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn streamed_completion_is_stored_before_its_end_shows() {
    let server = saying(&[]).await;
    let client = Client::new(&server, "any");
    let body = request(&json!({ "store": true, "stream": true }));
    let mut open =
        tests::client::open(server.address, tests::client::json_request(COMPLETIONS, body.to_string())).await;
    let mut seen = String::new();
    while !seen.contains(r#""finish_reason":"stop""#) {
        seen += std::str::from_utf8(&open.next().await.expect("more events")).expect("text");
    }
    let first = seen.lines().next().and_then(|line| line.strip_prefix("data: ")).expect("an event");
    let id = serde_json::from_str::<Value>(first).expect("JSON");
    let stored = client.get(&path(&id)).await;
    assert_eq!(stored.status, 200, "the end was seen");
    let message = &stored.json()["choices"][0]["message"];
    assert_eq!((&message["content"], &message["reasoning_content"]), (&json!("said"), &json!("why")));
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_what_is_asked_for_is_stored() {
    let server = saying(&[]).await;
    let client = Client::new(&server, "any");
    for more in [json!({}), json!({ "store": false }), json!({ "store": null, "metadata": { "a": 1 } })] {
        let sent = completed(client, more).await;
        assert_eq!(refusal(&client.get(&path(&sent)).await), (404, "not_found".to_owned()));
    }
    let wrong = client.post(COMPLETIONS, request(&json!({ "store": true, "metadata": { "a": 1 } }))).await;
    assert_eq!((wrong.status.as_u16(), &wrong.json()["error"]["param"]), (400, &json!("metadata.a")));
    assert!(listed(client, "", 9).await.is_empty());
    // What failed isn't stored either.
    let unknown = client.post(COMPLETIONS, request(&json!({ "store": true, "model": "three" }))).await;
    assert_eq!(refusal(&unknown), (404, "model_not_found".to_owned()));
    assert!(listed(client, "", 9).await.is_empty());
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn completions_and_responses_are_apart() {
    let server = saying(&[]).await;
    let client = Client::new(&server, "any");
    let completion = completed(client, json!({ "store": true })).await;
    let response = client.post("/v1/responses", json!({ "model": "one", "input": "x" })).await.json();
    let (completion_id, response_id) =
        (completion["id"].as_str().expect("an id"), response["id"].as_str().expect("an id"));
    let as_response = format!("/v1/responses/{completion_id}");
    for (method, path) in [
        (Method::GET, as_response.clone()),
        (Method::GET, format!("{as_response}/input_items")),
        (Method::POST, format!("{as_response}/cancel")),
        (Method::DELETE, as_response),
        (Method::GET, format!("{COMPLETIONS}/{response_id}")),
        (Method::GET, format!("{COMPLETIONS}/{response_id}/messages")),
        (Method::DELETE, format!("{COMPLETIONS}/{response_id}")),
    ] {
        let answer = client.ask(method.clone(), &path, None).await;
        assert_eq!(refusal(&answer), (404, "not_found".to_owned()), "{method} {path}");
    }
    let next = json!({ "model": "one", "input": "x", "previous_response_id": completion_id });
    let next = client.post("/v1/responses", next).await;
    assert_eq!(refusal(&next), (400, "previous_response_not_found".to_owned()));
    // Nor do a completion's messages become items.
    let conversation = client.conversation(&[]).await;
    let reference = json!({ "items": [{ "type": "item_reference", "id": format!("{completion_id}-0") }] });
    let added = client.post(&format!("{conversation}/items"), reference).await;
    assert_eq!(refusal(&added), (404, "not_found".to_owned()));
    assert_eq!(client.get(&path(&completion)).await.status, 200);
    assert_eq!(client.get(&format!("/v1/responses/{response_id}")).await.status, 200);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn lists_are_filtered_and_paged() {
    let server = saying(&[]).await;
    let client = Client::new(&server, "any");
    let mut all = Vec::new();
    for number in 0..7 {
        let model = ["one", "two"][number % 2];
        let metadata = json!({ "third": (number / 3).to_string(), "odd key [x]=&": "a b" });
        all.push(
            completed(client, json!({ "store": true, "model": model, "metadata": metadata })).await["id"]
                .clone(),
        );
    }
    let some = |which: &[usize]| which.iter().map(|at| all[*at].clone()).collect::<Vec<_>>();
    let backwards: Vec<Value> = all.iter().rev().cloned().collect();
    for limit in [1, 3, 7, 100] {
        assert_eq!(listed(client, "", limit).await, all);
        assert_eq!(listed(client, "order=desc", limit).await, backwards);
        assert_eq!(listed(client, "model=two", limit).await, some(&[1, 3, 5]));
        assert_eq!(listed(client, "metadata[third]=0&order=desc", limit).await, some(&[2, 1, 0]));
        assert_eq!(listed(client, "metadata%5Bthird%5D=1&model=one", limit).await, some(&[4]));
    }
    assert_eq!(listed(client, "metadata[odd+key+%5Bx%5D%3D%26]=a+b&model=one", 9).await.len(), 4);
    for none in ["model=three", "metadata[third]=9", "metadata[model]=one", "metadata[fourth]=0"] {
        assert!(listed(client, none, 9).await.is_empty(), "{none}");
    }
    let many = (0..20).map(|number| format!("metadata[{number}]=x")).collect::<Vec<_>>().join("&");
    for (query, param) in [
        ("limit=0", "limit"),
        ("order=up", "order"),
        (&*many, "metadata"),
        ("metadata=x", "metadata"),
        ("metadata.third=0", "metadata"),
        ("metadata[third=0", "metadata"),
        ("model[]=two", "model"),
    ] {
        let answer = client.get(&format!("{COMPLETIONS}?{query}")).await;
        assert_eq!((answer.status.as_u16(), answer.json()["error"]["param"].as_str()), (400, Some(param)));
    }
    let unknown = client.get(&format!("{COMPLETIONS}?after=chatcmpl-1")).await;
    assert_eq!(refusal(&unknown), (404, "not_found".to_owned()));
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn messages_are_those_of_the_request() {
    let server = saying(&[]).await;
    let client = Client::new(&server, "any");
    let parts =
        json!([{ "type": "text", "text": "y" }, { "type": "image_url", "image_url": { "url": "data:," } }]);
    let call = json!([{ "id": "c", "type": "function", "function": { "name": "f", "arguments": "{}" } }]);
    let messages = json!([
        { "role": "system", "content": "x", "name": "n", "id": "of the client" },
        { "role": "user", "content": parts },
        { "role": "assistant", "content": null, "tool_calls": call },
        { "role": "tool", "tool_call_id": "c", "content": "12" },
    ]);
    let sent = completed(client, json!({ "store": true, "messages": messages })).await;
    let id = |number: usize| format!("{}-{number}", sent["id"].as_str().expect("an id"));
    let expected = json!([
        { "id": id(0), "role": "system", "content": "x", "name": "n", "content_parts": null },
        { "id": id(1), "role": "user", "content": null, "content_parts": parts },
        { "id": id(2), "role": "assistant", "content": null, "tool_calls": call, "content_parts": null },
        { "id": id(3), "role": "tool", "tool_call_id": "c", "content": "12", "content_parts": null },
    ]);
    let path = format!("{}/messages", path(&sent));
    let list = client.get(&path).await.json();
    assert_eq!(
        (&list["data"], &list["has_more"], &list["last_id"]),
        (&expected, &json!(false), &json!(id(3)))
    );
    let page = client.get(&format!("{path}?order=desc&limit=2&after={}", id(3))).await.json();
    assert_eq!((page["data"].clone(), &page["has_more"]), (json!([expected[2], expected[1]]), &json!(true)));
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_owner_sees_none_of_it() {
    let server = saying(&["alice=key-of-alice", "bob=key-of-bob"]).await;
    let (alice, bob) = (Client::new(&server, "key-of-alice"), Client::new(&server, "key-of-bob"));
    let foreign = path(&completed(alice, json!({ "store": true })).await);
    let deleted = path(&completed(bob, json!({ "store": true })).await);
    bob.delete(&deleted).await;
    let all = async |path: &str| -> Vec<Answer> {
        vec![
            bob.get(path).await,
            bob.post(path, json!({ "metadata": {} })).await,
            bob.get(&format!("{path}/messages")).await,
            bob.delete(path).await,
        ]
    };
    let unknown = all(&format!("{COMPLETIONS}/chatcmpl-0")).await;
    for path in [&foreign, &deleted] {
        for (answer, unknown) in all(path).await.iter().zip(&unknown) {
            assert_eq!((answer.status.as_u16(), &answer.body), (404, &unknown.body));
        }
    }
    let foreign_id = foreign.rsplit('/').next().expect("an id");
    assert_eq!(refusal(&bob.get(&format!("{COMPLETIONS}?after={foreign_id}")).await).0, 404);
    assert!(listed(bob, "", 9).await.is_empty());
    assert_eq!(listed(alice, "", 9).await.len(), 1);
    server.stop().await;
}

/// Whoever reached the address read everybody's by the list's ids.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_listed_where_all_who_reach_the_address_are_one_owner() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let replay = Setup::replay(folder.path(), &json!([{ "text": "said" }]));
    for (listen, keys, is_listed) in
        [("0.0.0.0", &[][..], false), ("127.0.0.1", &[], true), ("0.0.0.0", &["k".to_owned()], true)]
    {
        let listen = listen.parse().expect("an address");
        let setup = Setup { listen, keys: keys.to_vec(), store: Some(memory()), ..replay.clone() };
        let server = TestServer::start(setup).await;
        let client = Client::new(&server, "k");
        let sent = completed(client, json!({ "store": true, "model": "qwen3-tiny" })).await;
        let read = client.get(&path(&sent)).await.json();
        assert_eq!(read["id"], sent["id"]);
        let list = client.get(COMPLETIONS).await;
        if is_listed {
            assert_eq!(list.json()["data"], json!([read]));
        } else {
            assert_eq!(refusal(&list), (403, "listing_not_allowed".to_owned()));
            assert!(list.json()["error"]["message"].to_string().contains("--api-key"), "{:?}", list.body);
        }
        server.stop().await;
    }
}
