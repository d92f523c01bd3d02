//! What `inbox` refuses with.

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum SubmitError {
    Busy(usize),
    Stopped,
}
