//! Long prompts, over a socket: what fits into the context is answered however many bytes it has, and
//! what doesn't is refused in tokens, in the words that each protocol's clients match.

use std::net::SocketAddr;

use serde_json::{Value, json};
use tests::client::{get, post};
use tests::server::{Setup, TestServer};

/// Tokens of the embedded model's context.
const CONTEXT: usize = 4096;
/// Tokens of a context for which texts are tokenised in pieces.
const LARGE_CONTEXT: usize = 65_536;
/// Text of two tokens, of 21 bytes.
const LONG_WORD: &str = "additionalProperties\n";

/// Each route that makes a prompt, with a body that has this text.
fn routes(text: &str) -> [(&'static str, Value); 8] {
    let messages = json!([{ "role": "user", "content": text }]);
    let asked = json!({ "model": "qwen3-tiny", "max_tokens": 1, "messages": messages });
    [
        ("/v1/responses", json!({ "model": "qwen3-tiny", "max_output_tokens": 1, "input": text })),
        ("/v1/chat/completions", asked.clone()),
        ("/v1/completions", json!({ "model": "qwen3-tiny", "max_tokens": 1, "prompt": text })),
        ("/v1/messages", asked),
        ("/v1/responses/input_tokens", json!({ "model": "qwen3-tiny", "input": text })),
        ("/v1/messages/count_tokens", json!({ "model": "qwen3-tiny", "messages": messages })),
        ("/tokenize", json!({ "model": "qwen3-tiny", "prompt": text })),
        ("/tokenize", json!({ "model": "qwen3-tiny", "messages": messages })),
    ]
}

/// Number of tokens that an answer of `path` tells.
fn counted(path: &str, answer: &Value) -> Option<u64> {
    let count = match path {
        "/tokenize" => &answer["count"],
        "/v1/responses/input_tokens" | "/v1/messages/count_tokens" => &answer["input_tokens"],
        "/v1/messages" => {
            let usage = &answer["usage"];
            return Some(usage["input_tokens"].as_u64()? + usage["cache_read_input_tokens"].as_u64()?);
        }
        "/v1/responses" => &answer["usage"]["input_tokens"],
        _ => &answer["usage"]["prompt_tokens"],
    };
    count.as_u64()
}

/// Checks that the prompt of `text` is refused everywhere with these numbers: its tokens, as
/// Anthropic's and `OpenAI`'s clients read them. `None` where a route counts only, and gives the
/// number.
async fn assert_refused(
    address: SocketAddr,
    context: usize,
    text: &str,
    tokens: impl Fn(&str) -> Option<u64>,
) {
    for (path, body) in routes(text) {
        let answer = post(address, path, &body).await;
        let error = answer.json()["error"].clone();
        if answer.status == 200 {
            assert!(counted(path, &answer.json()) > Some(context as u64), "{path}");
            continue;
        }
        let message = error["message"].as_str().expect("a message").to_owned();
        assert_eq!(
            (answer.status.as_u16(), &error["type"]),
            (400, &json!("invalid_request_error")),
            "{message}"
        );
        let number = if path.starts_with("/v1/messages") {
            let (_, numbers) = message.split_once("prompt is too long: ").expect("Anthropic's words");
            let (number, most) = numbers.split_once(" tokens > ").expect("Anthropic's words");
            assert_eq!(most, format!("{context} maximum"));
            number.strip_prefix("at least ").unwrap_or(number)
        } else {
            assert_eq!(error["code"], "context_length_exceeded");
            let start = format!("This model's maximum context length is {context} tokens. However, your ");
            assert!(message.starts_with(&start), "{path}: {message}");
            let behind = ["resulted in ", "contains at least "];
            let number = behind.iter().find_map(|words| message.split(words).nth(1)).expect("OpenAI's words");
            number.split(' ').next().expect("a number")
        };
        let number: u64 = number.parse().expect("a number");
        assert!(number > context as u64, "{path}: {message}");
        if let Some(exact) = tokens(path) {
            assert_eq!(number, exact, "{path}: {message}");
        }
    }
}

/// A server of a scripted model with a context of `LARGE_CONTEXT` tokens.
async fn large() -> (TestServer, tempfile::TempDir) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut setup = Setup::replay(folder.path(), &json!([{ "text": "Fine." }]));
    setup.model.context = Some(LARGE_CONTEXT);
    (TestServer::start(setup).await, folder)
}

