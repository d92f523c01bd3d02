//! Blocks of GGUF files, row after row, decoded as they are read.

use super::PackedRows;
use crate::cpu::lanes::dots::Dots;
use crate::ggml::{Block, BlockType};

/// Matrix of blocks as a file has them.
#[derive(Debug, Clone, Copy)]
pub struct FileBlocks<'a> {
    kind: BlockType,
    bytes: &'a [u8],
    cols: usize,
    /// Factor of all values.
    factor: f32,
}

impl<'a> FileBlocks<'a> {
    /// Makes a matrix of `bytes` `[rows, cols / block]` blocks.
    ///
    /// # Panics
    /// If rows aren't whole blocks, or bytes whole rows.
    pub fn new(kind: BlockType, bytes: &'a [u8], cols: usize) -> Self {
        let row = kind.matrix_bytes(1, cols);
        assert!(row.is_some_and(|row| row > 0 && bytes.len().is_multiple_of(row)), "rows of {}", kind.name());
        Self { kind, bytes, cols, factor: 1.0 }
    }

    /// Returns the matrix with all values multiplied by a factor.
    ///
    /// # Panics
    /// If the type isn't one whose files have such a factor beside the blocks.
    #[must_use]
    pub fn with_factor(self, factor: f32) -> Self {
        assert!(self.kind.has_factors_of_16(), "a factor of {}", self.kind.name());
        Self { factor, ..self }
    }

    /// Factor of all values, which isn't in the blocks.
    pub(in crate::cpu) fn factor(&self) -> f32 {
        self.factor
    }

    /// Type of the blocks.
    pub fn kind(&self) -> BlockType {
        self.kind
    }

    pub(in crate::cpu) fn len(&self) -> usize {
        self.bytes.len() / self.kind.block_bytes() * self.kind.block_len()
    }

    /// Blocks of a row.
    pub(in crate::cpu) fn row(&self, row: usize) -> impl Iterator<Item = &'a [u8]> {
        let size = self.cols / self.kind.block_len() * self.kind.block_bytes();
        self.bytes[row * size..][..size].chunks_exact(self.kind.block_bytes())
    }

    /// Decodes a block, with the factor of all values.
    fn decode(&self, bytes: &[u8], to: &mut Block) {
        self.kind.decode(bytes, to);
        to.factors_of_16.iter_mut().for_each(|of_16| *of_16 *= self.factor);
    }

    pub(in crate::cpu) fn get(&self, i: usize) -> f32 {
        let (block, place) = (i / self.kind.block_len(), i % self.kind.block_len());
        let size = self.kind.block_bytes();
        let mut values = [0.0; crate::ggml::MAX_BLOCK];
        let mut decoded = Block::default();
        self.decode(&self.bytes[block * size..][..size], &mut decoded);
        decoded.values(self.kind, &mut values[..self.kind.block_len()]);
        values[place]
    }
}

impl PackedRows<f32> for FileBlocks<'_> {
    #[inline(always)]
    fn widen<L: Dots>(&self, _: L, row: usize, to: &mut [f32]) {
        let mut block = Block::default();
        for (bytes, to) in self.row(row).zip(to.chunks_exact_mut(self.kind.block_len())) {
            self.decode(bytes, &mut block);
            block.values(self.kind, to);
        }
    }
}
