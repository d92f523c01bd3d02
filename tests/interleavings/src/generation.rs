//! Stand-ins for the types that `outlet` passes on.

use std::task::{Context, Poll};

use crate::error::SubmitError;

#[derive(Debug, Default)]
pub(crate) struct StepOutput {
    pub(crate) number: usize,
    pub(crate) finish: Option<()>,
}

impl StepOutput {
    pub(crate) fn is_empty(&self) -> bool {
        self.number == 0 && self.finish.is_none()
    }

    pub(crate) fn into_refusal(self) -> Result<SubmitError, Self> {
        Err(self)
    }
}

pub(crate) trait StepStream {
    fn poll_start(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), SubmitError>>;
    fn poll_step(&mut self, cx: &mut Context<'_>) -> Poll<Option<StepOutput>>;
}
