//! Responses that continue others, are read again, and are deleted.

use serde_json::json;
use tests::client::post;
use tests::server::{Setup, TestServer};

use super::support::{body, delete, error, id, read, replaying, respond, rules, texts};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn response_is_read_as_answered_streamed_or_not() {
    let server = replaying(&rules()).await;
    let whole = respond(server.address, "2+2?", &json!({ "metadata": { "a": "\",\"output\":[]" } })).await;
    assert_eq!((&whole["store"], &whole["status"]), (&json!(true), &json!("completed")));
    let path = format!("/v1/responses/{}", id(&whole));
    assert_eq!(read(server.address, &path).await.json(), whole);
    let streamed = post(server.address, "/v1/responses", &body("2+2?", &json!({ "stream": true }))).await;
    let events = streamed.events();
    let last = &events.last().expect("events")["response"];
    assert_eq!(read(server.address, &format!("/v1/responses/{}", id(last))).await.json(), *last);
    // OpenAI's clients may ask for what is there anyway.
    let included = read(server.address, &format!("{path}?include[]=reasoning.encrypted_content")).await;
    assert_eq!(included.json(), whole);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn chain_has_all_said_and_each_response_its_own() {
    let server = replaying(&rules()).await;
    let first = respond(server.address, "one", &json!({ "instructions": "Only here." })).await;
    let more = json!({ "previous_response_id": id(&first), "enable_response_messages": true });
    let second = respond(server.address, "two", &more).await;
    assert_eq!(second["previous_response_id"], first["id"]);
    let prompt = second["input_messages"][0]["message"].as_str().expect("the prompt");
    let said: Vec<usize> =
        ["one", "Four.", "two"].iter().map(|text| prompt.find(text).expect(text)).collect();
    assert!(said.is_sorted(), "{prompt}");
    assert!(!prompt.contains("Only here."), "instructions are not continued: {prompt}");
    let path = format!("/v1/responses/{}/input_items", id(&second));
    let all = read(server.address, &format!("{path}?order=asc")).await.json();
    assert_eq!(texts(&all), ["one", "Four.", "two"]);
    let page = read(server.address, &format!("{path}?limit=2")).await.json();
    assert_eq!((texts(&page), &page["has_more"]), (vec!["two".to_owned(), "Four.".to_owned()], &json!(true)));
    let rest = format!("{path}?after={}", page["last_id"].as_str().expect("an id"));
    assert_eq!(texts(&read(server.address, &rest).await.json()), ["one"]);
    // The first one's fork knows nothing of the second.
    let fork = respond(server.address, "other", &json!({ "previous_response_id": id(&first) })).await;
    let items = read(server.address, &format!("/v1/responses/{}/input_items?order=asc", id(&fork))).await;
    assert_eq!(texts(&items.json()), ["one", "Four.", "other"]);
    server.stop().await;
}

/// Calls were lost from a chain.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn vllm_43244_calls_stay_in_a_chain() {
    let server = replaying(&rules()).await;
    let tools = json!([{ "type": "function", "name": "f", "parameters": { "type": "object" } }]);
    let called = respond(server.address, "call", &json!({ "tools": tools })).await;
    let call = &called["output"][0];
    assert_eq!((&call["type"], &call["name"]), (&json!("function_call"), &json!("f")), "{called}");
    let output = json!([{ "type": "function_call_output", "call_id": call["call_id"], "output": "seven" }]);
    let more = json!({
        "input": output,
        "tools": tools,
        "previous_response_id": id(&called),
        "enable_response_messages": true,
    });
    let answer = respond(server.address, "", &more).await;
    let prompt = answer["input_messages"][0]["message"].as_str().expect("the prompt");
    assert!(prompt.contains("\"name\": \"f\"") && prompt.contains("seven"), "{prompt}");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn references_to_items_stand_for_the_items() {
    let server = replaying(&rules()).await;
    let first = respond(server.address, "one", &json!({})).await;
    let message = first["output"][0]["id"].as_str().expect("an id");
    for reference in [
        json!({ "type": "item_reference", "id": message }),
        json!({ "type": null, "role": null, "id": message }),
    ] {
        let input = json!([
            { "role": "user", "content": "one" }, reference, { "role": "user", "content": "two" },
        ]);
        let more = json!({ "input": input, "enable_response_messages": true, "store": false });
        let answer = post(server.address, "/v1/responses", &body("", &more)).await;
        let prompt = answer.json()["input_messages"][0]["message"].to_string();
        assert_eq!(prompt.matches("Four.").count(), 1, "{prompt}");
    }
    let conversation = post(server.address, "/v1/conversations", &json!({})).await.json();
    let path = format!("/v1/conversations/{}/items", id(&conversation));
    let added = json!({ "items": [{ "type": null, "role": null, "id": message }] });
    let added = post(server.address, &path, &added).await.json();
    assert_eq!((&added["data"][0]["id"], texts(&added)), (&json!(message), vec!["Four.".to_owned()]));
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn unknown_reference_is_404_with_its_id() {
    let server = replaying(&rules()).await;
    let conversation = post(server.address, "/v1/conversations", &json!({})).await.json();
    let items = format!("/v1/conversations/{}/items", id(&conversation));
    for reference in [json!({ "type": "item_reference", "id": "msg_gone" }), json!({ "id": "msg_gone" })] {
        let input = json!([{ "role": "user", "content": "one" }, reference]);
        let asked = body("", &json!({ "input": input }));
        for (path, asked) in [
            ("/v1/responses", asked.clone()),
            ("/v1/responses/input_tokens", asked.clone()),
            ("/v1/responses/compact", asked.clone()),
            (&items, json!({ "items": [reference] })),
            ("/v1/conversations", json!({ "items": [reference] })),
        ] {
            let answer = post(server.address, path, &asked).await;
            assert_eq!(error(&answer), (404, json!("not_found")), "{path}");
            let error = &answer.json()["error"];
            assert_eq!((&error["param"], &error["type"]), (&json!("input"), &json!("invalid_request_error")));
            let message = error["message"].as_str().expect("text");
            assert!(message.starts_with("Item with id 'msg_gone' not found."), "{message}");
        }
    }
    assert_eq!(texts(&read(server.address, &items).await.json()), [""; 0]);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn item_of_one_id_is_read_once() {
    let server = replaying(&rules()).await;
    let first = respond(server.address, "one", &json!({})).await;
    let output = first["output"][0].clone();
    let conversation = post(server.address, "/v1/conversations", &json!({ "items": [output] })).await.json();
    let user = json!({ "role": "user", "content": "two" });
    let named = json!({ "type": "message", "id": "msg_of_mine", "role": "user", "content": "two" });
    let reference = json!({ "type": "item_reference", "id": output["id"] });
    for more in [
        json!({ "input": [named, named], "store": false }),
        json!({ "input": [named, user, named], "background": true }),
        json!({ "input": [reference, reference, user] }),
        json!({ "input": [output, reference, user] }),
        json!({ "input": [output, user], "previous_response_id": id(&first) }),
        json!({ "input": [reference, user], "conversation": id(&conversation) }),
    ] {
        let refused = post(server.address, "/v1/responses", &body("", &more)).await;
        assert_eq!(error(&refused), (400, json!("invalid_value")), "{more}");
        let message = refused.json()["error"]["message"].to_string();
        assert!(message.contains("Duplicate item found with id "), "{message}");
    }
    let items = format!("/v1/conversations/{}/items", id(&conversation));
    for more in [json!([output]), json!([reference]), json!([named, named])] {
        let refused = post(server.address, &items, &json!({ "items": more })).await;
        assert_eq!(error(&refused), (400, json!("invalid_value")), "{more}");
    }
    assert_eq!(texts(&read(server.address, &items).await.json()), ["Four."]);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn result_without_call_passes_in_history_not_in_input() {
    let server = replaying(&rules()).await;
    let first = respond(server.address, "one", &json!({})).await;
    let conversation = post(server.address, "/v1/conversations", &json!({})).await.json();
    let result = |call: &str| json!({ "type": "function_call_output", "call_id": call, "output": "seven" });
    let sent = json!([result("call_0")]);
    let continues = [
        json!({ "input": sent }),
        json!({ "previous_response_id": id(&first), "input": sent }),
        json!({ "conversation": id(&conversation), "input": sent }),
        json!({ "conversation": id(&conversation), "input": sent, "background": true }),
    ];
    for more in &continues {
        let refused = post(server.address, "/v1/responses", &body("", more)).await;
        assert_eq!(error(&refused), (400, json!("invalid_value")), "{more}");
        assert_eq!(refused.json()["error"]["param"], "input[0].call_id");
    }
    // A conversation may hold one: its client has added it, or has removed the call.
    let path = format!("/v1/conversations/{}/items", id(&conversation));
    let call = json!({ "type": "function_call", "call_id": "call_1", "name": "f", "arguments": "{}" });
    let added = post(server.address, &path, &json!({ "items": [result("call_0"), call] })).await;
    assert_eq!(added.status, 200);
    for more in [
        json!({ "conversation": id(&conversation), "input": [result("call_1")] }),
        json!({ "conversation": id(&conversation) }),
    ] {
        let answer = respond(server.address, "two", &more).await;
        assert_eq!(answer["status"], "completed", "{more}");
    }
    let call = added.json()["data"][1]["id"].as_str().expect("an id").to_owned();
    assert_eq!(delete(server.address, &format!("{path}/{call}")).await.status, 200);
    let more = json!({ "conversation": id(&conversation), "background": true });
    let queued = respond(server.address, "three", &more).await;
    let path = format!("/v1/responses/{}", id(&queued));
    read(server.address, &format!("{path}?stream=true")).await;
    assert_eq!(read(server.address, &path).await.json()["status"], "completed");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn deleted_response_is_unknown_and_its_children_live() {
    let server = replaying(&rules()).await;
    let first = respond(server.address, "one", &json!({})).await;
    let second = respond(server.address, "two", &json!({ "previous_response_id": id(&first) })).await;
    let path = format!("/v1/responses/{}", id(&first));
    let deleted = delete(server.address, &path).await.json();
    assert_eq!(deleted, json!({ "id": id(&first), "object": "response.deleted", "deleted": true }));
    for answer in [delete(server.address, &path).await, read(server.address, &path).await] {
        assert_eq!(error(&answer), (404, json!("not_found")));
    }
    let more = json!({ "previous_response_id": id(&first) });
    let refused = post(server.address, "/v1/responses", &body("x", &more)).await;
    assert_eq!(error(&refused), (400, json!("previous_response_not_found")));
    let third = respond(server.address, "three", &json!({ "previous_response_id": id(&second) })).await;
    let items = read(server.address, &format!("/v1/responses/{}/input_items?order=asc", id(&third))).await;
    assert_eq!(texts(&items.json()), ["one", "Four.", "two", "Four.", "three"]);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_not_stored_is_not_found() {
    let server = replaying(&rules()).await;
    let answer = respond(server.address, "one", &json!({ "store": false })).await;
    assert_eq!(answer["store"], json!(false));
    let path = format!("/v1/responses/{}", id(&answer));
    assert_eq!(error(&read(server.address, &path).await), (404, json!("not_found")));
    let more = json!({ "previous_response_id": id(&answer) });
    let refused = post(server.address, "/v1/responses", &body("x", &more)).await;
    assert_eq!(error(&refused), (400, json!("previous_response_not_found")));
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn requests_that_need_a_store_are_refused_without_one() {
    let server = TestServer::start(Setup { store: None, ..Setup::default() }).await;
    let plain = respond(server.address, "one", &json!({ "max_output_tokens": 1 })).await;
    assert_eq!(plain["store"], json!(false));
    for more in [
        json!({ "previous_response_id": "resp_1" }),
        json!({ "conversation": "conv_1" }),
        json!({ "background": true }),
        json!({ "input": [{ "type": "item_reference", "id": "msg_1" }] }),
    ] {
        let refused = post(server.address, "/v1/responses", &body("x", &more)).await;
        assert_eq!(error(&refused), (400, json!("store_disabled")), "{more}");
    }
    assert_eq!(error(&read(server.address, "/v1/responses/resp_1").await), (400, json!("store_disabled")));
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_conversation_gets_what_its_responses_say() {
    let server = replaying(&rules()).await;
    let conversation = post(server.address, "/v1/conversations", &json!({})).await.json();
    let more = json!({ "conversation": { "id": id(&conversation) } });
    let first = respond(server.address, "one", &more).await;
    assert_eq!(first["conversation"], json!({ "id": id(&conversation) }));
    respond(server.address, "two", &json!({ "conversation": id(&conversation) })).await;
    let items = format!("/v1/conversations/{}/items?order=asc", id(&conversation));
    let all = read(server.address, &items).await.json();
    assert_eq!(texts(&all), ["one", "Four.", "two", "Four."]);
    // One that isn't stored reads the conversation and leaves it as it is.
    let more = json!({ "conversation": id(&conversation), "store": false, "enable_response_messages": true });
    let unstored = respond(server.address, "three", &more).await;
    assert!(unstored["input_messages"][0]["message"].to_string().contains("two"), "{unstored}");
    assert_eq!(read(server.address, &items).await.json(), all);
    let both = json!({ "conversation": id(&conversation), "previous_response_id": id(&first) });
    let refused = post(server.address, "/v1/responses", &body("x", &both)).await;
    assert_eq!(error(&refused), (400, json!("invalid_value")));
    let unknown =
        post(server.address, "/v1/responses", &body("x", &json!({ "conversation": "conv_0" }))).await;
    assert_eq!(error(&unknown), (404, json!("not_found")));
    server.stop().await;
}
