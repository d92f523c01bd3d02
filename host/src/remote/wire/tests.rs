//! What each kind is sent, whole, and what its events come to, one by one.

use std::sync::Arc;

use engine::{Constraint, JsonBegins, JsonConstraint, LogitsProcessors, SamplingParams};
use serde_json::{Value, json};

use super::super::facts::Facts;
use super::super::request::RemoteRequest;
use super::{Chunk, EngineKind, Piece, WireEnd, WireFault};

const KINDS: [EngineKind; 4] =
    [EngineKind::OpenAi, EngineKind::Vllm, EngineKind::Sglang, EngineKind::LlamaCpp];
const ID: &str = "0123456789abcdef0123456789abcdef";

fn facts(kind: EngineKind) -> Facts {
    Facts {
        kind,
        name: "an engine".into(),
        model: "m".to_owned(),
        context: Some(4096),
        tells_ids: true,
        follows_grammars: true,
        follows_schemas: true,
        follows_schemas_after_reasoning: true,
        follows_seeds: true,
        priority_sign: -1,
        has_raw_logprobs: false,
        health: "health",
        gauges: None,
    }
}

/// A request that asks for all that every kind can do.
fn request() -> RemoteRequest {
    RemoteRequest {
        prompt: vec![1, 2, 3],
        max_tokens: 7,
        sampling: SamplingParams { temperature: 0.5, top_p: 0.25, top_k: 4, min_p: 0.125, seed: u64::MAX },
        processors: LogitsProcessors {
            repetition: 1.5,
            bias: vec![(8, 2.0), (9, -1.0)],
            banned: vec![vec![10]],
            ..LogitsProcessors::default()
        },
        stop_ids: Arc::from([5, 6]),
        top_logprobs: None,
        constraint: None,
        cache_salt: 0xab,
        affinity: 0,
        priority: 0,
    }
}

fn body(kind: EngineKind, request: &RemoteRequest) -> Value {
    let facts = facts(kind);
    assert_eq!(kind.wire().check(request, &facts), Ok(()));
    serde_json::from_slice(&kind.wire().body(request, &facts, ID)).unwrap()
}

/// The field for which the request is refused.
fn refused(kind: EngineKind, facts: &Facts, change: impl Fn(&mut RemoteRequest)) -> Option<&'static str> {
    let mut request = request();
    change(&mut request);
    kind.wire().check(&request, facts).err().map(|unsupported| unsupported.field)
}

