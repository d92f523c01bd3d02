//! Decides what each step computes: `schedule`, then the runner, then `postprocess`.
//!
//! Sequences that decode come first, chunks of prompts fill the rest of the step's tokens, the oldest before the younger.
//! Waiting sequences begin in order of arrival, once the blocks for all their tokens are free. When blocks run out, sequences lose
//! theirs and are computed again later: first those whose client doesn't read, then the youngest.
//! Invariants: the oldest sequence that isn't paused goes on in every step; a paused one costs others nothing;
//! what is scheduled with whom has no effect on anyone's tokens. Called by the engine's thread only.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::batch::{Batch, RunError, RunnerShape};
use crate::blocks::BlockPool;
use crate::generation::{EngineStats, Finish, Token};
use crate::local::{LocalOptions, panic_text};
use crate::sampler::{Draw, Limits, Sampler};
use crate::sequence::Sequence;

/// All sequences of an engine.
pub(crate) struct Scheduler {
    options: LocalOptions,
    vocab: usize,
    pool: BlockPool,
    /// Sequences that hold blocks, oldest first.
    running: Vec<Sequence>,
    /// Sequences that hold none, oldest first.
    waiting: VecDeque<Sequence>,
    arrivals: u64,
    batch: Batch,
    sampler: Sampler,
    counts: EngineStats,
}

impl Scheduler {
    /// A scheduler without sequences for a runner of this shape.
    pub(crate) fn new(shape: &RunnerShape, mut options: LocalOptions) -> Self {
        options.sequences = options.sequences.max(1);
        options.batch_tokens = options.batch_tokens.max(options.sequences);
        Self {
            pool: BlockPool::new(shape.blocks, shape.block_size, options.prefix_cache),
            vocab: shape.vocab,
            options,
            running: Vec::new(),
            waiting: VecDeque::new(),
            arrivals: 0,
            batch: Batch::default(),
            sampler: Sampler::default(),
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
            free_blocks: self.pool.free(),
            cached_blocks: self.pool.found(),
            ..self.counts
        }
    }

    /// The next step's work; none when no sequence can go on.
    pub(crate) fn schedule(&mut self) -> Option<&Batch> {
        self.look_at_clients();
        let budget = self.plan();
        if self.secure_blocks() {
            self.admit(budget);
        }
        self.build();
        (!self.batch.tokens.is_empty()).then_some(&self.batch)
    }

    /// Takes the step's logits `[logit_rows, vocab]`.
    pub(crate) fn postprocess(&mut self, logits: &[f32]) {
        let expected = self.batch.logit_rows.len() * self.vocab;
        if logits.len() != expected {
            let error = format!("the runner returned {} logits, not {expected}", logits.len());
            return self.fail(&RunError(error));
        }
        self.counts.steps += 1;
        let mut rows = logits.chunks_exact(self.vocab.max(1));
        for sequence in self.running.iter_mut().filter(|one| one.scheduled > 0) {
            sequence.computed += std::mem::take(&mut sequence.scheduled);
            self.pool.publish(&mut sequence.table, &sequence.tokens, sequence.computed);
            if sequence.pending() > 0 {
                continue;
            }
            let row = rows.next().expect("as many rows as sequences that are computed");
            let last = match sample(&mut self.sampler, row, sequence) {
                Ok(token) => {
                    self.counts.generated_tokens += 1;
                    sequence.accept(token)
                }
                Err(error) => {
                    self.counts.failed += 1;
                    tracing::error!(%error, "a sequence failed");
                    sequence.end(Finish::Error(error));
                    true
                }
            };
            if last {
                sequence.close(&mut self.pool);
            }
        }
        self.running.retain(|one| !one.table.blocks().is_empty());
    }

    /// Ends the sequences of a step that failed.
    pub(crate) fn fail(&mut self, error: &RunError) {
        tracing::error!(%error, "a step failed");
        for sequence in self.running.extract_if(.., |one| one.scheduled > 0) {
            self.counts.failed += 1;
            end(sequence, &mut self.pool, Finish::Error(error.to_string()));
        }
    }

    /// Ends everything.
    pub(crate) fn end_all(&mut self, finish: &Finish) {
        for sequence in self.running.drain(..).chain(self.waiting.drain(..)) {
            self.counts.failed += 1;
            end(sequence, &mut self.pool, finish.clone());
        }
    }

    /// Drops sequences whose client left, pauses those whose client doesn't read.
    fn look_at_clients(&mut self) {
        for mut gone in self.running.extract_if(.., |one| one.outlet.is_closed()) {
            gone.close(&mut self.pool);
            self.counts.cancelled += 1;
        }
        let before = self.waiting.len();
        self.waiting.retain(|one| !one.outlet.is_closed());
        self.counts.cancelled += (before - self.waiting.len()) as u64;
        for sequence in self.running.iter_mut().chain(&mut self.waiting) {
            sequence.paused = sequence.outlet.is_full();
        }
    }

    /// Shares the step's tokens out among running sequences; returns what is left for others.
    fn plan(&mut self) -> Budget {
        let mut budget = Budget { tokens: self.options.batch_tokens, sequences: self.options.sequences };
        let mut active: Vec<&mut Sequence> =
            self.running.iter_mut().filter(|one| !one.paused).take(budget.sequences).collect();
        for decoding in [true, false] {
            for sequence in active.iter_mut().filter(|one| (one.pending() == 1) == decoding) {
                budget.give(sequence);
            }
        }
        budget
    }

