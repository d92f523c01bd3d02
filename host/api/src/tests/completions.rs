//! Requests of Completions, and their answers.

use std::sync::Arc;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{Turn, job, machine, message, refusal};
use crate::completions;
use crate::event_buffer::EventBuffer;
use crate::{Protocol, sse};
use model::{Beginning, Echo, EchoedToken, RawPrompt, RawStep};
use turn::{Delta, DeltaToken, Phase, TokenLogprob, TokenLogprobs, TurnEnd, TurnEvent, TurnFailure, Usage};

fn with(extra: &Value) -> Value {
    let mut body = json!({ "model": "m", "prompt": "x" });
    body.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
    body
}

fn text(text: &str) -> RawPrompt {
    RawPrompt::Text { text: text.to_owned(), special: true }
}

#[test]
fn prompts_come_as_text_or_token_ids_one_or_several() {
    for (prompt, expected) in [
        (json!("a<|b|>"), vec![text("a<|b|>")]),
        (json!(["a", "b"]), vec![text("a"), text("b")]),
        (json!([1, 2]), vec![RawPrompt::Tokens(vec![1, 2])]),
        (json!([[1], [2, 3]]), vec![RawPrompt::Tokens(vec![1]), RawPrompt::Tokens(vec![2, 3])]),
        (json!(["a", [4]]), vec![text("a"), RawPrompt::Tokens(vec![4])]),
    ] {
        let (job, warnings) = job(completions::read, &with(&json!({ "prompt": prompt })));
        assert_eq!((job.beginning, warnings.len()), (Beginning::Raw(expected), 0), "{prompt}");
    }
    let (job, _) = job(completions::read, &with(&json!({ "add_special_tokens": false })));
    assert_eq!(job.beginning, Beginning::Raw(vec![RawPrompt::Text { text: "x".into(), special: false }]));
}

#[test]
fn options_reach_the_job() {
    let extra = json!({ "n": 2, "best_of": 2, "logprobs": 5, "stop": ["a"], "temperature": 0, "suffix": "", "user": "u" });
    let (job, warnings) = job(completions::read, &with(&extra));
    assert!(warnings.is_empty(), "{warnings:?}");
    assert_eq!((job.sampling.n, job.logprobs, job.max_output_tokens), (Some(2), Some(5), Some(16)));
    assert_eq!((job.stop, job.sampling.temperature), (vec!["a".to_owned()], Some(0.0)));
}

#[test]
fn what_is_wrong_or_not_there_is_refused_by_name() {
    for (extra, start) in [
        (json!({ "prompt": null }), "prompt: missing"),
        (json!({ "prompt": [] }), "prompt: there is no prompt in it"),
        (json!({ "prompt": [[]] }), "prompt[0]: there is no token in it"),
        (json!({ "prompt": [1, -2] }), "prompt[1]: expected a token id"),
        (json!({ "prompt": [{}] }), "prompt[0]: expected a string or token ids, got object"),
        (json!({ "prompt": vec!["x"; 17] }), "prompt: at most 16 prompts, got 17"),
        (json!({ "best_of": 4 }), "best_of: choosing the best"),
        (json!({ "suffix": "y" }), "suffix: the model writes behind a text"),
        (json!({ "logprobs": true }), "logprobs: expected an integer"),
        (json!({ "max_tokens": -1 }), "max_tokens: expected an integer"),
        (
            json!({ "max_tokens": 3, "min_tokens": 4 }),
            "min_tokens: 4 tokens are more than the answer may have, 3",
        ),
        (json!({ "min_tokens": 17 }), "min_tokens: 17 tokens are more than the answer may have, 16"),
    ] {
        let error = refusal(completions::read, &with(&extra));
        assert!(error.status == 400 && error.message.starts_with(start), "{}", error.message);
    }
}

fn chunks(stream: &str) -> Vec<Value> {
    let mut check = Protocol::Completions.check();
    check
        .feed(stream.as_bytes())
        .and_then(|()| check.finish())
        .unwrap_or_else(|what| panic!("{what}\n{stream}"));
    let events = sse::events(stream.as_bytes()).unwrap();
    let data = events.iter().map(|event| event.data).filter(|data| *data != "[DONE]");
    data.map(|data| serde_json::from_str(data).unwrap()).collect()
}

#[test]
fn echoed_prompts_stand_before_each_of_their_choices() {
    let request = with(&json!({ "prompt": ["a", "b"], "n": 2, "echo": true }));
    let mut machine = machine(completions::read, &request);
    let mut buffer = EventBuffer::new();
    machine.begin(&mut buffer);
    for choice in [3, 0, 2, 1] {
        machine.choose(choice);
        machine.echo(&Echo { text: ["a", "b"][choice / 2].to_owned(), tokens: Vec::new() }, &mut buffer);
        machine.turn(&TurnEvent::Text(format!("-{choice}").as_str().into()), &mut buffer);
        machine.end(&TurnEnd::MaxOutputTokens, Usage { output_tokens: 1, ..Usage::default() }, &mut buffer);
    }
    let stream = super::sse_of(&*machine, &buffer);
    assert_eq!(chunks(&stream).len(), 12);
    let body: Value = serde_json::from_str(&machine.body().1).unwrap();
    let texts: Vec<_> =
        body["choices"].as_array().unwrap().iter().map(|choice| choice["text"].clone()).collect();
    assert_eq!(texts, ["a-0", "a-1", "b-2", "b-3"]);
    assert_eq!(body["usage"]["completion_tokens"], 4);
}

