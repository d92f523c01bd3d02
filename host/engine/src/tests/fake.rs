//! A model without weights that notices wrong block tables, slots, positions and stale cache contents, and a client to drive.
//!
//! The value it keeps for a token is a hash of the token and of all values before it, read back through the block table;
//! logits are a function of the last value. So a token is right only if everything before it was found where it belongs.

use std::collections::HashSet;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use crate::adjust::{Adjuster, Adjustments};
use crate::batch::{Batch, RunError, Runner, RunnerShape};
use crate::generation::{Finish, GenerationRequest, SamplingParams, Step, StepStream};
use crate::inbox::Inbox;
use crate::local::LocalOptions;
use crate::outlet::{Inlet, outlet};
use crate::sampler::{Draw, Limits, Sampler};
use crate::scheduler::Scheduler;
use crate::sequence::Sequence;

pub(crate) const VOCAB: u32 = 40;
/// A token after which the fake's logits are not numbers. It and the one before never come by themselves.
pub(crate) const POISON: u32 = 39;

pub(crate) fn shape(blocks: usize, block_size: usize) -> RunnerShape {
    RunnerShape { name: "fake".into(), vocab: VOCAB as usize, context: 200, block_size, blocks }
}

fn mix(hash: u64, value: u64) -> u64 {
    let mut bits = (hash ^ value).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ bits >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits ^ bits >> 32
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

/// The fake model's runner.
pub(crate) struct FakeRunner {
    shape: RunnerShape,
    /// Per slot: position and value.
    cells: Vec<Option<(u32, u64)>>,
    logits: Vec<f32>,
    /// Fail the step that contains this token.
    pub(crate) fails_on: Option<u32>,
    /// Panic at the step that contains this token.
    pub(crate) panics_on: Option<u32>,
}

impl FakeRunner {
    pub(crate) fn new(shape: RunnerShape) -> Self {
        let slots = shape.blocks * shape.block_size;
        Self { shape, cells: vec![None; slots], logits: Vec::new(), fails_on: None, panics_on: None }
    }

    fn value(&self, table: &[u32], position: u32, token: u32) -> u64 {
        let size = self.shape.block_size;
        (0..position).fold(mix(0, u64::from(token)), |hash, at| {
            let slot = table[at as usize / size] as usize * size + at as usize % size;
            let (stored, value) = self.cells[slot].expect("a slot that was never written is read");
            assert_eq!(stored, at, "slot {slot} holds another position");
            mix(hash, value)
        })
    }

    fn check(batch: &Batch) {
        let slots: HashSet<_> = batch.slots.iter().collect();
        assert_eq!(slots.len(), batch.slots.len(), "two tokens write to one slot");
        assert_eq!((batch.positions.len(), batch.slots.len()), (batch.tokens.len(), batch.tokens.len()));
        assert_eq!(batch.starts.len(), batch.sequences() + 1);
        assert_eq!(*batch.starts.last().unwrap() as usize, batch.tokens.len());
        assert_eq!(batch.block_tables.len(), batch.sequences() * batch.table_width);
        assert!(batch.logit_rows.is_sorted_by(|a, b| a < b));
    }
}

impl Runner for FakeRunner {
    fn shape(&self) -> &RunnerShape {
        &self.shape
    }

    fn run(&mut self, batch: &Batch) -> Result<&[f32], RunError> {
        Self::check(batch);
        if self.fails_on.is_some_and(|token| batch.tokens.contains(&token)) {
            return Err(RunError("out of order".into()));
        }
        assert!(!self.panics_on.is_some_and(|token| batch.tokens.contains(&token)), "the fake broke");
        self.logits.clear();
        for sequence in 0..batch.sequences() {
            let table = &batch.block_tables[sequence * batch.table_width..][..batch.table_width];
            let rows = batch.starts[sequence] as usize..batch.starts[sequence + 1] as usize;
            assert_eq!(batch.positions[rows.end - 1] + 1, batch.context_lens[sequence]);
            for (row, index) in rows.zip(batch.starts[sequence]..) {
                let value = self.value(table, batch.positions[row], batch.tokens[row]);
                self.cells[batch.slots[row] as usize] = Some((batch.positions[row], value));
                if batch.logit_rows.contains(&index) {
                    self.logits.extend(logits(value, batch.tokens[row]));
                }
            }
        }
        Ok(&self.logits)
    }
}

/// A request with nothing special about it.
pub(crate) fn request(prompt: impl Into<Vec<u32>>, max_tokens: usize) -> GenerationRequest {
    GenerationRequest {
        prompt: prompt.into(),
        max_tokens,
        sampling: SamplingParams { temperature: 0.0, top_p: 1.0, top_k: 0, min_p: 0.0, seed: 0 },
        adjustments: Adjustments::default(),
        stop_ids: Arc::new([]),
        top_logprobs: None,
        mask: None,
        cache_salt: 0,
        queue: 1000,
    }
}

pub(crate) fn sampled(prompt: impl Into<Vec<u32>>, max_tokens: usize, seed: u64) -> GenerationRequest {
    let mut request = request(prompt, max_tokens);
    request.sampling = SamplingParams { temperature: 0.8, top_p: 0.9, top_k: 20, min_p: 0.0, seed };
    request
}

/// What a request without stop ids gets from the fake model, computed without cache, batch or scheduler.
pub(crate) fn alone(request: &GenerationRequest) -> Vec<u32> {
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
        // Made anew each time: what it knows is in the tokens.
        let mut adjuster = Adjuster::new(request.adjustments.clone(), request.prompt.len());
        let adjuster = adjuster.as_deref_mut().map(|adjuster| (adjuster, tokens.as_slice()));
        let id = sampler.next(&row, &draw, Limits { mask: None, adjuster }).unwrap().id;
        tokens.push(id);
    }
    tokens.split_off(request.prompt.len())
}

