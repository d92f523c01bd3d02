//! Responses that aren't stored: a socket remembers the last of each lane, and nobody else finds
//! it.

use serde_json::{Value, json};
use tests::client::{get, post};
use tests::server::TestServer;
use tests::socket::{Socket, text};

use super::engine::Scripted;

fn id(response: &Value) -> Value {
    response["id"].clone()
}

fn is_not_found(refused: &Value) {
    assert_eq!(
        (&refused["status"], &refused["error"]["code"]),
        (&json!(400), &json!("previous_response_not_found")),
        "{refused}"
    );
    assert_eq!(refused["error"]["param"], "previous_response_id");
}

fn tokens(response: &Value) -> u64 {
    response["usage"]["input_tokens"].as_u64().expect("a count")
}

/// Number of tokens of a prompt with these messages.
async fn count(server: &TestServer, input: Value) -> u64 {
    let body = json!({ "model": "qwen3-tiny", "input": input });
    let counted = post(server.address, "/v1/responses/input_tokens", &body).await.json();
    counted["input_tokens"].as_u64().expect("a count")
}

/// Number of tokens of the whole conversation: Ada's introduction and so many questions.
async fn whole(server: &TestServer, asked: usize) -> u64 {
    let said = |role: &str, text: &str| json!({ "role": role, "content": text });
    let mut input = vec![said("user", "My name is Ada."), said("assistant", "Hello!")];
    for _ in 1..asked {
        input.extend([said("user", "Who am I?"), said("assistant", "Hello!")]);
    }
    input.push(said("user", "Who am I?"));
    count(server, json!(input)).await
}

/// Introduces Ada in a lane. Returns the response's id.
async fn introduced(socket: &mut Socket, lane: &Value) -> Value {
    id(&socket.answer(json!({ "input": "My name is Ada.", "store": false, "stream_id": lane })).await)
}

