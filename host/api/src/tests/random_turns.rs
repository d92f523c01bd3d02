//! For random turns: the stream keeps its grammar, its deltas add up to its items, and it agrees
//! with the body.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::fold::fold;
use super::{Item, Turn, give_logprobs, machine};
use crate::event_buffer::EventBuffer;
use crate::request::ReadRequest;
use crate::{chat, responses, sse};
use contract::Payload;
use model::{RawText, RawTurn};
use turn::{Delta, DeltaToken, ItemHead, ItemStatus, Phase, TurnEnd, TurnEvent, TurnFailure};

fn heads() -> impl Strategy<Value = ItemHead> {
    let phase = prop_oneof![Just(Phase::Unspecified), Just(Phase::Commentary), Just(Phase::Final)];
    let payload = prop_oneof![4 => Just(Payload::Json), 1 => Just(Payload::Text)];
    prop_oneof![
        Just(ItemHead::Reasoning),
        phase.prop_map(|phase| ItemHead::Message { phase }),
        (any::<u64>(), prop_oneof![3 => "[a-z]{1,5}", 1 => Just("n__f".to_owned())], payload).prop_map(
            |(id, name, payload)| { ItemHead::ToolCall { call_id: format!("call_{id}"), name, payload } }
        ),
    ]
}

fn items() -> impl Strategy<Value = Vec<Item>> {
    let status = prop_oneof![4 => Just(ItemStatus::Completed), 1 => Just(ItemStatus::Incomplete)];
    let texts = prop::collection::vec("\\PC{1,6}|[\\x00-\\x1f\"\\\\\u{2028}]", 0..5);
    let item = (heads(), texts, status, any::<bool>()).prop_map(|(head, texts, status, object)| {
        let is_json = matches!(head, ItemHead::ToolCall { payload: Payload::Json, .. });
        (head, if is_json && object { object_of(&texts) } else { texts }, status)
    });
    prop::collection::vec(item, 0..6)
}

/// Valid arguments: an object with `texts`.
fn object_of(texts: &[String]) -> Vec<String> {
    vec!["{\"a\": ".to_owned(), json!(texts).to_string(), "}".to_owned()]
}

pub(super) fn turns() -> impl Strategy<Value = Turn> {
    let failure = TurnFailure { code: "server_error", message: "x".to_owned() };
    let end = prop_oneof![
        4 => Just(TurnEnd::Completed),
        2 => Just(TurnEnd::MaxOutputTokens),
        1 => Just(TurnEnd::Cancelled),
        1 => Just(TurnEnd::Failed(failure)),
    ];
    (items(), end, any::<bool>()).prop_map(|(items, end, logprobs)| {
        let mut turn = Turn::new(if end == TurnEnd::Completed { whole(items) } else { items }, end);
        if logprobs {
            give_logprobs(&mut turn);
        }
        turn
    })
}

/// The items of a completed turn: all of them completed.
fn whole(items: Vec<Item>) -> Vec<Item> {
    items.into_iter().map(|(head, texts, _)| (head, texts, ItemStatus::Completed)).collect()
}

/// `turn` with its texts cut after every character; a token stays with the character at which it
/// begins.
pub(super) fn cut_finely(turn: &Turn) -> Turn {
    let cut = |event: &TurnEvent| match event {
        TurnEvent::Text(delta) => pieces(delta).into_iter().map(TurnEvent::Text).collect(),
        other => vec![other.clone()],
    };
    Turn { events: turn.events.iter().flat_map(cut).collect(), ..turn.clone() }
}

fn pieces(delta: &Delta) -> Vec<Delta> {
    let piece = |(at, c): (usize, char)| {
        let begins = |token: &&DeltaToken| (at..at + c.len_utf8()).contains(&token.offset);
        let tokens = delta.tokens.iter().filter(begins);
        let tokens = tokens.map(|token| DeltaToken { offset: token.offset - at, ..token.clone() }).collect();
        Delta { tokens, ..Delta::from(c.to_string()) }
    };
    delta.text.char_indices().map(piece).collect()
}

pub(super) fn events(stream: &str) -> Vec<Value> {
    let events = sse::events(stream.as_bytes()).unwrap();
    events
        .iter()
        .filter(|event| event.data != "[DONE]")
        .map(|event| serde_json::from_str(event.data).unwrap())
        .collect()
}

/// The message that a client puts together from chunks.
fn chat_fold(chunks: &[Value]) -> Value {
    let mut message = json!({ "role": null, "content": "", "reasoning": "", "tool_calls": [] });
    for delta in chunks.iter().filter_map(|chunk| chunk.pointer("/choices/0/delta")) {
        if let Some(role) = delta.get("role") {
            message["role"] = role.clone();
        }
        for field in ["content", "reasoning"] {
            let more = delta.get(field).and_then(Value::as_str).unwrap_or_default();
            message[field] = json!(format!("{}{more}", message[field].as_str().unwrap()));
        }
        for call in delta.get("tool_calls").and_then(Value::as_array).into_iter().flatten() {
            let mut call = call.clone();
            let index = usize::try_from(call["index"].as_u64().unwrap()).unwrap();
            let calls = message["tool_calls"].as_array_mut().unwrap();
            if index == calls.len() {
                call.as_object_mut().unwrap().remove("index");
                calls.push(call);
            } else {
                let pointers = ["/function/arguments", "/custom/input"];
                let pointer = pointers.into_iter().find(|pointer| call.pointer(pointer).is_some()).unwrap();
                let so_far = calls[index].pointer_mut(pointer).unwrap();
                let more = call.pointer(pointer).and_then(Value::as_str).unwrap();
                *so_far = json!(format!("{}{more}", so_far.as_str().unwrap()));
            }
        }
    }
    message
}

