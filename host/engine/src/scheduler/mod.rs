//! Decides what each step computes: `schedule`, `draws`, `retire`.
//!
//! Sequences that decode come first (`plan.rs`), chunks of prompts fill the rest of the step's tokens. Waiting requests begin in turn
//! (`queue.rs`), once the blocks for all their tokens are free (`admit.rs`). When blocks run out, sequences are preempted, and computed
//! again later: first those whose client doesn't read, then those of the lowest priority, the last to begin first.
//! A sequence whose mask isn't there when its row is leaves out steps until it is (`draws.rs`), so that nobody waits for it.
//! Invariants: of the sequences that aren't paused and wait for no mask, the one of the highest priority that began first goes on in every
//! step; a paused one costs others nothing; what is scheduled with whom has no effect on anyone's tokens; nothing here asks which tokens a step under
//! way will bring, nor reads a clock. Called by the engine's thread only (`engine_step.rs`).

mod admit;
mod build;
mod draws;
mod in_flight;
mod plan;
mod queue;
mod retire;
mod speculate;
mod virtual_tokens;
#[cfg(test)]
mod watch;

use std::collections::VecDeque;
use std::task::{Context, Waker};
use std::time::Duration;

use crate::batch::Batch;
use crate::blocks::BlockPool;
use crate::error::SubmitError;
use crate::generation::Finish;
use crate::info::EngineStats;
use crate::lanes::Lanes;
use crate::options::LocalOptions;
use crate::runner::RunnerShape;
use crate::sequence::Sequence;

use draws::DrawBuffers;
use in_flight::InFlightStep;
use queue::Queue;

/// All sequences of an engine.
pub(crate) struct Scheduler {
    options: LocalOptions,
    pool: BlockPool,
    lanes: Lanes,
    /// Sequences that hold blocks, in the order in which they began.
    running: Vec<Sequence>,
    /// Sequences that lost their blocks, in the same order.
    preempted: Vec<Sequence>,
    /// Sequences that haven't begun.
    queue: Queue,
    /// Sequences that have.
    begun: u64,
    /// Time since the engine began, as its loop says.
    now: Duration,
    batch: Batch,
    /// Steps under way, oldest first; only the last may not be sampled yet.
    steps_in_flight: VecDeque<InFlightStep>,
    draws: DrawBuffers,
    /// Wakes the engine when a mask is there that some sequence waits for.
    waker: Waker,
    counts: EngineStats,
}

impl Scheduler {
    /// A scheduler without sequences for a runner of this shape.
    pub(crate) fn new(shape: &RunnerShape, mut options: LocalOptions, waker: Waker) -> Self {
        let most = shape.batch_tokens.max(1);
        options.sequences = options.sequences.clamp(1, most);
        options.batch_tokens = options.batch_tokens.clamp(options.sequences, most);
        Self {
            pool: BlockPool::new(shape.blocks, shape.block_size, options.prefix_cache),
            lanes: Lanes::new(shape.lanes),
            options,
            running: Vec::new(),
            preempted: Vec::new(),
            queue: Queue::default(),
            begun: 0,
            now: Duration::ZERO,
            batch: Batch::default(),
            steps_in_flight: VecDeque::new(),
            draws: DrawBuffers::new(shape.vocab),
            waker,
            counts: EngineStats { total_blocks: shape.blocks, ..EngineStats::default() },
        }
    }

    /// Says what time it is, counted from when the engine began; never earlier than before.
    pub(crate) fn set_time(&mut self, now: Duration) {
        self.now = now;
    }

    /// Takes on a sequence, which waits from now on.
    pub(crate) fn add(&mut self, sequence: Sequence) {
        self.queue.push(sequence, self.now);
    }

    /// Sequences without blocks.
    pub(crate) fn waiting(&self) -> usize {
        self.preempted.len() + self.queue.len()
    }

    /// How long until a waiting request has waited too long, if nothing happens before.
    pub(crate) fn until_deadline(&self) -> Option<Duration> {
        let deadline = self.queue.longest_waiting()?.saturating_add(self.options.queue_timeout?);
        Some(deadline.saturating_sub(self.now))
    }

    /// Figures as of now.
    pub(crate) fn stats(&self) -> EngineStats {
        let paused = self.running.iter().filter(|one| one.paused).count();
        EngineStats {
            running: self.running.len() - paused,
            waiting: self.waiting(),
            paused: paused + self.preempted.iter().filter(|one| one.paused).count(),
            free_blocks: self.pool.free_blocks(),
            cached_blocks: self.pool.cached_blocks(),
            ..self.counts
        }
    }

    /// The next step's work, which is under way from now on; none when no sequence can go on.
    pub(crate) fn schedule(&mut self) -> Option<&Batch> {
        self.poll_clients();
        self.refuse_late();
        self.poll_masks();
        self.plan();
        self.build().then_some(&self.batch)
    }

    /// Ends everything. Who never began is refused.
    pub(crate) fn end_all(&mut self, began: &Finish, new: &Finish) {
        self.steps_in_flight.clear();
        for mut sequence in self.running.drain(..).chain(self.preempted.drain(..)) {
            self.counts.failed += 1;
            sequence.end(began.clone());
            sequence.free(&mut self.pool, &mut self.lanes);
        }
        for mut sequence in self.queue.take(|_| true) {
            self.counts.failed += 1;
            sequence.end(new.clone());
        }
    }

    /// Drops sequences whose client left, pauses those whose client doesn't read.
    fn poll_clients(&mut self) {
        for mut gone in self.running.extract_if(.., |one| one.outlet.is_closed()) {
            gone.free(&mut self.pool, &mut self.lanes);
            self.counts.cancelled += 1;
        }
        let gone = |one: &Sequence| one.outlet.is_closed();
        let left = self.preempted.extract_if(.., |one| gone(one)).count() + self.queue.take(gone).len();
        self.counts.cancelled += left as u64;
        // Who hasn't begun was sent nothing that it could leave unread.
        for sequence in self.running.iter_mut().chain(&mut self.preempted) {
            sequence.paused = sequence.outlet.is_full(sequence.steps_in_flight);
        }
    }

    /// Looks for the masks that sequences wait for.
    fn poll_masks(&mut self) {
        let mut cx = Context::from_waker(&self.waker);
        self.running.iter_mut().chain(&mut self.preempted).for_each(|one| one.end_mask_wait(&mut cx));
    }

    /// Refuses requests that have waited too long. They may ask again after as long a time.
    fn refuse_late(&mut self) {
        let Some(timeout) = self.options.queue_timeout else { return };
        let is_late = |one: &Sequence| self.now.saturating_sub(one.queued_at) >= timeout;
        for mut late in self.queue.take(is_late) {
            let refusal = SubmitError::Overloaded { retry_after: Some(timeout) };
            late.end(Finish::Refused(refusal));
            self.counts.refused += 1;
        }
    }

    /// The sequence that was the `begun`th to begin, unless it has ended.
    fn lookup(&mut self, begun: u64) -> Option<&mut Sequence> {
        if let Ok(at) = self.running.binary_search_by_key(&begun, |one| one.begun) {
            return self.running.get_mut(at);
        }
        let at = self.preempted.binary_search_by_key(&begun, |one| one.begun).ok()?;
        self.preempted.get_mut(at)
    }
}
