//! Kernels of the benchmark table for a compressed cache, with the widths of DeepSeek-V3, Kimi K2
//! and Moonlight.

use cuda_kernels::{
    DevicePtr, Launch, MlaAttention, MlaDecode, MlaPrefill, MlaProject, MlaSide, decode_work,
};
use ops::MlaShape;

use super::attention::{Paged, last_rows, seen};
use super::bench::{Bench, Prepared};

fn shape(heads: u32) -> MlaShape {
    MlaShape { heads: heads as usize, rank: 512, nope: 128, rope: 64, value: 128 }
}

fn token_bytes(shape: MlaShape) -> u64 {
    shape.cached_width() as u64 * 2
}

/// Bytes of a row's latent queries and results.
fn row_bytes(shape: MlaShape) -> u64 {
    (shape.heads * (2 * shape.rank + shape.rope)) as u64 * 2
}

fn attention(bench: &Bench, cache: DevicePtr, rows: u32, shape: MlaShape, paged: &Paged) -> MlaAttention {
    MlaAttention {
        queries: bench.inputs,
        cache,
        tables: paged.tables,
        table_width: paged.table_width,
        lanes: paged.lanes,
        positions: paged.positions,
        out: bench.out,
        rows,
        shape,
        scale: 0.1,
    }
}

/// Attention of rows that decode.
pub(super) fn decode(bench: &mut Bench, rows: u32, heads: u32, context: u32, copies: u64) -> Prepared {
    let shape = shape(heads);
    let paged = Paged::new(bench, rows, rows, context, token_bytes(shape));
    let list = decode_work(&vec![context - 1; rows as usize], None);
    let parts = MlaDecode::partial_bytes(list[0] as usize, shape);
    let partials = bench.driver.allocate("parts", parts).unwrap();
    let (work, counters) = (bench.u32(&list), bench.zeros(rows * heads.div_ceil(16)));
    let blocks = bench.driver.device().multiprocessors * 2;
    let launch = |number| {
        let attention = attention(bench, bench.piece(number, paged.plane), rows, shape, &paged);
        MlaDecode { attention, work, partials, counters, blocks }.launch()
    };
    Prepared {
        launches: (0..copies).map(launch).collect(),
        products: Vec::new(),
        bytes: u64::from(rows) * (u64::from(context) * token_bytes(shape) + row_bytes(shape)),
        operations: 0.0,
    }
}

/// Attention of the last rows of one prompt.
pub(super) fn prefill(bench: &mut Bench, rows: u32, heads: u32, context: u32, copies: u64) -> Prepared {
    let (shape, rows) = (shape(heads), rows.min(context));
    let paged = Paged::new(bench, 1, rows, context, token_bytes(shape));
    let (tiles, count) = last_rows(bench, rows, context, MlaPrefill::tile_rows(heads));
    let block_shared_bytes = bench.driver.device().block_shared_bytes;
    let launch = |number| {
        let attention = attention(bench, bench.piece(number, paged.plane), rows, shape, &paged);
        MlaPrefill { attention, tiles, count, block_shared_bytes }.launch()
    };
    let of_pair = (shape.heads * (2 * shape.rank + shape.rope)) as f64 * 2.0;
    Prepared {
        launches: (0..copies).map(launch).collect(),
        products: Vec::new(),
        bytes: u64::from(context) * token_bytes(shape) + u64::from(rows) * row_bytes(shape),
        operations: seen(rows, context) * of_pair,
    }
}

/// Projection of queries into the latent space, or of results out of it.
pub(super) fn project(bench: &mut Bench, rows: u32, heads: u32, side: MlaSide, copies: u64) -> Prepared {
    let shape = shape(heads);
    let MlaShape { rank, nope, rope, value, .. } = shape;
    let [of_layer, used] = [nope + value, if side == MlaSide::Queries { nope } else { value }]
        .map(|width| (shape.heads * width * rank) as u64);
    let launch = |number| -> Launch {
        let projection = bench.piece(number, of_layer * 2);
        MlaProject { x: bench.inputs, projection, out: bench.out, rows, shape, side }.launch()
    };
    let row = match side {
        MlaSide::Queries => nope + rope + rank + rope,
        MlaSide::Values => rank + value,
    };
    Prepared {
        launches: (0..copies).map(launch).collect(),
        products: Vec::new(),
        bytes: (used + u64::from(rows) * (shape.heads * row) as u64) * 2,
        operations: 2.0 * f64::from(rows) * used as f64,
    }
}
