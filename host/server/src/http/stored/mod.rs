//! Stored responses: what a request continues (`resolve`) and refers to (`references`), answers that are stored (`keeping`) or
//! run without a client (`background`), and the routes that read, follow, cancel and delete them.
//!
//! Invariants: nothing of a stored response is sent before it is committed. Every running response
//! of this process is in `Running`, which renews its lease; whoever loses the lease stops.

mod background;
mod completions;
mod follow;
mod keeping;
mod references;
mod request;
mod resolve;
mod routes;
mod running;
mod upkeep;

pub(super) use background::{enqueue, run_claimed};
pub(super) use completions::{
    completion, completion_messages, completions, delete_completion, keep_completion, update_completion,
};
pub(super) use follow::{Followed, follow};
pub(super) use keeping::keep;
pub(super) use references::dereference;
pub(super) use resolve::{Continues, Resolved, resolve};
pub(super) use routes::{cancel, delete, input_items, one};
pub(super) use running::Running;
pub(super) use upkeep::upkeep;
