//! Rows of the embedding for the tokens of a step.

use crate::check::{self, THREADS};
use crate::{Args, Defines, DevicePtr, KernelId, KernelSource, Launch, Variant};

static SOURCE: KernelSource = KernelSource { name: "embed.cu", text: include_str!("../embed.cu") };

/// Token id that stands for the last sample of the row's lane, which lies on the device and isn't
/// known to the host yet.
pub const LAST: u32 = u32::MAX;

/// `out[i] = factor * table[tokens[i]]`, bf16 to f32. An id outside of the table makes a row of NaN.
#[derive(Debug, Clone, Copy)]
pub struct Embed {
    /// `[rows]` u32: ids, or [`LAST`].
    pub tokens: DevicePtr,
    /// Where [`LAST`] is looked up; `None` if no token is [`LAST`].
    pub last: Option<LastSamples>,
    /// `[vocab, cols]` bf16.
    pub table: DevicePtr,
    /// `[rows, cols]` f32.
    pub out: DevicePtr,
    /// Number of tokens.
    pub rows: u32,
    /// Width of a row.
    pub cols: u32,
    /// Rows of the table.
    pub vocab: u32,
    /// Factor of the rows.
    pub factor: f32,
}

/// Last sample of each lane, and lane of each row.
#[derive(Debug, Clone, Copy)]
pub struct LastSamples {
    /// `[lanes]` u32: token ids.
    pub samples: DevicePtr,
    /// `[rows]` u32: lanes.
    pub lanes: DevicePtr,
}

impl Embed {
    /// # Panics
    /// Where there are no rows or columns, or a pointer is null.
    pub fn launch(&self) -> Launch {
        check::shape("embed", self.rows, self.cols, &[self.tokens, self.table, self.out]);
        let width = check::width(self.cols, &[self.table, self.out]);
        Launch {
            kernel: KernelId { source: &SOURCE, defines: Defines::new(&[("WIDTH", width)]), entry: "embed" },
            grid: [self.rows, (self.cols / width).div_ceil(THREADS), 1],
            block: [THREADS, 1, 1],
            shared_bytes: 0,
            args: Args::new()
                .ptr(self.tokens)
                .optional(self.last.map(|last| last.samples))
                .optional(self.last.map(|last| last.lanes))
                .ptr(self.table)
                .ptr(self.out)
                .u32(self.cols)
                .u32(self.vocab)
                .f32(self.factor),
            overlaps: true,
        }
    }

    pub(crate) fn variants() -> Vec<Variant> {
        [1, 8].map(|width| Variant { source: &SOURCE, defines: Defines::new(&[("WIDTH", width)]) }).to_vec()
    }
}

/// Reference, for tokens without [`LAST`].
pub fn embed_reference(tokens: &[u32], table: &[f32], cols: usize) -> Vec<f64> {
    let row = |token: &u32| table[*token as usize * cols..][..cols].iter().map(|x| f64::from(*x));
    tokens.iter().flat_map(row).collect()
}
