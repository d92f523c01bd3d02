//! Generations that are recorded, and generations that a record plays.

use std::collections::VecDeque;
use std::task::{Context, Poll};

use engine::{Generation, StepOutput, StepStream, SubmitError};

use super::line::{Line, StepLine};
use super::playback::{Playback, RecordedInput};
use super::recorder::Recorder;

/// A generation whose steps are recorded when they are taken. It goes on behind one of which the last
/// `dropped` tokens are no part of the turn.
pub(crate) fn recorded(
    generation: Generation,
    number: u32,
    dropped: usize,
    recorder: Recorder,
) -> Generation {
    Generation::new(Recorded { generation, number, dropped, recorder })
}

/// The generation of this number as it was recorded.
pub(crate) fn played(playback: Playback, number: u32) -> Generation {
    Generation::new(Played { playback, number })
}

/// A generation that begins with these tokens and goes on with those of `rest`.
pub(crate) fn resumed(first: Vec<StepOutput>, rest: Generation) -> Generation {
    Generation::new(Resumed { first: first.into(), rest })
}

struct Recorded {
    generation: Generation,
    number: u32,
    /// What the next line says of the one before.
    dropped: usize,
    recorder: Recorder,
}

impl StepStream for Recorded {
    fn poll_start(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), SubmitError>> {
        std::pin::pin!(self.generation.started()).as_mut().poll(cx)
    }

    fn poll_step(&mut self, cx: &mut Context<'_>) -> Poll<Option<StepOutput>> {
        let polled = std::pin::pin!(self.generation.next()).as_mut().poll(cx);
        if let Poll::Ready(step) = &polled {
            let line = StepLine::of(self.recorder.tick(), self.number, step.as_ref());
            let dropped = std::mem::take(&mut self.dropped);
            self.recorder.line(&Line::Step(StepLine { dropped, ..line }));
        }
        polled
    }
}

struct Played {
    playback: Playback,
    number: u32,
}

impl StepStream for Played {
    fn poll_step(&mut self, cx: &mut Context<'_>) -> Poll<Option<StepOutput>> {
        let number = self.number;
        let is_own =
            |input: &RecordedInput| matches!(input, RecordedInput::Step(step) if step.generation == number);
        self.playback.poll_take(cx, is_own).map(|input| match input {
            RecordedInput::Step(step) => step.into_step(),
            _ => None,
        })
    }
}

struct Resumed {
    first: VecDeque<StepOutput>,
    rest: Generation,
}

impl StepStream for Resumed {
    fn poll_start(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), SubmitError>> {
        std::pin::pin!(self.rest.started()).as_mut().poll(cx)
    }

    fn poll_step(&mut self, cx: &mut Context<'_>) -> Poll<Option<StepOutput>> {
        if let Some(step) = self.first.pop_front() {
            return Poll::Ready(Some(step));
        }
        std::pin::pin!(self.rest.next()).as_mut().poll(cx)
    }
}
