//! The CPU engine seen from outside: requests that wait too long for it, keys that share it, and
//! drafts, which change no answer.

use std::cell::Cell;
use std::time::Duration;

use bytes::Bytes;
use engine::SpeculationOptions;
use http::{HeaderValue, Request};
use http_body_util::Full;
use serde_json::{Value, json};
use tests::client::{Open, get, json_request, metric, open, post, send};
use tests::server::{Setup, TestServer};

/// Bytes of a token's keys and values in the embedded model: five layers, keys and values, two
/// heads of 32, f16.
const TOKEN_BYTES: usize = 5 * 2 * 2 * 32 * 2;

/// Request whose prompt takes more than half of a cache of 4,096 tokens, and whose answer takes
/// almost all of the rest.
fn large(first: u32) -> Value {
    let prompt: Vec<u32> = (0..2100).map(|at| if at == 0 { first } else { 20 + at % 90 }).collect();
    // The end tokens can't come, so the answer has its full length.
    let bias = json!({ "705": -100, "707": -100 });
    json!({ "model": "waiting", "prompt": prompt, "max_tokens": 1900, "stream": true, "logit_bias": bias })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn too_long_waiting_gets_a_status_and_when_to_retry() {
    let mut setup = Setup::default();
    setup.model.served_names = vec!["waiting".to_owned()];
    setup.model.kv_cache_bytes.cpu = 4096 * TOKEN_BYTES;
    setup.model.queue_timeout = Some(Duration::from_millis(5));
    setup.model.speculation = SpeculationOptions::OFF;
    let server = TestServer::start(setup).await;
    let mut first = open(server.address, json_request("/v1/completions", large(3).to_string())).await;
    assert_eq!(first.status, 200);
    assert!(first.next().await.is_some(), "it writes");
    let second = post(server.address, "/v1/completions", &large(4)).await;
    assert_eq!((second.status.as_u16(), &second.headers["retry-after"]), (429, &"1".parse().unwrap()));
    assert_eq!(second.json()["error"]["code"], "rate_limit_exceeded");
    // The first request isn't affected. Figures are updated when a step is done.
    let refused = r#"sluice_engine_refused_total{model_name="waiting"}"#;
    while metric(server.address, refused).await == 0.0 {
        assert!(first.next().await.is_some(), "it ended, and no refusal was counted");
    }
    drop(first);
    server.stop().await;
}

/// A request of the client with this key: `n` answers of `tokens` tokens.
fn of(key: &'static str, n: usize, tokens: usize) -> Request<Full<Bytes>> {
    let body = json!({ "model": "shared", "prompt": "x", "n": n, "max_tokens": tokens, "stream": true, "temperature": 1,
                       "logit_bias": { "705": -100, "707": -100 } });
    let mut request = json_request("/v1/completions", body.to_string());
    request.headers_mut().insert("x-api-key", HeaderValue::from_static(key));
    request
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn long_answers_of_one_key_keep_no_other_key_out() {
    let mut setup = Setup { keys: vec!["one".to_owned(), "two".to_owned()], ..Setup::default() };
    setup.model.served_names = vec!["shared".to_owned()];
    setup.limits.model.waiting_requests = 64;
    // No client is slow: what one key's clients don't read is no reason to pause.
    setup.limits.model.stream_queue = 65_536;
    let server = TestServer::start(setup).await;
    let stats = || server.model.engine_stats();
    let mut long: Vec<Open> = Vec::new();
    loop {
        let answer = open(server.address, of("one", 16, 1500)).await;
        if answer.status == 200 {
            long.push(answer);
            continue;
        }
        assert_eq!(answer.status, 429);
        if stats().running >= 64 {
            break;
        }
        assert!(long[0].next().await.is_some(), "it ended before all slots were taken");
    }
    let answer = send(server.address, of("two", 1, 3)).await;
    assert_eq!(answer.status, 200);
    assert!(stats().waiting > 0 && stats().preemptions > 0, "nobody waited");
    drop(long);
    server.stop().await;
}

/// Answers to several prompts, greedy and sampled, and the number of drafted tokens that were
/// accepted.
async fn answers(name: &str, speculation: SpeculationOptions) -> (Vec<Value>, f64) {
    let mut setup = Setup::default();
    setup.model.served_names = vec![name.to_owned()];
    setup.model.speculation = speculation;
    let server = TestServer::start(setup).await;
    let copied = "Baden Baden Baden Baden Baden";
    let mut answers = Vec::new();
    for (prompt, temperature) in [(copied, 0.0), (copied, 0.7), ("Who are you?", 0.0), ("Who are you?", 1.0)]
    {
        let body = json!({
            "model": name, "prompt": prompt, "max_tokens": 120, "temperature": temperature, "seed": 5, "logprobs": 2,
            "frequency_penalty": temperature / 2.0,
        });
        let answer = post(server.address, "/v1/completions", &body).await.json();
        answers.push(json!([answer["choices"], answer["usage"]["completion_tokens"]]));
    }
    let accepted = format!(r#"sluice_spec_decode_num_accepted_tokens_total{{model_name="{name}"}}"#);
    let accepted = metric(server.address, &accepted).await;
    server.stop().await;
    (answers, accepted)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn drafts_change_no_answer_and_are_counted() {
    let (plain, none) = answers("undrafted", SpeculationOptions::OFF).await;
    let (drafted, accepted) = answers("drafted", SpeculationOptions::default()).await;
    assert_eq!(drafted, plain);
    assert!(none == 0.0 && accepted > 5.0, "{accepted} tokens were accepted");
}

/// Calls and texts of requests with plain tools, and of one that has to call, each with its number of tokens; how many
/// drafted tokens were accepted; and the engine's steps.
async fn answers_with_tools(name: &str, speculation: SpeculationOptions) -> (Vec<Value>, f64, u64) {
    let mut setup = Setup::default();
    setup.model.served_names = vec![name.to_owned()];
    setup.model.speculation = speculation;
    let server = TestServer::start(setup).await;
    let tool = |at: usize| {
        let parameters =
            json!({ "type": "object", "properties": { "city": {} }, "additionalProperties": false });
        json!({ "type": "function", "function": { "name": format!("find_weather_of_a_city_{at}"), "parameters": parameters } })
    };
    let mut answers = Vec::new();
    for (tools, temperature, choice) in
        [(2, 0.0, "auto"), (2, 1.0, "auto"), (40, 0.0, "auto"), (40, 1.0, "auto"), (40, 1.0, "required")]
    {
        for seed in 0..6 {
            let body = json!({
                "model": name, "max_completion_tokens": 150, "temperature": temperature, "seed": seed, "tool_choice": choice,
                "messages": [{ "role": "user", "content": "What is the weather in Baden, Baden, Baden and Baden?" }],
                "tools": (0..tools).map(tool).collect::<Vec<_>>(),
            });
            let answer = post(server.address, "/v1/chat/completions", &body).await.json();
            let choice = &answer["choices"][0];
            let calls = choice["message"]["tool_calls"].as_array().cloned().unwrap_or_default();
            let calls: Vec<Value> = calls.iter().map(|call| call["function"].clone()).collect();
            answers.push(json!([
                calls,
                choice["message"]["content"],
                choice["finish_reason"],
                answer["usage"]["completion_tokens"]
            ]));
        }
    }
    let accepted = format!(r#"sluice_spec_decode_num_accepted_tokens_total{{model_name="{name}"}}"#);
    let accepted = metric(server.address, &accepted).await;
    let steps = server.model.engine_stats().steps;
    server.stop().await;
    (answers, accepted, steps)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn drafts_change_no_call_in_its_envelope_and_save_steps() {
    let (plain, none, steps) = answers_with_tools("undrafted_calls", SpeculationOptions::OFF).await;
    let (drafted, accepted, fewer) = answers_with_tools("drafted_calls", SpeculationOptions::default()).await;
    assert_eq!(drafted, plain);
    assert!(plain.iter().any(|answer| answer[0] != json!([])), "nothing was called");
    assert!(none == 0.0 && accepted > 5.0, "{accepted} tokens were accepted");
    assert!(fewer < steps, "{fewer} steps with drafts, {steps} without");
}

/// A template that takes its time for a short prompt holds nobody else up but once: from then on its prompts
/// are made elsewhere. The runtime's only thread answers the others.
#[tokio::test]
async fn a_slow_template_holds_others_up_once() {
    let mut setup = Setup::default();
    let slow = "{% for message in messages %}{% if 'slow' in message.content %}{% for _ in range(8) %}{% for _ in range(90000) %}{% set _x = loop.index * 2 %}{% endfor %}{% endfor %}{% endif %}{% endfor %}";
    let own = include_str!("../../../host/models/qwen3-tiny/chat_template.jinja");
    setup.model.chat_template = Some(format!("{slow}{own}"));
    let server = TestServer::start(setup).await;
    let body = json!({ "model": "qwen3-tiny", "max_tokens": 1, "messages": [{ "role": "user", "content": "slow" }] });
    let slow = async || assert_eq!(post(server.address, "/v1/chat/completions", &body).await.status, 200);
    slow().await;
    let others = Cell::new(0);
    let ask_on = async {
        loop {
            assert_eq!(get(server.address, "/health").await.status, 200);
            others.set(others.get() + 1);
        }
    };
    tokio::select! { () = slow() => {}, () = ask_on => {} }
    assert!(others.get() >= 20, "{} answers beside a slow prompt", others.get());
    server.stop().await;
}
