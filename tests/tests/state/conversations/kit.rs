//! A client of one key, and servers for it.

use std::net::SocketAddr;

use http::{Method, Request};
use serde_json::{Value, json};
use tests::client::{Answer, send};
use tests::server::{Setup, TestServer};

/// A client that sends one key.
#[derive(Clone, Copy)]
pub(crate) struct Client {
    pub(crate) address: SocketAddr,
    key: &'static str,
}

impl Client {
    pub(crate) fn new(server: &TestServer, key: &'static str) -> Self {
        Self { address: server.address, key }
    }

    pub(crate) async fn ask(self, method: Method, path: &str, body: Option<&Value>) -> Answer {
        let request = Request::builder().method(method).uri(path).header("host", "localhost");
        let request = request.header("authorization", format!("Bearer {}", self.key));
        let request = match body {
            Some(body) => {
                request.header("content-type", "application/json").body(body.to_string().into_bytes().into())
            }
            None => request.body(bytes::Bytes::new().into()),
        };
        send(self.address, request.expect("a request")).await
    }

    pub(crate) async fn get(self, path: &str) -> Answer {
        self.ask(Method::GET, path, None).await
    }

    pub(crate) async fn post(self, path: &str, body: Value) -> Answer {
        self.ask(Method::POST, path, Some(&body)).await
    }

    pub(crate) async fn delete(self, path: &str) -> Answer {
        self.ask(Method::DELETE, path, None).await
    }

    /// Makes a conversation of messages with these texts. Returns its path.
    pub(crate) async fn conversation(self, texts: &[&str]) -> String {
        let items: Vec<Value> = texts.iter().map(|text| message(text)).collect();
        let made = self.post("/v1/conversations", json!({ "items": items })).await;
        assert_eq!(made.status, 200, "{}", String::from_utf8_lossy(&made.body));
        format!("/v1/conversations/{}", made.json()["id"].as_str().expect("an id"))
    }

    /// Texts of all items of a conversation, asked for in pages of this length.
    pub(crate) async fn texts(self, conversation: &str, order: &str, limit: usize) -> Vec<String> {
        let (mut texts, mut after) = (Vec::new(), String::new());
        loop {
            let path = format!("{conversation}/items?order={order}&limit={limit}{after}");
            let list = self.get(&path).await.json();
            let data = list["data"].as_array().unwrap_or_else(|| panic!("{path}: {list}"));
            assert!(data.len() <= limit);
            assert_eq!(list["first_id"], data.first().map_or(Value::Null, |item| item["id"].clone()));
            texts.extend(
                data.iter().map(|item| item["content"][0]["text"].as_str().expect("a text").to_owned()),
            );
            if list["has_more"] == json!(false) {
                return texts;
            }
            after = format!("&after={}", list["last_id"].as_str().expect("an id"));
        }
    }
}

/// A user's message.
pub(crate) fn message(text: &str) -> Value {
    json!({ "role": "user", "content": text })
}

/// A server without keys, and its client.
pub(crate) async fn server() -> (TestServer, Client) {
    let server = TestServer::start(Setup::default()).await;
    let client = Client::new(&server, "any");
    (server, client)
}

/// A server with the keys of two owners, and a client of each.
pub(crate) async fn two() -> (TestServer, Client, Client) {
    let keys = vec!["alice=key-of-alice".to_owned(), "bob=key-of-bob".to_owned()];
    let server = TestServer::start(Setup { keys, ..Setup::default() }).await;
    let (alice, bob) = (Client::new(&server, "key-of-alice"), Client::new(&server, "key-of-bob"));
    (server, alice, bob)
}

/// Status and code of a refusal.
pub(crate) fn refusal(answer: &Answer) -> (u16, String) {
    let code = answer.json()["error"]["code"].as_str().map(str::to_owned);
    (answer.status.as_u16(), code.unwrap_or_else(|| panic!("{:?} has no code", answer.body)))
}
