//! Rotary embeddings of a model, and the current step's angles.

use kernels::cpu::RopeAngles;

use crate::models::ops::RopeTable;

/// Rotary embeddings, by the index that [`Self::add`] returns.
#[derive(Debug, Default)]
pub(super) struct Ropes(Vec<(RopeTable, RopeAngles)>);

impl Ropes {
    pub(super) fn add(&mut self, table: RopeTable) -> usize {
        self.0.push((table, RopeAngles::default()));
        self.0.len() - 1
    }

    /// Computes the angles of the step's positions.
    pub(super) fn rotate(&mut self, positions: &[u32]) {
        for (table, angles) in &mut self.0 {
            angles.fill(positions, &table.frequencies, table.factor);
            angles.scale_queries(positions, table.query_scaling);
        }
    }

    pub(super) fn angles(&self, rope: usize) -> &RopeAngles {
        &self.0[rope].1
    }
}
