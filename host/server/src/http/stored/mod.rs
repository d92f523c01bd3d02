//! Routes that read, follow, cancel and delete what is stored.

mod completions;
mod follow;
mod routes;

pub(crate) use completions::{
    completion, completion_messages, completions, delete_completion, update_completion,
};
pub(crate) use follow::{Followed, follow};
pub(crate) use routes::{cancel, delete, end_reasoning, input_items, one};
