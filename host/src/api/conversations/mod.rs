//! Conversations of `OpenAI`'s API: lists of items that responses read and are added to. `request` reads bodies, `objects` are answers; the
//! items are those of Responses.

pub(super) mod fields;
pub(super) mod objects;
mod request;

#[cfg(test)]
mod tests;

pub(crate) use objects::{conversation, deleted};
pub(crate) use request::{NewConversation, NewItems, add, create, update};