fn chat_message(body: &Value) -> Value {
    let message = &body["choices"][0]["message"];
    assert_eq!(message.get("reasoning"), message.get("reasoning_content"));
    json!({
        "role": message["role"],
        "content": message["content"].as_str().unwrap_or_default(),
        "reasoning": message.get("reasoning").and_then(Value::as_str).unwrap_or_default(),
        "tool_calls": message.get("tool_calls").cloned().unwrap_or(json!([])),
    })
}

/// Options of a request that change its answer.
#[expect(clippy::struct_excessive_bools, reason = "each is asked for by itself")]
#[derive(Debug, Clone, Copy)]
struct Requested {
    summary: bool,
    encrypted: bool,
    padded: bool,
    raw: bool,
}

fn asked() -> impl Strategy<Value = Requested> {
    any::<[bool; 4]>().prop_map(|[summary, encrypted, padded, raw]| Requested {
        summary,
        encrypted,
        padded,
        raw,
    })
}

fn responses_request(asked: Requested) -> Value {
    let reasoning = if asked.summary { json!({ "summary": "auto" }) } else { json!({}) };
    let include: &[&str] = if asked.encrypted { &["reasoning.encrypted_content"] } else { &[] };
    let inside = [json!({ "type": "function", "name": "f" })];
    json!({
        "model": "m", "input": "x", "reasoning": reasoning, "include": include,
        "stream_options": { "include_obfuscation": asked.padded }, "enable_response_messages": asked.raw,
        "tools": [{ "type": "namespace", "name": "n", "description": "", "tools": inside }]
    })
}

/// `turn` with its tokens, if the request asks for them.
fn with_raw(mut turn: Turn, asked: Requested) -> Turn {
    let raw = |text: &str| RawText { text: text.to_owned(), tokens: vec![1, 2] };
    turn.raw = asked.raw.then(|| RawTurn { input: raw("in"), output: raw("out") });
    turn
}

/// The body without sealed text, which differs each time.
fn unsealed(mut value: Value) -> Value {
    for item in value["output"].as_array_mut().into_iter().flatten() {
        item.as_object_mut().unwrap().remove("encrypted_content");
    }
    value
}

fn run(turn: &Turn, read: ReadRequest, request: &Value, heartbeat: usize) -> (String, u16, Value) {
    turn.run(&mut *machine(read, request), EventBuffer::new(), heartbeat)
}

proptest! {
    #[test]
    fn response_streams_are_valid_and_agree_with_body(
        turn in turns(), asked in asked(), heartbeat in 0..20_usize,
    ) {
        let (request, turn) = (responses_request(asked), with_raw(turn, asked));
        let (stream, status, body) = run(&turn, responses::read, &request, heartbeat);
        responses::validator::check_sse(stream.as_bytes()).map_err(|what| TestCaseError::fail(what.to_string()))?;
        let events = events(&stream);
        let last = &events.last().unwrap()["response"];
        prop_assert_eq!(fold(&events).map_err(TestCaseError::fail)?, last.clone());
        prop_assert!(events.iter().all(|event| event.get("delta").is_none() || event.get("obfuscation").is_some() == asked.padded));
        prop_assert_eq!(last.get("output_messages").is_some(), asked.raw);
        for item in last["output"].as_array().unwrap() {
            prop_assert_eq!(item.get("encrypted_content").is_some(), asked.encrypted && item["type"] == "reasoning");
            prop_assert_ne!(&item["name"], "n__f");
        }
        let failed = last["status"] == "failed";
        prop_assert_eq!(status == 200, !failed);
        if !failed {
            prop_assert_eq!(last, &body);
        }
    }

    #[test]
    fn responses_end_the_same_however_the_text_is_cut(turn in turns(), asked in asked()) {
        let request = responses_request(asked);
        let (_, status, body) = run(&turn, responses::read, &request, 0);
        let (fine, fine_status, fine_body) = run(&cut_finely(&turn), responses::read, &request, 0);
        prop_assert_eq!((status, unsealed(body)), (fine_status, unsealed(fine_body)));
        responses::validator::check_sse(fine.as_bytes()).map_err(|what| TestCaseError::fail(what.to_string()))?;
    }

    #[test]
    fn chat_streams_are_valid_and_add_up_to_the_body(turn in turns(), include_usage: bool) {
        let request = json!({
            "model": "m", "messages": [{ "role": "user", "content": "x" }],
            "stream_options": { "include_usage": include_usage }
        });
        let (stream, status, body) = run(&turn, chat::read, &request, 0);
        chat::validator::check_sse(stream.as_bytes()).map_err(|what| TestCaseError::fail(what.to_string()))?;
        let chunks = events(&stream);
        if status == 200 {
            prop_assert_eq!(chat_fold(&chunks), chat_message(&body));
            let reason = chunks.iter().rev().find_map(|chunk| chunk.pointer("/choices/0/finish_reason"));
            prop_assert_eq!(reason, body.pointer("/choices/0/finish_reason"));
            let usage = chunks.last().unwrap().get("usage");
            prop_assert_eq!(usage, include_usage.then_some(&body["usage"]));
        } else {
            prop_assert_eq!(&chunks.last().unwrap()["error"], &body["error"]);
        }
    }

    #[test]
    fn turn_says_the_same_streamed_or_not(turn in turns()) {
        for (read, request) in [
            (responses::read as ReadRequest, responses_request(Requested { summary: false, encrypted: false, padded: true, raw: false })),
            (chat::read, json!({ "model": "m", "messages": [{ "role": "user", "content": "x" }] })),
        ] {
            let (_, status, body) = run(&turn, read, &request, 0);
            let silent = turn.run(&mut *machine(read, &request), EventBuffer::discarding(), 0);
            prop_assert_eq!(silent, (String::new(), status, body));
        }
    }
}
