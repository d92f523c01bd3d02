//! FP8 weights of tests.

use cuda_kernels::Fp8Scales;
use ops::E4M3_VALUES;

use super::device::{Device, values};

/// Codes of a weight `[rows, cols]`, its scales, and its values.
#[derive(Clone)]
pub(crate) struct Fp8Weight {
    pub(crate) codes: Vec<u8>,
    pub(crate) scales: Vec<f32>,
    block_cols: usize,
    pub(crate) values: Vec<f32>,
}

/// Bytes without a pattern.
pub(crate) fn bytes(len: usize, seed: u32) -> Vec<u8> {
    values(len, seed)
        .iter()
        .enumerate()
        .map(|(i, x)| (x.to_bits().rotate_left(11) as u8).wrapping_mul(37) ^ i as u8)
        .collect()
}

impl Fp8Weight {
    /// Values are below about 32 in magnitude. Codes that are NaN don't occur: a model with them is
    /// refused at load.
    pub(crate) fn new((rows, cols): (usize, usize), block_cols: usize, seed: u32) -> Self {
        let codes: Vec<u8> =
            bytes(rows * cols, seed).iter().map(|x| if x & 0x7f > 0x58 { x & 0xcf } else { *x }).collect();
        let across = cols.div_ceil(block_cols);
        let scales: Vec<f32> = values(rows / 8 * across, seed + 1).iter().map(|x| 0.1003 + x.abs()).collect();
        let scale = |i: usize| scales[i / cols / 8 * across + i % cols / block_cols];
        let values =
            codes.iter().enumerate().map(|(i, code)| E4M3_VALUES[usize::from(*code)] * scale(i)).collect();
        Self { codes, scales, block_cols, values }
    }

    pub(crate) fn on(&self, device: &Device) -> Fp8Scales {
        Fp8Scales { at: device.f32(&self.scales), block_cols: self.block_cols as u32 }
    }
}
