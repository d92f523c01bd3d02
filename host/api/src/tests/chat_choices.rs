//! Chat answers with several choices, with log-probabilities, and with calls of custom tools.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{Turn, call, item, machine, message, reasoning};
use crate::chat;
use crate::event_buffer::EventBuffer;
use crate::machine::Machine;
use crate::sse;
use contract::Payload;
use model::{RawStep, RawText, RawTurn};
use turn::{
    Delta, DeltaToken, ItemHead, ItemStatus, Phase, TokenLogprob, TokenLogprobs, TurnEnd, TurnEvent,
    TurnFailure, Usage,
};

fn ask(extra: &Value) -> Box<dyn Machine> {
    let mut body = json!({ "model": "m", "messages": [{ "role": "user", "content": "x" }], "stream": true });
    body.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
    machine(chat::read, &body)
}

/// The output of a machine: the checked chunks of the stream, the status, and the body.
fn output_of(machine: &dyn Machine, buffer: &EventBuffer) -> (Vec<Value>, u16, Value) {
    let stream = super::sse_of(machine, buffer);
    chat::validator::check_sse(stream.as_bytes()).unwrap_or_else(|what| panic!("{what}\n{stream}"));
    let events = sse::events(stream.as_bytes()).unwrap();
    let data = events.iter().map(|event| event.data).filter(|data| *data != "[DONE]");
    let (status, body) = machine.body();
    (
        data.map(|data| serde_json::from_str(data).unwrap()).collect(),
        status,
        serde_json::from_str(&body).unwrap(),
    )
}

/// Hands the events of `turns` to the machine, one of each turn in turn, from the last turn to the
/// first.
fn interleave(machine: &mut dyn Machine, turns: &[Turn]) -> EventBuffer {
    let mut buffer = EventBuffer::new();
    machine.begin(&mut buffer);
    let most = turns.iter().map(|turn| turn.events.len()).max().unwrap();
    for at in 0..=most {
        for (choice, turn) in turns.iter().enumerate().rev() {
            machine.choose(choice);
            match turn.events.get(at) {
                Some(event) => machine.turn(event, &mut buffer),
                None if at == turn.events.len() => machine.end(&turn.end, turn.usage, &mut buffer),
                None => {}
            }
        }
    }
    buffer
}

fn usage(input_tokens: u32, output_tokens: u32) -> Usage {
    Usage { input_tokens, output_tokens, ..Usage::default() }
}

#[test]
fn interleaved_choices_are_told_apart_and_summed() {
    let mut first =
        Turn::new(vec![reasoning(&["r"]), message(Phase::Final, &["a", "b"])], TurnEnd::Completed);
    let mut second = Turn::new(vec![call("call_1", "f", &["{", "}"])], TurnEnd::Completed);
    let mut third = Turn::new(vec![message(Phase::Final, &["cut"])], TurnEnd::MaxOutputTokens);
    (first.usage, second.usage, third.usage) = (usage(20, 3), usage(0, 4), usage(0, 5));
    let turns = [first, second, third];
    let mut machine = ask(&json!({ "n": 3, "stream_options": { "include_usage": true } }));
    let buffer = interleave(&mut *machine, &turns);
    let (chunks, status, body) = output_of(&*machine, &buffer);

    assert_eq!(status, 200);
    let choices = body["choices"].as_array().unwrap();
    let indices: Vec<_> = choices.iter().map(|choice| choice["index"].as_u64()).collect();
    assert_eq!(indices, [Some(0), Some(1), Some(2)]);
    let reasons: Vec<_> = choices.iter().map(|choice| choice["finish_reason"].as_str()).collect();
    assert_eq!(reasons, [Some("stop"), Some("tool_calls"), Some("length")]);
    assert_eq!(choices[0]["message"]["content"], "ab");
    assert_eq!(choices[0]["message"]["reasoning"], "r");
    assert_eq!(choices[1]["message"]["tool_calls"][0]["function"]["arguments"], "{}");
    assert_eq!(choices[2]["message"]["content"], "cut");
    let usage = &body["usage"];
    assert_eq!((&usage["prompt_tokens"], &usage["completion_tokens"]), (&json!(20), &json!(12)));
    assert_eq!(chunks.last().unwrap()["usage"], *usage);
    for (index, content) in [(0, "ab"), (1, ""), (2, "cut")] {
        let of_choice = chunks.iter().filter(|chunk| chunk["choices"][0]["index"] == index);
        let deltas = of_choice.filter_map(|chunk| chunk["choices"][0]["delta"]["content"].as_str());
        assert_eq!(deltas.collect::<String>(), content);
    }
}