    /// Gets the blocks that planned sequences lack; false when some sequence lost its own for that.
    fn secure_blocks(&mut self) -> bool {
        let mut enough = true;
        for at in 0..self.running.len() {
            while self.running[at].scheduled > 0 && !self.grow(at) {
                enough = false;
                let victim = self.victim();
                self.running[victim].close(&mut self.pool);
            }
        }
        self.collect_preempted();
        enough
    }

    fn grow(&mut self, at: usize) -> bool {
        let sequence = &mut self.running[at];
        self.pool.grow(&mut sequence.table, sequence.computed + sequence.scheduled)
    }

    /// Who loses its blocks: the youngest whose client doesn't read, else the youngest.
    fn victim(&self) -> usize {
        let holds = |one: &Sequence| !one.table.blocks().is_empty();
        let paused = self.running.iter().rposition(|one| one.paused && holds(one));
        paused
            .or_else(|| self.running.iter().rposition(holds))
            .expect("someone holds the blocks that aren't free")
    }

    /// Moves sequences that lost their blocks to where they came from.
    fn collect_preempted(&mut self) {
        for sequence in self.running.extract_if(.., |one| one.table.blocks().is_empty()) {
            self.counts.preemptions += 1;
            let at = self.waiting.partition_point(|one| one.arrival < sequence.arrival);
            self.waiting.insert(at, sequence);
        }
    }

    /// Lets waiting sequences begin, in order, while there is room.
    fn admit(&mut self, mut budget: Budget) {
        while budget.tokens > 0 && budget.sequences > 0 {
            let Some(at) = self.waiting.iter().position(|one| !one.paused) else { break };
            // Each running sequence is about to need a block more.
            let reserve = self.running.iter().filter(|one| !one.paused).count();
            if let Some(opened) = self.waiting[at].open(&mut self.pool, reserve) {
                if opened.first {
                    self.counts.prompt_tokens += opened.prompt as u64;
                    self.counts.prefix_hit_tokens += opened.cached as u64;
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

    /// Takes the blocks of the youngest paused sequence, if that can help waiting sequence `at` to begin.
    fn preempt_paused(&mut self, at: usize, reserve: usize) -> bool {
        let paused = || self.running.iter().filter(|one| one.paused);
        let reclaimable: usize = paused().map(|one| self.pool.held_alone(&one.table)).sum();
        let needed = self.pool.blocks_for(self.waiting[at].tokens.len()) + reserve;
        let helps = reserve == 0 || self.pool.free() + reclaimable >= needed;
        if paused().next().is_none() || !helps {
            return false;
        }
        let victim = self.victim();
        self.running[victim].close(&mut self.pool);
        self.collect_preempted();
        true
    }

    /// Writes down the step's work.
    fn build(&mut self) {
        let scheduled = || self.running.iter().filter(|one| one.scheduled > 0);
        let width =
            scheduled().map(|one| self.pool.blocks_for(one.computed + one.scheduled)).max().unwrap_or(0);
        begin(&mut self.batch, width);
        for sequence in scheduled() {
            push(&mut self.batch, sequence, self.pool.block_size());
        }
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

fn begin(batch: &mut Batch, table_width: usize) {
    let Batch { tokens, positions, slots, starts, context_lens, block_tables, logit_rows, .. } = batch;
    for field in [tokens, positions, slots, starts, context_lens, block_tables, logit_rows] {
        field.clear();
    }
    batch.starts.push(0);
    batch.table_width = table_width;
}

fn push(batch: &mut Batch, sequence: &Sequence, block_size: usize) {
    let blocks = sequence.table.blocks();
    let end = sequence.computed + sequence.scheduled;
    let held = end.div_ceil(block_size);
    batch.tokens.extend_from_slice(&sequence.tokens[sequence.computed..end]);
    batch.positions.extend((sequence.computed..end).map(narrow));
    batch.slots.extend(
        (sequence.computed..end)
            .map(|at| blocks[at / block_size] * narrow(block_size) + narrow(at % block_size)),
    );
    batch.starts.push(narrow(batch.tokens.len()));
    batch.context_lens.push(narrow(end));
    batch.block_tables.extend_from_slice(&blocks[..held]);
    batch.block_tables.resize(batch.table_width * batch.context_lens.len(), 0);
    if end == sequence.tokens.len() {
        batch.logit_rows.push(narrow(batch.tokens.len() - 1));
    }
}

fn narrow(number: usize) -> u32 {
    u32::try_from(number).expect("sizes of a cache are below 2^32")
}

/// A mask is code from outside: its panic ends its own sequence only.
fn sample(sampler: &mut Sampler, logits: &[f32], sequence: &mut Sequence) -> Result<Token, String> {
    let draw = Draw {
        sampling: sequence.sampling,
        position: sequence.tokens.len(),
        top_logprobs: sequence.top_logprobs,
    };
    let limits = Limits {
        mask: sequence.mask.as_deref_mut(),
        adjuster: sequence.adjuster.as_deref_mut().map(|adjuster| (adjuster, sequence.tokens.as_slice())),
    };
    catch_unwind(AssertUnwindSafe(|| sampler.next(logits, &draw, limits)))
        .unwrap_or_else(|panic| Err(format!("choosing a token panicked: {}", panic_text(panic.as_ref()))))
}

fn end(mut sequence: Sequence, pool: &mut BlockPool, finish: Finish) {
    sequence.end(finish);
    sequence.close(pool);
}
