//! Bodies and paths that no conversation can have: each is refused by the name of what is wrong,
//! and nothing of it is stored.

use serde_json::{Value, json};

use super::kit::{message, refusal, server};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn metadata_beyond_its_bounds_is_refused_where_it_is() {
    let (server, client) = server().await;
    let conversation = client.conversation(&[]).await;
    let many: serde_json::Map<String, Value> = (0..17).map(|n| (n.to_string(), json!("x"))).collect();
    let (key, value) = ("k".repeat(65), "é".repeat(513));
    for (metadata, param) in [
        (Value::Object(many.clone()), "metadata".to_owned()),
        (json!({ key.clone(): "x" }), format!("metadata.{}", &key[..64])),
        (json!({ "a": value }), "metadata.a".to_owned()),
        (json!({ "a": 1 }), "metadata.a".to_owned()),
        (json!({ "a": null }), "metadata.a".to_owned()),
        (json!({ "a": { "b": "c" } }), "metadata.a".to_owned()),
        (json!(["a"]), "metadata".to_owned()),
        (json!("a"), "metadata".to_owned()),
        (json!({ "a": "b\0" }), "metadata.a".to_owned()),
    ] {
        for path in ["/v1/conversations", &conversation] {
            let answer = client.post(path, json!({ "metadata": metadata })).await;
            assert_eq!(
                (answer.status.as_u16(), answer.json()["error"]["param"].as_str()),
                (400, Some(&*param)),
                "{metadata}"
            );
        }
    }
    assert_eq!(client.get(&conversation).await.json()["metadata"], json!({}));
    let most: serde_json::Map<String, Value> = many.into_iter().take(16).collect();
    let odd = json!({ "é".repeat(64): "\u{1}\"\\\u{2028}😀".repeat(100), "__proto__": "", "": "empty" });
    for metadata in [Value::Object(most), odd] {
        let changed = client.post(&conversation, json!({ "metadata": metadata })).await;
        assert_eq!(changed.json()["metadata"], metadata);
        assert_eq!(client.get(&conversation).await.json()["metadata"], metadata);
    }
    assert_eq!(
        refusal(&client.post(&conversation, json!({})).await),
        (400, "missing_required_parameter".to_owned())
    );
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn unreadable_items_are_refused_and_none_is_stored() {
    let (server, client) = server().await;
    let conversation = client.conversation(&["kept"]).await;
    let too_many: Vec<Value> = (0..21).map(|_| message("x")).collect();
    for (items, param) in [
        (json!(too_many), "items"),
        (json!("x"), "items"),
        (json!([1]), "items[0]"),
        (json!([message("x"), {}]), "items[1]"),
        (json!([message("x"), { "role": "narrator", "content": "x" }]), "items[1].role"),
        (json!([{ "role": "user" }]), "items[0].content"),
        (json!([{ "role": "user", "content": 5 }]), "items[0].content"),
        (json!([{ "type": 5 }]), "items[0].type"),
        (json!([{ "role": "user", "content": "x", "id": 5 }]), "items[0].id"),
        (json!([{ "role": "user", "content": "x", "id": "i".repeat(257) }]), "items[0].id"),
        (json!([{ "type": "item_reference", "id": "i".repeat(257) }]), "items[0].id"),
        (json!([{ "type": "item_reference" }]), "items[0].id"),
        (json!([{ "type": "function_call", "call_id": "c" }]), "items[0].name"),
        (json!([{ "type": "function_call_output", "call_id": "c" }]), "items[0].output"),
        (json!([{ "type": "reasoning", "encrypted_content": "forged" }]), "items[0].encrypted_content"),
        (json!([message("x"), { "type": "compaction_trigger" }]), "items[1].type"),
    ] {
        for path in [format!("{conversation}/items"), "/v1/conversations".to_owned()] {
            let answer = client.post(&path, json!({ "items": items })).await;
            let error = answer.json();
            assert_eq!(
                (answer.status.as_u16(), error["error"]["param"].as_str()),
                (400, Some(param)),
                "{items}: {error}"
            );
        }
    }
    let long = json!([{ "role": "user", "content": "x", "id": "i".repeat(257) }]);
    let answer = client.post("/v1/responses", json!({ "model": "bench", "input": long })).await;
    let param = &answer.json()["error"]["param"];
    assert_eq!((answer.status.as_u16(), param), (400, &json!("input[0].id")));
    let missing = client.post(&format!("{conversation}/items"), json!({})).await;
    assert_eq!(refusal(&missing), (400, "missing_required_parameter".to_owned()));
    assert_eq!(client.texts(&conversation, "asc", 9).await, ["kept"]);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn unknown_types_are_refused_and_odd_ids_and_fields_kept() {
    let (server, client) = server().await;
    let conversation = client.conversation(&[]).await;
    let hologram = json!({ "type": "hologram", "id": "h", "light": [1, { "x": null }] });
    let refused = client.post(&format!("{conversation}/items"), json!({ "items": [hologram] })).await;
    assert_eq!((refused.status.as_u16(), &refused.json()["error"]["param"]), (400, &json!("items[0].type")));
    let odd = json!({ "type": "web_search_call", "id": "a/b c?%é", "light": [1, { "x": null }] });
    let added = client.post(&format!("{conversation}/items"), json!({ "items": [odd] })).await;
    assert_eq!((added.status.as_u16(), &added.json()["data"][0]), (200, &odd));
    let item = format!("{conversation}/items/a%2Fb%20c%3F%25%C3%A9");
    assert_eq!(client.get(&item).await.json(), odd);
    assert_eq!(
        client.get(&format!("{conversation}/items?after=a%2Fb+c%3F%25%C3%A9")).await.json()["data"],
        json!([])
    );
    assert_eq!(client.delete(&item).await.status, 200);
    assert_eq!(
        refusal(&client.get(&format!("{conversation}/items/%FF")).await),
        (400, "invalid_path".to_owned())
    );
    assert_eq!(refusal(&client.get("/v1/conversations/%FF").await), (400, "invalid_path".to_owned()));
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn body_with_a_field_twice_or_no_json_is_answered() {
    let (server, client) = server().await;
    let send = async |body: &'static str| {
        let request = tests::client::json_request("/v1/conversations", body);
        tests::client::send(client.address, request).await
    };
    assert_eq!(send("{").await.status, 400);
    assert_eq!(send("[]").await.status, 400);
    let twice = send(r#"{"metadata":{"a":"1"},"metadata":{"a":"2"},"model":"none","x":1}"#).await;
    assert_eq!((twice.status.as_u16(), &twice.json()["metadata"]), (200, &json!({ "a": "2" })));
    let warning = twice.headers["x-sluice-warning"].to_str().expect("text");
    assert!(
        warning.contains("metadata is given more than once") && warning.contains("x ignored"),
        "{warning}"
    );
    server.stop().await;
}