fn schema(begins: JsonBegins) -> Constraint {
    let json = JsonConstraint { schema: r#"{"type":"object"}"#.to_owned(), begins };
    Constraint { grammar: None, json: Some(json), is_optional: false }
}

fn grammar() -> Constraint {
    Constraint { grammar: Some("start: <[7]>".to_owned()), json: None, is_optional: false }
}

fn behind_reasoning() -> JsonBegins {
    JsonBegins::After { text: "</think>".to_owned(), id: Some(9) }
}

#[test]
fn vllm_is_sent_every_field_that_decides_what_comes() {
    let params = json!({
        "max_tokens": 7, "min_tokens": 0, "temperature": 0.5, "top_p": 0.25, "top_k": 4, "min_p": 0.125,
        "seed": i64::MAX, "presence_penalty": 0.0, "frequency_penalty": 0.0, "repetition_penalty": 1.5,
        "logit_bias": { "8": 2.0, "9": -1.0, "10": -100.0 }, "stop": [], "stop_token_ids": [5, 6],
        "ignore_eos": false, "skip_special_tokens": false, "spaces_between_special_tokens": false
    });
    let mut generate = json!({
        "request_id": ID, "model": "m", "token_ids": [1, 2, 3], "sampling_params": params, "reasoning_ended": true,
        "stream": true, "stream_options": { "include_usage": true }, "cache_salt": "00000000000000ab"
    });
    generate["sampling_params"]["n"] = json!(1);
    generate["sampling_params"]["detokenize"] = json!(false);
    assert_eq!(body(EngineKind::Vllm, &request()), generate);
    let mut completions = params;
    let own = json!({
        "model": "m", "prompt": [1, 2, 3], "n": 1, "echo": false, "stream": true,
        "stream_options": { "include_usage": true }, "return_token_ids": true, "return_tokens_as_token_ids": true,
        "add_special_tokens": false, "cache_salt": "00000000000000ab"
    });
    completions.as_object_mut().unwrap().extend(own.as_object().unwrap().clone());
    assert_eq!(body(EngineKind::OpenAi, &request()), completions);
}

#[test]
fn sglang_is_sent_every_field_that_decides_what_comes() {
    let params = json!({
        "max_new_tokens": 7, "min_new_tokens": 0, "n": 1, "temperature": 0.5, "top_p": 0.25, "top_k": 4,
        "min_p": 0.125, "presence_penalty": 0.0, "frequency_penalty": 0.0, "repetition_penalty": 1.5,
        "logit_bias": { "8": 2.0, "9": -1.0, "10": -1e9 }, "stop_token_ids": [5, 6], "ignore_eos": false,
        "skip_special_tokens": false, "spaces_between_special_tokens": false, "no_stop_trim": true,
        "sampling_seed": i64::MAX
    });
    let expected = json!({
        "rid": ID, "input_ids": [1, 2, 3], "stream": true, "sampling_params": params, "return_logprob": false,
        "logprob_start_len": -1, "top_logprobs_num": 0, "return_text_in_logprobs": false,
        "cache_salt": "00000000000000ab", "require_reasoning": false, "priority": 0
    });
    assert_eq!(body(EngineKind::Sglang, &request()), expected);
    let mut all = request();
    all.sampling.top_k = 0;
    all.priority = 3;
    let sent = body(EngineKind::Sglang, &all);
    assert_eq!((&sent["sampling_params"]["top_k"], &sent["priority"]), (&json!(-1), &json!(-3)));
}

#[test]
fn llamacpp_is_sent_every_field_that_decides_what_comes() {
    let expected = json!({
        "prompt": [1, 2, 3], "stream": true, "return_tokens": true, "return_progress": true, "cache_prompt": true,
        "n_predict": 7, "seed": 0x7fff_ffff, "samplers": ["penalties", "temperature", "min_p", "top_k", "top_p"],
        "temperature": 0.5, "dynatemp_range": 0.0, "top_k": 4, "top_p": 0.25, "min_p": 0.125, "typical_p": 1.0,
        "repeat_last_n": 4096, "repeat_penalty": 1.5, "presence_penalty": 0.0, "frequency_penalty": 0.0,
        "dry_multiplier": 0.0, "xtc_probability": 0.0, "mirostat": 0,
        "logit_bias": [[8, 2.0], [9, -1.0], [10, false]], "n_probs": 0, "post_sampling_probs": false, "stop": [],
        "ignore_eos": false,
        "response_fields":
            ["content", "tokens", "stop", "stop_type", "tokens_predicted", "timings", "prompt_progress"]
    });
    assert_eq!(body(EngineKind::LlamaCpp, &request()), expected);
}

#[test]
fn constraints_are_sent_in_the_form_that_the_engine_follows() {
    let with = |constraint: Constraint| RemoteRequest { constraint: Some(Arc::new(constraint)), ..request() };
    let text = r#"{"type":"object"}"#;
    for kind in [EngineKind::OpenAi, EngineKind::Vllm] {
        let outputs = |constraint| {
            let body = body(kind, &with(constraint));
            let nested = body["sampling_params"]["structured_outputs"].clone();
            if nested.is_null() { body["structured_outputs"].clone() } else { nested }
        };
        assert_eq!(outputs(grammar()), json!({ "grammar": "start: <[7]>" }));
        assert_eq!(outputs(schema(JsonBegins::AtOnce)), json!({ "json": text }));
    }
    let sglang = |constraint| body(EngineKind::Sglang, &with(constraint));
    assert_eq!(sglang(grammar())["sampling_params"]["ebnf"], "start: <[7]>");
    assert_eq!(sglang(schema(JsonBegins::AtOnce))["sampling_params"]["json_schema"], text);
    assert_eq!(sglang(schema(behind_reasoning()))["require_reasoning"], true);
    let llamacpp = body(EngineKind::LlamaCpp, &with(schema(JsonBegins::AtOnce)));
    assert_eq!((&llamacpp["json_schema"], llamacpp.get("grammar")), (&json!({ "type": "object" }), None));
}

#[test]
fn what_a_kind_cannot_do_is_refused_by_name() {
    for kind in KINDS {
        let facts = facts(kind);
        let refused = |change: &dyn Fn(&mut RemoteRequest)| refused(kind, &facts, change);
        let is_llamacpp = kind == EngineKind::LlamaCpp;
        let is_sglang = kind == EngineKind::Sglang;
        assert_eq!(refused(&|_| {}), None);
        assert_eq!(refused(&|request| request.processors.banned.push(vec![1, 2])), Some("bad_words"));
        assert_eq!(
            refused(&|request| request.processors.presence = 1.0),
            is_llamacpp.then_some("presence_penalty")
        );
        assert_eq!(
            refused(&|request| request.processors.frequency = 1.0),
            is_llamacpp.then_some("frequency_penalty")
        );
        assert_eq!(refused(&|request| request.top_logprobs = Some(2)), is_sglang.then_some("logprobs"));
        let at_one = |request: &mut RemoteRequest| {
            request.top_logprobs = Some(2);
            request.sampling.temperature = 1.0;
        };
        assert_eq!(refused(&at_one), None);
    }
}

#[test]
fn an_engine_without_the_means_refuses_constraints_and_priorities() {
    for kind in KINDS {
        let bare = Facts {
            follows_grammars: false,
            follows_schemas: false,
            follows_schemas_after_reasoning: false,
            priority_sign: 0,
            ..facts(kind)
        };
        assert_eq!(refused(kind, &bare, |request| request.priority = 1), Some("priority"));
        for constraint in [grammar(), schema(behind_reasoning())] {
            let change =
                |request: &mut RemoteRequest| request.constraint = Some(Arc::new(constraint.clone()));
            assert_eq!(refused(kind, &bare, change), Some("constraint"), "{kind:?}");
            let wish = Constraint { is_optional: true, ..constraint.clone() };
            let change = |request: &mut RemoteRequest| request.constraint = Some(Arc::new(wish.clone()));
            assert_eq!(refused(kind, &bare, change), None, "{kind:?}");
        }
    }
}

/// All that events say.
fn read(kind: EngineKind, events: &[&str]) -> Result<Chunk, WireFault> {
    let (mut reader, mut chunk) = (kind.wire().reader(), Chunk::default());
    for event in events {
        reader.read(event.as_bytes(), &mut chunk)?;
    }
    Ok(chunk)
}

fn ids(chunk: &Chunk) -> Vec<u32> {
    let id = |piece: &Piece| if let Piece::Token(token) = piece { Some(token.id) } else { None };
    chunk.pieces.iter().filter_map(id).collect()
}

#[test]
fn sglang_tells_all_ids_or_the_new_ones() {
    let event = |ids: &[u32], count: usize, finish: Value| {
        let meta = json!({ "finish_reason": finish, "completion_tokens": count, "cached_tokens": 2 });
        json!({ "text": "", "output_ids": ids, "meta_info": meta }).to_string()
    };
    let stop = json!({ "type": "stop", "matched": 5 });
    let all = [
        event(&[1], 1, Value::Null),
        event(&[1, 2, 3], 3, Value::Null),
        event(&[1, 2, 3, 5], 4, stop.clone()),
    ];
    let new = [event(&[1], 1, Value::Null), event(&[2, 3], 3, Value::Null), event(&[5], 4, stop)];
    for events in [all, new] {
        let chunk = read(EngineKind::Sglang, &events.each_ref().map(String::as_str)).unwrap();
        assert_eq!(
            (ids(&chunk), &chunk.end, chunk.cached),
            (vec![1, 2, 3, 5], &Some(WireEnd::Stop(Some(5))), Some(2))
        );
    }
    let lost = event(&[3], 3, Value::Null);
    assert!(matches!(read(EngineKind::Sglang, &[&lost]), Err(WireFault::Unreadable(_))));
    let aborted = event(&[], 0, json!({ "type": "abort", "message": "full", "status_code": 503 }));
    assert_eq!(read(EngineKind::Sglang, &[&aborted]), Err(WireFault::Engine(Some(503), "full".to_owned())));
}

#[test]
fn llamacpp_tells_characters_of_several_tokens_as_text() {
    let token = |content: &str, id: i64, count: usize| {
        json!({ "content": content, "tokens": [id], "tokens_predicted": count, "stop": false }).to_string()
    };
    let progress = r#"{"content":"","tokens":[-1],"tokens_predicted":0,"stop":false,"prompt_progress":{"total":9,"cache":4,"processed":9}}"#;
    let end = r#"{"content":"","tokens":[],"stop":true,"stop_type":"eos","tokens_predicted":4,"timings":{"cache_n":5}}"#;
    let chunk =
        read(EngineKind::LlamaCpp, &[progress, &token("a", 7, 1), &token("ã", 96, 3), &token("", 5, 4), end]);
    let chunk = chunk.unwrap();
    assert_eq!(ids(&chunk), [7, 5]);
    assert_eq!(chunk.pieces[1], Piece::Text("ã".to_owned()));
    assert_eq!((chunk.end, chunk.cached, chunk.is_over), (Some(WireEnd::Stop(None)), Some(5), true));
}

#[test]
fn log_probabilities_belong_to_their_tokens() {
    let openai = r#"{"choices":[{"text":"","token_ids":[7,8],"logprobs":{"token_logprobs":[-0.5,-1.0],"top_logprobs":[{"token_id:7":-0.5,"token_id:9":-2.0},null]}}]}"#;
    let vllm = r#"{"choices":[{"token_ids":[7,8],"logprobs":{"content":[{"token_id":7,"logprob":-0.5,"top_logprobs":[{"token_id":7,"logprob":-0.5},{"token_id":9,"logprob":-2.0}]},{"token_id":8,"logprob":-1.0}]}}]}"#;
    let sglang = r#"{"output_ids":[7,8],"meta_info":{"finish_reason":null,"completion_tokens":2,"output_token_logprobs":[[-0.5,7,null],[-1.0,8,null]],"output_top_logprobs":[[[-0.5,7,null],[-2.0,9,null]],null]}}"#;
    for (kind, event) in
        [(EngineKind::OpenAi, openai), (EngineKind::Vllm, vllm), (EngineKind::Sglang, sglang)]
    {
        let chunk = read(kind, &[event]).unwrap();
        let [Piece::Token(first), Piece::Token(second)] = &chunk.pieces[..] else { panic!("{chunk:?}") };
        let (first, second) = (first.logprobs.as_ref().unwrap(), second.logprobs.as_ref().unwrap());
        assert_eq!((first.chosen, &first.top), (-0.5, &vec![(7, -0.5), (9, -2.0)]));
        assert_eq!((second.chosen, &second.top), (-1.0, &Vec::new()));
    }
}

#[test]
fn errors_are_found_whatever_stands_around_them() {
    let errors = [
        r#"{"error":{"message":"no","code":400}}"#,
        r#"{"error": {"message": "no", "type": "x", "code": 400}}"#,
        r#"{"object":"error","message":"no","code":400}"#,
    ];
    for kind in KINDS {
        for error in errors {
            assert_eq!(
                read(kind, &[error]),
                Err(WireFault::Engine(Some(400), "no".to_owned())),
                "{kind:?} {error}"
            );
        }
        for unreadable in ["", "{", "[]", "null", "<html>"] {
            assert!(
                matches!(read(kind, &[unreadable]), Err(WireFault::Unreadable(_))),
                "{kind:?} {unreadable}"
            );
        }
    }
}

#[test]
fn chunks_without_choices_say_nothing() {
    for kind in [EngineKind::OpenAi, EngineKind::Vllm] {
        let usage =
            r#"{"choices":[],"usage":{"prompt_tokens":3,"prompt_tokens_details":{"cached_tokens":2}}}"#;
        let chunk = read(kind, &[usage, "[DONE]"]).unwrap();
        assert_eq!((chunk.pieces.len(), chunk.end, chunk.cached, chunk.is_over), (0, None, Some(2), true));
    }
}