#[test]
fn a_choice_that_fails_is_the_end_of_all() {
    let failure = TurnFailure { code: "server_error", message: "it broke".to_owned() };
    let mut machine = ask(&json!({ "n": 2 }));
    let mut buffer = EventBuffer::new();
    machine.begin(&mut buffer);
    machine.choose(1);
    machine.end(&TurnEnd::Failed(failure), Usage::default(), &mut buffer);
    let (chunks, status, body) = output_of(&*machine, &buffer);
    assert_eq!((status, &chunks.last().unwrap()["error"]), (500, &body["error"]));
}

fn token(offset: usize, bytes: &[u8], logprob: f32) -> DeltaToken {
    let one = |bytes: &[u8], logprob| TokenLogprob { id: 1, bytes: bytes.to_vec(), logprob };
    let top = vec![one(bytes, logprob), one(b"other", f32::NEG_INFINITY)];
    DeltaToken { offset, logprobs: Arc::new(TokenLogprobs { chosen: one(bytes, logprob), top }) }
}

fn content(text: &str, tokens: Vec<DeltaToken>) -> TurnEvent {
    TurnEvent::Text(Delta { text: text.into(), tokens })
}

#[test]
fn content_tokens_carry_their_logprobs() {
    let head = || TurnEvent::Open(ItemHead::Message { phase: Phase::Final });
    let mut machine = ask(&json!({ "logprobs": true, "top_logprobs": 2 }));
    let mut buffer = EventBuffer::new();
    machine.begin(&mut buffer);
    // The second token is the first part of a character, the third token the rest.
    let parts = vec![token(2, &[0xc3], -2.0), token(2, &[0xa9], 0.0)];
    for event in [
        head(),
        content("ab", vec![token(0, b"ab", -0.5)]),
        content("xxé", parts),
        TurnEvent::Close(ItemStatus::Completed),
        head(),
        content("c", vec![token(0, b"c", -0.25)]),
        TurnEvent::Close(ItemStatus::Completed),
    ] {
        machine.turn(&event, &mut buffer);
    }
    machine.end(&TurnEnd::Completed, Usage::default(), &mut buffer);
    let (chunks, _, body) = output_of(&*machine, &buffer);
    let whole = body["choices"][0]["logprobs"]["content"].as_array().unwrap();
    let pointer = "/choices/0/logprobs/content";
    let streamed = chunks.iter().filter_map(|chunk| chunk.pointer(pointer)?.as_array()).flatten();
    assert_eq!(streamed.cloned().collect::<Vec<_>>(), *whole);
    let texts: Vec<_> = whole.iter().map(|token| token["token"].as_str().unwrap()).collect();
    assert_eq!(texts, ["ab", "\u{fffd}", "\u{fffd}", "c"]);
    assert_eq!(whole[1]["bytes"], json!([0xc3]));
    assert_eq!(whole[0]["logprob"], json!(-0.5));
    assert_eq!(
        whole[0]["top_logprobs"][1],
        json!({ "token": "other", "logprob": -9999.0, "bytes": b"other" })
    );
}

