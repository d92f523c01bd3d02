//! A model without weights that notices wrong block tables, slots, positions and stale cache
//! contents, and a scheduler that is stepped by hand.
//!
//! The value it keeps for a token is a hash of the token and of all values before it, read back
//! through the block table; logits are a function of the last value. So a token is right only if
//! everything before it was found where it belongs. With states, a lane's state is the value of the
//! last token that it has seen, which must be that of the token before the next one.

mod client;
mod states;

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;
use std::task::Waker;

use seeded::SplitMix64;

use crate::batch::{Batch, BlockTables, LAST, StatePlan};
use crate::cpu::Sampler;
use crate::engine_step::engine_step;
use crate::generation::{GenerationRequest, TokenMask};
use crate::logits::LogitsState;
use crate::mask_patience::MaskPatience;
use crate::notify::Notify;
use crate::options::LocalOptions;
use crate::outlet::outlet;
use crate::runner::{Draw, Draws, RunError, Runner, RunnerShape, Sampled};
use crate::scheduler::Scheduler;
use crate::sequence::Sequence;
use crate::token::SamplingParams;
pub(crate) use client::Client;
use states::FakeStates;

pub(crate) const VOCAB: u32 = 40;
/// A token after which the fake's logits are NaN. It and id 38 are never sampled.
pub(crate) const POISON: u32 = 39;

pub(crate) fn shape(blocks: usize, block_size: usize) -> RunnerShape {
    RunnerShape {
        name: "fake".into(),
        vocab: VOCAB as usize,
        context: 200,
        batch_tokens: 512,
        score_rows: 3,
        block_size,
        blocks,
        lanes: blocks,
        states: None,
        ahead: 0,
    }
}

fn mix(hash: u64, value: u64) -> u64 {
    SplitMix64::new(hash ^ value).draw()
}

fn logits(value: u64, last: u32) -> impl Iterator<Item = f32> {
    (0..VOCAB).map(move |id| {
        let bits = mix(value, 1 + u64::from(id)).to_le_bytes();
        match (last, id) {
            (POISON, _) => f32::NAN,
            (_, 38 | POISON) => f32::NEG_INFINITY,
            _ => f32::from(u16::from_le_bytes([bits[0], bits[1]])) / 8192.0,
        }
    })
}

/// The fake model's runner. Values are written at once; tokens of a step are returned only when it
/// is collected.
pub(crate) struct FakeRunner {
    shape: RunnerShape,
    tables: BlockTables,
    /// Per slot: position and value.
    cells: Vec<Option<(u32, u64)>>,
    states: FakeStates,
    /// Lanes and logits of the step that wasn't sampled.
    forwarded: Option<(Vec<u32>, Vec<f32>)>,
    /// Per lane: the token that was sampled last.
    last: HashMap<u32, u32>,
    /// Steps that were sampled and not collected.
    drawn: VecDeque<Sampled>,
    collected: Sampled,
    sampler: Sampler,
    /// Number of steps that began before the step in front of them was collected.
    pub(crate) overlapped: usize,
    /// Number of tokens in all steps.
    pub(crate) computed: usize,
    /// Fail the step that contains this token.
    pub(crate) fails_on: Option<u32>,
    /// Panic at the step that contains this token.
    pub(crate) panics_on: Option<u32>,
    /// Fail one of this many calls; 0: none.
    pub(crate) fails_every: usize,
    calls: usize,
}

impl FakeRunner {
    pub(crate) fn new(shape: RunnerShape) -> Self {
        let slots = shape.blocks * shape.block_size;
        Self {
            states: FakeStates::new(&shape),
            shape,
            tables: BlockTables::default(),
            cells: vec![None; slots],
            forwarded: None,
            last: HashMap::new(),
            drawn: VecDeque::new(),
            collected: Sampled::default(),
            sampler: Sampler::default(),
            overlapped: 0,
            computed: 0,
            fails_on: None,
            panics_on: None,
            fails_every: 0,
            calls: 0,
        }
    }

    /// Counts a call, and fails one of `fails_every`.
    fn count_call(&mut self) -> Result<(), RunError> {
        self.calls += 1;
        let fails = self.fails_every > 0 && self.calls.is_multiple_of(self.fails_every);
        if fails { Err(self.fail()) } else { Ok(()) }
    }

    /// Ends all steps under way.
    fn fail(&mut self) -> RunError {
        self.forwarded = None;
        self.drawn.clear();
        RunError::Device("out of order".into())
    }

