//! What `outlet` passes on.

use std::task::{Context, Poll};

#[derive(Debug)]
pub(crate) struct Step {
    pub(crate) number: usize,
    pub(crate) finish: Option<()>,
}

pub(crate) trait StepStream {
    fn poll_step(&mut self, cx: &mut Context<'_>) -> Poll<Option<Step>>;
}
