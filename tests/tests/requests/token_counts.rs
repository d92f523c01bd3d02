//! Counts of a prompt's tokens.

use serde_json::json;
use tests::client::post;
use tests::server::{Setup, TestServer};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_count_of_a_prompt_is_what_its_answer_says() {
    let server = TestServer::start(Setup::default()).await;
    for extra in [
        json!({}),
        json!({ "instructions": "Be brief." }),
        json!({ "tools": [{ "type": "function", "name": "f", "parameters": { "type": "object" } }] }),
    ] {
        let mut body = json!({ "model": "qwen3-tiny", "input": "Who are you?", "max_output_tokens": 1 });
        body.as_object_mut().expect("an object").extend(extra.as_object().expect("an object").clone());
        let counted = post(server.address, "/v1/responses/input_tokens", &body).await.json();
        let answered = post(server.address, "/v1/responses", &body).await.json();
        let tokens = &answered["usage"]["input_tokens"];
        assert!(tokens.as_u64().is_some_and(|tokens| tokens > 0), "{answered}");
        assert_eq!(counted, json!({ "object": "response.input_tokens", "input_tokens": tokens }));
    }
    server.stop().await;
}
