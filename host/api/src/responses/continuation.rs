//! What a Responses request says of state, read before all else (`Wishes`), and what is known of
//! that when the rest is read (`Continuation`): in between the store is asked.

use store::Link;

use super::fields;
use super::input_items::WholeInput;
use super::own_items::{OwnItem, is_reference, own_items};
use super::resource::ConversationEcho;
use crate::error::ApiError;
use crate::ids::Ids;
use crate::json::{Elements, JsonObject, Value};
use crate::raw;

/// What a request wants of the store.
#[derive(Debug)]
pub struct Wishes {
    /// Whether the response is to be stored.
    pub store: bool,
    /// Whether it runs without its client.
    pub background: bool,
    /// What it continues.
    pub link: Link,
    /// Its own items, if they are to be stored or its input needs stored ones.
    pub own: Option<Vec<OwnItem>>,
    /// The body without its input, if it is read again when the response runs in the background.
    pub bare: Option<Vec<u8>>,
    /// Whether the client wants deltas padded.
    pub pad: bool,
}

impl Wishes {
    /// Reads them from a body. `has_store` says whether this server stores anything, `wants_own`
    /// whether the body's own items are wanted in any case.
    ///
    /// # Errors
    /// 400 where they contradict each other, or have wrong types.
    pub fn read(body: &JsonObject<'_>, has_store: bool, wants_own: bool) -> Result<Self, ApiError> {
        let wanted = body.get(fields::STORE)?;
        let background = body.get(fields::BACKGROUND)?.unwrap_or(false);
        if background && wanted == Some(false) {
            let what = "a background response is stored until it is read: leave `store: false` out";
            return Err(body.at(fields::BACKGROUND).invalid(what));
        }
        let store = background || (has_store && wanted.unwrap_or(true));
        let link = link(body)?;
        let items =
            || body.value(fields::INPUT).and_then(Value::as_list).into_iter().flat_map(Elements::iter);
        let needs_own = wants_own || store || link != Link::Alone || items().any(is_reference);
        let own = needs_own.then(|| own_items(body, &mut Ids::random())).transpose()?;
        let bare = background.then(|| {
            let fields = body.fields().filter(|(name, _)| *name != fields::INPUT.row().name);
            raw::object(fields.map(|(name, value)| (name, value.to_json()))).into_string().into_bytes()
        });
        Ok(Self { store, background, link, own, bare, pad: wants_obfuscation(body)? })
    }

    /// Whether the request can't be answered without a store.
    pub fn need_store(&self) -> bool {
        self.store || self.read_store()
    }

    /// Whether something has to be read from the store before the request is.
    pub fn read_store(&self) -> bool {
        let refers = |item: &OwnItem| matches!(item, OwnItem::Reference(_));
        self.link != Link::Alone || self.own.iter().flatten().any(refers)
    }
}

/// What a request continues.
///
/// # Errors
/// 400 where it names a response and a conversation, or one of them wrongly.
pub(super) fn link(body: &JsonObject<'_>) -> Result<Link, ApiError> {
    let parent = body.get(fields::PREVIOUS_RESPONSE_ID)?;
    let conversation = conversation(body)?;
    match (parent, conversation) {
        (None, None) => Ok(Link::Alone),
        (Some(id), None) => Ok(Link::Parent(id.to_owned())),
        (None, Some(conversation)) => Ok(Link::Conversation(conversation.id)),
        (Some(_), Some(_)) => {
            let what =
                "a response continues a response or a conversation: send this or `conversation`, not both";
            Err(body.at(fields::PREVIOUS_RESPONSE_ID).invalid(what))
        }
    }
}

/// What is known of a request from outside its body when it is read. The default is a request that
/// continues nothing and isn't stored.
#[derive(Debug, Default)]
pub struct Continuation {
    /// The input with what it continues, unless the body's own is whole.
    pub whole: Option<WholeInput>,
    /// Whether the response is stored.
    pub store: bool,
    /// Whether the model is not to answer, so that there may be nothing to answer.
    pub prompt_only: bool,
    /// The response's id and time of creation, where it waited before it is read to run.
    pub queued: Option<Queued>,
}

impl Continuation {
    /// A request that is read with this input.
    pub fn with(whole: WholeInput) -> Self {
        Self { whole: Some(whole), ..Self::default() }
    }
}

/// A response that was told of before it runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Queued {
    /// Its id.
    pub id: String,
    /// When it was created, in seconds since 1970.
    pub created_at: u64,
    /// Number of events that were sent of it.
    pub events: u64,
}

/// `conversation`, which may be an id or an object with one.
pub(super) fn conversation(body: &JsonObject<'_>) -> Result<Option<ConversationEcho>, ApiError> {
    let path = body.at(fields::CONVERSATION);
    let id = match body.value(fields::CONVERSATION) {
        None => return Ok(None),
        Some(object @ Value::Object(_)) => JsonObject::new(object, path)?.require(fields::ID)?.to_owned(),
        Some(id) => path.without_nul(id.as_str().ok_or_else(|| path.expected("a string", id))?)?.to_owned(),
    };
    Ok(Some(ConversationEcho { id }))
}

/// Whether deltas are padded: yes unless the request says no, as in `OpenAI`'s API.
pub(super) fn wants_obfuscation(body: &JsonObject<'_>) -> Result<bool, ApiError> {
    let Some(options) = body.get(fields::STREAM_OPTIONS)? else { return Ok(true) };
    Ok(options.get(fields::PAD)?.unwrap_or(true))
}
