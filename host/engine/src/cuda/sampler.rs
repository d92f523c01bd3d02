//! Sampling on the device: draws, edits and masks are copied there, ids are copied back, and also
//! stay on the device for the next step.
//!
//! Invariant: results of one step at a time are under way; they are collected before the next step
//! is sampled.

use std::ops::Range;

use cuda_kernels::{DevicePtr, DrawRow, EditRow, Launch, MAX_TOP, Sample, SampledRow, size};

use super::CudaError;
use super::driver::{Driver, Event, HostMemory};
use super::staging::StagingRing;
use crate::runner::{Draw, Draws, Edit, SampleError};
use crate::token::{Logprobs, Token};

/// Edits that one launch takes, at least the vocabulary's size. A row has at most one edit for each
/// id, so the edits of any row fit in one launch.
const EDITS: usize = 1 << 16;

/// Buffers and launches of the sampling kernel.
#[derive(Debug)]
pub(super) struct DeviceSampler {
    vocab: usize,
    logits: DevicePtr,
    /// `[lanes]` u32: the token that each lane sampled last.
    samples: DevicePtr,
    inputs: Inputs,
    staging: StagingRing,
    /// `[rows]` of [`SampledRow`].
    results: DevicePtr,
    top: DevicePtr,
    fetched: Box<dyn HostMemory>,
    alternatives: Box<dyn HostMemory>,
    done: Event,
    /// For each draw of the step under way: its position, and the number of alternatives asked for.
    under_way: Vec<(usize, Option<u8>)>,
    top_width: usize,
}

/// Device memory that a launch reads: draws, then edits, then masks.
#[derive(Debug, Clone, Copy)]
struct Inputs {
    at: DevicePtr,
    /// Byte offsets of the edits and of the masks; draws are at offset 0.
    edits: usize,
    masks: usize,
    bytes: usize,
    most_edits: usize,
}

impl Inputs {
    /// Allocates memory for `rows` draws.
    fn new(driver: &mut dyn Driver, rows: usize, vocab: usize) -> Result<Self, CudaError> {
        let most_edits = EDITS.max(vocab);
        let edits = (rows * DrawRow::WORDS * 4).next_multiple_of(256);
        let masks = edits + most_edits * EditRow::WORDS * 4;
        let bytes = masks + rows * vocab.div_ceil(32) * 4;
        let at = driver.allocate("sampling", bytes)?;
        driver.zero(at, bytes)?;
        Ok(Self { at, edits, masks, bytes, most_edits })
    }
}

impl DeviceSampler {
    /// Sampler for at most `rows` draws of a step, on `lanes` lanes.
    pub(super) fn new(
        driver: &mut dyn Driver,
        logits: DevicePtr,
        rows: usize,
        lanes: usize,
        vocab: usize,
    ) -> Result<Self, CudaError> {
        let inputs = Inputs::new(driver, rows, vocab)?;
        let (result_bytes, top_bytes) = (rows * SampledRow::WORDS * 4, rows * MAX_TOP as usize * 8);
        let samples = driver.allocate("sampling", lanes * 4)?;
        driver.zero(samples, lanes * 4)?;
        Ok(Self {
            vocab,
            logits,
            samples,
            inputs,
            staging: StagingRing::new(driver, inputs.bytes)?,
            results: driver.allocate("sampling", result_bytes)?,
            top: driver.allocate("sampling", top_bytes)?,
            fetched: driver.pinned(result_bytes)?,
            alternatives: driver.pinned(top_bytes)?,
            done: driver.event()?,
            under_way: Vec::new(),
            top_width: 0,
        })
    }

    /// `[lanes]` u32: the token that each lane sampled last.
    pub(super) fn samples(&self) -> DevicePtr {
        self.samples
    }

    /// The launch for the draws `rows` of a step.
    pub(super) fn launch(&self, rows: Range<usize>) -> Launch {
        let Inputs { at, edits, masks, .. } = self.inputs;
        let behind = |base: DevicePtr, bytes: usize| base.offset(bytes as u64);
        let sample = Sample {
            logits: self.logits,
            draws: at,
            edits: Some(behind(at, edits)),
            masks: Some(behind(at, masks)),
            samples: Some(self.samples),
            out: behind(self.results, rows.start * SampledRow::WORDS * 4),
            top: Some(behind(self.top, rows.start * self.top_width * 8)),
            rows: size(rows.len()),
            vocab: size(self.vocab),
            top_width: size(self.top_width),
        };
        sample.launch()
    }

    /// Enqueues the sampling of a token for each draw. `places`: the row of logits and the lane of
    /// each draw.
    pub(super) fn sample(
        &mut self,
        driver: &mut dyn Driver,
        places: &[(usize, u32)],
        draws: &Draws<'_>,
    ) -> Result<(), CudaError> {
        self.under_way.clear();
        self.under_way.extend(draws.rows.iter().map(|draw| (draw.position, draw.top_logprobs)));
        let asked = draws.rows.iter().filter_map(|draw| draw.top_logprobs).max();
        self.top_width = asked.map_or(0, usize::from);
        let mut next = 0;
        while next < places.len() {
            let end = self.chunk_end(draws, next);
            self.send(driver, (next..end, places), draws)?;
            driver.launch(&self.launch(next..end))?;
            next = end;
        }
        driver.download(self.results, places.len() * SampledRow::WORDS * 4, self.fetched.as_mut())?;
        if self.top_width > 0 {
            driver.download(self.top, places.len() * self.top_width * 8, self.alternatives.as_mut())?;
        }
        driver.record(self.done)
    }

