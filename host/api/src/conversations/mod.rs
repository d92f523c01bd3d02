//! Conversations of `OpenAI`'s API: lists of items that responses read and are added to. `request`
//! reads bodies, `objects` are answers; the items are those of Responses.

pub(super) mod fields;
pub(super) mod objects;
mod request;

pub use objects::conversation;
pub use request::{NewItems, add, create, update};
