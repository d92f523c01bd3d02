//! What `inbox` passes on.

#[derive(Debug)]
pub(crate) struct Sequence;
