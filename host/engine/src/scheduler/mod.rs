//! Decides what each step computes: `schedule`, `draws`, `retire`.
//!
//! Sequences that decode come first (`plan.rs`), chunks of prompts fill the rest of the step's
//! tokens. Waiting requests begin in the queue's order (`queue.rs`), once the KV blocks for all
//! their tokens are free (`admit.rs`). When KV blocks run out, sequences are preempted, and
//! computed again later: first those whose client doesn't read, then those of the principal that
//! holds the most (`holdings.rs`), of these the one of the lowest priority, the last to begin
//! first. So does a principal that holds more than a waiting one would (`give_way.rs`). A sequence
//! whose mask is late leaves out steps until the mask is ready (`draws.rs`), so that other
//! sequences don't wait for it. Where layers keep states, snapshots of these are what the prefix
//! cache and preempted sequences go on from (`states.rs`). Invariants: some sequence that isn't paused goes on in every step,
//! unless all wait for masks; of one principal's, the one of the highest priority that began first
//! is preempted last; a paused sequence costs others nothing; a sequence's tokens don't depend on
//! the others in the step; nothing here depends on the tokens that a step under way will bring, or
//! reads a clock. Called by the engine's thread only (`engine_step.rs`).
#![doc = include_str!("DESIGN.md")]

mod admit;
mod budget;
mod build;
mod draw_buffers;
mod draws;
mod give_way;
mod holdings;
mod in_flight;
mod plan;
mod queue;
mod retire;
mod speculate;
mod states;
mod virtual_tokens;
#[cfg(test)]
mod watch;

use std::collections::VecDeque;
use std::task::{Context, Waker};
use std::time::{Duration, Instant};

use crate::batch::Batch;
use crate::blocks::BlockPool;
use crate::error::SubmitError;
use crate::generation::Finish;
use crate::info::EngineStats;
use crate::lanes::Lanes;
use crate::options::LocalOptions;
use crate::runner::{RunnerShape, StatesShape};
use crate::sequence::Sequence;

use draw_buffers::DrawBuffers;
use in_flight::InFlightStep;
use queue::Queue;
#[cfg(test)]
pub(crate) use states::{ANSWER_TOKENS, END_MARGIN};

/// Scheduler with all sequences of an engine.
pub(crate) struct Scheduler {
    options: LocalOptions,
    /// Rows of logits in a step that score tokens of prompts.
    score_rows: usize,
    /// Whether layers keep states of sequences.
    has_states: bool,
    /// Number of snapshots.
    #[cfg(test)]
    snapshots: usize,
    pool: BlockPool,
    lanes: Lanes,
    /// Sequences that hold KV blocks, in the order in which they began.
    running: Vec<Sequence>,
    /// Sequences that lost their KV blocks, in the order in which they began.
    preempted: Vec<Sequence>,
    /// Sequences that haven't begun.
    queue: Queue,
    /// Number of sequences that have begun.
    admitted: u64,
    /// Time since the engine began, set by the engine's loop.
    now: Duration,
    /// When the tokens of the step being retired were there.
    step_at: Option<Instant>,
    batch: Batch,
    /// Steps under way, oldest first; all but the last have their draws.
    steps_in_flight: VecDeque<InFlightStep>,
    draws: DrawBuffers,
    /// Wakes the engine's thread when a mask that a sequence waits for is ready.
    waker: Waker,
    counts: EngineStats,
}

impl Scheduler {
    /// A scheduler without sequences for a runner of this shape.
    pub(crate) fn new(shape: &RunnerShape, mut options: LocalOptions, waker: Waker) -> Self {
        let max_rows = shape.batch_tokens.max(1);
        options.sequences = options.sequences.clamp(1, max_rows.min(shape.lanes).max(1));
        options.batch_tokens = options.batch_tokens.clamp(options.sequences, max_rows);
        let mut pool = BlockPool::new(shape.blocks, shape.block_size, options.prefix_cache);
        if let Some(StatesShape { snapshots, tentative }) = shape.states {
            pool = pool.with_snapshots(snapshots);
            // Beside a draft, the token before it may be taken back.
            let most = tentative.saturating_sub(1);
            options.speculation.draft_tokens = options.speculation.draft_tokens.min(most);
        }
        Self {
            pool,
            has_states: shape.states.is_some(),
            #[cfg(test)]
            snapshots: shape.states.map_or(0, |states| states.snapshots),
            lanes: Lanes::new(shape.lanes),
            score_rows: shape.score_rows,
            options,
            running: Vec::new(),
            preempted: Vec::new(),
            queue: Queue::default(),
            admitted: 0,
            now: Duration::ZERO,
            step_at: None,
            batch: Batch::default(),
            steps_in_flight: VecDeque::new(),
            draws: DrawBuffers::new(shape.vocab),
            waker,
            counts: EngineStats {
                total_blocks: shape.blocks,
                block_size: shape.block_size,
                ..EngineStats::default()
            },
        }
    }

