//! What a request continues and refers to, asked of the store before the request is read.

use std::sync::Arc;

use store::{Error, Item, Link, Owner};

use super::super::app::App;
use super::super::store_error::{refusal, store};
use super::super::unpaid::unpaid;
use api::error::ApiError;
use api::responses::{Continuation, OwnItem, WholeInput, Wishes};

/// Where the items are that a request continues.
#[derive(Debug, Clone)]
pub(in crate::http) enum Continues {
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
    pub(in crate::http) fn asks_store(&self) -> bool {
        !matches!(self, Self::Remembered(_))
    }

    /// Whether the request's own items are wanted, even if nothing is stored.
    pub(in crate::http) fn wants_items(&self) -> bool {
        !matches!(self, Self::AsTheBodySays)
    }
}

/// What is stored of a request whose references are resolved, and how.
pub(in crate::http) struct Resolved {
    /// Whether the response runs without its client.
    pub(in crate::http) background: bool,
    /// What the response continues in the store.
    pub(in crate::http) link: Link,
    /// The request's own items, as they are stored.
    pub(in crate::http) input: Vec<Item>,
    /// The body without its input, of a background response.
    pub(in crate::http) bare: Option<Vec<u8>>,
    /// Whether the client wants deltas padded.
    pub(in crate::http) pad: bool,
    /// Items that the request continues, oldest first.
    pub(in crate::http) before: Arc<[Vec<u8>]>,
}

impl Resolved {
    /// Bytes that it holds.
    pub(in crate::http) fn size(&self) -> usize {
        self.input.iter().map(|item| item.body.len()).sum()
    }
}

/// Resolves what `wishes` refer to: what the request is read with, and what is stored of it.
///
/// # Errors
/// 400 `previous_response_not_found` where the response to be continued is unknown, runs or failed;
/// 404 for an unknown conversation or item; and the store's own.
pub(in crate::http) async fn resolve(
    app: &App,
    owner: &Owner,
    mut wishes: Wishes,
    continues: Continues,
) -> Result<(Continuation, Resolved), ApiError> {
    let (before, link) = match continues {
        Continues::Remembered(items) => (items, Link::Alone),
        Continues::AsTheBodySays | Continues::ToRemember => {
            (before(app, owner, &wishes.link).await?, wishes.link.clone())
        }
    };
    let needs_whole = !before.is_empty() || wishes.own.iter().flatten().any(refers);
    let mut input = Vec::new();
    for item in wishes.own.take().into_iter().flatten() {
        match item {
            OwnItem::Whole(item) => input.push(item),
            OwnItem::Reference(id) => match store(app)?.item(owner, &id).await {
                Ok(item) => input.push(item),
                Err(Error::NotFound) => return Err(ApiError::item_not_found(&id)),
                Err(error) => return Err(refusal(error)),
            },
        }
    }
    let own = input.iter().map(|item| &*item.body);
    let whole = needs_whole.then(|| WholeInput::new(&before, own, &app.limits)).transpose()?;
    let continuation = Continuation { whole, store: wishes.store, prompt_only: false, queued: None };
    let Wishes { background, bare, pad, .. } = wishes;
    Ok((continuation, Resolved { background, link, input, bare, pad, before }))
}

fn refers(item: &OwnItem) -> bool {
    matches!(item, OwnItem::Reference(_))
}

/// Checks that a conversation is still as it was read, now that this response has claimed it:
/// another one may have ended in between.
///
/// # Errors
/// 400 `conversation_locked` if it isn't.
pub(super) async fn check_unchanged(app: &App, owner: &Owner, resolved: &Resolved) -> Result<(), ApiError> {
    let Link::Conversation(_) = &resolved.link else { return Ok(()) };
    let _unpaid = unpaid(app).await?;
    let now = before(app, owner, &resolved.link).await?;
    if now.len() == resolved.before.len() { Ok(()) } else { Err(refusal(Error::Locked)) }
}

async fn before(app: &App, owner: &Owner, link: &Link) -> Result<Arc<[Vec<u8>]>, ApiError> {
    if *link == Link::Alone {
        return Ok(Arc::new([]));
    }
    let items = store(app)?.context(owner, link).await.map_err(|error| match (link, error) {
        (Link::Parent(_), Error::NotFound) => previous_not_found(),
        (_, error) => refusal(error),
    })?;
    Ok(items.into_iter().map(|context| context.item.body).collect())
}

/// 400: a response to be continued isn't there. It names no id, so that an id of another owner gets
/// the same bytes as an unknown one.
pub(in crate::http) fn previous_not_found() -> ApiError {
    let message = "previous_response_id: no response with this id can be continued: it is unknown, still runs, failed, or was deleted. Send the whole input instead.";
    ApiError::invalid("previous_response_id".to_owned(), message).with_code("previous_response_not_found")
}
