//! Compaction over sockets, by each of its doors: what comes out, how the conversation goes on from
//! it, and what it costs.

use serde_json::{Value, json};
use tests::client::{answered, get, post};
use tests::server::{Setup, TestServer, memory};

const RESPONSES: &str = "/v1/responses";
const COMPACT: &str = "/v1/responses/compact";
const COUNT: &str = "/v1/responses/input_tokens";
const SUMMARY: &str = "The user asked for the weather: SUNNY in Paris.";

/// Rules of a model that summarises when it is asked to, and says what it sees otherwise.
fn rules(summary: Value) -> Value {
    let mut summary = summary;
    summary["when"] =
        json!({ "last_user_contains": "write a summary of this conversation", "last_role": "user" });
    json!([
        summary,
        { "when": { "last_user_contains": "SUNNY in Paris", "tool_results": 0 }, "text": "It sees the summary." },
        { "text": "It sees the conversation." }
    ])
}

async fn serve_with(summary: Value, set: impl FnOnce(&mut Setup)) -> (TestServer, tempfile::TempDir) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut setup = Setup::replay(folder.path(), &rules(summary));
    set(&mut setup);
    (TestServer::start(setup).await, folder)
}

async fn serve() -> (TestServer, tempfile::TempDir) {
    let text = format!("<think>\nWhat matters?\n</think>\n\n{SUMMARY}");
    serve_with(json!({ "text": text }), |setup| setup.store = Some(memory())).await
}

/// A conversation with a call and its result.
fn conversation() -> Vec<Value> {
    let report = "The report of the weather is long. ".repeat(20);
    vec![
        json!({ "type": "message", "role": "user", "content": "Weather in Paris?" }),
        json!({ "type": "function_call", "call_id": "a", "name": "look", "arguments": "{}" }),
        json!({ "type": "function_call_output", "call_id": "a", "output": report }),
        json!({ "type": "message", "role": "assistant", "content": report }),
        json!({ "type": "message", "role": "user", "content": "And now?" }),
    ]
}

fn with(mut items: Vec<Value>, item: Value) -> Vec<Value> {
    items.push(item);
    items
}

fn trigger() -> Value {
    json!({ "type": "compaction_trigger" })
}

fn body(input: &[Value], extra: Value) -> Value {
    let mut body = json!({ "model": "qwen3-tiny", "input": input, "store": false });
    let Value::Object(extra) = extra else { panic!("not an object") };
    body.as_object_mut().expect("an object").extend(extra);
    body
}

fn kinds(response: &Value) -> Vec<&str> {
    let output = response["output"].as_array().expect("items");
    output.iter().map(|item| item["type"].as_str().expect("a type")).collect()
}

fn text_of(response: &Value) -> &str {
    let items = response["output"].as_array().expect("items");
    items.last().and_then(|item| item["content"][0]["text"].as_str()).expect("a message")
}

async fn count(server: &TestServer, input: &[Value]) -> u64 {
    let counted = answered(server.address, COUNT, &body(input, json!({}))).await;
    counted["input_tokens"].as_u64().expect("a number")
}

