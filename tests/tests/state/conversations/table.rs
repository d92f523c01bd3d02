//! Each row of the table of endpoints: what it answers, and when it refuses.

use serde_json::{Value, json};
use tests::server::{Setup, TestServer};

use super::kit::{Client, message, refusal, server};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_conversation_is_made_read_changed_and_deleted() {
    let (server, client) = server().await;
    let made = client.post("/v1/conversations", json!({ "metadata": { "topic": "tea" } })).await;
    assert_eq!(made.status, 200);
    let made = made.json();
    let (id, created) = (made["id"].as_str().expect("an id"), &made["created_at"]);
    assert!(id.starts_with("conv_") && id.len() == 5 + 32, "{id}");
    assert!(created.as_u64().is_some_and(|at| at > 1_700_000_000 && at < 10_000_000_000), "{created}");
    let shown = |metadata: Value| json!({ "id": id, "object": "conversation", "created_at": created, "metadata": metadata });
    assert_eq!(made, shown(json!({ "topic": "tea" })));

    let path = format!("/v1/conversations/{id}");
    assert_eq!(client.get(&path).await.json(), made);
    let changed = client.post(&path, json!({ "metadata": { "b": "1", "a": "2" } })).await.json();
    assert_eq!(changed, shown(json!({ "b": "1", "a": "2" })));
    assert_eq!(client.get(&path).await.json(), changed);
    assert_eq!(client.post(&path, json!({ "metadata": null })).await.json(), shown(json!({})));

    let deleted = client.delete(&path).await;
    assert_eq!(deleted.status, 200);
    assert_eq!(deleted.json(), json!({ "id": id, "object": "conversation.deleted", "deleted": true }));
    for gone in [
        client.get(&path).await,
        client.delete(&path).await,
        client.post(&path, json!({ "metadata": {} })).await,
    ] {
        assert_eq!(refusal(&gone), (404, "not_found".to_owned()));
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn items_are_added_read_and_removed() {
    let (server, client) = server().await;
    let conversation = client.conversation(&[]).await;
    let empty = client.get(&format!("{conversation}/items")).await.json();
    assert_eq!(
        empty,
        json!({ "object": "list", "data": [], "first_id": null, "last_id": null, "has_more": false })
    );

    let items = json!({ "items": [message("one"), { "type": "message", "id": "msg_two", "role": "assistant", "content": "two" }] });
    let added =
        client.post(&format!("{conversation}/items?include[]=message.output_text.logprobs"), items).await;
    assert_eq!(added.status, 200, "{:?}", added.body);
    let added = added.json();
    let first = added["first_id"].as_str().expect("an id");
    assert!(first.starts_with("msg_") && first.len() == 4 + 32, "{first}");
    let one = json!({
        "id": first, "type": "message", "status": "completed", "role": "user",
        "content": [{ "type": "input_text", "text": "one" }],
    });
    let two = json!({
        "id": "msg_two", "type": "message", "status": "completed", "role": "assistant",
        "content": [{ "type": "output_text", "text": "two", "annotations": [], "logprobs": [] }],
    });
    assert_eq!(
        added,
        json!({ "object": "list", "data": [one, two], "first_id": first, "last_id": "msg_two", "has_more": false })
    );

    let list = client.get(&format!("{conversation}/items?include=reasoning.encrypted_content")).await.json();
    assert_eq!((&list["data"], &list["first_id"]), (&json!([two, one]), &json!("msg_two")));
    let item = format!("{conversation}/items/msg_two");
    assert_eq!(client.get(&item).await.json(), two);
    let left = client.delete(&item).await;
    assert_eq!((left.status.as_u16(), left.json()), (200, client.get(&conversation).await.json()));
    assert_eq!(refusal(&client.get(&item).await), (404, "not_found".to_owned()));
    assert_eq!(refusal(&client.delete(&item).await), (404, "not_found".to_owned()));
    assert_eq!(client.texts(&conversation, "asc", 9).await, ["one"]);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_deleted_conversation_has_no_items() {
    let (server, client) = server().await;
    let conversation = client.conversation(&["a"]).await;
    client
        .post(
            &format!("{conversation}/items"),
            json!({ "items": [{ "id": "x", "role": "user", "content": "b" }] }),
        )
        .await;
    client.delete(&conversation).await;
    let (items, item) = (format!("{conversation}/items"), format!("{conversation}/items/x"));
    for answer in [
        client.get(&items).await,
        client.post(&items, json!({ "items": [message("c")] })).await,
        client.get(&item).await,
        client.delete(&item).await,
    ] {
        assert_eq!(refusal(&answer), (404, "not_found".to_owned()));
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn other_methods_get_405_with_those_that_exist() {
    let (server, client) = server().await;
    for (path, allowed) in [
        ("/v1/conversations", "POST"),
        ("/v1/conversations/conv_1", "GET, POST, DELETE"),
        ("/v1/conversations/conv_1/items", "POST, GET"),
        ("/v1/conversations/conv_1/items/msg_1", "GET, DELETE"),
    ] {
        let answer = client.ask(http::Method::PUT, path, None).await;
        assert_eq!(refusal(&answer), (405, "method_not_allowed".to_owned()), "{path}");
        assert!(answer.json()["error"]["message"].to_string().contains(&format!("use {allowed}.")), "{path}");
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_a_store_every_route_says_how_to_get_one() {
    let server = TestServer::start(Setup { store: None, ..Setup::default() }).await;
    let client = Client::new(&server, "any");
    let conversation = "/v1/conversations/conv_1";
    let items = format!("{conversation}/items");
    let item = format!("{items}/msg_1");
    for answer in [
        client.post("/v1/conversations", json!({})).await,
        client.get(conversation).await,
        client.post(conversation, json!({ "metadata": {} })).await,
        client.delete(conversation).await,
        client.post(&items, json!({ "items": [] })).await,
        client.get(&items).await,
        client.get(&item).await,
        client.delete(&item).await,
    ] {
        assert_eq!(refusal(&answer), (400, "store_disabled".to_owned()));
        assert!(answer.json()["error"]["message"].to_string().contains("--store"));
    }
    server.stop().await;
}
