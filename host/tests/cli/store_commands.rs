//! `host store`: what is stored, shown, exported, purged, checked, migrated and backed up.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};
use store::{
    CompletionTag, End, Link, NewCompletion, NewResponse, Options, Owner, Sqlite, Status, Store as _,
    StoredItem,
};

use super::serve_switches::{Serving, serve, text};

/// Runs `host store COMMAND` on a file: exit status, stdout and stderr.
fn host_store(file: &Path, command: &[&str]) -> (i32, String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_host"))
        .arg("store")
        .args(command)
        .args(["--store", &format!("sqlite:{}", text(file))])
        .output()
        .expect("the binary runs");
    let utf8 = |bytes| String::from_utf8(bytes).expect("UTF-8");
    (output.status.code().expect("it ends"), utf8(output.stdout), utf8(output.stderr))
}

/// Output of a command that succeeds.
fn done(file: &Path, command: &[&str]) -> String {
    let (status, printed, error) = host_store(file, command);
    assert_eq!((status, &*error), (0, ""), "{command:?}: {printed}");
    printed
}

/// The line of a command that fails.
fn refused(file: &Path, command: &[&str]) -> String {
    let (status, printed, error) = host_store(file, command);
    assert_eq!((status, &*printed, error.lines().count()), (1, "", 1), "{command:?}: {error}");
    error
}

fn item(id: &str, body: &str) -> StoredItem {
    StoredItem { id: id.to_owned(), body: body.into() }
}