/// Tokens of prompt and answer as the response says.
fn usage(response: &Value) -> (u64, u64) {
    let of = |name: &str| response["usage"][name].as_u64().expect("a number");
    (of("input_tokens"), of("output_tokens"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_trigger_brings_exactly_one_compaction_item() {
    let (server, _folder) = serve().await;
    let tools = json!([{ "type": "function", "name": "look", "parameters": { "type": "object" } }]);
    let asked = json!({ "tools": tools, "tool_choice": "required", "include": ["reasoning.encrypted_content"],
        "text": { "format": { "type": "json_object" } }, "stream": true });
    let input = with(conversation(), trigger());
    let stream = post(server.address, RESPONSES, &body(&input, asked)).await;
    assert_eq!(stream.status, 200);
    let events = stream.events();
    let steps: Vec<&str> = events.iter().map(|event| event["type"].as_str().expect("a type")).collect();
    let grown = steps.iter().filter(|step| **step == "response.compaction.compacting").count();
    assert!(grown > 1, "{steps:?}");
    let others: Vec<&str> =
        steps.into_iter().filter(|step| *step != "response.compaction.compacting").collect();
    let expected = ["created", "in_progress", "output_item.added", "output_item.done", "completed"];
    assert_eq!(others, expected.map(|name| format!("response.{name}")));
    assert!(!String::from_utf8_lossy(&stream.body).contains("SUNNY"), "the summary is sealed");

    let whole = answered(server.address, RESPONSES, &body(&input, json!({}))).await;
    for response in [&events.last().expect("an end")["response"], &whole] {
        assert_eq!(kinds(response), ["compaction"]);
        assert_eq!(usage(response).0, count(&server, &input).await, "the prompt is counted as it is");
        assert!(usage(response).1 > 10, "{response}");
        let next = [conversation()[0].clone(), response["output"][0].clone()];
        let next = answered(server.address, RESPONSES, &body(&next, json!({}))).await;
        assert_eq!(text_of(&next), "It sees the summary.");
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn compact_answers_with_user_messages_and_one_item() {
    let (server, _folder) = serve().await;
    let compacted =
        answered(server.address, COMPACT, &body(&conversation(), json!({ "stream": true }))).await;
    assert_eq!(compacted["object"], "response.compaction");
    assert_eq!(kinds(&compacted), ["message", "message", "compaction"]);
    let text = |index: usize| &compacted["output"][index]["content"][0]["text"];
    assert_eq!((text(0), text(1)), (&json!("Weather in Paris?"), &json!("And now?")));
    assert_eq!(usage(&compacted).0, count(&server, &with(conversation(), trigger())).await);
    let items = compacted["output"].as_array().expect("items").clone();
    assert!(count(&server, &items).await < count(&server, &conversation()).await);
    let next = answered(server.address, RESPONSES, &body(&items, json!({}))).await;
    assert_eq!(text_of(&next), "It sees the summary.");
    // It can be compacted again, and stays one item.
    let again = answered(server.address, COMPACT, &body(&items, json!({}))).await;
    assert_eq!(kinds(&again), ["message", "message", "compaction"]);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn prompt_above_the_threshold_is_compacted_first() {
    let (server, _folder) = serve().await;
    let tokens = count(&server, &conversation()).await;
    let managed = |threshold: u64| {
        let entry = json!([{ "type": "compaction", "compact_threshold": threshold }]);
        body(&conversation(), json!({ "context_management": entry, "max_output_tokens": 30 }))
    };
    let as_it_is = answered(server.address, RESPONSES, &managed(tokens)).await;
    assert_eq!((kinds(&as_it_is), text_of(&as_it_is)), (vec!["message"], "It sees the conversation."));
    assert_eq!(usage(&as_it_is).0, tokens);

    let compacted = answered(server.address, RESPONSES, &managed(tokens - 1)).await;
    assert_eq!(
        (kinds(&compacted), text_of(&compacted)),
        (vec!["compaction", "message"], "It sees the summary.")
    );
    // Both turns are paid for. The limit of tokens is that of the answer.
    let left = with(conversation(), compacted["output"][0].clone());
    let summarised = count(&server, &with(conversation(), trigger())).await;
    assert_eq!(usage(&compacted).0, summarised + count(&server, &left).await);
    assert!(usage(&compacted).1 > 30, "{compacted}");

    // What came of it isn't compacted again as long as there is nothing new.
    let entry = json!([{ "type": "compaction", "compact_threshold": 1 }]);
    let next =
        answered(server.address, RESPONSES, &body(&left, json!({ "context_management": entry }))).await;
    assert_eq!((kinds(&next), text_of(&next)), (vec!["message"], "It sees the summary."));
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_chain_goes_on_from_its_compaction() {
    let (server, _folder) = serve().await;
    let stored = json!({ "store": true });
    let first = answered(server.address, RESPONSES, &body(&conversation(), stored)).await;
    let entry = json!([{ "type": "compaction", "compact_threshold": 1 }]);
    let go_on = [json!({ "role": "user", "content": "Go on." })];
    let extra = json!({ "store": true, "previous_response_id": first["id"], "context_management": entry });
    let second = answered(server.address, RESPONSES, &body(&go_on, extra)).await;
    assert_eq!((kinds(&second), text_of(&second)), (vec!["compaction", "message"], "It sees the summary."));
    let read = get(server.address, &format!("/v1/responses/{}", second["id"].as_str().expect("an id"))).await;
    assert_eq!(read.json()["output"], second["output"]);

    // A later turn reads what the second one left: the same as a client that keeps the items
    // itself.
    let chain = json!({ "previous_response_id": second["id"] });
    let counted = answered(server.address, COUNT, &body(&go_on, chain.clone())).await;
    let mut kept = conversation();
    kept.extend(first["output"].as_array().expect("items").clone());
    kept.extend(go_on.clone());
    kept.extend(second["output"].as_array().expect("items").clone());
    kept.extend(go_on.clone());
    assert_eq!(counted["input_tokens"], count(&server, &kept).await);
    assert!(counted["input_tokens"].as_u64() < Some(count(&server, &conversation()).await));

    // The other doors see the chain, too; a trigger in it has had its effect.
    let compacted = answered(server.address, COMPACT, &body(&go_on, chain.clone())).await;
    assert_eq!(kinds(&compacted), ["message", "message", "message", "message", "compaction"]);
    let alone = json!({ "model": "qwen3-tiny", "previous_response_id": second["id"] });
    assert_eq!(answered(server.address, COMPACT, &alone).await["output"].as_array().map(Vec::len), Some(4));
    let extra = json!({ "store": true, "previous_response_id": second["id"] });
    let third = answered(server.address, RESPONSES, &body(&[trigger()], extra)).await;
    assert_eq!(kinds(&third), ["compaction"]);
    let extra = json!({ "store": true, "previous_response_id": third["id"] });
    let fourth = answered(server.address, RESPONSES, &body(&go_on, extra)).await;
    assert_eq!(kinds(&fourth), ["message"]);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_background_response_compacts_as_well() {
    let (server, _folder) = serve().await;
    let first = answered(server.address, RESPONSES, &body(&conversation(), json!({ "store": true }))).await;
    let mut parent = first["id"].clone();
    for _ in 0..2 {
        let extra =
            json!({ "background": true, "stream": true, "store": true, "previous_response_id": parent });
        let stream = post(server.address, RESPONSES, &body(&[trigger()], extra)).await;
        let events = stream.events();
        let last = events.last().expect("an end");
        assert_eq!(
            (&last["type"], kinds(&last["response"])),
            (&json!("response.completed"), vec!["compaction"])
        );
        parent = last["response"]["id"].clone();
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn empty_or_cut_summary_replaces_nothing() {
    let empty = json!({ "text": "<think>\nHm.\n</think>\n\n" });
    let cut = json!({ "text": SUMMARY, "finish": "length" });
    let broken = json!({ "text": SUMMARY, "finish": "error" });
    for (summary, end, status) in [(empty, "failed", 500), (cut, "incomplete", 500), (broken, "failed", 500)]
    {
        let (server, _folder) = serve_with(summary, |_| ()).await;
        let compacted = post(server.address, COMPACT, &body(&conversation(), json!({}))).await;
        assert_eq!(compacted.status, status, "{:?}", compacted.body);
        assert!(compacted.json()["error"]["message"].is_string());
        let entry = json!([{ "type": "compaction", "compact_threshold": 1 }]);
        for asked in [
            body(&with(conversation(), trigger()), json!({ "stream": true })),
            body(&conversation(), json!({ "stream": true, "context_management": entry })),
        ] {
            let events = post(server.address, RESPONSES, &asked).await.events();
            let last = events.last().expect("an end");
            assert_eq!(last["type"], format!("response.{end}"), "{last}");
            assert_eq!(kinds(&last["response"]), ["compaction"]);
            assert_eq!(last["response"]["output"][0]["encrypted_content"], "");
        }
        server.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn conversation_filling_the_context_can_be_compacted() {
    let (server, _folder) =
        serve_with(json!({ "text": SUMMARY }), |setup| setup.model.context = Some(1024)).await;
    let mut long = conversation();
    for _ in 0..20 {
        long.extend(conversation());
    }
    let refused = post(server.address, RESPONSES, &body(&long, json!({}))).await;
    assert_eq!(
        (refused.status.as_u16(), &refused.json()["error"]["code"]),
        (400, &json!("context_length_exceeded"))
    );
    let compacted = answered(server.address, COMPACT, &body(&long, json!({}))).await;
    assert_eq!(kinds(&compacted).len(), 43);
    let next = compacted["output"].as_array().expect("items").clone();
    assert_eq!(
        text_of(&answered(server.address, RESPONSES, &body(&next, json!({}))).await),
        "It sees the summary."
    );
    // So can one exchange of many steps, whose task stays in sight.
    let mut steps = vec![conversation()[0].clone()];
    for _ in 0..20 {
        steps.extend(conversation()[1..3].iter().cloned());
    }
    let response = answered(server.address, RESPONSES, &body(&with(steps, trigger()), json!({}))).await;
    assert_eq!(kinds(&response), ["compaction"]);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hostile_items_are_refused_before_generating() {
    let (server, _folder) = serve().await;
    let item = |sealed: &str| json!({ "type": "compaction", "encrypted_content": sealed });
    let (other, _other_folder) = serve().await;
    let foreign = answered(other.address, COMPACT, &body(&conversation(), json!({}))).await;
    let mut flipped =
        answered(server.address, COMPACT, &body(&conversation(), json!({}))).await["output"][2].clone();
    let sealed = flipped["encrypted_content"].as_str().expect("a text");
    let last = if sealed.ends_with('A') { "Q" } else { "A" };
    flipped["encrypted_content"] = json!(format!("{}{last}", &sealed[..sealed.len() - 1]));
    for wrong in [foreign["output"][2].clone(), flipped, item(&"A".repeat(1_000_000)), item("\u{0}")] {
        for path in [RESPONSES, COMPACT, COUNT] {
            let answer =
                post(server.address, path, &body(&with(conversation(), wrong.clone()), json!({}))).await;
            assert_eq!(answer.status, 400, "{path}");
            assert_eq!(answer.json()["error"]["code"], "invalid_encrypted_content", "{path}");
        }
    }
    for input in [json!([]), json!(null), json!([trigger()]), json!([trigger(), trigger()])] {
        let answer = post(server.address, COMPACT, &json!({ "model": "qwen3-tiny", "input": input })).await;
        assert_eq!(answer.status, 400, "{input}");
    }
    let nameless = post(server.address, COMPACT, &json!({ "input": "Hi." })).await;
    assert_eq!(nameless.json()["error"]["code"], "missing_required_parameter");
    server.stop().await;
    other.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_configuration_update_holds_along_a_chain() {
    let (server, _folder) = serve().await;
    let update = |effort: &str| json!({ "type": "configuration_update", "reasoning": { "effort": effort } });
    let go_on = json!({ "role": "user", "content": "Go on." });
    let mut parent = Value::Null;
    for (input, effort) in [
        (vec![go_on.clone()], json!("minimal")),
        (vec![update("high"), go_on.clone()], json!("high")),
        (vec![go_on.clone()], json!("high")),
        (vec![go_on.clone(), update("low")], json!("low")),
        (vec![go_on.clone()], json!("low")),
    ] {
        let own =
            json!({ "store": true, "previous_response_id": parent, "reasoning": { "effort": "minimal" } });
        let response = answered(server.address, RESPONSES, &body(&input, own)).await;
        assert_eq!(response["reasoning"]["effort"], effort, "{input:?}");
        parent = response["id"].clone();
    }
    server.stop().await;
}
