//! Long answers: one event for each token that adds text, and as many bytes per token at 64k tokens
//! as at 1k. No event repeats earlier text, so cost is linear in the length. (`benches/stream.rs`
//! prints the time.)

use api::Protocol;
use serde_json::{Value, json};
use tests::client::post;
use tests::measure::{growth, runs_alone};
use tests::path::{Shape, answer, replay_model};
use tests::server::{Setup, TestServer};

struct Counts {
    tokens: usize,
    deltas: usize,
    bytes: usize,
}

/// Counts tokens, deltas and bytes of an answer of about `tokens` tokens, and checks that it is
/// well-formed.
async fn counts(shape: Shape, tokens: usize) -> Counts {
    let (model, _folder) = replay_model(&shape.output(tokens));
    let (mut deltas, mut bytes) = (0, 0);
    let mut check = Protocol::Responses.check();
    let tokens = answer(&model, Protocol::Responses, &shape.request(Protocol::Responses), |write| {
        bytes += write.len();
        let text = std::str::from_utf8(&write).expect("SSE is UTF-8");
        deltas += text
            .lines()
            .filter(|line| line.starts_with("event: ") && line.rsplit('.').next() == Some("delta"))
            .count();
        check.feed(&write).unwrap_or_else(|violation| panic!("{violation}"));
    })
    .await;
    check.finish().unwrap_or_else(|violation| panic!("{violation}"));
    Counts { tokens: tokens as usize, deltas, bytes }
}

async fn stays_linear(shape: Shape) {
    let short = counts(shape, 1 << 10).await;
    let per_token = |counts: &Counts| counts.bytes * 1000 / counts.tokens;
    for tokens in [1 << 14, 1 << 16] {
        let long = counts(shape, tokens).await;
        assert!((tokens * 3 / 4..tokens * 5 / 4).contains(&long.tokens), "{shape:?}: {} tokens", long.tokens);
        // Some tokens add no text by themselves: markup, the first half of an escape.
        assert!(
            long.deltas <= long.tokens && long.deltas >= long.tokens * 3 / 4,
            "{shape:?}: {} deltas of {} tokens",
            long.deltas,
            long.tokens
        );
        let (long, short) = (per_token(&long), per_token(&short));
        assert!(long <= short + short / 20, "{shape:?}: {long} bytes per 1000 tokens, {short} at 1k");
    }
}

#[tokio::test]
async fn a_patch_of_64k_tokens_is_told_as_it_comes() {
    stays_linear(Shape::CustomInput).await;
}

#[tokio::test]
async fn arguments_of_64k_tokens_are_told_as_they_come() {
    stays_linear(Shape::Arguments).await;
}

#[tokio::test]
async fn reasoning_of_64k_tokens_streams_in_both_dialects() {
    stays_linear(Shape::Reasoning).await;
    stays_linear(Shape::Summary).await;
}

#[tokio::test]
async fn a_message_of_64k_tokens_is_told_as_it_comes() {
    stays_linear(Shape::Text).await;
}

/// Drafts of calls inside open reasoning are held, up to a mebibyte each.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn drafts_over_the_held_bound_end_beside_neighbours() {
    if !runs_alone("protocols::long_streams::drafts_over_the_held_bound_end_beside_neighbours") {
        return;
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    let argument = "word ".repeat(400_000);
    let draft = format!("<think>\n<tool_call>\n{{\"name\": \"f\", \"arguments\": {{\"x\": \"{argument}");
    let rules = json!([{ "when": { "contains": "draft" }, "text": draft }, { "text": "<think>\n\n</think>\n\nHello." }]);
    let mut setup = Setup::replay(folder.path(), &rules).with_parser("qwen3");
    setup.model.context = Some(1 << 20);
    // What is measured is what the answers hold while they run.
    setup.store = None;
    let server = TestServer::start(setup).await;
    let address = server.address;
    let ask = |text: &str, stream: bool| {
        let tool = json!({ "type": "function", "name": "f", "parameters": {}, "strict": false });
        let body = json!({ "model": "qwen3-tiny", "input": text, "stream": stream, "tools": [tool] });
        async move { post(address, "/v1/responses", &body).await }
    };
    let grown = growth(async {
        let drafts = futures_util::future::join_all((0..8).map(|_| ask("draft", true)));
        let (drafts, neighbour) = tokio::join!(drafts, ask("hi", false));
        assert_eq!(neighbour.json()["output"][0]["content"][0]["text"], "Hello.");
        for answer in drafts {
            let mut check = Protocol::Responses.check();
            check.feed(&answer.body).and_then(|()| check.finish()).expect("a well-formed stream");
            let events = answer.events();
            let response = &events.last().expect("events")["response"];
            assert_eq!(response["status"], "failed");
            let output = response["output"].as_array().expect("a list of items");
            let is_whole = |item: &Value| item["type"] == "function_call" && item["status"] == "completed";
            assert!(!output.iter().any(is_whole), "a draft that never ended is no call");
        }
    });
    let grown = grown.await;
    // Between 146 and 178 MiB, as the allocator has it.
    assert!(grown < 224 << 20, "memory grew by {} MiB", grown >> 20);
    assert_eq!(ask("hi", false).await.status, 200);
    server.stop().await;
}
