//! What a request continues and refers to, asked of the store before the request is read.

use std::sync::Arc;

use store::{Link, Owner, StoreError, StoredItem};

use crate::accept::app::App;
use crate::accept::body::{COPIES, CheckedBody};
use crate::state::reads::paid;
use crate::state::references::{dereference, reference};
use crate::state::store_error::{refusal, store};
use api::error::ApiError;
use api::limits::RequestLimits;
use api::responses::{Continuation, OwnItem, WholeInput, Wishes};

/// Where the items are that a request continues.
#[derive(Debug, Clone)]
pub(crate) enum Continues {
    /// In the store, under the ids that the body names.
    AsTheBodySays,
    /// There, too. What the request continues and its own items are wanted, since its answer isn't
    /// stored and is remembered.
    ToRemember,
    /// Here: the JSON of each item, oldest first.
    Remembered(Arc<[Vec<u8>]>),
}

impl Continues {
    /// Whether the items are asked of the store.
    pub(crate) fn asks_store(&self) -> bool {
        !matches!(self, Self::Remembered(_))
    }

    /// Whether the request's own items are wanted, even if nothing is stored.
    pub(crate) fn wants_items(&self) -> bool {
        !matches!(self, Self::AsTheBodySays)
    }
}

/// What is stored of a request whose references are resolved, and how.
pub(crate) struct Resolved {
    /// Whether the response runs without its client.
    pub(crate) background: bool,
    /// What the response continues in the store.
    pub(crate) link: Link,
    /// The request's own items, as they are stored.
    pub(crate) input: Vec<StoredItem>,
    /// The body without its input, of a background response.
    pub(crate) bare: Option<Vec<u8>>,
    /// Whether the client wants deltas padded.
    pub(crate) pad: bool,
    /// Items that the request continues, oldest first, if its answer is remembered.
    pub(crate) before: Arc<[Vec<u8>]>,
    /// Number of the items that it continues.
    pub(crate) continued: usize,
}

/// The items that a request continues. Those that are kept for later are copied to be read.
enum Before {
    Once(Vec<Vec<u8>>),
    Kept(Arc<[Vec<u8>]>),
}

impl Before {
    fn len(&self) -> usize {
        match self {
            Self::Once(items) => items.len(),
            Self::Kept(items) => items.len(),
        }
    }

    /// Their size, in bytes.
    fn size(&self) -> usize {
        match self {
            Self::Once(items) => items.iter().map(Vec::len).sum(),
            Self::Kept(items) => items.iter().map(Vec::len).sum(),
        }
    }

    /// Bytes of the copies that are made to read them.
    fn copied(&self) -> usize {
        match self {
            Self::Once(_) => 0,
            Self::Kept(_) => self.size(),
        }
    }

    /// The items that are kept.
    fn kept(&self) -> Arc<[Vec<u8>]> {
        match self {
            Self::Once(_) => Arc::new([]),
            Self::Kept(items) => Arc::clone(items),
        }
    }

    /// The input of these items and a request's own ones.
    fn with(self, own: &[StoredItem], limits: &RequestLimits) -> Result<WholeInput, ApiError> {
        let bytes = self.size() + size(own);
        let own = own.iter().map(|item| &*item.body);
        match self {
            Self::Once(items) => WholeInput::new(items, own, bytes, limits),
            Self::Kept(items) => WholeInput::new(items.iter(), own, bytes, limits),
        }
    }
}

