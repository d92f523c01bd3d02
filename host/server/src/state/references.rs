//! References of a request to stored items, replaced by the items.

use store::{Owner, StoredItem};

use crate::accept::app::App;
use crate::state::reads::paid;
use crate::state::store_error::store;
use accounts::Account;
use api::error::ApiError;
use api::responses::OwnItem;

/// Replaces references by copies of the stored items. All are read in one transaction; `account`
/// pays for each before it is read, as often as the request names it.
///
/// # Errors
/// 404 for a reference to what isn't stored; the refusal of an overdrawn account; and the store's
/// own.
pub(crate) async fn dereference(
    app: &App,
    owner: &Owner,
    account: Account,
    given: Vec<OwnItem>,
) -> Result<(Vec<StoredItem>, Account), ApiError> {
    let ids: Vec<String> = given.iter().filter_map(reference).map(str::to_owned).collect();
    let (found, account) = if ids.is_empty() {
        (Vec::new(), account)
    } else {
        let store = store(app)?;
        paid(app, account, 1, |budget| store.items_by_id(owner, ids, budget)).await?
    };
    let mut found = found.into_iter();
    let whole = |item: OwnItem| match item {
        OwnItem::Whole(item) => Ok(item),
        OwnItem::Reference(id) => found.next().flatten().ok_or_else(|| ApiError::item_not_found(&id)),
    };
    let items = given.into_iter().map(whole).collect::<Result<_, _>>()?;
    Ok((items, account))
}

/// The id that an item refers to.
pub(crate) fn reference(item: &OwnItem) -> Option<&str> {
    match item {
        OwnItem::Reference(id) => Some(id),
        OwnItem::Whole(_) => None,
    }
}