#[test]
fn no_logprobs_where_none_were_asked_for() {
    let turn = Turn::new(vec![message(Phase::Final, &["a"])], TurnEnd::Completed);
    let (stream, _, body) = turn.run(&mut *ask(&json!({})), EventBuffer::new(), 9);
    assert_eq!(body["choices"][0]["logprobs"], Value::Null);
    assert!(stream.contains(r#""logprobs":null"#) && !stream.contains("top_logprobs"));
    let (_, _, empty) = Turn::new(vec![], TurnEnd::Completed).run(
        &mut *ask(&json!({ "logprobs": true })),
        EventBuffer::new(),
        9,
    );
    assert_eq!(empty["choices"][0]["logprobs"], json!({ "content": [], "refusal": null }));
}

#[test]
fn a_custom_tools_call_carries_its_input_as_text() {
    let head = ItemHead::ToolCall { call_id: "call_c".into(), name: "patch".into(), payload: Payload::Text };
    let turn = Turn::new(vec![item(head, &["*** Begin", " \"x\"\n"])], TurnEnd::Completed);
    let mut machine = ask(&json!({}));
    let buffer = interleave(&mut *machine, &[turn]);
    let (chunks, _, body) = output_of(&*machine, &buffer);
    let custom = json!({ "name": "patch", "input": "*** Begin \"x\"\n" });
    let expected = json!([{ "id": "call_c", "type": "custom", "custom": custom }]);
    assert_eq!(body["choices"][0]["message"]["tool_calls"], expected);
    assert_eq!(body["choices"][0]["finish_reason"], "tool_calls");
    let calls: Vec<_> =
        chunks.iter().filter_map(|chunk| chunk.pointer("/choices/0/delta/tool_calls/0")).collect();
    let head =
        json!({ "index": 0, "id": "call_c", "type": "custom", "custom": { "name": "patch", "input": "" } });
    assert_eq!(*calls[0], head);
    assert_eq!(*calls[1], json!({ "index": 0, "custom": { "input": "*** Begin" } }));
}

#[test]
fn padding_only_on_request_and_makes_lengths_alike() {
    let turn =
        Turn::new(vec![reasoning(&["a", "bcd"]), message(Phase::Final, &["efghij"])], TurnEnd::Completed);
    let plain = turn.run(&mut *ask(&json!({})), EventBuffer::new(), 9).0;
    assert!(!plain.contains("obfuscation"));
    let mut machine = ask(&json!({ "stream_options": { "include_obfuscation": true } }));
    let buffer = interleave(&mut *machine, &[turn]);
    let (chunks, _, _) = output_of(&*machine, &buffer);
    for chunk in &chunks {
        let delta = &chunk["choices"][0]["delta"];
        let said = delta["content"].as_str().or(delta["reasoning"].as_str()).unwrap_or_default();
        assert_eq!((said.len() + chunk["obfuscation"].as_str().unwrap().len()) % 32, 0, "{chunk}");
    }
}

#[test]
fn token_ids_come_with_the_chunks_of_their_choice() {
    let text = |tokens: &[u32]| RawText { tokens: tokens.to_vec(), text: String::new() };
    let mut machine = ask(&json!({ "n": 2, "return_token_ids": true }));
    let mut buffer = EventBuffer::new();
    machine.begin(&mut buffer);
    for choice in [1, 0] {
        machine.choose(choice);
        let first = u32::try_from(choice).unwrap();
        machine.tokens(&RawStep { prompt: Some(&[7, 8]), tokens: &[first] });
        machine.turn(&TurnEvent::Open(ItemHead::Message { phase: Phase::Unspecified }), &mut buffer);
        machine.turn(&TurnEvent::Text("a".into()), &mut buffer);
        machine.tokens_over(&mut buffer);
        // Tokens without text.
        machine.tokens(&RawStep { prompt: None, tokens: &[4, 5] });
        machine.tokens_over(&mut buffer);
        machine.turn(&TurnEvent::Close(ItemStatus::Completed), &mut buffer);
        machine.tokens(&RawStep { prompt: None, tokens: &[9] });
        machine.raw(RawTurn { input: text(&[7, 8]), output: text(&[first, 4, 5, 9]) });
        machine.end(&TurnEnd::Completed, Usage::default(), &mut buffer);
    }
    let (chunks, _, body) = output_of(&*machine, &buffer);
    for index in [0, 1] {
        let choice = &body["choices"][index];
        assert_eq!(
            (&choice["prompt_token_ids"], &choice["token_ids"]),
            (&json!([7, 8]), &json!([index, 4, 5, 9]))
        );
        let of_choice = chunks.iter().map(|chunk| &chunk["choices"][0]).filter(|one| one["index"] == index);
        let said: Vec<_> = of_choice
            .filter(|one| one.get("token_ids").is_some())
            .map(|one| {
                (one["delta"]["content"].clone(), one["token_ids"].clone(), one["prompt_token_ids"].clone())
            })
            .collect();
        let expected = [
            (json!("a"), json!([index]), json!([7, 8])),
            (Value::Null, json!([4, 5]), Value::Null),
            (Value::Null, json!([9]), Value::Null),
        ];
        assert_eq!(said, expected);
    }
}
