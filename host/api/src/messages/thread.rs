//! Threads: conversations that the server keeps, so that a client sends the new messages only. What a
//! turn continues is put into its body, which is then read like any other; so a record of it needs
//! no store.
//!
//! A thread's first item holds the instructions and tools, which stay the same; the others are
//! messages.

use std::collections::HashMap;
use std::fmt::Display;

use serde_json::value::RawValue;
use store::{Link, StoredItem};

use super::fields::{self, MISMATCH, NO_THREADS};
use crate::error::ApiError;
use crate::fields::Row;
use crate::json::JsonObject;
use crate::raw::{self, Json};

/// What stays the same along a thread.
const HEAD: [Row; 2] = [fields::SYSTEM.row(), crate::tools::TOOLS.row()];

/// What a request wants of a thread.
#[derive(Debug)]
pub struct ThreadWish {
    /// Whether a thread begins, or which of its turns is continued.
    pub link: Link,
    /// The request's own items, to be stored.
    pub own: Vec<StoredItem>,
}

impl ThreadWish {
    /// Bytes that it holds.
    pub fn size(&self) -> usize {
        self.own.iter().map(|item| item.body.len()).sum()
    }
}

/// Reads what `body` wants of a thread.
///
/// # Errors
/// 400 where it doesn't say which.
pub fn wish(body: &JsonObject<'_>) -> Result<Option<ThreadWish>, ApiError> {
    let Some(link) = link(body)? else { return Ok(None) };
    let messages = body.require(fields::MESSAGES)?;
    let own = messages.objects().map(|message| Ok(item("message", whole(message?))));
    let mut own = own.collect::<Result<Vec<StoredItem>, ApiError>>()?;
    if link == Link::Thread {
        let head = HEAD.iter().filter_map(|row| Some((row.name, body.value_of(row)?.to_json())));
        own.insert(0, item("head", raw::object(head)));
    }
    Ok(Some(ThreadWish { link, own }))
}

/// What `body` says of a thread.
pub(super) fn link(body: &JsonObject<'_>) -> Result<Option<Link>, ApiError> {
    let Some(thread) = body.get(fields::THREAD)? else { return Ok(None) };
    match thread.require(fields::TYPE)? {
        "create" => Ok(Some(Link::Thread)),
        "continue" => Ok(Some(Link::Turn(thread.require(fields::PREVIOUS_MESSAGE)?.to_owned()))),
        _ => Err(thread.at(fields::TYPE).invalid("expected \"create\" or \"continue\"")),
    }
}

/// The body as one that has the whole conversation and no thread: with the items `before` that it
/// continues, oldest first.
///
/// # Errors
/// 400 where the body has other instructions or tools than the thread.
pub fn merged(body: &JsonObject<'_>, before: &[Vec<u8>]) -> Result<String, ApiError> {
    let text = |item: &[u8]| Json::new(String::from_utf8_lossy(item).into_owned());
    let (head, before) = match before {
        [head, messages @ ..] => (Some(head), messages),
        [] => (None, before),
    };
    let read = |head: &Vec<u8>| {
        serde_json::from_slice::<HashMap<String, Box<RawValue>>>(head)
            .map_err(|error| ApiError::internal(format!("the thread's beginning can't be read: {error}")))
    };
    let head = head.map(read).transpose()?;
    let mut all: Vec<(&str, Json)> = Vec::new();
    for (name, value) in body.fields() {
        let is_head = HEAD.iter().any(|row| row.name == name);
        if name == fields::THREAD.row().name
            || name == fields::MESSAGES.row().name
            || (is_head && head.is_some())
        {
            continue;
        }
        all.push((name, value.to_json()));
    }
    if let Some(head) = &head {
        for row in &HEAD {
            let kept = head.get(row.name).map(|kept| kept.get());
            let given = body.value_of(row).map(|value| value.to_json().into_string());
            if given.is_some_and(|given| kept != Some(given.as_str())) {
                return Err(mismatch(row.name));
            }
            all.extend(kept.map(|kept| (row.name, Json::new(kept.to_owned()))));
        }
    }
    let own = body.require(fields::MESSAGES)?;
    let own = own.objects().map(|message| Ok(whole(message?)));
    let messages =
        before.iter().map(|item| Ok(text(item))).chain(own).collect::<Result<Vec<Json>, ApiError>>()?;
    all.push((fields::MESSAGES.row().name, Json::of(&messages)));
    Ok(raw::object(all).into_string())
}

/// 400 that names what must stay the same.
fn mismatch(name: &str) -> ApiError {
    let what = format!(
        "{name}: it isn't what this thread began with: leave it out, or send the whole conversation with `thread: {{\"type\": \"create\"}}`"
    );
    ApiError::invalid(name.to_owned(), what).with_code(MISMATCH)
}

/// 400 of a server that keeps nothing.
pub fn unsupported() -> ApiError {
    alone("conversations are not kept here (`--store none`)")
}

/// 400 on which clients go on without threads, for this reason.
fn alone(why: impl Display) -> ApiError {
    let what = format!(
        "thread: {why}: send all messages with each request, without `thread`. Clients do so by themselves on this code"
    );
    ApiError::invalid("thread".to_owned(), what).with_code(NO_THREADS)
}

/// The refusal of a turn for an error of the store, if there is one that clients act on.
pub fn refusal(error: &store::StoreError) -> Option<ApiError> {
    let (status, code, what) = match error {
        store::StoreError::NotFound => (
            404,
            fields::THREAD_NOT_FOUND,
            "no thread has a turn with this id that can be continued: send the whole conversation with `thread: {\"type\": \"create\"}`",
        ),
        store::StoreError::Continued { running: true } => (
            400,
            fields::IN_FLIGHT,
            "another request continues from there and still runs: wait for it, and continue from its response",
        ),
        store::StoreError::Continued { running: false } => (
            400,
            fields::ALREADY_CONTINUED,
            "it was continued already, and each response is continued once: continue from the thread's last response",
        ),
        store::StoreError::TooLong(_) | store::StoreError::Full(_) => return Some(alone(error)),
        _ => return None,
    };
    let error =
        ApiError::invalid("thread".to_owned(), format!("thread.previous_message_id: {what}")).with_code(code);
    Some(ApiError { status, ..error })
}

/// The item of an answer, which the thread's next turn reads.
pub(super) fn answer(content: &impl serde::Serialize) -> StoredItem {
    item("message", raw::object([("role", Json::of("assistant")), ("content", Json::of(content))]))
}

fn whole(message: JsonObject<'_>) -> Json {
    raw::object(message.fields().map(|(name, value)| (name, value.to_json())))
}

fn item(id: &str, body: Json) -> StoredItem {
    StoredItem { id: id.to_owned(), body: body.into_string().into_bytes() }
}
