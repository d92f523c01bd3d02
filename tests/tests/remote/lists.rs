//! List of remote engines: probed at the start, read from a file, used with a key.

use serde_json::json;
use tests::client::{get, post};
use tests::fake_engine::{Action, FakeEngine, Identity, whole};
use tests::tools::eventually;

use crate::setup::{ask, server_for, start, text};

const ANSWER: &str = "<think>\n\n</think>\n\nHello there.";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn list_file_is_read_again_and_leavers_are_not_asked() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let list = folder.path().join("engines.txt");
    let answer = |_: usize, _: &serde_json::Value| vec![Action::Send(whole(ANSWER))];
    let (first, second) = (FakeEngine::start(answer).await, FakeEngine::start(answer).await);
    std::fs::write(&list, format!("# ours\n{}\n", first.url())).expect("a file");
    let server = server_for(&format!("@{}", list.display())).await;
    assert_eq!(text(&ask(&server).await), "Hello there.");
    // A list that can't be parsed changes nothing.
    std::fs::write(&list, "nonsense\n").expect("a file");
    assert_eq!(ask(&server).await.status, 200);
    std::fs::write(&list, second.url()).expect("a file");
    while second.received.requests().is_empty() {
        // There is no engine from the removal of the first until the second has been probed.
        assert!([200, 503].contains(&ask(&server).await.status.as_u16()));
    }
    let before = first.received.requests().len();
    assert_eq!(ask(&server).await.status, 200);
    assert_eq!(first.received.requests().len(), before);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn key_is_sent_and_another_models_engine_is_refused() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let key = folder.path().join("key");
    std::fs::write(&key, "sesame\n").expect("a file");
    let engine = FakeEngine::start(|_, _| vec![Action::Send(whole(ANSWER))]).await;
    let server = start(&engine.url(), |setup| {
        setup.model.engine_key = Some(format!("file:{}", key.display()).parse().expect("a key"));
    })
    .await;
    assert_eq!(ask(&server).await.status, 200);
    assert!(engine.received.head().contains("authorization: bearer sesame"), "{}", engine.received.head());
    server.stop().await;
    let other = Identity { tokenizes_alike: false, ..Identity::default() };
    let other = FakeEngine::start_as(other, ([127, 0, 0, 1], 0).into(), |_, _| Vec::new()).await;
    let setup = {
        let mut setup = tests::server::Setup::default();
        setup.model.engine = other.url().parse().expect("a URL");
        setup
    };
    let error = model::Models::load(&setup.model, &[], &setup.shared, &setup.limits.model, &mut |_, _| {});
    let error = error.err().expect("it is another model's").to_string();
    assert!(error.contains("other tokens than --model"), "{error}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn server_without_engines_says_so_and_serves_later() {
    let first = FakeEngine::start(|_, _| vec![Action::Send(whole(ANSWER))]).await;
    let address = first.address;
    first.kill().await;
    let server = server_for(&format!("http://{address}")).await;
    assert_eq!(get(server.address, "/health").await.status, 503);
    let answer =
        post(server.address, "/v1/responses", &json!({ "model": "qwen3-tiny", "input": "Hi" })).await;
    assert_eq!(answer.status, 503);
    assert!(answer.headers.contains_key("retry-after"));
    let _second =
        FakeEngine::start_as(Identity::default(), address, |_, _| vec![Action::Send(whole(ANSWER))]).await;
    eventually("the engine is found", async || get(server.address, "/health").await.status == 200).await;
    assert_eq!(text(&ask(&server).await), "Hello there.");
    server.stop().await;
}
