//! Responses of a socket that are stored, which they are unless their client says otherwise.

use http::{Request, StatusCode};
use http_body_util::Full;
use serde_json::{Value, json};
use tests::client::{Answer, get, post, send};
use tests::server::TestServer;
use tests::socket::Socket;
use tests::tools::eventually;

use super::engine::{Gated, Scripted};

async fn stored(server: &TestServer, response: &Value) -> Answer {
    get(server.address, &format!("/v1/responses/{}", response["id"].as_str().expect("an id"))).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hermes_agent_15026_an_id_that_was_shown_is_found() {
    let gated = Gated::start().await;
    let mut socket = Socket::open(gated.server.address).await;
    socket.create(json!({ "input": "Hi" })).await;
    let created = socket.event().await;
    assert_eq!(created["type"], "response.created");
    let found = stored(&gated.server, &created["response"]).await;
    assert_eq!((found.status, &found.json()["status"]), (StatusCode::OK, &json!("in_progress")));
    gated.gate.add_permits(1);
    socket.response().await;
    drop(socket);
    gated.server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn praxis_1150_and_mistral_rs_1946_stored_is_sent() {
    let Scripted { server, .. } = Scripted::start().await;
    let mut socket = Socket::open(server.address).await;
    for input in ["Hi", "think"] {
        let response = socket.answer(json!({ "input": input, "stream_id": "a" })).await;
        assert_eq!(response["store"], true);
        assert_eq!(stored(&server, &response).await.json(), response);
    }
    drop(socket);
    server.stop().await;
}

/// A client that leaves doesn't keep its conversation locked, and what was told of its response
/// stays true.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn livekit_5586_a_lock_does_not_outlive_its_client() {
    let gated = Gated::start().await;
    let address = gated.server.address;
    let conversation = post(address, "/v1/conversations", &json!({})).await.json()["id"].clone();
    let fields = json!({ "input": "Hi", "conversation": conversation });
    let mut socket = Socket::open(address).await;
    socket.create(fields.clone()).await;
    let created = socket.event().await;
    assert_eq!(created["type"], "response.created");
    let mut other = Socket::open(address).await;
    assert_eq!(other.refusal(fields.clone()).await["error"]["code"], "conversation_locked");
    drop(socket);
    eventually("it is ended", async || {
        stored(&gated.server, &created["response"]).await.json()["status"] != "in_progress"
    })
    .await;
    assert_eq!(stored(&gated.server, &created["response"]).await.json()["status"], "cancelled");
    gated.gate.add_permits(1);
    let answered = other.answer(fields).await;
    assert_eq!(answered["conversation"]["id"], conversation);
    let path = format!("/v1/responses/{}", answered["id"].as_str().expect("an id"));
    let delete = Request::delete(path).header("host", "localhost").body(Full::default()).expect("a request");
    assert_eq!(send(address, delete).await.status, 200);
    drop(other);
    gated.server.stop().await;
}
