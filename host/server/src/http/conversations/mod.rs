//! Routes of conversations. A handler reads its body (`api::conversations`), makes one transaction
//! of the store, and shows the result.
//!
//! Invariant: a handler reaches the store only with the owner of its own request, so another
//! owner's conversation is as unknown to it as one that never was.

mod conversation;
mod items;
mod settle;

pub(crate) use conversation::{create, delete, get, update};
pub(crate) use items::{add, item, list, remove};