    /// End of the draws from `first` on whose edits fit in one launch.
    fn chunk_end(&self, draws: &Draws<'_>, first: usize) -> usize {
        let mut edits = 0;
        let fits = |row: &usize| {
            edits += draws.limits(*row).1.len();
            edits <= self.inputs.most_edits
        };
        (first..draws.rows.len()).take_while(fits).count().max(1) + first
    }

    /// Enqueues the copies of what a launch reads.
    fn send(
        &mut self,
        driver: &mut dyn Driver,
        (rows, places): (Range<usize>, &[(usize, u32)]),
        draws: &Draws<'_>,
    ) -> Result<(), CudaError> {
        let inputs = self.inputs;
        self.staging.send(driver, |driver, memory| {
            let ends = write(inputs, (rows, places), draws, memory.bytes_mut());
            for (begin, end) in [0, inputs.edits, inputs.masks].into_iter().zip(ends) {
                if end > begin {
                    driver.upload(&*memory, begin..end, inputs.at.offset(begin as u64))?;
                }
            }
            Ok(())
        })
    }

    /// Waits for the tokens of the step under way.
    pub(super) fn collect(
        &mut self,
        driver: &mut dyn Driver,
    ) -> Result<Vec<Result<Token, SampleError>>, CudaError> {
        driver.wait(self.done)?;
        Ok(self.under_way.iter().enumerate().map(|(row, draw)| self.token(row, *draw)).collect())
    }

    fn token(&self, row: usize, (position, top): (usize, Option<u8>)) -> Result<Token, SampleError> {
        let words: &[u32] = bytemuck::cast_slice(self.fetched.bytes());
        let words = words[row * SampledRow::WORDS..].first_chunk().expect("a result of each row");
        match SampledRow::from_words(*words) {
            Some(SampledRow::Token { id, logprob, alternatives }) => {
                let logprobs = top.map(|_| {
                    Box::new(Logprobs { chosen: logprob, top: self.alternatives(row, alternatives as usize) })
                });
                Ok(Token { id, logprobs })
            }
            Some(SampledRow::NotANumber { id, logit }) => {
                Err(SampleError::NotANumber { logit, id, position })
            }
            Some(SampledRow::NoToken) | None => Err(SampleError::NoToken { position }),
        }
    }

    fn alternatives(&self, row: usize, count: usize) -> Vec<(u32, f32)> {
        let words: &[u32] = bytemuck::cast_slice(self.alternatives.bytes());
        let pairs = words[row * self.top_width * 2..].as_chunks::<2>().0.iter().take(count);
        pairs.map(|[id, logprob]| (*id, f32::from_bits(*logprob))).collect()
    }
}

/// Writes draws, edits and masks to `out`; returns the end of each of the three, in bytes.
fn write(
    inputs: Inputs,
    (rows, places): (Range<usize>, &[(usize, u32)]),
    draws: &Draws<'_>,
    out: &mut [u8],
) -> [usize; 3] {
    let mut ends = [0, inputs.edits, inputs.masks];
    let (mut edits, mut masks) = (0, 0);
    for row in rows {
        let (mask, own) = draws.limits(row);
        let first = edits;
        for edit in own {
            push(out, &mut ends[1], &edit_row(edit).words());
            edits += 1;
        }
        let mask_row = mask.map(|mask| {
            push(out, &mut ends[2], mask);
            masks += 1;
            masks - 1
        });
        let draw = draw_row(&draws.rows[row], places[row], (first, edits), mask_row);
        push(out, &mut ends[0], &draw.words());
    }
    ends
}

fn push(out: &mut [u8], end: &mut usize, words: &[u32]) {
    let bytes: &[u8] = bytemuck::cast_slice(words);
    out[*end..][..bytes.len()].copy_from_slice(bytes);
    *end += bytes.len();
}

fn draw_row(
    draw: &Draw,
    (logit_row, lane): (usize, u32),
    edits: (u32, u32),
    mask_row: Option<u32>,
) -> DrawRow {
    let sampling = draw.sampling;
    DrawRow {
        logit_row: size(logit_row),
        lane: Some(lane),
        mask_row,
        edits,
        temperature: sampling.temperature,
        top_p: sampling.top_p,
        top_k: sampling.top_k,
        min_p: sampling.min_p,
        seed: sampling.seed,
        position: draw.position as u64,
        top_logprobs: draw.top_logprobs,
    }
}

fn edit_row(edit: &Edit) -> EditRow {
    let Edit { id, bias, repetition, minus, .. } = *edit;
    EditRow { id, bias, repetition, minus }
}