/// Resolves what `wishes` refer to: what the request is read with, and what is stored of it. The
/// body's account pays for all of it.
///
/// # Errors
/// 400 `previous_response_not_found` where the response to be continued is unknown, runs or failed;
/// 404 for an unknown conversation or item; the refusal of an overdrawn account; and the store's own.
pub(crate) async fn resolve(
    app: &App,
    owner: &Owner,
    body: CheckedBody,
    mut wishes: Wishes,
    continues: Continues,
) -> Result<(CheckedBody, Continuation, Resolved), ApiError> {
    let (mut body, before, link) = continued(app, owner, body, wishes.link.clone(), continues).await?;
    let own = wishes.own.take().unwrap_or_default();
    let needs_whole = before.len() > 0 || own.iter().any(|item| reference(item).is_some());
    // Their copies in the store; those of references are paid for when they are read.
    body.hold(own.iter().map(whole_size).sum(), 1)?;
    let (body, input) = body.pay(|account| dereference(app, owner, account, own)).await?;
    let (kept, count) = (before.kept(), before.len());
    let (body, input, whole) =
        if needs_whole { read_whole(app, body, before, input).await? } else { (body, input, None) };
    let continuation = Continuation { whole, store: wishes.store, prompt_only: false, queued: None };
    let Wishes { background, bare, pad, .. } = wishes;
    let resolved = Resolved { background, link, input, bare, pad, before: kept, continued: count };
    Ok((body, continuation, resolved))
}

/// What a request continues, and how its response is linked in the store.
async fn continued(
    app: &App,
    owner: &Owner,
    body: CheckedBody,
    link: Link,
    continues: Continues,
) -> Result<(CheckedBody, Before, Link), ApiError> {
    let is_kept = continues.wants_items();
    if let Continues::Remembered(items) = continues {
        return Ok((body, Before::Kept(items), Link::Alone));
    }
    let (body, items) = read_before(app, owner, body, &link).await?;
    let before = if is_kept { Before::Kept(items.into()) } else { Before::Once(items) };
    Ok((body, before, link))
}

/// The items of a request as one input. It is charged for the text, and for what reading copies of
/// it.
async fn read_whole(
    app: &App,
    mut body: CheckedBody,
    before: Before,
    own: Vec<StoredItem>,
) -> Result<(CheckedBody, Vec<StoredItem>, Option<WholeInput>), ApiError> {
    body.hold(before.copied() + size(&own), 1)?;
    let make = move |limits: &RequestLimits| Ok((before.with(&own, limits)?, own));
    let (mut body, (whole, own)) = body.make(app, usize::MAX, make).await?;
    body.hold(whole.copied(), COPIES - 1)?;
    Ok((body, own, Some(whole)))
}

/// Size of an item that was sent whole, in bytes.
fn whole_size(item: &OwnItem) -> usize {
    match item {
        OwnItem::Whole(item) => item.body.len(),
        OwnItem::Reference(_) => 0,
    }
}

/// Size of items, in bytes.
fn size(items: &[StoredItem]) -> usize {
    items.iter().map(|item| item.body.len()).sum()
}

/// Checks that a conversation is still as it was read, now that this response has claimed it:
/// another one may have ended in between.
///
/// # Errors
/// 400 `conversation_locked` if it isn't.
pub(crate) async fn check_unchanged(app: &App, owner: &Owner, resolved: &Resolved) -> Result<(), ApiError> {
    let Link::Conversation(id) = &resolved.link else { return Ok(()) };
    let now = store(app)?.conversation_len(owner, id).await.map_err(refusal)?;
    if now == resolved.continued as u64 { Ok(()) } else { Err(refusal(StoreError::Locked)) }
}

/// Items that a request continues, which its account pays for once: they become its input.
async fn read_before(
    app: &App,
    owner: &Owner,
    body: CheckedBody,
    link: &Link,
) -> Result<(CheckedBody, Vec<Vec<u8>>), ApiError> {
    if *link == Link::Alone {
        return Ok((body, Vec::new()));
    }
    let store = store(app)?;
    let pay = async |account| paid(app, account, 1, |budget| store.context(owner, link, budget)).await;
    let (body, items) = body.pay(pay).await.map_err(|error| match link {
        Link::Parent(_) if error.status == 404 => previous_not_found(),
        _ => error,
    })?;
    Ok((body, items.into_iter().map(|context| context.item.body).collect()))
}

/// 400: a response to be continued isn't there. It names no id, so that an id of another owner gets
/// the same bytes as an unknown one.
pub(crate) fn previous_not_found() -> ApiError {
    let message = "previous_response_id: no response with this id can be continued: it is unknown, still runs, failed, or was deleted. Send the whole input instead.";
    ApiError::invalid("previous_response_id".to_owned(), message).with_code("previous_response_not_found")
}
