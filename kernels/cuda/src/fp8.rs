//! FP8 weights as linear layers and experts have them on the device; see `fp8.cuh`.
//!
//! The kernel for few rows takes quantisation blocks of 128 columns, those that a warp reads at
//! once; others take the tiles' kernel. Codes stay in the order of files: reordering them at load
//! would save half an instruction of three, which isn't needed at a byte a weight.

use crate::DevicePtr;

/// Rows of a weight that share a row of scales.
pub const FP8_ROWS: u32 = 8;

/// Scales of a weight `[rows, cols]` of E4M3 codes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fp8Scales {
    /// `[rows / 8, ⌈cols / block_cols⌉]` f32.
    pub at: DevicePtr,
    /// Columns of a quantisation block, a power of two.
    pub block_cols: u32,
}

impl Fp8Scales {
    /// Whether kernels take a weight `[rows, cols]` with quantisation blocks of `block` rows and
    /// columns: eight rows lie in one quantisation block, a quantisation block has 32 columns or a
    /// greater power of two, and each row begins at a multiple of 16 bytes.
    pub fn fit((rows, cols): (u32, u32), block: (u32, u32)) -> bool {
        let are_multiples = [(rows, FP8_ROWS), (block.0, FP8_ROWS), (block.1, 32), (cols, 16)];
        are_multiples.iter().all(|(size, of)| *size > 0 && size.is_multiple_of(*of))
            && block.1.is_power_of_two()
    }

    /// The number that a column is shifted by to find its scale.
    pub(crate) fn block_shift(self) -> u32 {
        self.block_cols.ilog2()
    }

    /// Checks the scales of a weight `[rows, cols]`.
    pub(crate) fn check(&self, operation: &str, rows: u32, cols: u32) {
        let fit = Self::fit((rows, cols), (FP8_ROWS, self.block_cols)) && self.at != DevicePtr::NULL;
        assert!(fit, "{operation}: FP8 of {rows} by {cols}, {self:?}");
    }

    /// Whether the kernels for few rows take the scales: a warp reads 128 columns at a time.
    pub(crate) fn fit_few_row_kernel(&self) -> bool {
        self.block_cols == 128
    }
}
