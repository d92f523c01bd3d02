//! What one key's owner stored, no other sees: their answers have the same bytes as for an unknown
//! id.

use http::Method;
use serde_json::{Value, json};
use tests::client::Answer;
use tests::server::{Setup, TestServer};
use tests::tools::{calls, setup};

use super::support::{ask, body, id, rules};

const HOSTILE: &str = env!("CARGO_BIN_EXE_hostile-mcp");

/// Another's sealed reasoning was read, and shown in plain text.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sealed_reasoning_is_its_owners_alone() {
    let folder = tempfile::tempdir().expect("a folder");
    let keys = vec!["ada=key-a".to_owned(), "ada=newer".to_owned(), "bob=key-b".to_owned()];
    let rules = json!([{ "text": "<think>\nThe colour is mauve.\n</think>\n\nHi." }]);
    let server = TestServer::start(Setup { keys, ..Setup::replay(folder.path(), &rules) }).await;
    let asked = json!({ "model": "qwen3-tiny", "input": "x", "include": ["reasoning.encrypted_content"] });
    let answer = ask(&server, "key-a", Method::POST, "/v1/responses", &asked).await.json();
    let sealed = json!({ "type": "reasoning", "summary": [], "encrypted_content": answer["output"][0]["encrypted_content"] });
    let input =
        json!([sealed, { "role": "assistant", "content": "Hi." }, { "role": "user", "content": "And?" }]);
    for (key, status) in [("key-a", 200), ("newer", 200), ("key-b", 400)] {
        let given = json!({ "model": "qwen3-tiny", "input": input });
        for path in ["/v1/responses", "/v1/responses/input_tokens"] {
            let answer = ask(&server, key, Method::POST, path, &given).await;
            assert_eq!(answer.status, status, "{key} {path} {:?}", answer.body);
            if status == 400 {
                assert_eq!(answer.json()["error"]["code"], "invalid_encrypted_content");
            }
        }
        let conversation = json!({ "items": [input[0]] });
        let created = ask(&server, key, Method::POST, "/v1/conversations", &conversation).await;
        assert_eq!(created.status, status, "{key} {:?}", created.body);
    }
    server.stop().await;
}

/// Chains and ids were found under other accounts.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn codex_lb_818_and_litellm_35536_foreign_is_unknown() {
    let folder = tempfile::tempdir().expect("a folder");
    let keys = vec!["ada=key-a".to_owned(), "bob=key-b".to_owned()];
    let server = TestServer::start(Setup { keys, ..Setup::replay(folder.path(), &rules()) }).await;
    let made = ask(&server, "key-a", Method::POST, "/v1/responses", &body("one", &json!({}))).await.json();
    let background = json!({ "background": true });
    let run = ask(&server, "key-a", Method::POST, "/v1/responses", &body("long", &background)).await.json();
    let message = made["output"][0]["id"].as_str().expect("an id");
    for (known, unknown) in [(id(&made), "resp_0"), (id(&run), "resp_0")] {
        for (method, rest) in [
            (Method::GET, ""),
            (Method::GET, "?stream=true"),
            (Method::GET, "/input_items"),
            (Method::POST, "/cancel"),
            (Method::DELETE, ""),
        ] {
            let theirs = format!("/v1/responses/{known}{rest}");
            let nobodys = format!("/v1/responses/{unknown}{rest}");
            let theirs = ask(&server, "key-b", method.clone(), &theirs, &Value::Null).await;
            let nobodys = ask(&server, "key-b", method.clone(), &nobodys, &Value::Null).await;
            assert_eq!((theirs.status, theirs.body), (nobodys.status, nobodys.body), "{method} {rest}");
        }
        let chained = |parent: &str| body("x", &json!({ "previous_response_id": parent }));
        let theirs = ask(&server, "key-b", Method::POST, "/v1/responses", &chained(known)).await;
        let nobodys = ask(&server, "key-b", Method::POST, "/v1/responses", &chained(unknown)).await;
        assert_eq!((theirs.status, theirs.body), (nobodys.status, nobodys.body));
    }
    let referring =
        |item: &str| body("", &json!({ "input": [{ "role": "user", "content": "x" }, { "id": item }] }));
    let theirs = ask(&server, "key-b", Method::POST, "/v1/responses", &referring(message)).await;
    let nobodys = ask(&server, "key-b", Method::POST, "/v1/responses", &referring("msg_0")).await;
    let named = |answer: &Answer, id: &str| answer.json().to_string().replace(id, "ID");
    assert_eq!((theirs.status, nobodys.status.as_u16()), (nobodys.status, 404));
    assert_eq!(named(&theirs, message), named(&nobodys, "msg_0"));
    let path = format!("/v1/responses/{}", id(&made));
    assert_eq!(ask(&server, "key-a", Method::GET, &path, &Value::Null).await.json(), made);
    server.stop().await;
}

/// A request of Messages that may search the web, with this conversation.
fn searching(messages: &Value) -> Value {
    let tool = json!({ "type": "web_search_20250305", "name": "web_search" });
    json!({ "model": "qwen3-tiny", "max_tokens": 2000, "tools": [tool], "messages": messages })
}

