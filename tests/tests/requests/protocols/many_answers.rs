//! One request for many answers, prompts times choices: it gets all of them up to the limit,
//! streamed or not; other requests run beside it; the engine's queue stays bounded; and requests
//! for more answers are refused.

use std::time::{Duration, Instant};

use api::Protocol;
use model::EngineStats;
use serde_json::{Value, json};
use tests::client::{Answer, Open, json_request, open, post};
use tests::server::{Setup, TestServer};

/// Body of a request for `choices` answers to each of `prompts` prompts, of exactly `tokens`
/// tokens: biases keep the end tokens out.
async fn many(server: &TestServer, prompts: usize, choices: u32, tokens: u32) -> Value {
    let ends = json!({ "prompt": "<|im_end|><|endoftext|>" });
    let ends = post(server.address, "/tokenize", &ends).await.json()["tokens"].clone();
    let ends = ends.as_array().expect("tokens").iter().map(|id| (id.to_string(), json!(-100)));
    let prompts: Vec<String> = (0..prompts).map(|number| format!("Story {number}: once upon")).collect();
    json!({
        "model": "qwen3-tiny", "prompt": prompts, "n": choices, "max_tokens": tokens, "seed": 7, "temperature": 1,
        "logit_bias": ends.collect::<serde_json::Map<_, _>>()
    })
}

fn streaming(mut body: Value) -> Value {
    body["stream"] = json!(true);
    body
}

async fn complete(server: &TestServer, body: &Value) -> Answer {
    post(server.address, "/v1/completions", body).await
}

/// Text and finish reason of each choice, in order; the chunks of a choice are joined.
fn choices<'a>(objects: impl IntoIterator<Item = &'a Value>, count: usize) -> Vec<(String, Value)> {
    let mut choices = vec![(String::new(), Value::Null); count];
    for choice in objects.into_iter().filter_map(|object| object["choices"].as_array()).flatten() {
        let at = usize::try_from(choice["index"].as_u64().expect("an index")).expect("small");
        choices[at].0 += choice["text"].as_str().expect("a text");
        if !choice["finish_reason"].is_null() {
            choices[at].1 = choice["finish_reason"].clone();
        }
    }
    choices
}

fn stats(server: &TestServer) -> EngineStats {
    server.model.engine_stats()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn most_allowed_answers_come_alike_streamed_or_not() {
    let server = TestServer::start(Setup::default()).await;
    let body = many(&server, 2, 16, 8).await;
    let whole = complete(&server, &body).await;
    assert_eq!(whole.status, 200, "{:?}", whole.body);
    let whole = whole.json();
    let stream = complete(&server, &streaming(body)).await;
    let mut check = Protocol::Completions.check();
    check.feed(&stream.body).and_then(|()| check.finish()).expect("a well-formed stream");
    let told = choices([&whole], 32);
    assert_eq!(choices(&stream.events(), 32), told);
    assert!(told.iter().all(|(text, reason)| !text.is_empty() && reason == "length"), "{told:?}");
    assert_eq!(whole["usage"]["completion_tokens"], 32 * 8);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn more_answers_than_allowed_are_refused_by_number() {
    let mut setup = Setup::default();
    let server = TestServer::start(setup.clone()).await;
    for (prompts, n, answers) in [(16, 16, "256"), (3, 11, "33")] {
        let refused = complete(&server, &many(&server, prompts, n, 1).await).await;
        assert_eq!(refused.status, 400);
        let error = refused.json()["error"].clone();
        let message = error["message"].as_str().expect("a message");
        assert_eq!((&error["param"], &error["type"]), (&json!("n"), &json!("invalid_request_error")));
        assert!(message.contains(&format!("are {answers} answers")) && message.contains("32"), "{message}");
    }
    server.stop().await;
    setup.limits.request.sequences = 2;
    let server = TestServer::start(setup).await;
    for (n, status) in [(2, 200), (3, 400)] {
        let body = json!({ "model": "qwen3-tiny", "messages": [{ "role": "user", "content": "Hi" }], "n": n, "max_tokens": 1 });
        assert_eq!(post(server.address, "/v1/chat/completions", &body).await.status, status);
    }
    server.stop().await;
}

/// Both streams are read all the time, so the engine pauses neither for a slow client.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_neighbour_comes_to_its_end_beside_them() {
    let server = TestServer::start(Setup::default()).await;
    let request = streaming(many(&server, 2, 16, 400).await);
    let mut big = open(server.address, json_request("/v1/completions", request.to_string())).await;
    big.next().await.expect("it has begun");
    let to_its_end = async { while big.next().await.is_some() {} };
    let body = streaming(many(&server, 1, 1, 20).await);
    tokio::select! {
        () = to_its_end => panic!("the neighbour had to wait for all of them"),
        answer = complete(&server, &body) => {
            assert_eq!(choices(&answer.events(), 1)[0].1, "length");
        }
    }
    drop(big);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn engines_queue_holds_and_the_refused_leave_nothing() {
    let mut setup = Setup::default();
    setup.limits.model.waiting_requests = 40;
    let server = TestServer::start(setup).await;
    let request = streaming(many(&server, 2, 16, 300).await).to_string();
    // 192 answers: 64 are generated at a time, 40 may wait.
    let mut taken: Vec<Open> = Vec::new();
    let mut refused = 0;
    for _ in 0..6 {
        let answer = open(server.address, json_request("/v1/completions", request.clone())).await;
        if answer.status == 200 {
            taken.push(answer);
        } else {
            assert_eq!(answer.status, 429);
            assert!(answer.headers.contains_key("retry-after"), "{:?}", answer.headers);
            refused += 1;
        }
    }
    assert!(!taken.is_empty() && refused > 0, "{} taken, {refused} refused", taken.len());
    let seen = until(|| stats(&server).steps >= 3, || stats(&server).waiting).await;
    assert!(seen <= 40, "{seen} wait");
    drop(taken);
    let idle = || matches!(stats(&server), EngineStats { running: 0, waiting: 0, paused: 0, .. });
    until(idle, || 0).await;
    // Cancelled sequences count until the engine has noticed.
    let began = Instant::now();
    let request = many(&server, 2, 16, 1).await;
    while complete(&server, &request).await.status != 200 {
        assert!(began.elapsed() < PATIENCE, "nobody is there, and yet there is no place");
    }
    server.stop().await;
}

const PATIENCE: Duration = Duration::from_secs(20);

/// Waits until `done` returns true; returns the maximum of `measure` meanwhile.
async fn until(done: impl Fn() -> bool, measure: impl Fn() -> usize) -> usize {
    let (began, mut most) = (Instant::now(), 0);
    loop {
        most = most.max(measure());
        if done() {
            return most;
        }
        assert!(began.elapsed() < PATIENCE, "it doesn't come to that");
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}
