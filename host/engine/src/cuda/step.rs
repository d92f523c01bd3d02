//! A step's arrays for kernels: u32 in one allocation of device memory, at addresses that never
//! change.
//!
//! Invariant: a decode step is padded to its bucket by rows of the spare lane, which write to a KV
//! block of their own that no sequence reads.

use cuda_kernels::DevicePtr;

use crate::batch::Batch;

/// Sizes of a step, from which the sizes of grids follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(super) struct StepShape {
    /// Number of rows.
    pub(super) tokens: usize,
    /// Number of sequences of one row, which come first in a batch.
    pub(super) decoding: usize,
    /// Number of all sequences.
    pub(super) sequences: usize,
    /// Greatest number of rows of a sequence.
    pub(super) longest: usize,
    /// Number of rows whose logits are computed; [`StepArray::LogitRows`] lists them.
    pub(super) logit_rows: usize,
    /// Whether the rows whose logits are computed are the first `logit_rows` rows, so that they
    /// needn't be gathered.
    pub(super) all_logits: bool,
}

impl StepShape {
    /// Shape of a decode step that is padded to this bucket: all rows have logits.
    pub(super) fn decode(bucket: usize) -> Self {
        Self {
            tokens: bucket,
            decoding: bucket,
            sequences: bucket,
            longest: 1,
            logit_rows: bucket,
            all_logits: true,
        }
    }

    /// Shape of a batch without padding.
    pub(super) fn of(batch: &Batch) -> Self {
        let rows = batch.starts.windows(2).map(|pair| (pair[1] - pair[0]) as usize);
        Self {
            tokens: batch.tokens.len(),
            decoding: rows.clone().take_while(|rows| *rows == 1).count(),
            sequences: batch.sequences(),
            longest: rows.max().unwrap_or(0),
            logit_rows: batch.logit_rows.len(),
            all_logits: false,
        }
    }
}

/// Lane and KV block of the rows that pad a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Spare {
    pub(super) lane: u32,
    pub(super) block: u32,
}

/// Layout of the arrays, with room for the largest step or the largest bucket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct StepLayout {
    rows: usize,
}

/// The arrays, in their order in memory. Each has room for one word more than the greatest number
/// of rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StepArray {
    /// For each row: its token, or [`LAST`](crate::batch::LAST), which is the same number in
    /// kernels.
    Tokens,
    /// For each row: its position in its sequence.
    Positions,
    /// For each row: the cache slot that its key and value are written to.
    Slots,
    /// For each row: the lane of its sequence.
    RowLanes,
    /// For each sequence: its first row; then the number of rows.
    Starts,
    /// For each sequence: its tokens, those of this step included.
    Lengths,
    /// For each sequence: its lane.
    Lanes,
    /// Indices of the rows whose logits are computed.
    LogitRows,
}

const ARRAYS: usize = 8;

impl StepLayout {
    pub(super) fn new(rows: usize) -> Self {
        Self { rows }
    }

    /// Words from one array to the next; a multiple of 64, since kernels read 16 bytes at a time.
    fn stride(self) -> usize {
        (self.rows + 1).next_multiple_of(64)
    }

    /// Bytes of all arrays.
    pub(super) fn bytes(self) -> usize {
        ARRAYS * self.stride() * 4
    }

    /// Address of an array, where the first array is at `base`.
    pub(super) fn at(self, base: DevicePtr, array: StepArray) -> DevicePtr {
        base.offset((array as usize * self.stride() * 4) as u64)
    }

