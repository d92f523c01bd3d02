//! References of a request to stored items, replaced by the items.

use store::{Item, Owner};

use super::super::app::App;
use super::super::reads::paid;
use super::super::store_error::store;
use api::error::ApiError;
use api::responses::OwnItem;
use model::accounts::Account;

/// A request's own items, whole.
pub(in crate::http) struct Dereferenced {
    pub(in crate::http) items: Vec<Item>,
    /// Number of references to items that aren't stored, which are left out.
    pub(in crate::http) unknown: usize,
    /// The account that has paid for the stored ones.
    pub(in crate::http) account: Account,
}

/// Replaces references by copies of the stored items. All are read in one transaction; `account`
/// pays for each before it is read, as often as the request names it.
///
/// # Errors
/// The refusal of an overdrawn account, and those of the store.
pub(in crate::http) async fn dereference(
    app: &App,
    owner: &Owner,
    account: Account,
    given: Vec<OwnItem>,
) -> Result<Dereferenced, ApiError> {
    let ids: Vec<String> = given.iter().filter_map(reference).map(str::to_owned).collect();
    let (found, account) = if ids.is_empty() {
        (Vec::new(), account)
    } else {
        let store = store(app)?;
        paid(app, account, 1, |budget| store.items_by_id(owner, ids, budget)).await?
    };
    let unknown = found.iter().filter(|item| item.is_none()).count();
    let mut found = found.into_iter();
    let whole = |item: OwnItem| match item {
        OwnItem::Whole(item) => Some(item),
        OwnItem::Reference(_) => found.next().flatten(),
    };
    let items = given.into_iter().filter_map(whole).collect();
    Ok(Dereferenced { items, unknown, account })
}

/// The id that an item refers to.
pub(in crate::http) fn reference(item: &OwnItem) -> Option<&str> {
    match item {
        OwnItem::Reference(id) => Some(id),
        OwnItem::Whole(_) => None,
    }
}
