//! Faults that other servers had, each as a test of its name. Those of sockets are in `sockets/`,
//! those of failing disks in `durability/`.

use futures_util::future::join_all;
use http::Method;
use serde_json::{Value, json};
use tests::client::{Open, json_request, open, post};
use tests::server::{Setup, TestServer, memory};

use super::support::{ask, body, id, read, replaying, respond, rules, texts};

/// A response wasn't found right after it was answered, or was answered before it was written.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn lm_studio_1188_and_ogx_4118_answers_are_there() {
    let server = replaying(&rules()).await;
    let mut parent = Value::Null;
    for turn in 0..40 {
        let more = json!({ "previous_response_id": parent });
        let response = respond(server.address, "2+2?", &more).await;
        assert_eq!(read(server.address, &format!("/v1/responses/{}", id(&response))).await.json(), response);
        parent = response["id"].clone();
        let items = format!("/v1/responses/{}/input_items?limit=100", id(&response));
        let said = texts(&read(server.address, &items).await.json());
        assert_eq!(said.len(), 2 * turn + 1, "{said:?}");
    }
    // The id of a stream can be read as soon as it is seen.
    let request = json_request("/v1/responses", body("endless", &json!({ "stream": true })).to_string());
    let mut stream: Open = open(server.address, request).await;
    let mut seen = String::new();
    let id = loop {
        seen.push_str(std::str::from_utf8(&stream.next().await.expect("events")).expect("UTF-8"));
        if let Some(id) = seen.find("resp_").and_then(|at| seen.get(at..at + 37)) {
            break id;
        }
    };
    let response = read(server.address, &format!("/v1/responses/{id}")).await;
    assert_eq!((response.status.as_u16(), &response.json()["status"]), (200, &json!("in_progress")));
    drop(stream);
    server.stop().await;
}

/// Each response of a chain was stored with all that came before it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ogx_5804_a_chain_takes_room_for_what_is_new() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = memory();
    let server =
        TestServer::start(Setup { store: Some(store.clone()), ..Setup::replay(folder.path(), &rules()) })
            .await;
    let bytes = async || {
        let owners = store.stats().await.expect("it works").owners;
        owners.iter().map(|(_, bytes)| bytes).sum::<u64>()
    };
    let mut parent = Value::Null;
    let mut grown = Vec::new();
    for _ in 0..3 {
        let before = bytes().await;
        for _ in 0..20 {
            let more = json!({ "previous_response_id": parent });
            parent = respond(server.address, "2+2?", &more).await["id"].clone();
        }
        grown.push(bytes().await - before);
    }
    // The first response has no parent to name.
    assert!(grown[2] - grown[1] < 100 && grown[1] - grown[0] < 200, "{grown:?}");
    server.stop().await;
}

/// A conversation lacked entries, or lost a turn when two came together.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ogx_4718_and_eddi_791_turns_are_there_once() {
    let server = replaying(&rules()).await;
    let conversation = post(server.address, "/v1/conversations", &json!({})).await.json();
    let more = json!({ "conversation": id(&conversation) });
    let mut said = Vec::new();
    for round in 0..10 {
        let questions: Vec<String> = (0..4).map(|asker| format!("{round}-{asker}?")).collect();
        let turns = questions.iter().map(async |question| {
            let answer = post(server.address, "/v1/responses", &body(question, &more)).await;
            (question, answer)
        });
        for (question, answer) in join_all(turns).await {
            if answer.status == 200 {
                said.push(question.clone());
            } else {
                assert_eq!(answer.json()["error"]["code"], "conversation_locked", "{question}");
            }
        }
    }
    assert!(said.len() >= 10, "one of each round is answered: {said:?}");
    let path = format!("/v1/conversations/{}/items?order=asc&limit=100", id(&conversation));
    let entries = texts(&read(server.address, &path).await.json());
    let mut questions: Vec<&String> = entries.iter().step_by(2).collect();
    assert!(entries.iter().skip(1).step_by(2).all(|answer| answer == "Four."), "{entries:?}");
    questions.sort();
    said.sort();
    assert!(questions.into_iter().eq(said.iter()), "{entries:?}");
    server.stop().await;
}

/// A streamed response belonged to nobody.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn litellm_38320_a_streamed_response_has_its_owner() {
    let folder = tempfile::tempdir().expect("a folder");
    let keys = vec!["ada=key-a".to_owned(), "bob=key-b".to_owned()];
    let server = TestServer::start(Setup { keys, ..Setup::replay(folder.path(), &rules()) }).await;
    for background in [false, true] {
        let more = json!({ "stream": true, "background": background });
        let events =
            ask(&server, "key-a", Method::POST, "/v1/responses", &body("2+2?", &more)).await.events();
        let response = &events.last().expect("events")["response"];
        let path = format!("/v1/responses/{}", id(response));
        assert_eq!(ask(&server, "key-a", Method::GET, &path, &Value::Null).await.json(), *response);
        let theirs = ask(&server, "key-b", Method::GET, &path, &Value::Null).await;
        let nobodys = ask(&server, "key-b", Method::GET, "/v1/responses/resp_0", &Value::Null).await;
        assert_eq!((theirs.status.as_u16(), theirs.body), (404, nobodys.body));
    }
    server.stop().await;
}

/// Background responses stayed queued for ever.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn openai_forum_1382584_what_is_queued_runs() {
    let server = replaying(&rules()).await;
    let background = json!({ "background": true });
    // More than may run at once, of one owner.
    let queued = join_all((0..40).map(async |_| respond(server.address, "2+2?", &background).await)).await;
    for response in queued {
        let path = format!("/v1/responses/{}", id(&response));
        assert_eq!(read(server.address, &format!("{path}?stream=true")).await.status, 200);
        assert_eq!(read(server.address, &path).await.json()["status"], "completed");
    }
    server.stop().await;
}

/// Writers that came together were refused as busy.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sqlx_451_writers_wait_for_each_other() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("state.db");
    let store = store::Sqlite::open(&file, &store::Options::default()).expect("it opens");
    let setup = Setup { store: Some(std::sync::Arc::new(store)), ..Setup::replay(folder.path(), &rules()) };
    let server = TestServer::start(setup).await;
    let answers = join_all((0..100).map(async |_| respond(server.address, "2+2?", &json!({})).await)).await;
    assert!(answers.iter().all(|answer| answer["status"] == "completed"));
    server.stop().await;
}
