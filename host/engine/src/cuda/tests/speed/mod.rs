//! Benchmark of the kernels on a GPU, in shapes of models. It prints the bytes that a kernel must
//! move, the time of one launch in a graph of many, and the bandwidth as a share of a copy's in the
//! same run. Each launch has weights or a cache of its own, so that the second-level cache holds
//! none of them.
//!
//! With small shapes, as on the shim, the times mean nothing: the cases are only launched.

#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    reason = "shapes of models, for people"
)]

mod attention;
mod bench;
mod cases;
mod dense;
mod mla;

use std::path::PathBuf;

use cuda_kernels::LinearStore;

use super::products::device_with_library;
use super::rig::is_small;
use crate::ModelFiles;
use crate::cuda::ops::LIBRARY_ROWS;
use crate::models::ModelConfig;
use bench::{Bench, Prepared};
use cases::{Work, cases, linear, shrunk};

fn prepare(bench: &mut Bench, rows: u32, work: Work, copies: u64) -> Prepared {
    match work {
        Work::Linear(shape) => dense::linear(bench, rows, shape, copies),
        Work::Norm { cols } => dense::norm(bench, rows, cols, copies),
        Work::Experts(shape) => dense::experts(bench, rows, shape, copies),
        Work::Decode(shape) => attention::decode(bench, rows, shape, copies),
        Work::Prefill(shape) => attention::prefill(bench, rows, shape, copies),
        Work::MlaDecode { heads, context } => mla::decode(bench, rows, heads, context, copies),
        Work::MlaPrefill { heads, context } => mla::prefill(bench, rows, heads, context, copies),
        Work::MlaProject { heads, side } => mla::project(bench, rows, heads, side, copies),
    }
}

/// Times the launches of a case, and the same products by the library from as many rows on as the
/// engine asks it for; prints a row of the table for each.
fn measure(bench: &mut Bench, name: &str, rows: u32, prepared: &Prepared, copy: f64) {
    let seconds = bench.time(&prepared.launches);
    print_row(prepared.launches[0].kernel.entry, name, rows, prepared, seconds, copy);
    if rows >= LIBRARY_ROWS
        && let Some(seconds) = bench.time_products(&prepared.products)
    {
        print_row("library", name, rows, prepared, seconds, copy);
    }
}

fn print_row(kernel: &str, name: &str, rows: u32, prepared: &Prepared, seconds: f64, copy: f64) {
    let Prepared { bytes, operations, .. } = prepared;
    let rate = *bytes as f64 / seconds;
    println!(
        "{kernel:<18} {name:<20} {rows:>5} rows {:>10.2} MB {:>9.1} us {:>8.0} GB/s {:>6.1} % of copy {:>7.1} TFLOP/s",
        *bytes as f64 / 1e6,
        seconds * 1e6,
        rate / 1e9,
        rate / copy * 100.0,
        operations / seconds / 1e12
    );
    assert!(seconds > 0.0 && *bytes > 0, "{name}");
}

#[test]
fn table() {
    let small = is_small();
    let (pool, activations, matrix) =
        if small { (16 << 20, 4 << 20, 64) } else { (6 << 30, 512 << 20, 8192) };
    let mut bench = Bench::new(device_with_library(), pool, activations, if small { 1 } else { 5 });
    let copy = bench.copy();
    println!("copy {:.0} GB/s (read and written)", copy / 1e9);
    let rows = matrix / 2;
    let prepared = prepare(&mut bench, rows, linear(matrix, matrix, LinearStore::Bf16), 8);
    measure(&mut bench, "matmul rate", rows, &prepared, copy);
    for case in cases() {
        let (name, rows, work) = if small { shrunk(case) } else { case };
        // Enough launches to read more bytes than caches hold, and to take long enough for the
        // clock.
        let bytes = prepare(&mut bench, rows, work, 1).bytes;
        let copies = if small { 1 } else { ((512 << 20) / bytes).clamp(4, 64) };
        let prepared = prepare(&mut bench, rows, work, copies);
        measure(&mut bench, name, rows, &prepared, copy);
    }
}

#[test]
fn the_models_that_are_measured_have_configurations() {
    let shapes = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/cuda/shapes");
    let layers = ["qwen3-0.6b", "qwen3-8b-fp8", "qwen3-30b-a3b", "gpt-oss-20b", "moonlight"].map(|name| {
        let files = ModelFiles::Directory(PathBuf::from(shapes).join(name));
        ModelConfig::read(&files).unwrap_or_else(|error| panic!("{name}: {error}")).layers.len()
    });
    assert_eq!(layers, [28, 36, 48, 24, 27]);
}
