//! New items of a conversation, made ready to be stored.

use accounts::Account;
use store::{Owner, StoredItem};

use crate::accept::app::App;
use crate::state::references::dereference;
use api::conversations::NewItems;
use api::error::ApiError;

/// Items as they are stored: copies, for which the account pays, in place of references.
///
/// # Errors
/// 404 where a reference is to what isn't stored.
pub(crate) async fn settle(
    app: &App,
    owner: &Owner,
    new: NewItems,
    account: Account,
) -> Result<(Vec<StoredItem>, Vec<String>, Account), ApiError> {
    let NewItems { items, warnings } = new;
    let (items, account) = dereference(app, owner, account, items).await?;
    Ok((items, warnings, account))
}
