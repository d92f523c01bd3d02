//! Projection of queries into the latent space, and of results out of it: a small product for each head.

use super::MlaShape;
use crate::check;
use crate::{Args, Defines, DevicePtr, KernelId, Launch, Source, Variant};

static SOURCE: Source = Source { name: "mla_project.cu", text: include_str!("../../mla_project.cu") };

/// Which of the two projections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MlaSide {
    /// `x` is `[rows, heads, nope + rope]`, `out` `[rows, heads, rank + rope]`: the rotated part is copied.
    Queries,
    /// `x` is `[rows, heads, rank]`, `out` `[rows, heads, value]`.
    Values,
}

/// Multiplies each head's rows by its part of the projection; all values are bf16.
#[derive(Debug, Clone, Copy)]
pub struct MlaProject {
    /// See [`MlaSide`].
    pub x: DevicePtr,
    /// `[heads, nope + value, rank]` bf16: for each head its keys' rows, then its values' rows.
    pub projection: DevicePtr,
    /// See [`MlaSide`].
    pub out: DevicePtr,
    /// Tokens.
    pub rows: u32,
    /// Widths.
    pub shape: MlaShape,
    /// Which of the two projections.
    pub side: MlaSide,
}

impl MlaProject {
    /// # Panics
    /// Where there is nothing to compute, a pointer is null or misaligned, or a width isn't supported.
    pub fn launch(&self) -> Launch {
        let MlaShape { heads, rank, nope, rope, value } = self.shape;
        let pointers = [self.x, self.projection, self.out];
        check::shape("mla_project", self.rows, rank, &pointers);
        self.shape.check("mla_project");
        assert!(pointers.iter().all(|p| p.is_wide()), "mla_project: a pointer is misaligned");
        let (values, n) = match self.side {
            MlaSide::Queries => (0, rank),
            MlaSide::Values => (1, value),
        };
        let tile = if self.rows > 32 { 64 } else { 16 };
        let weight_tile = if values == 1 { 64 * 40 } else { 32 * 72 };
        Launch {
            kernel: Self::kernel(values, tile),
            grid: [n.div_ceil(64), self.rows.div_ceil(tile), heads],
            block: [128, 1, 1],
            shared_bytes: (tile * 40 + weight_tile) * 2,
            args: Args::new()
                .ptr(self.x)
                .ptr(self.projection)
                .ptr(self.out)
                .u32(self.rows)
                .u32(heads)
                .u32(rank)
                .u32(nope)
                .u32(rope)
                .u32(value),
            overlaps: true,
        }
    }

    fn kernel(values: u32, tile: u32) -> KernelId {
        let defines = Defines::new(&[("VALUES", values), ("TILE_M", tile)]);
        KernelId { source: &SOURCE, defines, entry: "mla_project" }
    }

    pub(crate) fn variants() -> Vec<Variant> {
        [(0, 16), (0, 64), (1, 16), (1, 64)]
            .map(|(values, tile)| Self::kernel(values, tile).variant())
            .to_vec()
    }
}

/// Reference of [`MlaSide::Queries`] for one row and head: `query[:nope] · keys`, then the rotated part. `keys` is
/// `[nope, rank]`.
pub fn mla_keys_reference(query: &[f32], keys: &[f32], rank: usize) -> Vec<f64> {
    let nope = keys.len() / rank;
    let col = |col: usize| -> f64 {
        (0..nope).map(|i| f64::from(query[i]) * f64::from(keys[i * rank + col])).sum()
    };
    (0..rank).map(col).chain(query[nope..].iter().map(|x| f64::from(*x))).collect()
}

/// Reference of [`MlaSide::Values`] for one row and head. `values` is `[value, rank]`.
pub fn mla_values_reference(latent: &[f32], values: &[f32]) -> Vec<f64> {
    let dot = |row: &[f32]| row.iter().zip(latent).map(|(w, x)| f64::from(*w) * f64::from(*x)).sum();
    values.chunks_exact(latent.len()).map(dot).collect()
}
