//! The two ends of one sequence's queue of steps: `Outlet` on the engine's thread, `Inlet` inside
//! the client's `Generation`.
//!
//! Invariant: one place of the queue is kept for the last step, so `send` never waits and the end
//! of a sequence always arrives. A full queue is the only reason to pause; a client that makes room
//! in the queue, or leaves, notifies the engine.

use std::task::{Context, Poll, ready};

use crate::error::SubmitError;
use crate::generation::{StepOutput, StepStream};
use crate::notify::Notify;
use crate::sync::{Arc, AtomicBool, Ordering, fence, mpsc};

/// Engine's end of the queue, which sends steps.
pub(crate) struct Outlet {
    /// `None` after the last step.
    steps: Option<mpsc::Sender<StepOutput>>,
    full: Arc<AtomicBool>,
    /// Whether the client is still to be told that the sequence begins.
    announces: bool,
}

/// Client's end of the queue, which receives steps. Dropping it cancels the sequence.
pub(crate) struct Inlet {
    steps: mpsc::Receiver<StepOutput>,
    full: Arc<AtomicBool>,
    notify: Arc<Notify>,
    /// Whether the next step received tells that the sequence begins, or why it doesn't.
    awaits_begin: bool,
    /// First step received, kept for `poll_step`, where the sequence ended before it began.
    first: Option<StepOutput>,
}

/// Creates a queue for `places` steps (at least one) and the last one. With `announces`,
/// [`StepStream::poll_start`] is ready when the sequence begins; without, at once.
pub(crate) fn outlet(places: usize, announces: bool, notify: Arc<Notify>) -> (Outlet, Inlet) {
    let (sender, receiver) = mpsc::channel(places.max(1).saturating_add(1));
    let full = Arc::new(AtomicBool::new(false));
    let outlet = Outlet { steps: Some(sender), full: full.clone(), announces };
    (outlet, Inlet { steps: receiver, full, notify, awaits_begin: announces, first: None })
}

impl Outlet {
    /// Whether the last step was sent.
    pub(crate) fn is_ended(&self) -> bool {
        self.steps.is_none()
    }

    /// Tells a client that waits for the sequence to begin that it does, by an empty step before
    /// all others.
    pub(crate) fn begin(&mut self) {
        if std::mem::take(&mut self.announces) {
            self.send(StepOutput::default());
        }
    }

    /// Whether the client has left.
    pub(crate) fn is_closed(&self) -> bool {
        self.steps.as_ref().is_none_or(mpsc::Sender::is_closed)
    }

    /// Whether the queue has no room for one more step, beside the last step and the `in_flight`
    /// steps under way. If so, the client notifies the engine once there is room.
    pub(crate) fn is_full(&self, in_flight: usize) -> bool {
        let kept = 1 + in_flight;
        let Some(steps) = self.steps.as_ref().filter(|steps| steps.capacity() <= kept) else { return false };
        self.full.store(true, Ordering::Relaxed);
        // Pairs with the fence in `poll_receive`: either the client sees the flag, or this function
        // sees the room that the client made.
        fence(Ordering::SeqCst);
        let full = steps.capacity() <= kept;
        if !full {
            self.full.store(false, Ordering::Relaxed);
        }
        full
    }

    /// Sends a step: the last one, or one for which `is_full` found room. Steps after the last one
    /// are dropped.
    pub(crate) fn send(&mut self, step: StepOutput) {
        let Some(steps) = &self.steps else { return };
        let last = step.finish.is_some();
        let sent = steps.try_send(step);
        debug_assert!(!matches!(sent, Err(mpsc::error::TrySendError::Full(_))), "a step without a place");
        if last {
            self.steps = None;
        }
    }
}

impl StepStream for Inlet {
    fn poll_start(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), SubmitError>> {
        if !self.awaits_begin {
            return Poll::Ready(Ok(()));
        }
        let step = ready!(self.poll_receive(cx));
        self.awaits_begin = false;
        match step.map(StepOutput::into_refusal) {
            Some(Ok(refusal)) => return Poll::Ready(Err(refusal)),
            Some(Err(step)) => self.first = (!step.is_empty()).then_some(step),
            None => {}
        }
        Poll::Ready(Ok(()))
    }

    fn poll_step(&mut self, cx: &mut Context<'_>) -> Poll<Option<StepOutput>> {
        if let Some(step) = self.first.take() {
            return Poll::Ready(Some(step));
        }
        let step = ready!(self.poll_receive(cx));
        if std::mem::take(&mut self.awaits_begin) && step.as_ref().is_some_and(StepOutput::is_empty) {
            return self.poll_receive(cx);
        }
        Poll::Ready(step)
    }
}

impl Inlet {
    fn poll_receive(&mut self, cx: &mut Context<'_>) -> Poll<Option<StepOutput>> {
        let step = self.steps.poll_recv(cx);
        if step.is_ready() {
            fence(Ordering::SeqCst);
            if self.full.load(Ordering::Relaxed) && self.full.swap(false, Ordering::Relaxed) {
                self.notify.notify();
            }
        }
        step
    }
}

impl Drop for Inlet {
    fn drop(&mut self) {
        self.steps.close();
        self.notify.notify();
    }
}
