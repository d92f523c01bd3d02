//! Decides what each step computes: `schedule`, `draws`, `retire`.
//!
//! Sequences that decode come first, chunks of prompts fill the rest of the step's tokens, the oldest before the younger.
//! Waiting sequences begin in order of arrival, once the blocks for all their tokens are free. When blocks run out, sequences are
//! preempted, and computed again later: first those whose client doesn't read, then the youngest.
//! Invariants: the oldest sequence that isn't paused goes on in every step; a paused one costs others nothing; what is scheduled
//! with whom has no effect on anyone's tokens; nothing here asks which tokens a step under way will bring. Called by the engine's
//! thread only (`round.rs`).

mod build;
mod draws;
mod in_flight;
mod retire;
mod speculate;

use std::collections::VecDeque;

use crate::batch::Batch;
use crate::blocks::BlockPool;
use crate::generation::Finish;
use crate::info::EngineStats;
use crate::lanes::Lanes;
use crate::options::LocalOptions;
use crate::runner::RunnerShape;
use crate::sequence::Sequence;

use draws::DrawBuffers;
use in_flight::InFlightStep;
use speculate::DraftRoom;

/// All sequences of an engine.
pub(crate) struct Scheduler {
    options: LocalOptions,
    pool: BlockPool,
    lanes: Lanes,
    /// Sequences that hold blocks, oldest first.
    running: Vec<Sequence>,
    /// Sequences that hold none, oldest first.
    waiting: VecDeque<Sequence>,
    arrivals: u64,
    batch: Batch,
    /// Steps under way, oldest first; only the last may not be sampled yet.
    steps_in_flight: VecDeque<InFlightStep>,
    draws: DrawBuffers,
    counts: EngineStats,
}

impl Scheduler {
    /// A scheduler without sequences for a runner of this shape.
    pub(crate) fn new(shape: &RunnerShape, mut options: LocalOptions) -> Self {
        let most = shape.batch_tokens.max(1);
        options.sequences = options.sequences.clamp(1, most);
        options.batch_tokens = options.batch_tokens.clamp(options.sequences, most);
        Self {
            pool: BlockPool::new(shape.blocks, shape.block_size, options.prefix_cache),
            lanes: Lanes::new(shape.lanes),
            options,
            running: Vec::new(),
            waiting: VecDeque::new(),
            arrivals: 0,
            batch: Batch::default(),
            steps_in_flight: VecDeque::new(),
            draws: DrawBuffers::new(shape.vocab),
            counts: EngineStats { total_blocks: shape.blocks, ..EngineStats::default() },
        }
    }

    /// Takes on a sequence, the youngest.
    pub(crate) fn add(&mut self, mut sequence: Sequence) {
        sequence.arrival = self.arrivals;
        self.arrivals += 1;
        self.waiting.push_back(sequence);
    }

    /// Sequences without blocks.
    pub(crate) fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// Figures as of now.
    pub(crate) fn stats(&self) -> EngineStats {
        let paused = self.running.iter().filter(|one| one.paused).count();
        EngineStats {
            running: self.running.len() - paused,
            waiting: self.waiting.len(),
            paused: paused + self.waiting.iter().filter(|one| one.paused).count(),
            free_blocks: self.pool.free_blocks(),
            cached_blocks: self.pool.cached_blocks(),
            ..self.counts
        }
    }

    /// The next step's work, which is under way from now on; none when no sequence can go on.
    pub(crate) fn schedule(&mut self) -> Option<&Batch> {
        self.poll_clients();
        let budget = self.plan();
        if self.secure_blocks() {
            self.admit(budget);
        }
        self.build().then_some(&self.batch)
    }

    /// Ends everything. Who never began is refused.
    pub(crate) fn end_all(&mut self, began: &Finish, new: &Finish) {
        self.steps_in_flight.clear();
        for mut sequence in self.running.drain(..).chain(self.waiting.drain(..)) {
            self.counts.failed += 1;
            sequence.end(if sequence.is_new() { new } else { began }.clone());
            sequence.free(&mut self.pool, &mut self.lanes);
        }
    }

    /// Drops sequences whose client left, pauses those whose client doesn't read.
    fn poll_clients(&mut self) {
        for mut gone in self.running.extract_if(.., |one| one.outlet.is_closed()) {
            gone.free(&mut self.pool, &mut self.lanes);
            self.counts.cancelled += 1;
        }
        let before = self.waiting.len();
        self.waiting.retain(|one| !one.outlet.is_closed());
        self.counts.cancelled += (before - self.waiting.len()) as u64;
        for sequence in self.running.iter_mut().chain(&mut self.waiting) {
            sequence.paused = sequence.outlet.is_full(sequence.steps_in_flight);
        }
    }

