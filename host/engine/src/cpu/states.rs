//! States of sequences on the CPU: a slot for each lane, then one for each snapshot.

use kernels::cpu::{
    DeltaLayer, FirstState, LayerStates, ShortConv, StatePool, StatePoolShape, StateSave, StateSequence,
};

use super::options::CpuOptions;
use crate::batch::{Batch, BatchError, SequenceState, StatePlan, StateStart, StateTable};
use crate::models::ops::{DeltaShape, DeltaWeights, Norm, ShortConvShape, ShortConvWeights};
use crate::models::{LoadError, ModelConfig, StateShape, WeightTensor};
use crate::runner::{RunnerShape, StatesShape};
use crate::speculation::SpeculationOptions;

/// Most slots: half of them for sequences, half for snapshots, which may be more where there are few.
const MOST_SLOTS: usize = 64;
/// Most slots of states that are so small that they take no more than an eighth of the KV cache.
const MOST_SMALL_SLOTS: usize = 512;

/// States, and what the current step does to them.
#[derive(Debug)]
pub(super) struct LaneStates {
    states: StatePool,
    /// `None` before the first step.
    table: Option<StateTable>,
    sequences: Vec<StateSequence>,
}

/// Sizes of the states of a model for which a KV cache of `bytes` has room: they take no more than
/// half of it; `None` for a model without states.
pub(super) fn states_shape(config: &ModelConfig, bytes: usize) -> Result<Option<StatePoolShape>, LoadError> {
    let Some(one) = one_slot(config) else { return Ok(None) };
    let within = |bytes: usize, most: usize| {
        let lanes = (bytes / slot_bytes(&one)).min(most) / 2;
        // What rows that may be taken back would take of snapshots' slots is room for more of them.
        let snapshots = (bytes - lanes * slot_bytes(&one)) / one.slot_bytes();
        StatePoolShape { slots: lanes + snapshots.min(most / 2), lanes, ..one }
    };
    let (half, small) = (within(bytes / 2, MOST_SLOTS), within(bytes / 8, MOST_SMALL_SLOTS));
    let shape = if small.slots > half.slots { small } else { half };
    if shape.lanes == 0 {
        return Err(LoadError::StatesTooLarge { bytes, state: slot_bytes(&one) });
    }
    Ok(Some(shape))
}

/// Bytes that the states of a model take beside keys and values of `kv` bytes.
pub(super) fn states_bytes(config: &ModelConfig, kv: usize) -> usize {
    one_slot(config).map_or(0, |one| kv.max(2 * slot_bytes(&one)).min(MOST_SLOTS * slot_bytes(&one)))
}

/// Bytes of states of this shape.
pub(super) fn bytes(shape: &StatePoolShape) -> usize {
    shape.slot_bytes() * shape.slots + shape.tentative_bytes() * shape.lanes
}

/// Bytes of a slot, as if each had rows that may be taken back.
fn slot_bytes(shape: &StatePoolShape) -> usize {
    shape.slot_bytes() + shape.tentative_bytes()
}

fn one_slot(config: &ModelConfig) -> Option<StatePoolShape> {
    let (shape, layers) = config.states()?;
    let layer = match shape {
        StateShape::Delta(shape) => DeltaLayer::state_sizes(shape),
        StateShape::ShortConv(shape) => ShortConv::state_sizes(shape),
    };
    // A draft, and the last token before it, which is run again if its mask is late.
    let tentative = SpeculationOptions::default().draft_tokens + 1;
    Some(StatePoolShape { layer, layers, slots: 1, lanes: 1, tentative })
}

/// What the scheduler must know of states.
pub(super) fn shape_for_runner(shape: &StatePoolShape) -> StatesShape {
    StatesShape { snapshots: shape.slots - shape.lanes, tentative: shape.tentative }
}

/// Weights of a short gated convolution, as the kernel reads them.
pub(super) fn short_conv(shape: ShortConvShape, weights: &ShortConvWeights<WeightTensor>) -> ShortConv {
    let (factors, bias) = (weights.factors.to_f32(), weights.bias.as_ref().map(WeightTensor::to_f32));
    ShortConv::new(shape, ShortConvWeights { factors: &factors, bias: bias.as_deref() })
}

/// Weights of a layer with the gated delta rule, as the kernel reads them.
pub(super) fn delta_layer(shape: DeltaShape, weights: &DeltaWeights<WeightTensor>) -> DeltaLayer {
    let DeltaWeights { conv, decay, decay_bias, norm } = weights;
    let [conv, decay, decay_bias, weight] = [conv, decay, decay_bias, &norm.weight].map(WeightTensor::to_f32);
    let norm = Norm { weight: &weight[..], eps: norm.eps };
    DeltaLayer::new(shape, DeltaWeights { conv: &conv, decay: &decay, decay_bias: &decay_bias, norm })
}

impl LaneStates {
    /// Allocates states.
    pub(super) fn new(shape: StatePoolShape, options: &CpuOptions) -> Result<Self, LoadError> {
        let states =
            StatePool::new(shape).ok_or(LoadError::CacheTooLarge { bytes: options.kv_cache_bytes as u64 })?;
        Ok(Self { states, table: None, sequences: Vec::new() })
    }

    /// Sizes.
    pub(super) fn shape(&self) -> &StatePoolShape {
        self.states.shape()
    }

    /// Begins a step: loads snapshots.
    pub(super) fn begin(&mut self, batch: &Batch, shape: &RunnerShape) -> Result<(), BatchError> {
        let table = self.table.get_or_insert_with(|| StateTable::new(shape));
        let StatePlan { loads, sequences } = batch.plan_states(shape, table)?;
        let first_snapshot = shape.lanes;
        for (snapshot, lane) in loads {
            self.states.copy(first_snapshot + snapshot, lane);
        }
        let one = |(i, state): (usize, SequenceState)| StateSequence {
            first_row: batch.starts[i] as usize,
            rows: (batch.starts[i + 1] - batch.starts[i]) as usize,
            slot: batch.lanes[i] as usize,
            start: match state.start {
                StateStart::Empty => FirstState::Empty,
                StateStart::Lane { accepted } => FirstState::Slot { accepted },
            },
            tentative: state.tentative,
            saves: (state.saves.iter())
                .map(|(rows, snapshot)| StateSave { rows: *rows, slot: first_snapshot + snapshot })
                .collect(),
        };
        self.sequences = sequences.into_iter().enumerate().map(one).collect();
        Ok(())
    }

    /// Sequences of the step, and the states of a layer.
    ///
    /// # Panics
    /// If a model without states has such a layer.
    pub(super) fn of_layer(all: &mut Option<Self>, layer: usize) -> (&[StateSequence], &mut LayerStates) {
        let all = all.as_mut().expect("a model with such layers has states");
        (&all.sequences, all.states.layer_mut(layer))
    }

    /// Bytes of one layer's states of the step's sequences.
    pub(super) fn step_bytes(all: Option<&Self>, batch: &Batch) -> usize {
        let of_layer = |shape: &StatePoolShape| shape.slot_bytes() / shape.layers.max(1);
        batch.sequences() * all.map_or(0, |states| of_layer(states.shape()))
    }
}
