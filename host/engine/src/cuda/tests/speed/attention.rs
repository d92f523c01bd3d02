//! Attention kernels of the benchmark table: rows that decode, and rows of a prompt.

use cuda_kernels::{
    Attention, AttentionDecode, AttentionPrefill, DevicePtr, PagedCache, PrefillRows, decode_work,
    prefill_tiles, size,
};
use ops::{AttentionSpec, QkvShape};

use super::bench::{Bench, Prepared};
use super::cases::CacheShape;

const BLOCK: u32 = 64;

/// Block tables, lanes and positions of sequences of one length.
pub(super) struct Paged {
    pub(super) tables: DevicePtr,
    pub(super) table_width: u32,
    pub(super) lanes: DevicePtr,
    pub(super) positions: DevicePtr,
    /// Bytes of the cache's keys, which are as many as those of its values, or of its compressed
    /// rows.
    pub(super) plane: u64,
}

impl Paged {
    /// Each row is at the last position of its sequence; rows of a prompt are rows of one sequence.
    pub(super) fn new(bench: &mut Bench, sequences: u32, rows: u32, context: u32, token_bytes: u64) -> Self {
        let table_width = context.div_ceil(BLOCK);
        Self {
            tables: bench.u32(&(0..sequences * table_width).collect::<Vec<_>>()),
            table_width,
            lanes: bench.u32(&(0..sequences).collect::<Vec<_>>()),
            positions: bench.u32(&vec![context - 1; rows as usize]),
            plane: u64::from(sequences * table_width * BLOCK) * token_bytes,
        }
    }

    fn attention(&self, bench: &Bench, number: u64, rows: u32, shape: CacheShape) -> Attention {
        let cache = PagedCache {
            keys: bench.piece(2 * number, self.plane),
            values: bench.piece(2 * number + 1, self.plane),
            tables: self.tables,
            table_width: self.table_width,
        };
        Attention {
            qkv: bench.inputs,
            cache,
            lanes: self.lanes,
            positions: self.positions,
            out: bench.out,
            rows,
            spec: AttentionSpec {
                shape: shape.heads,
                scale: 0.1,
                window: shape.window.map(|window| window as usize),
                sinks: None,
            },
        }
    }
}

/// Bytes of the KV cache that a launch reads, and of the rows that it reads and writes.
fn bytes_of(sequences: u32, rows: u32, shape: CacheShape) -> u64 {
    let CacheShape { heads, context, window } = shape;
    let seen = u64::from(window.unwrap_or(context).min(context));
    u64::from(sequences) * seen * key_bytes(heads) * 2 + u64::from(rows) * heads.out_width() as u64 * 4
}

/// Bytes of a token's keys in a layer.
fn key_bytes(heads: QkvShape) -> u64 {
    (heads.kv_heads * heads.head_dim) as u64 * 2
}

pub(super) fn decode(bench: &mut Bench, rows: u32, shape: CacheShape, copies: u64) -> Prepared {
    let CacheShape { heads, context, window } = shape;
    let paged = Paged::new(bench, rows, rows, context, key_bytes(heads));
    let list = decode_work(&vec![context - 1; rows as usize], window);
    let parts = AttentionDecode::partial_bytes(list[0] as usize, heads);
    let partials = bench.driver.allocate("parts", parts).unwrap();
    let (work, counters) = (bench.u32(&list), bench.zeros(rows * size(heads.kv_heads)));
    let blocks = bench.driver.device().multiprocessors * 2;
    let launch = |number| {
        let attention = paged.attention(bench, number, rows, shape);
        AttentionDecode { attention, work, partials, counters, blocks }.launch()
    };
    let launches = (0..copies).map(launch).collect();
    Prepared { launches, products: Vec::new(), bytes: bytes_of(rows, rows, shape), operations: 0.0 }
}

/// Address and number of the tiles of the last rows of one prompt.
pub(super) fn last_rows(bench: &mut Bench, rows: u32, context: u32, tile_rows: u32) -> (DevicePtr, u32) {
    let rows = PrefillRows { first_row: 0, rows, position: context - rows, lane: 0 };
    let tiles = prefill_tiles(&[rows], tile_rows);
    (bench.u32(&tiles), tiles.len() as u32 / 4)
}

/// Positions that the last rows of one prompt see, in all.
pub(super) fn seen(rows: u32, context: u32) -> f64 {
    f64::from(rows) * (f64::from(context) + f64::from(context - rows)) / 2.0
}

/// Attention of the last rows of one prompt.
pub(super) fn prefill(bench: &mut Bench, rows: u32, shape: CacheShape, copies: u64) -> Prepared {
    let CacheShape { heads, context, .. } = shape;
    let rows = rows.min(context);
    let paged = Paged::new(bench, 1, rows, context, key_bytes(heads));
    let (tiles, count) = last_rows(bench, rows, context, AttentionPrefill::TILE_ROWS);
    let launch = |number| {
        let attention = paged.attention(bench, number, rows, shape);
        AttentionPrefill { attention, tiles, count }.launch()
    };
    Prepared {
        launches: (0..copies).map(launch).collect(),
        products: Vec::new(),
        bytes: bytes_of(1, rows, shape),
        operations: 4.0 * seen(rows, context) * heads.out_width() as f64,
    }
}