/// The model reads what was found from the seal alone, and only its owner's opens.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_search_found_is_its_owners_alone_and_cannot_be_changed() {
    let folder = tempfile::tempdir().expect("a folder");
    let found = json!([{ "url": "https://oslo.example", "title": "Oslo", "text": "It is wet." }]);
    let search = calls(&[("browser.search", json!({ "query": "oslo", "results": found }))]);
    let rules = json!([
        { "when": { "last_role": "user" }, "text": search },
        { "when": { "contains": "evil.example" }, "text": "Evil." },
        { "when": { "contains": "It is wet." }, "text": "Wet." },
        { "text": "I know nothing." },
    ]);
    let keys = vec!["ada=key-a".to_owned(), "bob=key-b".to_owned()];
    let server = TestServer::start(Setup { keys, ..setup(folder.path(), HOSTILE, &rules) }).await;
    let say = async |key: &str, messages: &Value| {
        let answer = ask(&server, key, Method::POST, "/v1/messages", &searching(messages)).await;
        let warned = answer.headers.get("x-sluice-warning").is_some();
        let text =
            answer.json()["content"].as_array().and_then(|blocks| Some(blocks.last()?["text"].clone()));
        (answer.status.as_u16(), text.unwrap_or_default(), warned)
    };
    let question = json!({ "role": "user", "content": "Oslo?" });
    let first =
        ask(&server, "key-a", Method::POST, "/v1/messages", &searching(&json!([question]))).await.json();
    let blocks = first["content"].as_array().expect("blocks").iter();
    let searched: Vec<&Value> = blocks
        .filter(|block| !["text", "thinking"].map(|kind| json!(kind)).contains(&block["type"]))
        .collect();
    assert_eq!(searched.len(), 2, "{first}");
    let conversation = |question: &str, result: &str, value: &Value| {
        let mut said =
            json!([{ "role": "user", "content": question }, { "role": "assistant", "content": searched }]);
        said[1]["content"][1]["content"][0][result] = value.clone();
        said
    };
    let result = &searched[1]["content"][0];
    let sealed = result["encrypted_content"].as_str().expect("a text");
    let as_it_is = conversation("Oslo?", "title", &result["title"]);
    let read = (200, json!("Wet."), false);
    assert_eq!(say("key-a", &as_it_is).await, read);
    // In another conversation of the same owner, and with another address around the seal.
    assert_eq!(say("key-a", &conversation("Rome?", "title", &json!("Rome"))).await, read);
    assert_eq!(say("key-a", &conversation("Oslo?", "url", &json!("https://evil.example"))).await, read);
    // Of another owner, cut, changed, made up, and huge: title and address are what the client says.
    let unread = (200, json!("I know nothing."), true);
    assert_eq!(say("key-b", &as_it_is).await, unread);
    let changed =
        format!("{}{}", &sealed[..sealed.len() - 4], if sealed.ends_with("AAAA") { "BBBB" } else { "AAAA" });
    for wrong in ["", "%%%", &sealed[..20], &sealed[..sealed.len() - 2], &changed, &"A".repeat(8 << 20)] {
        let told = say("key-a", &conversation("Oslo?", "encrypted_content", &json!(wrong))).await;
        assert_eq!(told, unread, "{:.30}", wrong);
    }
    let nothing = conversation("Oslo?", "encrypted_content", &json!(7));
    assert_eq!(say("key-a", &nothing).await.0, 400);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_foreign_thread_is_an_unknown_one() {
    let folder = tempfile::tempdir().expect("a folder");
    let keys = vec!["ada=key-a".to_owned(), "bob=key-b".to_owned()];
    let server = TestServer::start(Setup { keys, ..Setup::replay(folder.path(), &rules()) }).await;
    let turn = async |key: &str, thread: Value| {
        let messages = json!([{ "role": "user", "content": "Hi." }]);
        let body =
            json!({ "model": "qwen3-tiny", "max_tokens": 100, "thread": thread, "messages": messages });
        ask(&server, key, Method::POST, "/v1/messages", &body).await
    };
    let go_on = |id: &str| json!({ "type": "continue", "previous_message_id": id });
    let first = turn("key-a", json!({ "type": "create" })).await.json();
    let told = async |id: &str| {
        let answer = turn("key-b", go_on(id)).await;
        (answer.status.as_u16(), answer.json()["error"].to_string().replace(id, "ID"))
    };
    let (theirs, nobodys) = (told(id(&first)).await, told("msg_00000000000000000000000000000000").await);
    assert_eq!(theirs, nobodys);
    assert!(theirs.0 == 404 && theirs.1.contains("thread_not_found"), "{theirs:?}");
    // Of many continuations at once one comes.
    let all = futures_util::future::join_all((0..8).map(|_| turn("key-a", go_on(id(&first))))).await;
    let codes: Vec<(u16, Value)> = all
        .iter()
        .map(|answer| (answer.status.as_u16(), answer.json()["error"]["details"]["error_code"].clone()))
        .collect();
    let refused = ["thread_continue_in_flight", "thread_already_continued"].map(|code| (400, json!(code)));
    assert_eq!(codes.iter().filter(|told| told.0 == 200).count(), 1, "{codes:?}");
    assert_eq!(codes.iter().filter(|told| refused.contains(told)).count(), 7, "{codes:?}");
    server.stop().await;
}