/// A store with two responses of alice, the second of which continues the first, a chat completion
/// of carol, and a conversation of bob.
fn filled(folder: &tempfile::TempDir) -> PathBuf {
    let file = folder.path().join("state.db");
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    let store = Sqlite::open(&file, &Options::default()).expect("it opens");
    runtime.block_on(async {
        let alice = Owner::new("alice");
        for (id, link) in [("resp_1", Link::Alone), ("resp_2", Link::Parent("resp_1".to_owned()))] {
            let input = vec![item("msg_in", r#"{"text": "ä \n"}"#)];
            let new = NewResponse { id: id.to_owned(), link, request: b"{\"n\":\n 1.0}".to_vec(), input };
            let lease = store.create(&alice, new).await.expect("stored");
            let output = vec![item("msg_out", "no JSON")];
            let end = End { status: Status::Completed, result: b"{}".to_vec(), output, last: None };
            store.finish(lease, end).await.expect("stored");
        }
        let tags = vec![CompletionTag { name: "model".to_owned(), value: "m".to_owned() }];
        let input = vec![item("0", r#"{"role": "user"}"#)];
        let new = NewCompletion { id: "chatcmpl_1".to_owned(), tags, input };
        let lease = store.completion_create(&Owner::new("carol"), new).await.expect("stored");
        let end =
            End { status: Status::Completed, result: b"{\"n\":1}".to_vec(), output: vec![], last: None };
        store.finish(lease, end).await.expect("stored");
        let items = vec![item("msg_1", "[1]")];
        store.conversation_create(&Owner::new("bob"), "conv_1", b"{}".to_vec(), items).await.expect("stored");
    });
    file
}

fn exported(file: &Path, command: &[&str]) -> Vec<Value> {
    done(file, command).lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

#[test]
fn stats_count_what_is_stored_and_of_whom() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = filled(&folder);
    let report: Value = serde_json::from_str(&done(&file, &["stats", "--json"])).expect("JSON");
    let counts = ["responses", "queued_responses", "running_responses", "deleted_responses", "conversations"];
    assert_eq!(counts.map(|count| report[count].as_u64()), [3, 0, 0, 0, 1].map(Some), "{report}");
    let owners: Vec<_> =
        report["owners"].as_array().expect("a list").iter().map(|owner| &owner["name"]).collect();
    assert_eq!(owners, ["alice", "bob", "carol"]);
    let table = done(&file, &["stats"]);
    let words: Vec<Vec<&str>> = table.lines().map(|line| line.split_whitespace().collect()).collect();
    let bytes = report["owners"][0]["bytes"].to_string();
    assert!(words.contains(&vec!["responses", "3"]) && words.contains(&vec!["alice", &bytes]), "{table}");
}

#[test]
fn export_prints_a_line_of_json_for_each_record() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = filled(&folder);
    let records = exported(&file, &["export"]);
    let ids: Vec<_> =
        records.iter().map(|record| (&record["object"], &record["owner"], &record["id"])).collect();
    assert_eq!(
        json!(ids),
        json!([
            ["response", "alice", "resp_1"],
            ["response", "alice", "resp_2"],
            ["chat.completion", "carol", "chatcmpl_1"],
            ["conversation", "bob", "conv_1"]
        ])
    );
    let second = &records[1];
    assert_eq!((&second["status"], &second["previous_response_id"]), (&json!("completed"), &json!("resp_1")));
    assert_eq!((&second["request"], &second["result"]), (&json!({ "n": 1.0 }), &json!({})));
    assert_eq!(second["input"], json!([{ "id": "msg_in", "body": { "text": "ä \n" } }]));
    assert_eq!(second["output"], json!([{ "id": "msg_out", "body": { "base64": "bm8gSlNPTg==" } }]));
    let (completion, conversation) = (&records[2], &records[3]);
    assert_eq!((&completion["tags"], &completion["result"]), (&json!([["model", "m"]]), &json!({ "n": 1 })));
    assert_eq!(completion["messages"], json!([{ "id": "0", "body": { "role": "user" } }]));
    assert_eq!(conversation["items"], json!([{ "id": "msg_1", "body": [1] }]));
    assert_eq!(exported(&file, &["export", "--owner", "bob"]), records[3..]);
    assert_eq!(exported(&file, &["export", "--owner", "nobody"]), [Value::Null; 0]);
}

#[test]
fn purge_says_what_it_would_delete_and_does_with_yes() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = filled(&folder);
    let purge = |arguments: &[&str]| done(&file, &[&["purge"], arguments].concat());
    assert_eq!(
        purge(&["--owner", "alice"]),
        "would delete 2 responses and 0 conversations; --yes deletes them\n"
    );
    assert_eq!(purge(&["--unused-since", "1h", "--yes"]), "deleted 0 responses and 0 conversations\n");
    assert_eq!(
        purge(&["--owner", "bob", "--unused-since", "2026-01-01", "--yes"]),
        "deleted 0 responses and 0 conversations\n"
    );
    assert_eq!(exported(&file, &["export"]).len(), 4);
    assert_eq!(purge(&["--owner", "alice", "--yes"]), "deleted 2 responses and 0 conversations\n");
    assert_eq!(exported(&file, &["export"]).len(), 2);
    assert!(
        refused(&file, &["purge", "--owner", "alice", "--yes"])
            .contains("--owner alice: nobody of this name has stored anything")
    );
    assert_eq!(purge(&["--unused-since", "0s", "--yes"]), "deleted 1 response and 1 conversation\n");
    assert_eq!(done(&file, &["check"]), "whole\n");
}

#[test]
fn check_names_each_fault_and_fails() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = filled(&folder);
    assert_eq!(done(&file, &["check"]), "whole\n");
    let connection = rusqlite::Connection::open(&file).expect("a database");
    connection.execute_batch("UPDATE owner SET bytes = 7; DELETE FROM body").expect("damaged");
    drop(connection);
    let (status, printed, error) = host_store(&file, &["check"]);
    assert_eq!((status, &*error), (1, ""));
    for fault in ["owner alice: bytes are counted wrongly", "owner bob: bytes are counted wrongly"] {
        assert!(printed.lines().any(|line| line == fault), "{printed}");
    }
}

#[test]
fn migrate_says_from_which_schema_to_which() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("state.db");
    fs::write(&file, "").expect("written");
    let first = done(&file, &["migrate"]);
    let newest = first.strip_prefix("migrated from schema 0 to ").expect(&first).trim();
    assert_eq!(done(&file, &["migrate"]), format!("it has schema {newest} already\n"));
}

#[test]
fn what_a_server_has_open_is_only_backed_up() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = filled(&folder);
    let server = Serving::start(serve(&["--store", &format!("sqlite:{}", text(&file))]));
    for command in ["stats", "export", "check", "migrate"] {
        let error = refused(&file, &[command]);
        assert!(error.contains("another process has it open, such as a server"), "{error}");
        assert!(error.contains("host store backup"), "{error}");
    }
    let copy = folder.path().join("copy.db");
    assert_eq!(done(&file, &["backup", text(&copy)]), "");
    assert_eq!(fs::metadata(&copy).expect("made").permissions().mode() & 0o777, 0o600);
    assert_eq!(done(&copy, &["check"]), "whole\n");
    assert!(refused(&file, &["backup", text(&copy)]).contains("File exists"));
    assert!(server.get("/health").starts_with("HTTP/1.1 200"));
    let by_sqlite = folder.path().join("by-sqlite.db");
    let connection = rusqlite::Connection::open(&file).expect("a database");
    connection.execute("VACUUM INTO ?", [text(&by_sqlite)]).expect("copied");
    drop((connection, server.log()));
    for copy in [copy, by_sqlite] {
        assert_eq!(exported(&copy, &["export"]), exported(&file, &["export"]));
    }
}