/// Asks in a lane who the user is, as the continuation of `parent`.
fn asking(parent: &Value, lane: &Value) -> Value {
    json!({ "input": "Who am I?", "store": false, "previous_response_id": parent, "stream_id": lane })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lane_goes_on_from_its_last_response() {
    let Scripted { server, .. } = Scripted::start().await;
    let mut socket = Socket::open(server.address).await;
    for lane in [Value::Null, json!("a")] {
        let mut parent = introduced(&mut socket, &lane).await;
        for asked in 1..4 {
            let response = socket.answer(asking(&parent, &lane)).await;
            assert_eq!(tokens(&response), whole(&server, asked).await);
            assert_eq!((&response["previous_response_id"], &response["store"]), (&parent, &json!(false)));
            parent = id(&response);
        }
        // A lane that is used without a parent starts anew.
        let response =
            socket.answer(json!({ "input": "Who am I?", "store": false, "stream_id": lane })).await;
        assert_eq!(tokens(&response), count(&server, json!("Who am I?")).await);
        is_not_found(&socket.refusal(asking(&parent, &lane)).await);
    }
    drop(socket);
    server.stop().await;
}

/// vLLM 43244: calls were lost from the chain. The template refuses a result without its call.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn vllm_43244_calls_stay_in_the_chain() {
    let Scripted { server, .. } = Scripted::start().await;
    let mut socket = Socket::open(server.address).await;
    let tools = json!([{ "type": "function", "name": "get_weather", "parameters": { "type": "object" } }]);
    let first =
        socket.answer(json!({ "input": "How is the weather?", "store": false, "tools": tools })).await;
    let call = &first["output"][0];
    assert_eq!(call["type"], "function_call");
    let result = json!([{ "type": "function_call_output", "call_id": call["call_id"], "output": "sunny" }]);
    let fields =
        json!({ "input": result, "store": false, "tools": tools, "previous_response_id": id(&first) });
    let second = socket.answer(fields).await;
    assert_eq!(text(&second), "It is sunny.");
    assert!(second["usage"]["input_tokens"].as_u64() > first["usage"]["input_tokens"].as_u64());
    drop(socket);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn agentic_api_238_other_sockets_and_http_see_nothing() {
    let Scripted { server, .. } = Scripted::start().await;
    let mut socket = Socket::open(server.address).await;
    let parent = introduced(&mut socket, &Value::Null).await;
    let mut other = Socket::open(server.address).await;
    is_not_found(&other.refusal(asking(&parent, &Value::Null)).await);
    let body = json!({ "model": "qwen3-tiny", "input": "Who am I?", "previous_response_id": parent });
    let refused = post(server.address, "/v1/responses", &body).await;
    assert_eq!(
        (refused.status.as_u16(), &refused.json()["error"]["code"]),
        (400, &json!("previous_response_not_found"))
    );
    assert_eq!(tokens(&socket.answer(asking(&parent, &Value::Null)).await), whole(&server, 1).await);
    drop((socket, other));
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn codex_lb_818_chain_is_not_found_under_another_key() {
    let keys = vec!["ada=one".to_owned(), "bob=two".to_owned()];
    let Scripted { server, .. } = Scripted::with(|setup| setup.keys = keys).await;
    let ada = [("authorization", "Bearer one")];
    let mut first = Socket::with_headers(server.address, &ada).await.expect("a socket").0;
    let parent = introduced(&mut first, &Value::Null).await;
    let bob = [("authorization", "Bearer two")];
    let mut foreign = Socket::with_headers(server.address, &bob).await.expect("a socket").0;
    is_not_found(&foreign.refusal(asking(&parent, &Value::Null)).await);
    assert_eq!(text(&first.answer(asking(&parent, &Value::Null)).await), "Hello!");
    drop((first, foreign));
    server.stop().await;
}

/// smg 916: what was sent with `store: false` was stored.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn smg_916_what_is_remembered_is_not_stored() {
    let Scripted { server, .. } = Scripted::start().await;
    let mut socket = Socket::open(server.address).await;
    let parent = introduced(&mut socket, &Value::Null).await;
    let path = format!("/v1/responses/{}", parent.as_str().expect("an id"));
    assert_eq!(get(server.address, &path).await.status, 404);
    // A stored response can't continue it: its stored conversation would lack the beginning.
    let mut fields = asking(&parent, &Value::Null);
    fields["store"] = json!(true);
    is_not_found(&socket.refusal(fields).await);
    drop(socket);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn litellm_39559_stored_response_is_the_sockets_keys() {
    let keys = vec!["ada=one".to_owned(), "bob=two".to_owned()];
    let Scripted { server, .. } = Scripted::with(|setup| setup.keys = keys).await;
    let open = async |key: &str| {
        let header = format!("Bearer {key}");
        Socket::with_headers(server.address, &[("authorization", &header)]).await.expect("a socket").0
    };
    let (mut ada, mut bob) = (open("one").await, open("two").await);
    let parent = id(&ada.answer(json!({ "input": "My name is Ada." })).await);
    let mut fields = asking(&parent, &Value::Null);
    fields["store"] = json!(true);
    let foreign = bob.refusal(fields.clone()).await;
    is_not_found(&foreign);
    fields["previous_response_id"] = json!("resp_unknown");
    assert_eq!(bob.refusal(fields.clone()).await, foreign, "the same as for an unknown one");
    fields["previous_response_id"] = parent;
    let alone = ada.answer(json!({ "input": "Who am I?" })).await;
    assert!(tokens(&ada.answer(fields).await) > tokens(&alone));
    drop((ada, bob));
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn stored_response_is_continued_by_unstored_ones() {
    let Scripted { server, .. } = Scripted::start().await;
    let mut socket = Socket::open(server.address).await;
    let stored = id(&socket.answer(json!({ "input": "My name is Ada.", "stream_id": "a" })).await);
    let first = socket.answer(asking(&stored, &json!("a"))).await;
    let second = socket.answer(asking(&id(&first), &json!("a"))).await;
    for (asked, response) in [(1, &first), (2, &second)] {
        assert_eq!(tokens(response), whole(&server, asked).await);
    }
    let path = |id: &Value| format!("/v1/responses/{}", id.as_str().expect("an id"));
    assert_eq!(get(server.address, &path(&stored)).await.status, 200);
    assert_eq!(get(server.address, &path(&id(&second))).await.status, 404);
    drop(socket);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_fork_goes_on_from_another_lanes_response() {
    let Scripted { server, .. } = Scripted::start().await;
    let mut socket = Socket::open(server.address).await;
    let (main, fork) = (json!("main"), json!("fork"));
    let parent = introduced(&mut socket, &main).await;
    socket
        .create(json!({ "input": "hang", "store": false, "previous_response_id": parent, "stream_id": fork }))
        .await;
    while socket.event().await["type"] != "response.in_progress" {}
    // The fork has read its parent, so the lane may go on.
    socket.create(asking(&parent, &main)).await;
    let last = loop {
        let event = socket.event().await;
        if event["stream_id"] == main && event["type"] == "response.completed" {
            break event;
        }
    };
    assert_eq!(tokens(&last["response"]), whole(&server, 1).await);
    // A fork of what the lane has left behind comes too late, and takes nothing from the lane.
    is_not_found(&socket.refusal(asking(&parent, &json!("late"))).await);
    assert_eq!(tokens(&socket.answer(asking(&id(&last["response"]), &main)).await), whole(&server, 2).await);
    drop(socket);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn failure_evicts_its_parent_only_in_its_own_lane() {
    let Scripted { server, .. } = Scripted::start().await;
    let mut socket = Socket::open(server.address).await;
    let parent = introduced(&mut socket, &json!("a")).await;
    let mut wrong = asking(&parent, &json!("b"));
    wrong["temperature"] = json!(9);
    assert_eq!(socket.refusal(wrong.clone()).await["error"]["param"], "temperature");
    let fork = socket.answer(asking(&parent, &json!("b"))).await;
    assert_eq!(tokens(&fork), whole(&server, 1).await, "b's failure took nothing from a");
    wrong["stream_id"] = json!("a");
    assert_eq!(socket.refusal(wrong).await["error"]["param"], "temperature");
    is_not_found(&socket.refusal(asking(&parent, &json!("a"))).await);
    drop(socket);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn vllm_48275_and_48454_socket_memory_is_bounded() {
    let Scripted { server, .. } = Scripted::with(|setup| setup.limits.http.socket_memory = 3_200).await;
    let mut socket = Socket::open(server.address).await;
    let input = format!("My name is Ada. {}", "x".repeat(1_000));
    let mut ids = Vec::new();
    for lane in ["a", "b", "c", "d"] {
        ids.push(id(&socket.answer(json!({ "input": input, "store": false, "stream_id": lane })).await));
    }
    let mut found = Vec::new();
    for (lane, parent) in ["a", "b", "c", "d"].iter().zip(&ids) {
        socket.create(json!({ "input": "Who am I?", "store": false, "previous_response_id": parent, "stream_id": format!("of_{lane}"), "generate": false })).await;
        found.push(socket.response().await.pop().expect("an end")["type"] == "response.completed");
    }
    assert!(!found[0], "the oldest went first");
    // One that is too large alone isn't remembered, and the socket goes on.
    let large =
        id(&socket.answer(json!({ "input": "Hi. ".repeat(850), "store": false, "stream_id": "e" })).await);
    is_not_found(&socket.refusal(asking(&large, &json!("e"))).await);
    assert_eq!(text(&socket.answer(json!({ "input": "Hi" })).await), "Hello!");
    drop(socket);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn all_sockets_of_a_server_remember_a_bounded_amount() {
    let Scripted { server, .. } = Scripted::with(|setup| setup.limits.http.remembered_memory = 4_000).await;
    let input = format!("My name is Ada. {}", "x".repeat(1_000));
    let mut remembering = Vec::new();
    for _ in 0..4 {
        let mut socket = Socket::open(server.address).await;
        let parent = id(&socket.answer(json!({ "input": input, "store": false })).await);
        remembering.push((socket, parent));
    }
    let (mut last, parent) = remembering.pop().expect("a socket");
    is_not_found(&last.refusal(asking(&parent, &Value::Null)).await);
    // There is room again when others have gone.
    drop(remembering);
    loop {
        let parent = introduced(&mut last, &Value::Null).await;
        last.create(asking(&parent, &Value::Null)).await;
        if last.response().await.pop().expect("an end")["type"] == "response.completed" {
            break;
        }
    }
    drop(last);
    server.stop().await;
}

/// `CLIProxyAPI` 1901: `generate: false` was passed on, or generated all the same.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cliproxyapi_1901_generate_false_leaves_no_parent() {
    let Scripted { server, .. } = Scripted::start().await;
    let mut socket = Socket::open(server.address).await;
    for store in [false, true] {
        socket.create(json!({ "input": "My name is Ada.", "generate": false, "store": store })).await;
        let events = socket.response().await;
        let kinds: Vec<&Value> = events.iter().map(|event| &event["type"]).collect();
        assert_eq!(kinds, ["response.created", "response.in_progress", "response.completed"]);
        let response = &events[2]["response"];
        assert_eq!((&response["output"], &response["usage"]["output_tokens"]), (&json!([]), &json!(0)));
        let mut fields = asking(&id(response), &Value::Null);
        fields["store"] = json!(store);
        let answer = socket.answer(fields).await;
        let said = |text: &str| json!({ "role": "user", "content": text });
        let both = json!([said("My name is Ada."), said("Who am I?")]);
        assert_eq!(tokens(&answer), count(&server, both).await);
        assert_eq!(answer["previous_response_id"], response["id"]);
    }
    drop(socket);
    server.stop().await;
}

/// Codex sends its instructions and tools before there is a question.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_comes_before_a_question_can_be_gone_on_from() {
    let Scripted { server, .. } = Scripted::start().await;
    let mut socket = Socket::open(server.address).await;
    for instructions in [json!("Be brief."), Value::Null] {
        let before = json!({ "input": [], "instructions": instructions, "generate": false, "store": false });
        let response = socket.answer(before).await;
        assert_eq!(response["output"], json!([]));
        let answer = socket.answer(asking(&id(&response), &Value::Null)).await;
        assert_eq!(tokens(&answer), count(&server, json!("Who am I?")).await);
    }
    drop(socket);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_a_store_every_response_is_only_remembered() {
    let Scripted { server, .. } = Scripted::with(|setup| setup.store = None).await;
    let mut socket = Socket::open(server.address).await;
    let parent = id(&socket.answer(json!({ "input": "My name is Ada." })).await);
    let response = socket.answer(json!({ "input": "Who am I?", "previous_response_id": parent })).await;
    assert_eq!((tokens(&response), &response["store"]), (whole(&server, 1).await, &json!(false)));
    drop(socket);
    server.stop().await;
}