    fn value(&self, lane: u32, position: u32, token: u32) -> u64 {
        (0..position).fold(mix(0, u64::from(token)), |hash, at| mix(hash, self.cell(lane, at)))
    }

    /// Value of an earlier token of a lane, read through its block table.
    fn cell(&self, lane: u32, at: u32) -> u64 {
        let (size, table) = (self.shape.block_size, self.tables.lane(lane));
        let slot = table[at as usize / size] as usize * size + at as usize % size;
        let (stored, value) = self.cells[slot].expect("a slot that was never written is read");
        assert_eq!(stored, at, "slot {slot} holds another position");
        value
    }

    fn check(&self, batch: &Batch) {
        let slots: HashSet<_> = batch.slots.iter().collect();
        assert_eq!(slots.len(), batch.slots.len(), "two tokens write to one slot");
        let rows = batch.starts.windows(2).map(|pair| pair[1] - pair[0]);
        assert!(rows.is_sorted_by_key(|rows| rows > 1), "a prompt stands before one who decodes");
        assert!(self.forwarded.is_none(), "a step wasn't sampled");
        assert!(self.drawn.len() <= self.shape.ahead, "a step wasn't collected");
    }

    fn compute(
        &mut self,
        batch: &Batch,
        plan: &StatePlan,
        fails_on: Option<u32>,
    ) -> Option<(Vec<u32>, Vec<f32>)> {
        let (mut lanes, mut rows) = (Vec::new(), Vec::new());
        for (sequence, &lane) in batch.lanes.iter().enumerate() {
            for row in batch.starts[sequence]..batch.starts[sequence + 1] {
                let (position, token) = (batch.positions[row as usize], batch.tokens[row as usize]);
                let token = if token == LAST { self.last[&lane] } else { token };
                assert!(self.panics_on != Some(token), "the fake broke");
                if fails_on == Some(token) {
                    return None;
                }
                let value = self.value(lane, position, token);
                let before = position.checked_sub(1).map(|at| self.cell(lane, at));
                self.states.advance(plan, batch, (sequence, row), (before.unwrap_or(0), value));
                self.cells[batch.slots[row as usize] as usize] = Some((position, value));
                if batch.logit_rows.contains(&row) {
                    lanes.push(lane);
                    rows.extend(logits(value, token));
                }
            }
        }
        Some((lanes, rows))
    }
}

impl Runner for FakeRunner {
    fn shape(&self) -> &RunnerShape {
        &self.shape
    }

    fn forward(&mut self, batch: &Batch) -> Result<(), RunError> {
        batch.check(&self.shape, &mut self.tables)?;
        self.check(batch);
        self.count_call()?;
        self.computed += batch.tokens.len();
        let plan = self.states.begin(&self.shape, batch)?;
        self.forwarded = self.compute(batch, &plan, self.fails_on);
        if self.forwarded.is_none() {
            return Err(self.fail());
        }
        Ok(())
    }

    fn sample(&mut self, draws: &Draws<'_>) -> Result<(), RunError> {
        self.count_call()?;
        let (lanes, logits) = self.forwarded.take().ok_or(RunError::Order("sample"))?;
        draws.check(lanes.len(), self.shape.vocab)?;
        let mut sampled = Sampled::default();
        self.sampler.sample(&logits, draws, &mut sampled);
        for (lane, row) in lanes.iter().zip(&sampled.rows) {
            // Where no token could be sampled, any token stands for it: results that follow from it
            // are never read.
            self.last.insert(*lane, row.as_ref().map_or(0, |token| token.id));
        }
        self.drawn.push_back(sampled);
        Ok(())
    }

    fn collect(&mut self) -> Result<&Sampled, RunError> {
        self.count_call()?;
        self.overlapped += usize::from(self.forwarded.is_some());
        self.collected = self.drawn.pop_front().ok_or(RunError::Order("collect"))?;
        Ok(&self.collected)
    }
}

/// A request with nothing special about it.
pub(crate) fn request(prompt: impl Into<Vec<u32>>, max_tokens: usize) -> GenerationRequest {
    GenerationRequest::greedy(prompt, max_tokens, 1000)
}

pub(crate) fn sampled(prompt: impl Into<Vec<u32>>, max_tokens: usize, seed: u64) -> GenerationRequest {
    let mut request = request(prompt, max_tokens);
    request.sampling = SamplingParams { temperature: 0.8, top_p: 0.9, top_k: 20, min_p: 0.0, seed };
    request
}

