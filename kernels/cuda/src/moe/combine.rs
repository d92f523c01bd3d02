//! Weighted sum of the experts' results.

use crate::check::{self, THREADS};
use crate::{Args, Defines, DevicePtr, KernelId, KernelSource, Launch, Variant};

static SOURCE: KernelSource =
    KernelSource { name: "moe_combine.cu", text: include_str!("../../moe_combine.cu") };

/// `out[token] += Σ weight · result`, over a token's experts in the order of their choice.
#[derive(Debug, Clone, Copy)]
pub struct MoeCombine {
    /// `[rows * per_token, cols]` f32.
    pub results: DevicePtr,
    /// `[rows, per_token]` f32.
    pub weights: DevicePtr,
    /// `[rows, cols]` f32.
    pub out: DevicePtr,
    /// Tokens.
    pub rows: u32,
    /// Width of a row.
    pub cols: u32,
    /// Experts of a token.
    pub per_token: u32,
}

impl MoeCombine {
    /// # Panics
    /// Where there is nothing to compute or a pointer is null.
    pub fn launch(&self) -> Launch {
        let pointers = [self.results, self.out];
        check::shape(
            "moe_combine",
            self.rows,
            self.cols * self.per_token,
            &[self.results, self.weights, self.out],
        );
        let width = if self.cols.is_multiple_of(4) && pointers.iter().all(|p| p.is_wide()) { 4 } else { 1 };
        Launch {
            kernel: KernelId {
                source: &SOURCE,
                defines: Defines::new(&[("WIDTH", width)]),
                entry: "moe_combine",
            },
            grid: [self.rows, (self.cols / width).div_ceil(THREADS), 1],
            block: [THREADS, 1, 1],
            shared_bytes: 0,
            args: Args::new()
                .ptr(self.results)
                .ptr(self.weights)
                .ptr(self.out)
                .u32(self.cols)
                .u32(self.per_token),
            overlaps: true,
        }
    }

    pub(crate) fn variants() -> Vec<Variant> {
        [1, 4].map(|width| Variant { source: &SOURCE, defines: Defines::new(&[("WIDTH", width)]) }).to_vec()
    }
}

/// Reference: the sums added to `out`.
pub fn moe_combine_reference(results: &[f32], weights: &[f32], out: &[f32], cols: usize) -> Vec<f64> {
    let per_token = weights.len() * cols / out.len();
    let one = |(i, out): (usize, &f32)| {
        let (token, col) = (i / cols, i % cols);
        let routes = token * per_token..(token + 1) * per_token;
        let sum: f64 = routes.map(|r| f64::from(weights[r]) * f64::from(results[r * cols + col])).sum();
        f64::from(*out) + sum
    };
    out.iter().enumerate().map(one).collect()
}
