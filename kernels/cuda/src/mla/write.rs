//! Writing of a row to the compressed cache, and rotation of the queries.

use ops::{MlaShape, Norm};

use super::widths;
use crate::check::{self, THREADS};
use crate::{Args, Defines, DevicePtr, KernelId, KernelSource, Launch, Variant};

static SOURCE: KernelSource = KernelSource { name: "mla_write.cu", text: include_str!("../../mla_write.cu") };

/// Norms the latent part of the rows of `kv`, rotates their keys, writes both to the rows' slots,
/// and rotates the queries in place.
#[derive(Debug, Clone, Copy)]
pub struct MlaWrite {
    /// `[rows, heads, nope + rope]` bf16.
    pub queries: DevicePtr,
    /// `[rows, rank + rope]` bf16.
    pub kv: DevicePtr,
    /// The norm, with a weight `[rank]` f32.
    pub norm: Norm<DevicePtr>,
    /// `[rope / 2]` f32: radians per position.
    pub frequencies: DevicePtr,
    /// Factor of the cosines and sines.
    pub rope_factor: f32,
    /// `[rows]` u32, below 2²¹.
    pub positions: DevicePtr,
    /// `[rows]` u32: `64 * block + place in the block`.
    pub slots: DevicePtr,
    /// `[blocks, 64, rank + rope]` bf16.
    pub cache: DevicePtr,
    /// Tokens.
    pub rows: u32,
    /// Widths.
    pub shape: MlaShape,
}

impl MlaWrite {
    /// # Panics
    /// Where there is nothing to compute, a pointer is null or misaligned, or a width isn't
    /// supported.
    pub fn launch(&self) -> Launch {
        let [heads, rank, nope, rope, _] = widths(self.shape, "mla_write");
        let wide = [self.queries, self.kv, self.norm.weight, self.cache];
        check::shape("mla_write", self.rows, rank, &[self.frequencies, self.positions, self.slots]);
        check::shape("mla_write", self.rows, rank, &wide);
        assert!(wide.iter().all(|p| p.is_wide()), "mla_write: a pointer is misaligned");
        Launch {
            kernel: Self::kernel(rank, rope),
            grid: [self.rows, 1, 1],
            block: [THREADS, 1, 1],
            shared_bytes: 32 * 4,
            args: Args::new()
                .ptr(self.queries)
                .ptr(self.kv)
                .ptr(self.norm.weight)
                .ptr(self.frequencies)
                .ptr(self.positions)
                .ptr(self.slots)
                .ptr(self.cache)
                .u32(heads)
                .u32(nope)
                .f32(self.norm.eps)
                .f32(self.rope_factor),
            overlaps: true,
        }
    }

    fn kernel(rank: u32, rope: u32) -> KernelId {
        let defines = Defines::new(&[("RANK", rank), ("ROPE", rope)]);
        KernelId { source: &SOURCE, defines, entry: "mla_write" }
    }

    pub(crate) fn variants() -> Vec<Variant> {
        vec![Self::kernel(512, 64).variant(), Self::kernel(32, 16).variant()]
    }
}
