//! Upkeep of the store while the server runs.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use store::{Link, NewResponse, Options, Owner, Sqlite, Status, Store, TimeSource};
use tests::client::metric;
use tests::measure::runs_alone;
use tests::server::{Setup, TestServer};
use tests::tools::eventually;

#[tokio::test]
async fn responses_unused_for_thirty_days_are_evicted() {
    // The figures are those of all stores of a process.
    if !runs_alone("durability::upkeep::responses_unused_for_thirty_days_are_evicted") {
        return;
    }
    let clock = TimeSource::manual(1_000_000_000_000);
    let store = Arc::new(Sqlite::memory(&Options { clock: clock.clone(), ..Options::default() }).unwrap());
    let owner = Owner::new("local");
    for id in ["resp_1", "resp_2"] {
        let new =
            NewResponse { id: id.to_owned(), link: Link::Alone, request: b"{}".to_vec(), input: vec![] };
        let lease = store.create(&owner, new).await.unwrap();
        let end =
            store::End { status: Status::Completed, result: b"{}".to_vec(), output: vec![], last: None };
        store.finish(lease, end).await.unwrap();
    }
    clock.advance(Duration::from_hours(31 * 24));
    let folder = tempfile::tempdir().unwrap();
    let mut setup = Setup::replay(folder.path(), &json!([{ "text": "Hello." }]));
    setup.store = Some(store.clone());
    let server = TestServer::start(setup).await;
    eventually("they are evicted", async || store.stats().await.unwrap().evicted.responses >= 2).await;
    assert_eq!(store.stats().await.unwrap().responses, 0);
    // The figures follow the eviction.
    eventually("they are counted", async || {
        metric(server.address, r#"sluice_store_evicted_total{what="responses"}"#).await >= 2.0
    })
    .await;
    assert_eq!(metric(server.address, r#"sluice_store_rows{what="responses"}"#).await, 0.0);
    server.stop().await;
}
