//! Tests of the whole body that each kind is sent, and of the fields for which it is refused.

use std::sync::Arc;

use engine::{Constraint, JsonBegins, JsonConstraint, LogitsProcessors, RouteKey, SamplingParams};
use serde_json::{Value, json};

use crate::facts::{Facts, Watch};
use crate::identity;
use crate::kind::EngineKind;
use crate::request::RemoteRequest;
use crate::schema::SchemaGaps;
use crate::wire;

const ID: &str = "0123456789abcdef0123456789abcdef";

fn facts(kind: EngineKind) -> Facts {
    Facts {
        kind,
        is_sluice: false,
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
        watch: (kind != EngineKind::Gateway).then_some(Watch { health: "health", gauges: None, slots: None }),
    }
}

/// A request that uses everything that every kind can do.
fn request() -> RemoteRequest {
    RemoteRequest {
        prompt: vec![1, 2, 3],
        max_tokens: 7,
        sampling: SamplingParams { temperature: 0.5, top_p: 0.25, top_k: 4, min_p: 0.125, seed: u64::MAX },
        processors: LogitsProcessors {
            repetition: 1.5,
            bias: vec![(8, 2.0), (9, -1.0)],
            banned: vec![vec![10]],
            ends: vec![5, 6],
            ..LogitsProcessors::default()
        },
        stop_ids: Arc::from([5, 6]),
        ignore_eos: true,
        top_logprobs: None,
        prompt_logprobs: None,
        constraint: None,
        reasoning_budget: None,
        schema_gaps: SchemaGaps::default(),
        cache_salt: 0xab,
        affinity: RouteKey::Chain(0xcd),
        principal: 0xef,
        priority: 0,
        traceparent: None,
    }
}

fn body(kind: EngineKind, request: &RemoteRequest) -> Value {
    let facts = facts(kind);
    assert_eq!(wire::of(kind).check(request, &facts), Ok(()));
    serde_json::from_slice(&wire::of(kind).body(request, &facts, ID)).unwrap()
}

/// Field for which the changed request is refused.
fn refused(kind: EngineKind, facts: &Facts, change: impl Fn(&mut RemoteRequest)) -> Option<&'static str> {
    let mut request = request();
    change(&mut request);
    wire::of(kind).check(&request, facts).err().map(|unsupported| unsupported.field)
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
        "ignore_eos": true, "skip_special_tokens": false, "spaces_between_special_tokens": false
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
        "add_special_tokens": false, "cache_salt": "00000000000000ab", "session_id": "00000000000000cd"
    });
    completions.as_object_mut().unwrap().extend(own.as_object().unwrap().clone());
    assert_eq!(body(EngineKind::OpenAi, &request()), completions);
}

#[test]
fn vllm_is_sent_the_budget_of_reasoning() {
    let bounded = RemoteRequest { reasoning_budget: Some(12), ..request() };
    let generate = body(EngineKind::Vllm, &bounded);
    assert_eq!(generate["sampling_params"]["thinking_token_budget"], 12);
    assert_eq!(body(EngineKind::OpenAi, &bounded)["thinking_token_budget"], 12);
}

