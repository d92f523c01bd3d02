//! Faults that were seen in other servers, each with a test of the correct behaviour: over a
//! socket, in every grouping of tokens, streamed and not.

use api::Protocol;
use serde_json::{Value, json};
use tests::client::post;
use tests::mask::masked;
use tests::server::{Setup, TestServer};
use tests::transcripts::{QWEN3, responses_tools, rules};

const SIZES: &[usize] = &[1, 2, 3, 4, 5, 8, 0];

/// Template that opens a turn as Harmony does, and shows calls and results with their ids.
const HARMONY_TEMPLATE: &str = "{% for m in messages %}<|start|>{{ m.role }}{% if m.tool_call_id %} answers {{ m.tool_call_id }}{% endif %}\
     <|message|>{{ m.content }}{% for c in m.tool_calls or [] %} calls {{ c.function.name }} as {{ c.id }}{% endfor %}<|end|>{% endfor %}\
     {% if add_generation_prompt %}<|start|>assistant{% endif %}";

/// Starts a server whose model replays `text` in steps of as many tokens as the user's message
/// names.
async fn says(text: &str, parser: &str) -> (TestServer, tempfile::TempDir) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let rule = |size: &usize| json!({ "when": { "last_user_contains": format!("by {size}.") }, "text": text, "tokens_per_step": size });
    let rules: Vec<Value> = SIZES.iter().map(rule).collect();
    let mut setup = Setup::replay(folder.path(), &rules.into()).with_parser(parser);
    if parser == "harmony" {
        setup.model.chat_template = Some(HARMONY_TEMPLATE.to_owned());
    }
    (TestServer::start(setup).await, folder)
}

/// Events of one streamed answer, after a check that they are well-formed and equal to the answer
/// that isn't streamed.
async fn events(server: &TestServer, input: Value) -> Vec<Value> {
    let body = json!({ "model": "qwen3-tiny", "input": input, "tools": responses_tools() });
    events_of(server, body).await
}

async fn events_of(server: &TestServer, mut body: Value) -> Vec<Value> {
    let whole = post(server.address, "/v1/responses", &body).await.json();
    body["stream"] = json!(true);
    let streamed = post(server.address, "/v1/responses", &body).await;
    let mut check = Protocol::Responses.check();
    check
        .feed(&streamed.body)
        .and_then(|()| check.finish())
        .unwrap_or_else(|violation| panic!("{violation}"));
    let events = streamed.events();
    assert_eq!(masked(&events.last().expect("an event")["response"]), masked(&whole));
    events
}

fn output(events: &[Value]) -> &Vec<Value> {
    events.last().expect("an event")["response"]["output"].as_array().expect("items")
}

fn kinds(events: &[Value]) -> Vec<&str> {
    output(events).iter().map(|item| item["type"].as_str().expect("a type")).collect()
}

