//! The block tables of a runner's lanes, kept up to date by each batch's edits.

use super::TableEdit;

/// Block table of each lane: its KV blocks in order of positions.
///
/// ```
/// use engine::batch::{BlockTables, TableEdit};
/// let mut tables = BlockTables::default();
/// tables.apply(TableEdit { lane: 2, at: 0, block: 7 });
/// assert_eq!((tables.lane(2), tables.lane(0)), (&[7][..], &[][..]));
/// ```
#[derive(Debug, Clone, Default)]
pub struct BlockTables {
    lanes: Vec<Vec<u32>>,
}

impl BlockTables {
    /// Writes one entry. Later entries, which an earlier sequence of the lane has left, stay and
    /// are never read.
    ///
    /// # Panics
    /// The entry's index is beyond the table's length.
    pub fn apply(&mut self, edit: TableEdit) {
        let TableEdit { lane, at, block } = edit;
        if self.lanes.len() <= lane as usize {
            self.lanes.resize_with(lane as usize + 1, Vec::new);
        }
        let table = &mut self.lanes[lane as usize];
        if table.len() == at as usize {
            table.push(block);
        } else {
            table[at as usize] = block;
        }
    }

    /// KV blocks of a lane; empty for a lane that was never used.
    pub fn lane(&self, lane: u32) -> &[u32] {
        self.lanes.get(lane as usize).map_or(&[], Vec::as_slice)
    }
}
