//! Tools that the server runs, in the Responses protocol: what requests say of them (`request`, `input`), their items (`items`), and
//! the part of the machine that tells of them (`machine`).

pub(super) mod input;
pub(super) mod items;
mod machine;
mod of_calls;
pub(super) mod request;

pub(super) use machine::{HostedCalls, Out};
