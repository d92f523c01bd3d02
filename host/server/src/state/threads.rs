//! Threads of Messages: what a turn continues is read from the store and put into its body.

use bytes::Bytes;
use store::Link;

use crate::accept::app::App;
use crate::accept::body::{COPIES, CheckedBody};
use crate::accept::caller::Caller;
use crate::state::reads::paid_or;
use crate::state::store_error;
use api::error::ApiError;
use api::messages::thread::{self, ThreadWish};

/// The body with what it continues, and what is to be stored of it; none where the request is of no
/// thread.
///
/// # Errors
/// 400 where the server keeps nothing or the body doesn't fit its thread; 404 where there is none; the
/// refusal of an overdrawn account; and the store's own.
pub(crate) async fn threaded(
    app: &App,
    caller: &Caller,
    body: CheckedBody,
) -> Result<(CheckedBody, Option<ThreadWish>), ApiError> {
    let (mut body, wish) = body.refer(app, thread::wish).await?;
    let Some(wish) = wish else { return Ok((body, None)) };
    let Some(store) = &app.store else { return Err(thread::unsupported()) };
    body.hold(wish.size(), 1)?;
    let Link::Turn(_) = &wish.link else { return Ok((body, Some(wish))) };
    let (owner, link) = (caller.owner(), wish.link.clone());
    let context = |budget| store.context(&owner, &link, budget);
    let (mut body, before) =
        body.pay(async |account| paid_or(app, account, 1, context, refusal).await).await?;
    let before: Vec<Vec<u8>> = before.into_iter().map(|context| context.item.body).collect();
    // The whole text, before it is charged as a body of its own.
    body.hold(before.iter().map(Vec::len).sum::<usize>() + body.text().len(), COPIES)?;
    let (_paid, text) = body.refer(app, move |body| thread::merged(body, &before)).await?;
    let body = CheckedBody::of_text(app, &caller.principal, Bytes::from(text)).await?;
    Ok((body, Some(wish)))
}

/// The refusal that a client of a thread gets for an error of the store.
pub(super) fn refusal(error: store::StoreError) -> ApiError {
    thread::refusal(&error).unwrap_or_else(|| store_error::refusal(error))
}
