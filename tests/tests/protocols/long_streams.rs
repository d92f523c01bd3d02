//! Long answers: one event for each token that adds text, and as many bytes per token at 64k tokens as at 1k. No event repeats earlier
//! text, so cost is linear in the length. (`benches/stream.rs` prints the time.)

use host::api::Protocol;
use tests::path::{Shape, answer, replay_model};

struct Counts {
    tokens: usize,
    deltas: usize,
    bytes: usize,
}

/// Counts tokens, deltas and bytes of an answer of about `tokens` tokens, and checks that it is well-formed.
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
async fn reasoning_of_64k_tokens_is_told_as_it_comes_in_both_dialects() {
    stays_linear(Shape::Reasoning).await;
    stays_linear(Shape::Summary).await;
}

#[tokio::test]
async fn a_message_of_64k_tokens_is_told_as_it_comes() {
    stays_linear(Shape::Text).await;
}
