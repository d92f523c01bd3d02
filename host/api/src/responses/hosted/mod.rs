//! Tools that the server runs, in the Responses protocol: readers of requests (`request`, `input`),
//! the items (`items`), and the part of the machine that writes their events (`machine`).

pub(super) mod input;
pub(super) mod items;
mod machine;
mod of_calls;
pub(super) mod request;

pub(super) use machine::{HostedCalls, OutputSink};