/// Runs `check` on the answer in every grouping of tokens.
async fn in_all_steps(text: &str, parser: &str, check: impl Fn(&[Value])) {
    let (server, _folder) = says(text, parser).await;
    for size in SIZES {
        check(&events(&server, json!(format!("by {size}."))).await);
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn harmony_two_plus_two_in_multi_token_steps_is_whole() {
    let text = "<|channel|>analysis<|message|>Simple.<|end|><|start|>assistant<|channel|>final<|message|>2 + 2 equals 4.<|return|>";
    in_all_steps(text, "harmony", |events| {
        let output = output(events);
        assert_eq!(kinds(events), ["reasoning", "message"]);
        assert_eq!(output[1]["content"][0]["text"], "2 + 2 equals 4.");
        assert_eq!(output[1]["phase"], "final_answer");
        assert_eq!(events.last().expect("an event")["type"], "response.completed");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tool_call_in_the_analysis_channel_is_a_call() {
    let text = "<|channel|>analysis<|message|>I look.<|end|><|start|>assistant<|channel|>analysis to=functions.get_weather \
                <|constrain|>json<|message|>{\"city\": \"Oslo\"}<|call|>";
    in_all_steps(text, "harmony", |events| {
        assert_eq!(kinds(events), ["reasoning", "function_call"]);
        assert_eq!(output(events)[0]["content"][0]["text"], "I look.");
        assert_eq!(output(events)[1]["name"], "get_weather");
        assert_eq!(output(events)[1]["arguments"], "{\"city\": \"Oslo\"}");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn blank_line_before_a_call_opens_no_message() {
    let text = "<think>\nI look.\n</think>\n\n<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {}}\n</tool_call>";
    in_all_steps(text, "qwen3", |events| assert_eq!(kinds(events), ["reasoning", "function_call"])).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn text_after_a_tool_call_is_its_own_message_in_order() {
    let text = "Before.\n<tool_call>\n{\"name\": \"get_time\", \"arguments\": {}}\n</tool_call>\nAfter.\n\
                <tool_call>\n{\"name\": \"get_time\", \"arguments\": {}}\n</tool_call>\nAt last.";
    in_all_steps(text, "qwen3", |events| {
        assert_eq!(kinds(events), ["message", "function_call", "message", "function_call", "message"]);
        let texts = output(events).iter().filter_map(|item| item["content"][0]["text"].as_str());
        assert_eq!(texts.collect::<Vec<_>>(), ["Before.", "After.", "At last."]);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn text_of_a_tool_call_never_leaks_into_a_message() {
    for (parser, text) in [
        (
            "qwen3",
            "Hi.\n<tool_call>\n{\"name\": \"get_time\", \"arguments\": {\"city\": \"secret\"}}\n</tool_call>",
        ),
        (
            "harmony",
            "<|channel|>commentary<|message|>Hi.<|end|><|start|>assistant<|channel|>commentary to=functions.get_time \
             <|constrain|>json<|message|>{\"city\": \"secret\"}<|call|>",
        ),
    ] {
        in_all_steps(text, parser, |events| {
            assert_eq!(kinds(events), ["message", "function_call"]);
            let prose = events
                .iter()
                .filter(|event| event["type"].as_str().is_some_and(|kind| kind.contains("text")));
            assert!(prose.clone().count() > 0);
            for event in prose {
                assert!(
                    !event.to_string().contains("secret") && !event.to_string().contains("tool_call"),
                    "{event}"
                );
            }
        })
        .await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn call_id_is_the_same_in_all_events_and_next_request() {
    let text = "<|channel|>commentary to=functions.get_weather <|constrain|>json<|message|>{}<|call|>";
    let (server, _folder) = says(text, "harmony").await;
    let first = events(&server, json!("by 3.")).await;
    let id = output(&first)[0]["call_id"].as_str().expect("an id").to_owned();
    let of = |kind: &str| {
        first.iter().find(|event| event["type"] == kind).expect("the event")["item"]["call_id"].clone()
    };
    assert_eq!((of("response.output_item.added"), of("response.output_item.done")), (json!(id), json!(id)));
    assert_ne!(output(&first)[0]["id"], json!(id));

    let mut input = vec![json!({ "role": "user", "content": "by 3." })];
    input.extend(output(&first).iter().cloned());
    input.push(json!({ "type": "function_call_output", "call_id": id, "output": "21 degrees" }));
    let body = json!({ "model": "qwen3-tiny", "input": input, "tools": responses_tools(), "enable_response_messages": true });
    let second = post(server.address, "/v1/responses", &body).await.json();
    let prompt = second["input_messages"][0]["message"].as_str().expect("the prompt");
    assert!(prompt.contains(&format!("calls get_weather as {id}")), "{prompt}");
    assert!(prompt.contains(&format!("answers {id}<|message|>21 degrees")), "{prompt}");
    server.stop().await;
}

/// Runs `check` on the answer of every transcript, whole and cut off after 4 tokens, for properties
/// that hold whatever the model writes.
async fn all_streams(parser: &str, check: impl Fn(&str, &[Value])) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let server = TestServer::start(Setup::replay(folder.path(), &rules(&[3])).with_parser(parser)).await;
    for (name, _) in QWEN3 {
        for limit in [None, Some(4)] {
            let input = format!("{name} at 3.");
            let body = json!({ "model": "qwen3-tiny", "input": input, "tools": responses_tools(), "max_output_tokens": limit });
            check(name, &events_of(&server, body).await);
        }
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sequence_numbers_stand_in_one_place_only() {
    fn nested(value: &Value) -> bool {
        match value {
            Value::Object(fields) => {
                fields.iter().any(|(key, value)| key == "sequence_number" || nested(value))
            }
            Value::Array(values) => values.iter().any(nested),
            _ => false,
        }
    }
    all_streams("qwen3", |name, events| {
        for (number, event) in events.iter().enumerate() {
            assert_eq!(event["sequence_number"], number, "{name}");
            let inner =
                event.as_object().expect("an event").iter().filter(|(key, _)| *key != "sequence_number");
            assert!(!inner.map(|(_, value)| value).any(nested), "{name}: {event}");
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn items_have_whole_lives_with_and_without_a_parser() {
    for parser in ["qwen3", "none"] {
        all_streams(parser, |name, events| {
            let count = |kind: &str| events.iter().filter(|event| event["type"] == kind).count();
            let items = output(events).len();
            let (added, done) = (count("response.output_item.added"), count("response.output_item.done"));
            assert_eq!((added, done), (items, items), "{name}");
            assert_eq!(count("response.content_part.added"), count("response.content_part.done"), "{name}");
            let messages = kinds(events).iter().filter(|kind| **kind == "message").count();
            assert_eq!(count("response.output_text.done"), messages, "{name}: final done events");
            let ids: Vec<&str> = output(events).iter().filter_map(|item| item["id"].as_str()).collect();
            assert!(ids.len() == items && ids.iter().all(|id| !id.is_empty()), "{name}: empty item ids");
        })
        .await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn indices_count_items_and_parts_not_deltas() {
    all_streams("qwen3", |name, events| {
        let places: Vec<u64> = events
            .iter()
            .filter(|event| event["type"] == "response.output_item.added")
            .map(|event| event["output_index"].as_u64().expect("an index"))
            .collect();
        assert!(places.iter().copied().eq(0..places.len() as u64), "{name}: {places:?}");
        for event in events.iter().filter(|event| event.get("content_index").is_some()) {
            assert_eq!(event["content_index"], 0, "{name}: every item here has one part");
        }
        for event in events.iter().filter(|event| event.get("item_id").is_some()) {
            let index = usize::try_from(event["output_index"].as_u64().expect("an index")).expect("small");
            assert_eq!(event["item_id"], output(events)[index]["id"], "{name}: the index shifted");
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_streamed_is_not_lost_from_the_end() {
    all_streams("qwen3", |name, events| {
        let done: Vec<&Value> = events
            .iter()
            .filter(|event| event["type"] == "response.output_item.done")
            .map(|event| &event["item"])
            .collect();
        assert_eq!(output(events).iter().collect::<Vec<_>>(), done, "{name}");
        let streamed: String = events.iter().filter_map(|event| event["delta"].as_str()).collect();
        let text = |item: &Value| {
            ["/content/0/text", "/arguments"]
                .iter()
                .find_map(|at| item.pointer(at).and_then(Value::as_str))
                .map(str::to_owned)
        };
        assert_eq!(output(events).iter().filter_map(text).collect::<String>(), streamed, "{name}");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_truncated_answer_is_never_completed() {
    all_streams("qwen3", |name, events| {
        let last = &events.last().expect("an event")["response"];
        if last["usage"]["output_tokens"] == 4 && last["max_output_tokens"] == 4 {
            assert_eq!(last["status"], "incomplete", "{name}");
            assert_eq!(last["incomplete_details"]["reason"], "max_output_tokens", "{name}");
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn multi_turn_input_is_not_rejected() {
    let (server, _folder) = says("Fine.", "qwen3").await;
    let input = json!([
        { "type": "message", "role": "developer", "content": [{ "type": "input_text", "text": "Be brief." }] },
        { "type": "message", "role": "user", "content": [{ "type": "input_text", "text": "by 1." }] },
        { "type": "reasoning", "id": "rs_1", "summary": [], "content": null, "encrypted_content": null },
        { "type": "function_call", "id": "fc_1", "call_id": "c1", "name": "get_time", "arguments": "{\"broken\": " },
        { "type": "custom_tool_call", "call_id": "c2", "name": "apply_patch", "input": "*** Begin Patch", "status": "completed" },
        { "type": "function_call_output", "call_id": "c1", "output": [{ "type": "input_text", "text": "noon" }] },
        { "type": "custom_tool_call_output", "call_id": "c2", "output": "ok" },
        { "type": "web_search_call", "id": "ws_1", "status": "completed" },
        { "type": "reasoning", "id": "rs_2", "summary": [{ "type": "summary_text", "text": "Hm." }] },
    ]);
    assert_eq!(kinds(&events(&server, input).await), ["message"]);
    server.stop().await;
}
