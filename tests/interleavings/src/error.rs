//! Stand-in for the error with which `inbox` refuses.

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum SubmitError {
    Stopped,
}
