//! Two servers and one file, and a server whose file an older version wrote.

use std::path::Path;
use std::process::Command;

use rusqlite::Connection;
use serde_json::{Value, json};
use tests::client::{Answer, answered, get, post};
use tests::process::{ServerProcess, binary};

/// A file of the first schema, as the version of then wrote it.
const OLDEST: &str = include_str!("../../../../host/store/tests/schemas/001.sql");

fn rules() -> Value {
    json!([{ "text": "Four." }])
}

fn start(file: &Path) -> ServerProcess {
    ServerProcess::start(&rules(), &["--store", &format!("sqlite:{}", file.display())])
}

fn body(parent: &Value) -> Value {
    json!({ "model": "bench", "input": "2+2?", "previous_response_id": parent, "reasoning": { "effort": "none" } })
}

async fn respond(server: &ServerProcess, parent: &Value) -> Value {
    answered(server.address, "/v1/responses", &body(parent)).await
}

async fn read(server: &ServerProcess, response: &Value) -> Answer {
    get(server.address, &format!("/v1/responses/{}", response["id"].as_str().unwrap())).await
}

/// What a server doesn't know, it neither shows nor continues.
async fn unknown(server: &ServerProcess, response: &Value) {
    let read = read(server, response).await;
    assert_eq!((read.status.as_u16(), &read.json()["error"]["code"]), (404, &json!("not_found")));
    let next = post(server.address, "/v1/responses", &body(&response["id"])).await;
    let code = &next.json()["error"]["code"];
    assert_eq!((next.status.as_u16(), code), (400, &json!("previous_response_not_found")));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_servers_keep_their_own_and_the_first_the_file() {
    let data = tempfile::tempdir().unwrap();
    let first = ServerProcess::start_with_data_folder(&rules(), data.path());
    let second = ServerProcess::start_with_data_folder(&rules(), data.path());
    assert!(second.log().contains("stored in memory") && !first.log().contains("stored in memory"));
    let (of_first, of_second) = (respond(&first, &Value::Null).await, respond(&second, &Value::Null).await);
    unknown(&second, &of_first).await;
    unknown(&first, &of_second).await;
    // The first is killed; the second doesn't take the file over while it runs.
    drop(first);
    unknown(&second, &of_first).await;
    assert_eq!(read(&second, &of_second).await.json(), of_second);
    let third = ServerProcess::start_with_data_folder(&rules(), data.path());
    assert_eq!(read(&third, &of_first).await.json(), of_first);
    unknown(&third, &of_second).await;
    assert_eq!(respond(&third, &of_first["id"]).await["status"], "completed");
    assert_eq!(respond(&second, &of_second["id"]).await["status"], "completed");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn server_waiting_for_its_file_gets_it_after_a_kill() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("state.db");
    let first = start(&file);
    let before = respond(&first, &Value::Null).await;
    let store = format!("sqlite:{}", file.display());
    for _ in 0..3 {
        // As whoever supervises it starts it again and again.
        let waiting =
            Command::new(binary()).args(["serve", "--listen", "127.0.0.1:0", "--store", &store]).output();
        let waiting = waiting.unwrap();
        let said = String::from_utf8(waiting.stderr).unwrap();
        assert_eq!(waiting.status.code(), Some(1), "{said}");
        assert!(said.contains("another process has it open; stop that one"), "{said}");
        // Nor did that take anything from the one that has it.
        assert_eq!(read(&first, &before).await.json(), before);
    }
    drop(first);
    let second = start(&file);
    assert_eq!(read(&second, &before).await.json(), before);
    let next = respond(&second, &before["id"]).await;
    second.stop();
    let third = start(&file);
    assert_eq!(read(&third, &next).await.json(), next);
}

/// Moves what a file holds into one of the first schema.
fn aged(file: &Path, old: &Path) {
    let old = Connection::open(old).unwrap();
    old.execute_batch(OLDEST).unwrap();
    let texts = |sql: &str| -> Vec<String> {
        let mut statement = old.prepare(sql).unwrap();
        statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
    };
    let tables = texts("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%'");
    for table in &tables {
        old.execute_batch(&format!("DELETE FROM {table}")).unwrap();
    }
    old.execute("ATTACH ? AS new", [file.to_str().unwrap()]).unwrap();
    // Owners come last, with the bytes that triggers would count once more.
    for table in tables.iter().filter(|table| *table != "owner").chain([&"owner".to_owned()]) {
        let columns = texts(&format!("SELECT name FROM pragma_table_info('{table}')")).join(", ");
        old.execute_batch(&format!("INSERT INTO main.{table} ({columns}) SELECT {columns} FROM new.{table}"))
            .unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_of_an_older_schema_is_read_and_continued() {
    let folder = tempfile::tempdir().unwrap();
    let (file, old) = (folder.path().join("state.db"), folder.path().join("old.db"));
    let server = start(&file);
    let first = respond(&server, &Value::Null).await;
    let second = respond(&server, &first["id"]).await;
    let background =
        json!({ "model": "bench", "input": "2+2?", "background": true, "reasoning": { "effort": "none" } });
    let queued = answered(server.address, "/v1/responses", &background).await;
    let path =
        format!("/v1/responses/{}?stream=true&include_obfuscation=false", queued["id"].as_str().unwrap());
    let events = get(server.address, &path).await.events();
    let item = json!({ "items": [{ "role": "user", "content": "x" }] });
    let conversation = answered(server.address, "/v1/conversations", &item).await;
    server.stop();
    aged(&file, &old);

    let server = start(&old);
    for response in [&first, &second] {
        assert_eq!(read(&server, response).await.json(), *response);
    }
    assert_eq!(get(server.address, &path).await.events(), events);
    let items = format!("/v1/conversations/{}/items", conversation["id"].as_str().unwrap());
    assert_eq!(get(server.address, &items).await.json()["data"][0]["content"][0]["text"], "x");
    let third = respond(&server, &second["id"]).await;
    let path = format!("/v1/responses/{}/input_items", third["id"].as_str().unwrap());
    assert_eq!(get(server.address, &path).await.json()["data"].as_array().map(Vec::len), Some(5));
    // What only the newer schema has.
    let messages = json!([{ "role": "user", "content": "2+2?" }]);
    let chat = json!({ "model": "bench", "messages": messages, "store": true });
    let completion = answered(server.address, "/v1/chat/completions", &chat).await;
    let list = get(server.address, "/v1/chat/completions").await.json();
    assert_eq!(list["data"][0]["id"], completion["id"]);
    server.stop();
    let check = Command::new(binary())
        .args(["store", "check", "--store", &format!("sqlite:{}", old.display())])
        .output();
    assert!(check.as_ref().is_ok_and(|output| output.status.success()), "{check:?}");
}