    /// Sets the time since the engine began, which never goes back.
    pub(crate) fn set_time(&mut self, now: Duration) {
        self.now = now;
    }

    /// Sets when the tokens of the step that is retired next were there.
    pub(crate) fn set_step_time(&mut self, at: Instant) {
        self.step_at = Some(at);
    }

    /// Queues a sequence. One whose output has begun elsewhere waits among the preempted ones.
    pub(crate) fn add(&mut self, mut sequence: Sequence) {
        if sequence.tokens.len() > sequence.prompt {
            sequence.admission = self.admitted;
            self.admitted += 1;
            sequence.outlet.begin();
            return self.preempted.push(sequence);
        }
        let begun = self.running.iter().chain(&self.preempted).map(|one| one.principal);
        self.queue.push(sequence, self.now, begun);
    }

    /// Number of sequences without KV blocks.
    pub(crate) fn waiting(&self) -> usize {
        self.preempted.len() + self.queue.len()
    }

    /// Time until the next waiting request reaches the queue timeout; `None` without a timeout or a
    /// waiting request.
    pub(crate) fn until_deadline(&self) -> Option<Duration> {
        let deadline = self.queue.longest_waiting()?.saturating_add(self.options.queue_timeout?);
        Some(deadline.saturating_sub(self.now))
    }

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

    /// Schedules the next step, which is under way from now on, and returns its batch; `None` when
    /// no sequence can go on.
    pub(crate) fn schedule(&mut self) -> Option<&Batch> {
        self.poll_clients();
        self.refuse_late();
        self.poll_masks();
        self.plan();
        self.build().then_some(&self.batch)
    }

    /// Ends all sequences: those that have begun with `began`, the others with `new`.
    pub(crate) fn end_all(&mut self, began: &Finish, new: &Finish) {
        self.steps_in_flight.clear();
        for mut sequence in self.running.drain(..).chain(self.preempted.drain(..)) {
            self.counts.failed += 1;
            sequence.end(began.clone());
            sequence.free(&mut self.pool, &mut self.lanes);
        }
        for mut sequence in self.queue.remove_if(|_| true) {
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
        let left = self.preempted.extract_if(.., |one| gone(one)).count() + self.queue.remove_if(gone).len();
        self.counts.cancelled += left as u64;
        // The client of a sequence that hasn't begun has no step that it could leave unread.
        for sequence in self.running.iter_mut().chain(&mut self.preempted) {
            sequence.paused = sequence.outlet.is_full(sequence.steps_in_flight);
        }
    }

    /// Ends the waits of sequences whose masks are ready.
    fn poll_masks(&mut self) {
        let mut cx = Context::from_waker(&self.waker);
        self.running.iter_mut().chain(&mut self.preempted).for_each(|one| one.end_mask_wait(&mut cx));
    }

    /// Refuses requests that have reached the queue timeout, which is also the time after which a
    /// retry is suggested.
    fn refuse_late(&mut self) {
        let Some(timeout) = self.options.queue_timeout else { return };
        let is_late = |one: &Sequence| self.now.saturating_sub(one.queued_at) >= timeout;
        for mut late in self.queue.remove_if(is_late) {
            let refusal = SubmitError::Overloaded { retry_after: Some(timeout), dropped: None };
            late.end(Finish::Refused(refusal));
            self.counts.refused += 1;
        }
    }

    /// Finds the sequence with this number of admission, unless it has ended.
    fn lookup(&mut self, admission: u64) -> Option<&mut Sequence> {
        if let Ok(at) = self.running.binary_search_by_key(&admission, |one| one.admission) {
            return self.running.get_mut(at);
        }
        let at = self.preempted.binary_search_by_key(&admission, |one| one.admission).ok()?;
        self.preempted.get_mut(at)
    }
}