#[test]
fn log_probabilities_are_lists_side_by_side() {
    let one = |text: &str, logprob| TokenLogprob { id: 1, bytes: text.as_bytes().to_vec(), logprob };
    let token = |offset, text: &str| {
        let logprobs = TokenLogprobs { chosen: one(text, -1.0), top: vec![one("best", -0.5)] };
        DeltaToken { offset, logprobs: Arc::new(logprobs) }
    };
    let mut machine = machine(completions::read, &with(&json!({ "logprobs": 1 })));
    let mut buffer = EventBuffer::new();
    machine.begin(&mut buffer);
    for (text, tokens) in [("é", vec![token(0, "é")]), ("ab", vec![token(0, "a"), token(1, "b")])] {
        machine.turn(&TurnEvent::Text(Delta { text: text.into(), tokens }), &mut buffer);
    }
    machine.end(&TurnEnd::Completed, Usage::default(), &mut buffer);
    let stream = super::sse_of(&*machine, &buffer);
    let second = chunks(&stream)[1]["choices"][0]["logprobs"].clone();
    assert_eq!(second["text_offset"], json!([1, 2]));
    let body: Value = serde_json::from_str(&machine.body().1).unwrap();
    let expected = json!({
        "tokens": ["é", "a", "b"], "token_logprobs": [-1.0, -1.0, -1.0], "text_offset": [0, 1, 2],
        "top_logprobs": [{ "best": -0.5, "é": -1.0 }, { "best": -0.5, "a": -1.0 }, { "best": -0.5, "b": -1.0 }],
    });
    assert_eq!(body["choices"][0]["logprobs"], expected);
}

#[test]
fn echo_lists_prompt_tokens_first_without_logprob() {
    let one = |id, text: &str, logprob| TokenLogprob { id, bytes: text.as_bytes().to_vec(), logprob };
    let all = |chosen, top| TokenLogprobs { chosen, top: vec![top] };
    let echoed = |offset, id, text: &str, logprobs| EchoedToken { offset, id, bytes: text.into(), logprobs };
    let request = with(&json!({ "prompt": [7, 8], "echo": true, "logprobs": 1, "return_token_ids": true }));
    assert!(job(completions::read, &request).0.echo);
    let mut machine = machine(completions::read, &request);
    let mut buffer = EventBuffer::new();
    machine.begin(&mut buffer);
    machine.tokens(&RawStep { prompt: Some(&[7, 8]), tokens: &[9] });
    let second = Some(all(one(8, "b", -2.0), one(1, "best", -0.5)));
    let tokens = vec![echoed(0, 7, "é", None), echoed(2, 8, "b", second)];
    machine.echo(&Echo { text: "éb".to_owned(), tokens }, &mut buffer);
    let logprobs = Arc::new(all(one(9, "c", -1.0), one(9, "c", -1.0)));
    let tokens = vec![DeltaToken { offset: 0, logprobs }];
    machine.turn(&TurnEvent::Text(Delta { text: "c".into(), tokens }), &mut buffer);
    machine.end(&TurnEnd::MaxOutputTokens, Usage::default(), &mut buffer);
    let stream = super::sse_of(&*machine, &buffer);
    let chunks = chunks(&stream);
    let ids =
        |at: usize| ["prompt_token_ids", "token_ids"].map(|name| chunks[at]["choices"][0][name].clone());
    assert_eq!((ids(0), ids(1)), ([json!([7, 8]), json!([])], [Value::Null, json!([9])]));
    let body: Value = serde_json::from_str(&machine.body().1).unwrap();
    let expected = json!({
        "tokens": ["é", "b", "c"], "token_logprobs": [null, -2.0, -1.0], "text_offset": [0, 1, 2],
        "top_logprobs": [null, { "best": -0.5, "b": -2.0 }, { "c": -1.0 }],
    });
    assert_eq!((&body["choices"][0]["logprobs"], &body["choices"][0]["text"]), (&expected, &json!("ébc")));
}

proptest! {
    #[test]
    fn streams_are_valid_and_add_up_to_the_body(
        texts in prop::collection::vec("\\PC{1,6}|[\\x00-\\x1f\"\\\\]", 0..6), ending in 0..3_usize, include_usage: bool,
    ) {
        let failure = TurnFailure { code: "server_error", message: "x".to_owned() };
        let end = [TurnEnd::Completed, TurnEnd::MaxOutputTokens, TurnEnd::Failed(failure)][ending].clone();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let turn = Turn::new(vec![message(Phase::Unspecified, &texts)], end);
        let request = with(&json!({ "stream_options": { "include_usage": include_usage } }));
        let (stream, status, body) = turn.run(&mut *machine(completions::read, &request), EventBuffer::new(), 0);
        let chunks = chunks(&stream);
        prop_assert_eq!(status == 200, ending < 2);
        if status == 200 {
            let text = chunks.iter().filter_map(|chunk| chunk["choices"][0]["text"].as_str()).collect::<String>();
            prop_assert_eq!(&body["choices"][0]["text"], &json!(text));
            prop_assert_eq!(chunks.last().unwrap().get("usage"), include_usage.then_some(&body["usage"]));
        }
        let silent = turn.run(&mut *machine(completions::read, &request), EventBuffer::discarding(), 0);
        prop_assert_eq!(silent, (String::new(), status, body));
    }
}
