//! States of layers with the gated delta rule, in f32: slots of fixed size, each for one sequence or
//! for a snapshot, and rows of input that may yet be taken back.
//!
//! A slot holds for each key head a group: the last inputs of the convolution `[taps - 1, channels]`,
//! then for each of its value heads a matrix `[key_dim, value_dim]`. Widths are padded to whole
//! vectors, and the padding is zero. So a group is one piece of memory, which one task owns.

use bytemuck::allocation::try_zeroed_vec;
use ops::DeltaShape;

use super::super::lanes::LANES;

/// Sizes of the states of all layers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeltaStatesShape {
    /// Sizes of a layer.
    pub layer: DeltaShape,
    /// Number of layers.
    pub layers: usize,
    /// Number of slots.
    pub slots: usize,
    /// Number of the first slots that are for sequences, with rows that may be taken back.
    pub lanes: usize,
    /// Maximum number of such rows.
    pub tentative: usize,
}

/// States of all layers.
#[derive(Debug)]
pub struct DeltaStates {
    shape: DeltaStatesShape,
    layers: Vec<DeltaState>,
}

/// States of one layer.
#[derive(Debug)]
pub struct DeltaState {
    pub(super) shape: DeltaStatesShape,
    /// `[slots, key_heads, group]`.
    pub(super) states: Vec<f32>,
    /// `[lanes, key_heads, tentative, row]`.
    pub(super) tentative: Vec<f32>,
}

/// Sizes of what belongs to one key head.
#[derive(Debug, Clone, Copy)]
pub(super) struct GroupShape {
    /// Padded width of a key, and of a value: the stride of a matrix.
    pub(super) key: usize,
    pub(super) value: usize,
    /// Padded channels of the convolution: a query, a key, and the values.
    pub(super) channels: usize,
    /// Number of value heads.
    pub(super) heads: usize,
    /// Size of the convolution's last inputs.
    pub(super) window: usize,
    /// Size of a matrix.
    pub(super) matrix: usize,
}

impl GroupShape {
    pub(super) fn of(shape: DeltaShape) -> Self {
        let (key, value) = (shape.key_dim.next_multiple_of(LANES), shape.value_dim.next_multiple_of(LANES));
        let heads = shape.group();
        let channels = 2 * key + heads * value;
        let (window, matrix) = ((shape.taps - 1) * channels, shape.key_dim * value);
        Self { key, value, channels, heads, window, matrix }
    }

    /// Size of a group.
    pub(super) fn len(self) -> usize {
        self.window + self.heads * self.matrix
    }

    /// Size of a row of input: channels, then update rates and decays.
    pub(super) fn row(self) -> usize {
        self.channels + 2 * self.heads
    }
}

impl DeltaStatesShape {
    /// Size of a slot in all layers, in bytes.
    pub fn slot_bytes(&self) -> usize {
        self.bytes(GroupShape::of(self.layer).len())
    }

    /// Size of the rows of a sequence that may be taken back, in all layers, in bytes.
    pub fn tentative_bytes(&self) -> usize {
        self.bytes(GroupShape::of(self.layer).row() * self.tentative)
    }

    fn bytes(&self, of_group: usize) -> usize {
        of_group * self.layer.key_heads * self.layers * size_of::<f32>()
    }
}

impl DeltaStates {
    /// Allocates all states; `None` if there isn't enough memory.
    pub fn new(shape: DeltaStatesShape) -> Option<Self> {
        let group = GroupShape::of(shape.layer);
        let heads = shape.layer.key_heads;
        let layer = |_| {
            // Pages that are never written take no memory.
            let states = try_zeroed_vec(shape.slots.checked_mul(heads * group.len())?).ok()?;
            let rows = shape.lanes.checked_mul(heads * shape.tentative * group.row())?;
            Some(DeltaState { shape, states, tentative: try_zeroed_vec(rows).ok()? })
        };
        Some(Self { shape, layers: (0..shape.layers).map(layer).collect::<Option<_>>()? })
    }

    /// Sizes.
    pub fn shape(&self) -> &DeltaStatesShape {
        &self.shape
    }

    /// States of a layer.
    pub fn layer_mut(&mut self, layer: usize) -> &mut DeltaState {
        &mut self.layers[layer]
    }

    /// Copies a slot to another one, in all layers.
    ///
    /// # Panics
    /// If there are no such slots.
    pub fn copy(&mut self, from: usize, to: usize) {
        let size = GroupShape::of(self.shape.layer).len() * self.shape.layer.key_heads;
        for layer in &mut self.layers {
            layer.states.copy_within(from * size..(from + 1) * size, to * size);
        }
    }
}