    /// Shares the step's tokens out among running sequences; returns what is left for others.
    fn plan(&mut self) -> Budget {
        let mut budget = Budget { tokens: self.options.batch_tokens, sequences: self.options.sequences };
        let room = DraftRoom::of(&self.running, &self.pool, self.options.speculation);
        let ready = |one: &&mut Sequence| !one.paused && one.pending() > 0 && !room.waits(one);
        let active = self.running.iter_mut().filter(ready).take(budget.sequences);
        let (mut decoding, prompts): (Vec<_>, Vec<_>) = active.partition(|one| one.pending() == 1);
        for sequence in &mut decoding {
            budget.give(sequence);
        }
        room.draft(decoding, &mut budget);
        for sequence in prompts {
            budget.give(sequence);
        }
        budget
    }

    /// Gets the blocks that planned sequences lack; false when some sequence was preempted for that.
    fn secure_blocks(&mut self) -> bool {
        let mut enough = true;
        for at in 0..self.running.len() {
            while self.running[at].scheduled > 0 && !self.grow(at) {
                if self.running[at].drop_draft() {
                    continue;
                }
                enough = false;
                let victim = self.victim();
                self.running[victim].free(&mut self.pool, &mut self.lanes);
            }
        }
        self.collect_preempted();
        enough
    }

    fn grow(&mut self, at: usize) -> bool {
        let sequence = &mut self.running[at];
        self.pool.grow(&mut sequence.table, sequence.computed + sequence.scheduled)
    }

    /// Who is preempted: the youngest whose client doesn't read, else the youngest.
    fn victim(&self) -> usize {
        let holds = |one: &Sequence| one.lane.is_some();
        let paused = self.running.iter().rposition(|one| one.paused && holds(one));
        paused
            .or_else(|| self.running.iter().rposition(holds))
            .expect("someone holds the blocks that aren't free")
    }

    /// Moves sequences that lost their blocks to where they came from.
    fn collect_preempted(&mut self) {
        for sequence in self.running.extract_if(.., |one| one.lane.is_none()) {
            self.counts.preemptions += 1;
            let at = self.waiting.partition_point(|one| one.arrival < sequence.arrival);
            self.waiting.insert(at, sequence);
        }
    }

    /// Lets waiting sequences begin, in order, while there is room. One that was preempted waits for its token on the way.
    fn admit(&mut self, mut budget: Budget) {
        while budget.tokens > 0 && budget.sequences > 0 {
            let Some(at) = self.waiting.iter().position(|one| !one.paused) else { break };
            if self.waiting[at].steps_in_flight > 0 {
                break;
            }
            // Each running sequence is about to need a block more.
            let reserve = self.running.iter().filter(|one| !one.paused).count();
            if let Some(allocated) = self.waiting[at].allocate(&mut self.pool, &mut self.lanes, reserve) {
                if allocated.first {
                    self.counts.prompt_tokens += allocated.prompt as u64;
                    self.counts.prefix_hit_tokens += allocated.cached as u64;
                }
                let mut sequence = self.waiting.remove(at).expect("it was just found");
                budget.give(&mut sequence);
                let at = self.running.partition_point(|one| one.arrival < sequence.arrival);
                self.running.insert(at, sequence);
            } else if !self.preempt_paused(at, reserve) {
                break;
            }
        }
    }

    /// Preempts the youngest paused sequence, if that can help waiting sequence `at` to begin.
    fn preempt_paused(&mut self, at: usize, reserve: usize) -> bool {
        let paused = || self.running.iter().filter(|one| one.paused);
        let reclaimable: usize = paused().map(|one| self.pool.reclaimable(&one.table)).sum();
        let needed = self.pool.blocks_for(self.waiting[at].tokens.len()) + reserve;
        let helps = reserve == 0 || self.pool.free_blocks() + reclaimable >= needed;
        if paused().next().is_none() || !helps {
            return false;
        }
        let victim = self.victim();
        self.running[victim].free(&mut self.pool, &mut self.lanes);
        self.collect_preempted();
        true
    }

    /// The sequence that arrived as the `arrival`th, unless it has ended.
    fn lookup(&mut self, arrival: u64) -> Option<&mut Sequence> {
        if let Ok(at) = self.running.binary_search_by_key(&arrival, |one| one.arrival) {
            return self.running.get_mut(at);
        }
        let at = self.waiting.binary_search_by_key(&arrival, |one| one.arrival).ok()?;
        self.waiting.get_mut(at)
    }
}

/// What a step has left to give.
struct Budget {
    tokens: usize,
    sequences: usize,
}

impl Budget {
    fn give(&mut self, sequence: &mut Sequence) {
        sequence.scheduled = sequence.pending().min(self.tokens);
        self.tokens -= sequence.scheduled;
        self.sequences -= usize::from(sequence.scheduled > 0);
    }
}