/// Tokens that a request without stop ids and mask gets from the fake model, computed without
/// cache, batch or scheduler.
pub(crate) fn alone(request: &GenerationRequest) -> Vec<u32> {
    alone_under(request, None)
}

/// Tokens that a request without stop ids gets under a mask, computed without cache, batch or
/// scheduler.
pub(crate) fn alone_under(request: &GenerationRequest, mut mask: Option<&mut dyn TokenMask>) -> Vec<u32> {
    let mut tokens = request.prompt.clone();
    let mut values: Vec<u64> = Vec::new();
    let mut sampler = Sampler::default();
    while tokens.len() < request.prompt.len() + request.max_tokens {
        while values.len() < tokens.len() {
            let start = mix(0, u64::from(tokens[values.len()]));
            values.push(values.iter().fold(start, |hash, value| mix(hash, *value)));
        }
        let row: Vec<f32> = logits(*values.last().unwrap(), *tokens.last().unwrap()).collect();
        let draw = Draw { sampling: request.sampling, position: tokens.len(), top_logprobs: None };
        // Made anew for each token, since its counts follow from the tokens.
        let mut logits_state = LogitsState::new(request.processors.clone(), request.prompt.len());
        let mut edits = Vec::new();
        if let Some(logits_state) = &mut logits_state {
            logits_state.push_edits(&tokens, 0, &mut edits);
        }
        let mut allowed = [u32::MAX; VOCAB.div_ceil(32) as usize];
        if let Some(mask) = mask.as_deref_mut() {
            mask.apply(&mut allowed).unwrap();
        }
        let id = sampler.next(&row, &draw, mask.is_some().then_some(&allowed[..]), &edits).unwrap().id;
        if let Some(mask) = mask.as_deref_mut() {
            mask.advance(id).unwrap();
        }
        tokens.push(id);
    }
    tokens.split_off(request.prompt.len())
}

/// Log-probabilities of the prompt's tokens behind the first, as defined.
pub(crate) fn scored_alone(prompt: &[u32]) -> Vec<(u32, f32)> {
    let mut values: Vec<u64> = Vec::new();
    let score = |pair: &[u32]| {
        values.push(values.iter().fold(mix(0, u64::from(pair[0])), |hash, value| mix(hash, *value)));
        let row: Vec<f32> = logits(*values.last().unwrap(), pair[0]).collect();
        let sum: f32 = row.iter().map(|logit| logit.exp()).sum();
        (pair[1], row[pair[1] as usize] - sum.ln())
    };
    prompt.windows(2).map(score).collect()
}

/// Scheduler and runner, stepped by hand.
pub(crate) struct Rig<R = FakeRunner> {
    pub(crate) scheduler: Scheduler,
    pub(crate) runner: R,
    notify: Arc<Notify>,
}

impl<R: Runner> Rig<R> {
    pub(crate) fn with_runner(runner: R, options: LocalOptions) -> Self {
        let scheduler = Scheduler::new(runner.shape(), options, Waker::noop().clone());
        Self { scheduler, runner, notify: Arc::default() }
    }

    pub(crate) fn submit(&mut self, request: GenerationRequest) -> Client {
        let (outlet, inlet) = outlet(request.queue, false, self.notify.clone());
        let shape = self.runner.shape();
        let capacity = shape.context.min(shape.blocks * shape.block_size);
        self.scheduler.add(Sequence::new(request, capacity, outlet));
        Client::new(inlet)
    }

    /// One round; false when no sequence can go on and no step is under way.
    pub(crate) fn round(&mut self) -> bool {
        engine_step(&mut self.scheduler, &mut self.runner, &mut MaskPatience::none())
            .expect("no device is lost")
    }
}

impl Rig {
    pub(crate) fn new(shape: RunnerShape, options: LocalOptions) -> Self {
        Self::with_runner(FakeRunner::new(shape), options)
    }

    /// One round; `None` when no sequence can go on and no step is under way, else the tokens that
    /// it computed.
    pub(crate) fn step(&mut self) -> Option<usize> {
        let before = self.runner.computed;
        self.round().then(|| self.runner.computed - before)
    }

    /// Rounds until nothing goes on; returns their number.
    pub(crate) fn run(&mut self) -> usize {
        std::iter::from_fn(|| self.step()).count()
    }
}
