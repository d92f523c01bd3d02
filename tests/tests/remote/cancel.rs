//! A client that disconnects cancels its answer at the remote engine.

use std::sync::Arc;
use std::time::Duration;

use tests::client::{json_request, open};
use tests::fake_engine::{Action, FakeEngine, Identity, event, head};

use crate::setup::{question, server_for};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_engines_connection_is_closed() {
    let events: Arc<[Vec<u8>]> = vec![event(&[300], None); 100_000].into();
    let paced = Action::Paced(events, Duration::from_millis(5));
    let engine = FakeEngine::start(move |_, _| vec![Action::Send(head()), paced.clone()]).await;
    let server = server_for(&engine.url()).await;
    let mut client = open(server.address, json_request("/v1/responses", question(true).to_string())).await;
    client.next().await.expect("an event");
    drop(client);
    engine.received.wait_until(|log| log.disconnected() == 1).await;
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn client_leaving_before_the_answer_begins_ends_it() {
    let engine = FakeEngine::start(|_, _| vec![Action::UntilDisconnect]).await;
    let server = server_for(&engine.url()).await;
    let request = json_request("/v1/responses", question(true).to_string());
    let asking = tokio::time::timeout(Duration::from_mins(1), open(server.address, request));
    tokio::select! {
        _ = asking => panic!("nothing was answered"),
        () = engine.received.wait_until(|log| log.requests().len() == 1) => {}
    }
    engine.received.wait_until(|log| log.disconnected() == 1).await;
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sglang_is_told_the_whole_id_of_what_is_given_up() {
    let sglang = Identity { owner: "sglang", ..Identity::default() };
    let event = br#"data: {"output_ids":[300],"meta_info":{"finish_reason":null,"completion_tokens":1}}"#;
    let begun = [head(), event.to_vec(), b"\n\n".to_vec()].concat();
    let engine = FakeEngine::start_as(sglang, ([127, 0, 0, 1], 0).into(), move |_, _| {
        vec![Action::Send(begun.clone()), Action::UntilDisconnect]
    })
    .await;
    let server = server_for(&engine.url()).await;
    let mut client = open(server.address, json_request("/v1/responses", question(true).to_string())).await;
    client.next().await.expect("an event");
    drop(client);
    engine.received.wait_until(|log| !log.aborted().is_empty()).await;
    let asked = engine.received.requests()[0]["rid"].as_str().expect("an id").to_owned();
    assert_eq!((engine.received.aborted(), asked.len()), (vec![asked.clone()], 32));
    server.stop().await;
}
