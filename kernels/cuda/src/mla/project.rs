//! Projection of queries into the latent space, and of results out of it: a small product for each
//! head.

use ops::MlaShape;

use super::widths;
use crate::check;
use crate::{Args, Defines, DevicePtr, KernelId, KernelSource, Launch, Variant};

static SOURCE: KernelSource =
    KernelSource { name: "mla_project.cu", text: include_str!("../../mla_project.cu") };

/// Which of the two projections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MlaSide {
    /// `x` is `[rows, heads, nope + rope]`, `out` `[rows, heads, rank + rope]`: the rotated part is
    /// copied.
    Queries,
    /// `x` is `[rows, heads, rank]`, `out` `[rows, heads, value]`.
    Values,
}

/// Sizes of a block's tile.
#[derive(Debug, Clone, Copy)]
struct ProjectTile {
    /// Rows of x.
    m: u32,
    /// Columns of the result.
    n: u32,
    /// Parts of the inner dimension in shared memory at a time, 32 elements of each row.
    stages: u32,
}

impl ProjectTile {
    const ALL: [Self; 3] = [
        Self { m: 16, n: 64, stages: 4 },
        Self { m: 64, n: 64, stages: 4 },
        Self { m: 128, n: 128, stages: 3 },
    ];

    /// Small tiles where rows are few: there are more blocks, and fewer rows are padding.
    fn of(rows: u32) -> Self {
        Self::ALL[match rows {
            0..=32 => 0,
            33..=255 => 1,
            256.. => 2,
        }]
    }

    fn shared_bytes(self, side: MlaSide) -> u32 {
        let weight = match side {
            MlaSide::Queries => 32 * (self.n + 8),
            MlaSide::Values => self.n * (32 + 8),
        };
        self.stages * (self.m * (32 + 8) + weight) * 2
    }
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
    /// Where there is nothing to compute, a pointer is null or misaligned, or a width isn't
    /// supported.
    pub fn launch(&self) -> Launch {
        let [heads, rank, nope, rope, value] = widths(self.shape, "mla_project");
        let pointers = [self.x, self.projection, self.out];
        check::shape("mla_project", self.rows, rank, &pointers);
        assert!(pointers.iter().all(|p| p.is_wide()), "mla_project: a pointer is misaligned");
        let (tile, cols) =
            (ProjectTile::of(self.rows), if self.side == MlaSide::Queries { rank } else { value });
        Launch {
            kernel: Self::kernel(self.side, tile),
            grid: [cols.div_ceil(tile.n), self.rows.div_ceil(tile.m), heads],
            block: [if tile.m == 128 { 256 } else { 128 }, 1, 1],
            shared_bytes: tile.shared_bytes(self.side),
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

    fn kernel(side: MlaSide, tile: ProjectTile) -> KernelId {
        let ProjectTile { m, n, stages } = tile;
        let values = u32::from(side == MlaSide::Values);
        let defines = Defines::new(&[("VALUES", values), ("TILE_M", m), ("TILE_N", n), ("STAGES", stages)]);
        KernelId { source: &SOURCE, defines, entry: "mla_project" }
    }

    pub(crate) fn variants() -> Vec<Variant> {
        let sides = [MlaSide::Queries, MlaSide::Values];
        let of = |side| ProjectTile::ALL.map(|tile| Self::kernel(side, tile).variant());
        sides.into_iter().flat_map(of).collect()
    }
}

/// Reference of [`MlaSide::Queries`] for one row and head: `query[:nope] · keys`, then the rotated
/// part. `keys` is `[nope, rank]`.
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