/// Checks that a prompt of `words` long words is answered everywhere, with its tokens.
async fn assert_answered(address: SocketAddr, context: usize, words: usize) {
    let text = LONG_WORD.repeat(words);
    assert!(text.len() > 8 * context, "more bytes than a prompt could once have");
    for (path, body) in routes(&text) {
        let answer = post(address, path, &body).await;
        assert_eq!(answer.status, 200, "{path}: {:?}", answer.body);
        let tokens = counted(path, &answer.json()).expect("a count");
        assert!((2 * words as u64..2 * words as u64 + 100).contains(&tokens), "{path}: {tokens}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn prompt_that_fits_is_answered_however_many_bytes_it_has() {
    let server = TestServer::start(Setup::default()).await;
    assert_answered(server.address, CONTEXT, 1900).await;
    server.stop().await;
    let (server, _folder) = large().await;
    assert_answered(server.address, LARGE_CONTEXT, 32_000).await;
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn overflow_is_told_in_the_tokens_of_the_prompt() {
    let server = TestServer::start(Setup::default()).await;
    let text = LONG_WORD.repeat(2500);
    let mut exact = std::collections::HashMap::new();
    for (path, body) in &routes(&text)[4..7] {
        let answer = post(server.address, path, body).await;
        assert_eq!(answer.status, 200, "{path} only counts: {:?}", answer.body);
        exact.insert(*path, counted(path, &answer.json()).expect("a count"));
    }
    let counting = |path: &str| match path {
        "/v1/messages" => "/v1/messages/count_tokens",
        "/v1/completions" => "/tokenize",
        _ => "/v1/responses/input_tokens",
    };
    assert_refused(server.address, CONTEXT, &text, |path| Some(exact[counting(path)])).await;
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hostile_texts_are_refused_with_a_number_that_they_have_at_least() {
    let embedded = TestServer::start(Setup::default()).await;
    let (large, _folder) = large().await;
    let rare: String = ('\u{100}'..'\u{3000}').cycle().take(300_000).collect();
    // One letter, rare characters, white space, short words; and what can't fit whatever it is.
    for text in
        ["x".repeat(1 << 20), rare, "\u{1F9FF}".repeat(200_000), " \n".repeat(400_000), "1 ".repeat(4 << 20)]
    {
        assert_refused(embedded.address, CONTEXT, &text, |_| None).await;
        assert_refused(large.address, LARGE_CONTEXT, &text, |_| None).await;
    }
    for server in [embedded, large] {
        assert_eq!(get(server.address, "/health").await.status, 200);
        server.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn truncation_drops_what_is_too_long_to_be_counted() {
    let server = TestServer::start(Setup::default()).await;
    let long = "x".repeat(250_000);
    let input = json!([
        { "role": "user", "content": long }, { "role": "assistant", "content": "Yes." },
        { "role": "user", "content": "And now?" },
    ]);
    let body = json!({ "model": "qwen3-tiny", "input": input, "truncation": "auto", "max_output_tokens": 1 });
    let answer = post(server.address, "/v1/responses", &body).await;
    assert_eq!(answer.status, 200, "{:?}", answer.body);
    assert!(answer.json()["usage"]["input_tokens"].as_u64() < Some(100));
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn empty_prompt_is_not_called_too_long() {
    let server = TestServer::start(Setup::default()).await;
    let body = json!({ "model": "qwen3-tiny", "max_tokens": 1, "prompt": "" });
    let answer = post(server.address, "/v1/completions", &body).await;
    assert_eq!(answer.status, 400);
    let message = answer.json()["error"]["message"].clone();
    assert_eq!(message, "The prompt is empty: send at least one token.");
    server.stop().await;
}
