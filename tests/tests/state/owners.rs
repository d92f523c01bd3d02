//! What one key's owner stored, no other sees: their answers have the same bytes as for an unknown
//! id.

use http::Method;
use serde_json::{Value, json};
use tests::client::Answer;
use tests::server::{Setup, TestServer};

use super::support::{ask, body, id, rules};

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