#[test]
fn sglang_is_sent_every_field_that_decides_what_comes() {
    let params = json!({
        "max_new_tokens": 7, "min_new_tokens": 0, "n": 1, "temperature": 0.5, "top_p": 0.25, "top_k": 4,
        "min_p": 0.125, "presence_penalty": 0.0, "frequency_penalty": 0.0, "repetition_penalty": 1.5,
        "logit_bias": { "8": 2.0, "9": -1.0, "10": -1e9 }, "stop_token_ids": [5, 6], "ignore_eos": true,
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
fn llamacpp_gets_every_field_that_decides_the_answer() {
    let expected = json!({
        "prompt": [1, 2, 3], "stream": true, "return_tokens": true, "return_progress": true, "cache_prompt": true,
        "n_predict": 7, "seed": 0x7fff_ffff, "samplers": ["penalties", "temperature", "min_p", "top_k", "top_p"],
        "temperature": 0.5, "dynatemp_range": 0.0, "top_k": 4, "top_p": 0.25, "min_p": 0.125, "typical_p": 1.0,
        "repeat_last_n": 4096, "repeat_penalty": 1.5, "presence_penalty": 0.0, "frequency_penalty": 0.0,
        "dry_multiplier": 0.0, "xtc_probability": 0.0, "mirostat": 0,
        "logit_bias": [[8, 2.0], [9, -1.0], [10, false]], "n_probs": 0, "post_sampling_probs": false, "stop": [],
        "ignore_eos": true,
        "response_fields":
            ["content", "tokens", "stop", "stop_type", "tokens_predicted", "timings", "prompt_progress"]
    });
    assert_eq!(body(EngineKind::LlamaCpp, &request()), expected);
}

#[test]
fn constraints_go_in_the_form_each_engine_follows() {
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
fn min_length_and_scored_prompts_echo_are_sent() {
    let mut asked = request();
    (asked.processors.min_tokens, asked.prompt_logprobs) = (9, Some(2));
    let sent = body(EngineKind::OpenAi, &asked);
    // No more than the answer may have, since engines refuse that.
    assert_eq!((&sent["min_tokens"], &sent["echo"]), (&json!(7), &json!(true)));
    asked.prompt_logprobs = None;
    assert_eq!(body(EngineKind::Vllm, &asked)["sampling_params"]["min_tokens"], 7);
    let sglang = body(EngineKind::Sglang, &asked);
    assert_eq!(sglang["sampling_params"]["min_new_tokens"], 7);
}

#[test]
fn what_a_kind_cannot_do_is_refused_by_name() {
    for kind in EngineKind::ALL {
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
        let tells_scores = matches!(kind, EngineKind::OpenAi | EngineKind::Gateway);
        assert_eq!(refused(&|request| request.prompt_logprobs = Some(1)), (!tells_scores).then_some("echo"));
        assert_eq!(
            refused(&|request| request.processors.min_tokens = 1),
            is_llamacpp.then_some("min_tokens")
        );
        assert_eq!(
            refused(&|request| request.reasoning_budget = Some(1)),
            (is_sglang || is_llamacpp).then_some("thinking_token_budget")
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
fn bare_engine_refuses_constraints_and_priorities() {
    for kind in EngineKind::ALL {
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

#[test]
fn owner_and_chain_are_told_as_each_kind_reads_them() {
    let told = |facts: &Facts, request: &RemoteRequest| {
        let headers = identity::headers(facts, request);
        let mut headers: Vec<_> =
            headers.iter().map(|(name, value)| format!("{name}: {}", value.to_str().unwrap())).collect();
        headers.sort();
        headers
    };
    let (owner, chain) = ("00000000000000ef", "00000000000000cd");
    let sluice = Facts { is_sluice: true, ..facts(EngineKind::OpenAi) };
    let fairness = format!("x-llm-d-inference-fairness-id: {owner}");
    let sessions = ["x-aibrix-session-key", "x-dynamo-session-id"].map(|name| format!("{name}: {chain}"));
    let gateway = [&sessions[..], &[fairness.clone(), format!("x-session-affinity: {chain}")]].concat();
    for (facts, expected) in [
        (facts(EngineKind::OpenAi), vec![]),
        (sluice, vec![format!("x-session-affinity: {chain}")]),
        (facts(EngineKind::Vllm), vec![format!("x-session-id: {chain}")]),
        (facts(EngineKind::Sglang), vec![]),
        (facts(EngineKind::LlamaCpp), vec![]),
        (facts(EngineKind::Gateway), gateway),
    ] {
        assert_eq!(told(&facts, &request()), expected, "{:?}", facts.kind);
        let unnamed = RemoteRequest { affinity: RouteKey::Beginning(0xcd), ..request() };
        let owner_alone = expected.into_iter().filter(|header| *header == fairness).collect::<Vec<_>>();
        assert_eq!(told(&facts, &unnamed), owner_alone, "no chain that nobody named: {:?}", facts.kind);
        let wire = wire::of(facts.kind);
        assert!(!String::from_utf8(wire.body(&unnamed, &facts, ID)).unwrap().contains("session"));
    }
}
