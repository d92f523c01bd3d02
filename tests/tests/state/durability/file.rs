//! A store's file that is deleted, replaced, cut or overwritten under a server: what needs the
//! store is refused clearly, nothing is told that isn't so, and what comes after the restart is
//! said at the start.

use std::fs;
use std::net::SocketAddr;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::{Value, json};
use store::{Options, Sqlite};
use tests::client::{Answer, get, json_request, open, post};
use tests::process::{ServerProcess, binary};

const PAGE: usize = 4096;

fn rules() -> Value {
    json!([
        { "when": { "last_user_contains": "long" }, "text": "word ".repeat(60), "tokens_per_step": 1, "pace_ms": 5 },
        { "text": "Four." }
    ])
}

fn start(file: &Path) -> ServerProcess {
    ServerProcess::start(&rules(), &["--store", &format!("sqlite:{}", file.display())])
}

/// A folder with a store that has these responses in its file and nothing beside it, and the server
/// that was started on it again.
async fn stored(inputs: &[&str]) -> (tempfile::TempDir, PathBuf, ServerProcess, Vec<Value>) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("state.db");
    let first = start(&file);
    let mut responses = Vec::new();
    for input in inputs {
        responses.push(ask(first.address, input, &json!({})).await.json());
    }
    first.stop();
    // Closed by its last user, it has everything in the file itself, and nothing in a log beside
    // it.
    drop(Sqlite::open(&file, &Options::default()).unwrap());
    let server = start(&file);
    (folder, file, server, responses)
}

async fn ask(address: SocketAddr, input: &str, more: &Value) -> Answer {
    let mut body = json!({ "model": "bench", "input": input, "reasoning": { "effort": "none" } });
    body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    post(address, "/v1/responses", &body).await
}

async fn read(address: SocketAddr, response: &Value) -> Answer {
    get(address, &format!("/v1/responses/{}", response["id"].as_str().unwrap())).await
}

/// What needs the store gets 503, and what doesn't is answered.
async fn without_store(address: SocketAddr, response: &Value) {
    let conversation = post(address, "/v1/conversations", &json!({})).await;
    for answer in [
        ask(address, "2+2?", &json!({})).await,
        ask(address, "2+2?", &json!({ "background": true })).await,
        ask(address, "2+2?", &json!({ "previous_response_id": response["id"] })).await,
        read(address, response).await,
        conversation,
    ] {
        let error = &answer.json()["error"];
        assert_eq!((answer.status.as_u16(), &error["code"]), (503, &json!("store_unavailable")));
        assert!(!error["message"].as_str().unwrap().contains("state.db"), "{error}");
        assert!(answer.headers.contains_key("retry-after"));
    }
    assert_eq!(ask(address, "2+2?", &json!({ "store": false })).await.json()["status"], "completed");
    assert_eq!(get(address, "/health").await.status, 200);
}

/// `host store check` of the file, or a server's start that is refused.
fn refused(arguments: &[&str]) -> String {
    let Output { status, stdout, stderr } = Command::new(binary()).args(arguments).output().unwrap();
    assert_eq!(status.code(), Some(1), "{arguments:?}");
    let (stdout, stderr) = (String::from_utf8(stdout).unwrap(), String::from_utf8(stderr).unwrap());
    assert!(!stderr.contains("panicked"), "{stderr}");
    stdout + &stderr
}

fn check(file: &Path) -> String {
    refused(&["store", "check", "--store", &format!("sqlite:{}", file.display())])
}