/// A client that reads only when told to.
pub(crate) struct Client {
    inlet: Option<Inlet>,
    pub(crate) tokens: Vec<u32>,
    pub(crate) cached: usize,
    pub(crate) finish: Option<Finish>,
}

impl Client {
    /// Reads at most `steps` steps that are there; returns how many it got.
    pub(crate) fn read(&mut self, steps: usize) -> usize {
        (0..steps).take_while(|_| self.read_one()).count()
    }

    fn read_one(&mut self) -> bool {
        let Some(inlet) = &mut self.inlet else { return false };
        let mut cx = Context::from_waker(Waker::noop());
        let Poll::Ready(Some(Step { tokens, finish, cached_tokens })) = inlet.poll_step(&mut cx) else {
            return false;
        };
        assert!(self.finish.is_none(), "a step after the last");
        self.tokens.extend(tokens.iter().map(|token| token.id));
        self.finish = finish;
        self.cached = cached_tokens;
        true
    }

    pub(crate) fn leave(&mut self) {
        self.inlet = None;
    }

    pub(crate) fn left(&self) -> bool {
        self.inlet.is_none()
    }
}

/// Scheduler and runner, stepped by hand.
pub(crate) struct Rig {
    pub(crate) scheduler: Scheduler,
    pub(crate) runner: FakeRunner,
    inbox: Arc<Inbox>,
}

impl Rig {
    pub(crate) fn new(shape: RunnerShape, options: LocalOptions) -> Self {
        let scheduler = Scheduler::new(&shape, options);
        Self { scheduler, runner: FakeRunner::new(shape), inbox: Arc::new(Inbox::new(1)) }
    }

    pub(crate) fn submit(&mut self, request: GenerationRequest) -> Client {
        let (outlet, inlet) = outlet(request.queue, self.inbox.clone());
        let shape = self.runner.shape();
        let capacity = shape.context.min(shape.blocks * shape.block_size);
        self.scheduler.add(Sequence::new(request, capacity, outlet));
        Client { inlet: Some(inlet), tokens: Vec::new(), cached: 0, finish: None }
    }

    /// One step; `None` when no sequence can go on, else the tokens that it computed.
    pub(crate) fn step(&mut self) -> Option<usize> {
        let batch = self.scheduler.schedule()?;
        let tokens = batch.tokens.len();
        match self.runner.run(batch) {
            Ok(logits) => self.scheduler.postprocess(logits),
            Err(error) => self.scheduler.fail(&error),
        }
        Some(tokens)
    }

    /// Steps until nothing goes on; returns the number of steps.
    pub(crate) fn run(&mut self) -> usize {
        std::iter::from_fn(|| self.step()).count()
    }
}
