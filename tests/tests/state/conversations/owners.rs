//! Nobody sees another owner's conversations: every route answers as for an id that never was, byte
//! for byte.

use http::Method;
use serde_json::{Value, json};
use tests::client::Answer;

use super::kit::{Client, message, two};

/// Every request that names a conversation, with an item.
async fn all(client: Client, conversation: &str, item: &str) -> Vec<Answer> {
    let (items, item) = (format!("{conversation}/items"), format!("{conversation}/items/{item}"));
    let added = json!({ "items": [message("x")] });
    let metadata = json!({ "metadata": {} });
    let requests: [(Method, &str, Option<&Value>); 8] = [
        (Method::GET, conversation, None),
        (Method::POST, conversation, Some(&metadata)),
        (Method::GET, &items, None),
        (Method::GET, &format!("{items}?order=asc&limit=1&after=msg_x"), None),
        (Method::POST, &items, Some(&added)),
        (Method::GET, &item, None),
        (Method::DELETE, &item, None),
        (Method::DELETE, conversation, None),
    ];
    let mut answers = Vec::new();
    for (method, path, body) in requests {
        answers.push(client.ask(method, path, body).await);
    }
    answers
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn foreign_unknown_and_deleted_talks_get_equal_bytes() {
    let (server, alice, bob) = two().await;
    let foreign = alice.conversation(&["mine"]).await;
    let item =
        alice.get(&format!("{foreign}/items")).await.json()["last_id"].as_str().expect("an id").to_owned();
    let deleted = bob.conversation(&["gone"]).await;
    bob.delete(&deleted).await;
    let mut seen = Vec::new();
    for conversation in
        ["/v1/conversations/conv_00000000000000000000000000000000", "/v1/conversations/x", &foreign, &deleted]
    {
        seen.push(all(bob, conversation, &item).await);
    }
    for (row, unknown) in seen[0].iter().enumerate() {
        assert_eq!(unknown.status, 404, "{row}");
        for other in &seen[1..] {
            assert_eq!((other[row].status, &other[row].body), (unknown.status, &unknown.body), "{row}");
            let names = |answer: &Answer| answer.headers.keys().map(ToString::to_string).collect::<Vec<_>>();
            assert_eq!(names(&other[row]), names(unknown), "{row}");
        }
    }
    // And nothing of it was changed.
    assert_eq!(alice.texts(&foreign, "asc", 9).await, ["mine"]);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reference_to_a_foreign_item_is_to_an_unknown_one() {
    let (server, alice, bob) = two().await;
    let foreign = alice.conversation(&["mine"]).await;
    let item = alice.get(&format!("{foreign}/items")).await.json()["last_id"].clone();
    let own = bob.conversation(&["own"]).await;
    let refer = async |id: &Value| {
        bob.post(&format!("{own}/items"), json!({ "items": [{ "type": "item_reference", "id": id }] })).await
    };
    let (theirs, unknown) = (refer(&item).await, refer(&json!("msg_unknown")).await);
    let named =
        |answer: &Answer, id: &Value| answer.json().to_string().replace(id.as_str().expect("an id"), "ID");
    assert_eq!((theirs.status, unknown.status.as_u16()), (unknown.status, 404));
    assert_eq!(named(&theirs, &item), named(&unknown, &json!("msg_unknown")));
    assert_eq!(bob.texts(&own, "asc", 9).await, ["own"]);
    // One's own is copied, from another conversation, too.
    let other = alice.conversation(&["first"]).await;
    let copied = alice.post(&format!("{other}/items"), json!({ "items": [{ "id": item }] })).await.json();
    assert_eq!((&copied["first_id"], copied["data"].as_array().map(Vec::len)), (&item, Some(1)));
    assert_eq!(alice.texts(&other, "asc", 9).await, ["first", "mine"]);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn keys_of_one_name_are_one_owner_and_no_key_gets_401() {
    let keys = ["team=key-1", "team=key-2"].map(str::to_owned).to_vec();
    let setup = tests::server::Setup { keys, ..tests::server::Setup::default() };
    let server = tests::server::TestServer::start(setup).await;
    let conversation = Client::new(&server, "key-1").conversation(&["ours"]).await;
    assert_eq!(Client::new(&server, "key-2").texts(&conversation, "asc", 9).await, ["ours"]);
    for answer in all(Client::new(&server, "wrong"), &conversation, "msg_1").await {
        assert_eq!(answer.status, 401);
    }
    server.stop().await;
}
