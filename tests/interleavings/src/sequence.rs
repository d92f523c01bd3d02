//! Stand-in for the type that `inbox` passes on.

#[derive(Debug)]
pub(crate) struct Sequence;
