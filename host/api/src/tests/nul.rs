//! NUL characters in what things are stored and found under: refused with the path of the field, in
//! each protocol. In what is said they are text like any other: tools write them.

use serde_json::{Value, json};

use super::{job, refusal};
use crate::chat::{self, stored};
use crate::conversations;
use crate::error::ApiError;
use crate::ids::Ids;
use crate::messages::{self, thread};
use crate::request::Defaults;
use crate::responses::{self, Wishes};
use crate::{Document, JsonObject};

fn refused<T>(body: &Value, read: impl FnOnce(&JsonObject<'_>) -> Result<T, ApiError>) -> String {
    let document = Document::read(body.to_string().into(), &Defaults::default().limits).unwrap();
    let error = read(&document.body()).err().expect("it is refused");
    let what = "a NUL character (\\u0000) can't be part of it: leave it out";
    let path = error.param.expect("it is a field's fault");
    assert_eq!(
        (error.status, error.code, &error.message),
        (400, Some("invalid_value"), &format!("{path}: {what}"))
    );
    path
}

#[test]
fn nul_in_ids_and_metadata_is_refused_by_its_path() {
    for (extra, path) in [
        (json!({ "previous_response_id": "resp_\0" }), "previous_response_id"),
        (json!({ "conversation": "\0" }), "conversation"),
        (json!({ "conversation": { "id": "\0" } }), "conversation.id"),
        (
            json!({ "input": [{ "role": "user", "content": "x" }, { "id": "a\0b", "role": "user", "content": "x" }] }),
            "input[1].id",
        ),
        (json!({ "input": [{ "type": "item_reference", "id": "\0" }] }), "input[0].id"),
    ] {
        let mut body = json!({ "model": "m", "input": "x" });
        body.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        assert_eq!(refused(&body, |body| Wishes::read(body, true, true)), path);
    }
    let body = json!({ "model": "m", "input": "x", "metadata": { "k": "\0" } });
    assert_eq!(refusal(responses::read, &body).param.as_deref(), Some("metadata.k"));

    let body = |metadata: Value| json!({ "model": "m", "messages": [], "store": true, "metadata": metadata });
    for (metadata, path) in
        [(json!({ "k": "v\0" }), "metadata.k"), (json!({ "k\0": "v" }), "metadata.k\u{fffd}")]
    {
        let found = refused(&body(metadata), |body| stored::wish(body, 16));
        assert!(found.starts_with("metadata.k") && found.len() <= path.len() + 8, "{found}");
    }

    let thread = json!({ "type": "continue", "previous_message_id": "msg_\0" });
    let body = json!({ "model": "m", "max_tokens": 1, "messages": [], "thread": thread });
    assert_eq!(refused(&body, thread::wish), "thread.previous_message_id");

    let (defaults, ids) = (Defaults::default(), || Ids::random());
    let body = json!({ "items": [{ "id": "\0", "role": "user", "content": "x" }] });
    assert_eq!(refused(&body, |body| conversations::create(body, &defaults, &mut ids())), "items[0].id");
    assert_eq!(refused(&body, |body| conversations::add(body, &defaults, &mut ids())), "items[0].id");
    let body = json!({ "metadata": { "k": "\0" } });
    assert_eq!(refused(&body, |body| conversations::update(body, &defaults)), "metadata.k");
}

#[test]
fn nul_in_what_is_said_is_text() {
    let said = json!([{ "role": "user", "content": "a\0b" }]);
    let texts = [
        job(responses::read, &json!({ "model": "m", "input": said })).0,
        job(chat::read, &json!({ "model": "m", "messages": said })).0,
        job(messages::read, &json!({ "model": "m", "max_tokens": 1, "messages": said })).0,
    ]
    .map(|job| format!("{:?}", job.conversation.messages[0].content));
    assert!(texts.iter().all(|text| text.contains("a\\0b")), "{texts:?}");
}