/// Ends a server that must not have panicked.
fn stop(server: ServerProcess, said: &str) {
    let log = server.stop();
    assert!(!log.contains("panicked"), "{log}");
    assert!(log.contains(said), "{said}: {log}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn file_moved_away_is_missed_and_found_again() {
    let (folder, file, server, responses) = stored(&["2+2?"]).await;
    let address = server.address;
    let body =
        json!({ "model": "bench", "input": "long", "stream": true, "reasoning": { "effort": "none" } });
    let mut background = body.clone();
    background["background"] = json!(true);
    let mut under_way = Vec::new();
    for body in [body, background] {
        let mut answer = open(address, json_request("/v1/responses", body.to_string())).await;
        let mut text = String::new();
        while !text.contains("response.output_text.delta") {
            text += std::str::from_utf8(&answer.next().await.unwrap()).unwrap();
        }
        under_way.push((answer, text));
    }
    let away = folder.path().join("away.db");
    fs::rename(&file, &away).unwrap();
    without_store(address, &responses[0]).await;
    // What is under way can't be stored, and so fails, also for who follows the store.
    for (mut answer, mut text) in under_way {
        while let Some(bytes) = answer.next().await {
            text += std::str::from_utf8(&bytes).unwrap();
        }
        assert!(text.contains("response.failed") && !text.contains("response.completed"), "{text}");
        assert!(text.ends_with("data: [DONE]\n\n"), "{text}");
    }
    fs::rename(&away, &file).unwrap();
    assert_eq!(read(address, &responses[0]).await.json(), responses[0]);
    let next = ask(address, "2+2?", &json!({ "previous_response_id": responses[0]["id"] })).await.json();
    assert_eq!(next["status"], "completed");
    stop(server, "No such file or directory");
    let server = start(&file);
    assert_eq!(read(server.address, &next).await.json(), next);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_taken_while_the_file_is_gone_or_foreign() {
    let (_folder, file, server, responses) = stored(&["2+2?"]).await;
    let (_other_folder, other, other_server, others) = stored(&["3+3?"]).await;
    other_server.stop();
    fs::remove_file(&file).unwrap();
    without_store(server.address, &responses[0]).await;
    fs::copy(&other, &file).unwrap();
    without_store(server.address, &responses[0]).await;
    stop(server, "it was replaced by another file");
    let server = start(&file);
    assert_eq!(read(server.address, &others[0]).await.json(), others[0]);
    assert_eq!(read(server.address, &responses[0]).await.status, 404);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cut_file_is_refused_by_server_check_and_next_start() {
    for part in [0, 3] {
        let (_folder, file, server, responses) = stored(&["2+2?"; 40]).await;
        let size = fs::metadata(&file).unwrap().len();
        fs::File::options().write(true).open(&file).unwrap().set_len(size * part / 4).unwrap();
        for response in &responses {
            assert_eq!(read(server.address, response).await.status, 503);
        }
        without_store(server.address, &responses[0]).await;
        stop(server, "it was cut");
        if part > 0 {
            let said = check(&file);
            assert!(said.contains("malformed") || said.contains("not a database"), "{said}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn overwritten_pages_are_never_told_as_something_else() {
    let (_folder, file, server, responses) = stored(&["2+2?"; 40]).await;
    let size = usize::try_from(fs::metadata(&file).unwrap().len()).unwrap();
    let garbage: Vec<u8> = (0..=250).cycle().take(size - PAGE).collect();
    fs::File::options().write(true).open(&file).unwrap().write_all_at(&garbage, PAGE as u64).unwrap();
    let mut unavailable = 0;
    for response in &responses {
        let answer = read(server.address, response).await;
        match answer.status.as_u16() {
            200 => assert_eq!(&answer.json(), response),
            status => {
                unavailable += 1;
                assert_eq!((status, &answer.json()["error"]["code"]), (503, &json!("store_unavailable")));
            }
        }
    }
    assert!(unavailable > 0);
    without_store(server.address, &responses[0]).await;
    stop(server, "malformed");
    assert!(check(&file).contains("malformed"));
    let store = format!("sqlite:{}", file.display());
    let said = refused(&["serve", "--listen", "127.0.0.1:0", "--store", &store]);
    assert!(said.contains("--store") && said.contains("malformed"), "{said}");
}