    /// Writes a batch to `out`; `bucket`: number of rows that a decode step is padded to.
    pub(super) fn write(self, batch: &Batch, bucket: Option<usize>, spare: Spare, out: &mut [u8]) {
        let (rows, sequences) = (batch.tokens.len(), batch.sequences());
        let lanes =
            (0..sequences).flat_map(|i| (batch.starts[i]..batch.starts[i + 1]).map(move |_| batch.lanes[i]));
        let pad = bucket.map_or(0, |bucket| bucket - rows);
        let end = u32::try_from(rows).unwrap_or(u32::MAX);
        let padded = |value: u32| std::iter::repeat_n(value, pad);
        let mut write = |array: StepArray, words: &mut dyn Iterator<Item = u32>| {
            let begin = array as usize * self.stride() * 4;
            for (to, word) in out[begin..][..self.stride() * 4].as_chunks_mut::<4>().0.iter_mut().zip(words) {
                *to = word.to_le_bytes();
            }
        };
        write(StepArray::Tokens, &mut batch.tokens.iter().copied().chain(padded(0)));
        write(StepArray::Positions, &mut batch.positions.iter().copied().chain(padded(0)));
        write(StepArray::Slots, &mut batch.slots.iter().copied().chain(padded(spare.block * 64)));
        write(StepArray::RowLanes, &mut lanes.chain(padded(spare.lane)));
        write(
            StepArray::Starts,
            &mut batch.starts.iter().copied().chain((0..pad).zip(end + 1..).map(|(_, at)| at)),
        );
        write(StepArray::Lengths, &mut batch.context_lens.iter().copied().chain(padded(1)));
        write(StepArray::Lanes, &mut batch.lanes.iter().copied().chain(padded(spare.lane)));
        match bucket {
            // A decode step computes the logits of all its rows, whichever are wanted.
            Some(bucket) => write(StepArray::LogitRows, &mut (0..u32::try_from(bucket).unwrap_or(u32::MAX))),
            None => write(StepArray::LogitRows, &mut batch.logit_rows.iter().copied()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::batch::LAST;

    fn words(layout: StepLayout, bytes: &[u8], array: StepArray, len: usize) -> Vec<u32> {
        let begin = usize::try_from(layout.at(DevicePtr(0), array).0).unwrap();
        bytes[begin..].as_chunks::<4>().0.iter().take(len).map(|word| u32::from_le_bytes(*word)).collect()
    }

    fn batch() -> Batch {
        Batch {
            tokens: vec![LAST, 7, 8],
            positions: vec![65, 3, 9],
            slots: vec![129, 3, 73],
            starts: vec![0, 1, 2, 3],
            context_lens: vec![66, 4, 10],
            lanes: vec![2, 0, 1],
            table_edits: Vec::new(),
            state_edits: Vec::new(),
            logit_rows: vec![0, 2],
        }
    }

    #[test]
    fn a_decode_step_is_padded_by_rows_of_the_spare_lane() {
        let (layout, spare) = (StepLayout::new(8), Spare { lane: 9, block: 50 });
        let mut bytes = vec![0; layout.bytes()];
        layout.write(&batch(), Some(4), spare, &mut bytes);
        let words = |array, len| words(layout, &bytes, array, len);
        assert_eq!(words(StepArray::Tokens, 4), [LAST, 7, 8, 0]);
        assert_eq!(words(StepArray::Positions, 4), [65, 3, 9, 0]);
        assert_eq!(words(StepArray::Slots, 4), [129, 3, 73, 3200]);
        assert_eq!(words(StepArray::RowLanes, 4), [2, 0, 1, 9]);
        assert_eq!(words(StepArray::Starts, 5), [0, 1, 2, 3, 4]);
        assert_eq!(words(StepArray::Lengths, 4), [66, 4, 10, 1]);
        assert_eq!(words(StepArray::Lanes, 4), [2, 0, 1, 9]);
        assert_eq!(words(StepArray::LogitRows, 4), [0, 1, 2, 3]);
    }

    #[test]
    fn a_mixed_step_is_written_as_it_is() {
        let mut mixed = batch();
        (mixed.starts, mixed.context_lens, mixed.lanes) = (vec![0, 1, 3], vec![66, 10], vec![2, 1]);
        let layout = StepLayout::new(3);
        let mut bytes = vec![0; layout.bytes()];
        layout.write(&mixed, None, Spare { lane: 9, block: 50 }, &mut bytes);
        assert_eq!(words(layout, &bytes, StepArray::RowLanes, 4), [2, 1, 1, 0]);
        assert_eq!(words(layout, &bytes, StepArray::LogitRows, 3), [0, 2, 0]);
        let shape =
            StepShape { tokens: 3, decoding: 1, sequences: 2, longest: 2, logit_rows: 2, all_logits: false };
        assert_eq!(StepShape::of(&mixed), shape);
    }
}
