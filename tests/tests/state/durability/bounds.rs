//! Bounds of the store as its users meet them: the oldest makes room, what is too large for the
//! store is refused before it is begun, and so is a background response that would be one too many.

use std::sync::Arc;

use serde_json::{Value, json};
use store::{Bounds, Options, Sqlite};
use tests::client::{Answer, get, metric, post};
use tests::server::{Setup, TestServer};
use tests::tools::eventually;

const GENERATED: &str = r#"sluice_generation_tokens_total{model_name="bounded"}"#;

async fn start(bounds: Bounds) -> TestServer {
    let folder = tempfile::tempdir().unwrap();
    let rules = json!([
        { "when": { "last_user_contains": "endless" }, "text": "It begins", "finish": "hang" },
        { "text": "Four." }
    ]);
    let mut setup = Setup::replay(folder.path(), &rules);
    setup.model.served_names = vec!["bounded".to_owned()];
    setup.store = Some(Arc::new(Sqlite::memory(&Options { bounds, ..Options::default() }).unwrap()));
    setup.limits.http.grace = std::time::Duration::from_millis(100);
    TestServer::start(setup).await
}

async fn ask(server: &TestServer, input: &str, more: &Value) -> Answer {
    let mut body = json!({ "model": "bounded", "input": input, "reasoning": { "effort": "none" } });
    body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    post(server.address, "/v1/responses", &body).await
}

fn refusal(answer: &Answer) -> (u16, Value) {
    (answer.status.as_u16(), answer.json()["error"]["code"].clone())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn oldest_makes_room_and_what_has_none_is_not_begun() {
    let server = start(Bounds { bytes: 64 << 10, ..Bounds::default() }).await;
    let mut ids = Vec::new();
    for _ in 0..40 {
        let answer = ask(&server, &"2+2? ".repeat(200), &json!({})).await;
        ids.push(answer.json()["id"].as_str().unwrap().to_owned());
    }
    let read = async |id: &str| get(server.address, &format!("/v1/responses/{id}")).await.status.as_u16();
    assert_eq!((read(&ids[0]).await, read(&ids[39]).await), (404, 200));

    let tokens = metric(server.address, GENERATED).await;
    // An image is a few words of the prompt, and is stored whole.
    let image = json!({ "type": "input_image", "image_url": format!("data:image/png;base64,{}", "A".repeat(100_000)) });
    let large = json!([{ "role": "user", "content": [image] }]);
    for stream in [false, true] {
        let refused = ask(&server, "", &json!({ "input": large, "stream": stream })).await;
        assert_eq!(refusal(&refused), (503, json!("store_full")));
    }
    assert_eq!(metric(server.address, GENERATED).await, tokens);
    let unstored = ask(&server, "", &json!({ "input": large, "store": false })).await;
    assert_eq!(unstored.json()["status"], "completed");
    // Nothing was evicted for them.
    assert_eq!(read(&ids[39]).await, 200);
    assert!(metric(server.address, r#"sluice_store_errors_total{reason="full"}"#).await >= 2.0);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn excess_background_response_gets_429_until_one_ends() {
    let server = start(Bounds { running: 1, queued: 2, ..Bounds::default() }).await;
    let background = json!({ "background": true });
    let queue = async || ask(&server, "endless", &background).await;
    let first = queue().await.json();
    let path = format!("/v1/responses/{}", first["id"].as_str().unwrap());
    eventually("it runs", async || get(server.address, &path).await.json()["status"] == "in_progress").await;
    let waiting = [queue().await, queue().await].map(|answer| answer.json());
    let refused = queue().await;
    assert_eq!(refusal(&refused), (429, json!("rate_limit_exceeded")));
    assert!(refused.headers.contains_key("retry-after"));
    // Others aren't kept from their answers.
    assert_eq!(ask(&server, "2+2?", &json!({})).await.json()["status"], "completed");
    let cancelled = post(server.address, &format!("{path}/cancel"), &json!({})).await;
    assert_eq!(cancelled.json()["status"], "cancelled");
    let next = format!("/v1/responses/{}", waiting[0]["id"].as_str().unwrap());
    eventually("the next one runs", async || {
        get(server.address, &next).await.json()["status"] == "in_progress"
    })
    .await;
    assert_eq!(queue().await.status, 200);
    server.stop().await;
}
