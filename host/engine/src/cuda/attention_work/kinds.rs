//! Kinds of lists that the attention kernels of a model take.

use cuda_kernels::{AttentionDecode, AttentionPrefill, MlaDecode, MlaPrefill, size, supports_mla_tiles};

use crate::models::{AttentionConfig, LatentConfig, ModelConfig};

/// Kinds of lists that a model's attention kernels take.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::cuda) struct WorkKinds {
    pub(in crate::cuda) decode: Option<DecodeKind>,
    pub(in crate::cuda) tiles: Option<TileKind>,
}

/// Sizes of the lists of spans, for rows that decode.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::cuda) struct DecodeKind {
    /// Different windows of the model's layers.
    pub(in crate::cuda) windows: Vec<Option<u32>>,
    /// Bytes of a span's partial results.
    pub(in crate::cuda) part_bytes: usize,
    /// Number of counters that a row needs.
    pub(in crate::cuda) counters: usize,
}

/// Sizes of the list of tiles, for rows of prompts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::cuda) struct TileKind {
    pub(in crate::cuda) tiled: TiledRows,
    /// Greatest number of rows of a tile.
    pub(in crate::cuda) rows: u32,
}

/// Which rows are cut into tiles.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::cuda) enum TiledRows {
    /// Rows of sequences that have several rows in the step.
    Prompts,
    /// All rows of the step: those of a deterministic engine.
    All,
}

impl TileKind {
    fn new(rows: u32, deterministic: bool) -> Self {
        Self { tiled: if deterministic { TiledRows::All } else { TiledRows::Prompts }, rows }
    }
}

impl WorkKinds {
    /// Kinds that the attention kernels of a model need.
    pub(in crate::cuda) fn of(config: &ModelConfig, deterministic: bool) -> Self {
        // All layers have one shape: the cache asks for it.
        let shape = match &config.layers[0].attention {
            AttentionConfig::Grouped(sizes) => sizes.shape,
            AttentionConfig::Latent(sizes) => return latent_kinds(sizes, deterministic),
            AttentionConfig::Delta(_) | AttentionConfig::ShortConv(_) => {
                return Self { decode: None, tiles: None };
            }
        };
        let by_tiles = AttentionPrefill::supports(shape);
        let tiles = by_tiles.then(|| TileKind::new(AttentionPrefill::TILE_ROWS, deterministic));
        let by_spans = by_tiles && !deterministic && AttentionDecode::supports(shape);
        let mut windows: Vec<_> = config.layers.iter().map(|layer| layer.window.map(size)).collect();
        windows.sort_unstable();
        windows.dedup();
        let part_bytes = AttentionDecode::partial_bytes(1, shape);
        let decode = by_spans.then_some(DecodeKind { windows, part_bytes, counters: shape.kv_heads });
        Self { decode, tiles }
    }
}

/// Lists for attention over a compressed cache, whose kernels of tiles and of spans support the
/// same shapes.
fn latent_kinds(sizes: &LatentConfig, deterministic: bool) -> WorkKinds {
    let shape = sizes.shape;
    let kind = DecodeKind {
        windows: vec![None],
        part_bytes: MlaDecode::partial_bytes(1, shape),
        counters: shape.heads.div_ceil(16),
    };
    let by_tiles = supports_mla_tiles(shape);
    let tiles = by_tiles.then(|| TileKind::new(MlaPrefill::tile_rows(size(shape.heads)), deterministic));
    WorkKinds { decode: (by_tiles && !deterministic).then_some(kind), tiles }
}
