//! States of sequences, in f32: slots of fixed size, each for one sequence or for a snapshot, and
//! rows of input that may yet be taken back. What a slot holds is the kernel's own affair.
//!
//! The last rows of a sequence may be tentative: they are computed on a copy of the state, and their
//! inputs are kept. The next step applies as many of them as were right before its own rows.

use bytemuck::allocation::try_zeroed_vec;

/// Sizes of one layer's state, in numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StateSizes {
    /// Size of a slot.
    pub slot: usize,
    /// Size of a row of input that may be taken back.
    pub row: usize,
}

/// Sizes of the states of all layers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StatePoolShape {
    /// Sizes of a layer.
    pub layer: StateSizes,
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
pub struct StatePool {
    shape: StatePoolShape,
    layers: Vec<LayerStates>,
}

/// States of one layer.
#[derive(Debug)]
pub struct LayerStates {
    pub(super) shape: StatePoolShape,
    /// `[slots, slot]`.
    pub(super) slots: Vec<f32>,
    /// `[lanes, tentative * row]`.
    pub(super) tentative: Vec<f32>,
}

/// Rows of one sequence in a step.
#[derive(Debug, Clone)]
pub struct StateSequence {
    /// Index of the sequence's first row.
    pub first_row: usize,
    /// Number of its rows.
    pub rows: usize,
    /// Slot of its state, which is one of a lane.
    pub slot: usize,
    /// State before the first row.
    pub start: FirstState,
    /// Number of the last rows that may be taken back.
    pub tentative: usize,
    /// States to keep, in the order of rows.
    pub saves: Vec<StateSave>,
}

/// State before the first row of a sequence in a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FirstState {
    /// No token has been seen.
    Empty,
    /// The state of the slot, after this many of the rows that were tentative in the last step.
    Slot {
        /// Number of rows that turned out to be right.
        accepted: usize,
    },
}

/// A state to keep.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StateSave {
    /// Number of the sequence's rows in this step that the state has seen, at least one.
    pub rows: usize,
    /// Slot for it.
    pub slot: usize,
}

impl StatePoolShape {
    /// Size of a slot in all layers, in bytes.
    pub fn slot_bytes(&self) -> usize {
        self.layer.slot * self.layers * size_of::<f32>()
    }

    /// Size of the rows of a sequence that may be taken back, in all layers, in bytes.
    pub fn tentative_bytes(&self) -> usize {
        self.layer.row * self.tentative * self.layers * size_of::<f32>()
    }
}

impl StatePool {
    /// Allocates all states; `None` if there isn't enough memory.
    pub fn new(shape: StatePoolShape) -> Option<Self> {
        let layer = |_| {
            // Pages that are never written take no memory.
            let slots = try_zeroed_vec(shape.slots.checked_mul(shape.layer.slot)?).ok()?;
            let rows = shape.lanes.checked_mul(shape.tentative * shape.layer.row)?;
            Some(LayerStates { shape, slots, tentative: try_zeroed_vec(rows).ok()? })
        };
        Some(Self { shape, layers: (0..shape.layers).map(layer).collect::<Option<_>>()? })
    }

    /// Sizes.
    pub fn shape(&self) -> &StatePoolShape {
        &self.shape
    }

    /// States of a layer.
    pub fn layer_mut(&mut self, layer: usize) -> &mut LayerStates {
        &mut self.layers[layer]
    }

    /// Copies a slot to another one, in all layers.
    ///
    /// # Panics
    /// If there are no such slots.
    pub fn copy(&mut self, from: usize, to: usize) {
        let size = self.shape.layer.slot;
        for layer in &mut self.layers {
            layer.slots.copy_within(from * size..(from + 1) * size, to * size);
        }
    }
}

impl LayerStates {
    /// Checks that states have these sizes, and that no two sequences of a step can touch the same
    /// state or row.
    pub(super) fn check(&self, layer: StateSizes, sequences: &[StateSequence], rows: usize) {
        assert_eq!(self.shape.layer, layer, "sizes of states");
        let lanes = sequences.iter().map(|one| one.slot);
        assert!(lanes.clone().all(|slot| slot < self.shape.lanes), "a slot of a sequence is one of a lane");
        let mut slots: Vec<usize> =
            lanes.chain(sequences.iter().flat_map(|one| one.saves.iter().map(|save| save.slot))).collect();
        slots.sort_unstable();
        assert!(slots.is_sorted_by(|a, b| a < b), "each state has a slot of its own");
        let mut next = 0;
        for one in sequences {
            assert!(one.first_row >= next && one.tentative <= one.rows, "rows of a sequence");
            let accepted = if let FirstState::Slot { accepted } = one.start { accepted } else { 0 };
            assert!(one.tentative.max(accepted) <= self.shape.tentative, "tentative rows");
            next = one.first_row + one.rows;
        }
        assert!(next <= rows, "rows of sequences");
    }
}
