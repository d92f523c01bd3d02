//! Copies of tensors whose rows or codes GGUF files have in another order. A row is a number of
//! bytes here: its blocks aren't looked into.

use std::sync::Arc;

use crate::file_bytes::FileBytes;
use crate::models::LoadError;

/// Bytes of an MXFP4 block: a scale, and codes.
const MXFP4: usize = 17;

/// Bytes for a copy, all zero.
pub(super) fn memory(bytes: usize) -> Result<Vec<u8>, LoadError> {
    let mut memory = Vec::new();
    let error = |_| LoadError::Memory { what: "a copy of weights", bytes: bytes as u64 };
    memory.try_reserve_exact(bytes).map_err(error)?;
    memory.resize(bytes, 0);
    Ok(memory)
}

pub(super) fn copied(memory: Vec<u8>) -> FileBytes {
    FileBytes::Computed(Arc::from(memory))
}

/// Rows in the order of the checkpoint: in each head, those with even numbers first. `heads` that
/// don't divide the rows leave the rest as it is.
pub(super) fn without_neighbours(bytes: &[u8], rows: usize, heads: usize) -> Result<FileBytes, LoadError> {
    let mut copy = memory(bytes.len())?;
    copy.copy_from_slice(bytes);
    let (row, head) = (bytes.len() / rows, rows / heads.max(1));
    let half = head / 2;
    let size = (head * row).max(1);
    for (from, to) in bytes.chunks_exact(size).zip(copy.chunks_exact_mut(size)) {
        for (at, from) in from.chunks_exact(row).take(2 * half).enumerate() {
            to[(at % 2 * half + at / 2) * row..][..row].copy_from_slice(from);
        }
    }
    Ok(copied(copy))
}

/// The first or the second half of the rows of each head. `heads` that don't divide them into halves
/// leave zeros for the rest.
pub(super) fn half_of_each_head(bytes: &[u8], heads: usize, second: bool) -> Result<FileBytes, LoadError> {
    let mut copy = memory(bytes.len() / 2)?;
    let size = (copy.len() / heads.max(1)).max(1);
    let halves = bytes.chunks_exact(size).skip(usize::from(second)).step_by(2);
    for (to, from) in copy.chunks_exact_mut(size).zip(halves) {
        to.copy_from_slice(from);
    }
    Ok(copied(copy))
}

/// Rows of `row` bytes, in turn from each of two tensors of one size.
pub(super) fn alternate(even: &[u8], odd: &[u8], row: usize) -> Result<FileBytes, LoadError> {
    let mut copy = memory(even.len() + odd.len())?;
    let rows = even.chunks_exact(row).zip(odd.chunks_exact(row));
    for (to, (even, odd)) in copy.chunks_exact_mut(2 * row).zip(rows) {
        to[..row].copy_from_slice(even);
        to[row..].copy_from_slice(odd);
    }
    Ok(copied(copy))
}

/// Codes and scales of MXFP4 blocks. A file's block has its first sixteen codes in the lower halves
/// of bytes, and the others in the upper ones; here a byte has two neighbours.
pub(super) fn mxfp4(blocks: &[u8]) -> Result<(FileBytes, FileBytes), LoadError> {
    let count = blocks.len() / MXFP4;
    let (mut codes, mut scales) = (memory(count * (MXFP4 - 1))?, memory(count)?);
    let to = codes.chunks_exact_mut(MXFP4 - 1).zip(scales.iter_mut());
    for (block, (codes, scale)) in blocks.chunks_exact(MXFP4).zip(to) {
        *scale = block[0];
        let (lower, upper) = codes.split_at_mut(8);
        for (pair, (lower, upper)) in block[1..].chunks_exact(2).zip(lower.iter_mut().zip(upper)) {
            *lower = pair[0] & 15 | pair[1] << 4;
            *upper = pair[0] >> 4 | pair[1] & 0xf0;
        }
    }
    Ok((copied(codes), copied(scales)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_go_half_a_head_apart() {
        let rows: Vec<u8> = (0..16).collect();
        let back = without_neighbours(&rows, 8, 2).unwrap();
        assert_eq!(&*back, [0, 1, 4, 5, 2, 3, 6, 7, 8, 9, 12, 13, 10, 11, 14, 15]);
        // An odd head, which no model has, and more heads than rows.
        assert_eq!(without_neighbours(&rows, 16, 5).unwrap()[..3], [0, 1, 2]);
        assert_eq!(&*without_neighbours(&rows, 8, 100).unwrap(), &rows);
    }

    #[test]
    fn heads_are_cut_into_halves() {
        let rows: Vec<u8> = (0..8).collect();
        assert_eq!(&*half_of_each_head(&rows, 2, false).unwrap(), [0, 1, 4, 5]);
        assert_eq!(&*half_of_each_head(&rows, 2, true).unwrap(), [2, 3, 6, 7]);
        assert_eq!(half_of_each_head(&rows, 100, true).unwrap().len(), 4);
    }

    #[test]
    fn rows_of_two_tensors_alternate() {
        assert_eq!(&*alternate(&[1, 2, 3, 4], &[5, 6, 7, 8], 2).unwrap(), [1, 2, 5, 6, 3, 4, 7, 8]);
    }

    #[test]
    fn mxfp4_codes_are_put_beside_their_neighbours() {
        // Code `i` of the block is `i % 16`.
        let block: Vec<u8> = std::iter::once(130).chain((0..16).map(|i| i | i << 4)).collect();
        let (codes, scales) = mxfp4(&block).unwrap();
        let pairs: Vec<u8> = codes.iter().flat_map(|byte| [byte & 15, byte >> 4]).collect();
        assert_eq!(pairs, (0..32).map(|i| i % 16).collect::<Vec<u8>>());
        assert_eq!(&*scales, [130]);
    }
}
