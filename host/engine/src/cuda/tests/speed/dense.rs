//! Linear layers, norms and experts of the benchmark table.

use cuda_kernels::{
    DevicePtr, ExpertFormat, Fill, Fp8Scales, Linear, LinearInput, LinearStore, LinearWeight, MoeLayer,
    MoeLinear, RmsNorm, StoredExperts,
};

use super::bench::{Bench, Prepared};
use super::cases::{ExpertShape, Format, LinearShape};
use crate::models::ops::StoreMode;

/// Scales of weights, all one: bytes of MXFP4, f32 of FP8.
fn ones(bench: &mut Bench, format: Format, bytes: u64) -> DevicePtr {
    let out = bench.driver.allocate("scales", usize::try_from(bytes).unwrap()).unwrap();
    let word = if format == Format::Mxfp4 { 0x7f7f_7f7f } else { 1f32.to_bits() };
    bench.launch(&Fill { out, word, words: bytes / 4 }.launch());
    out
}

fn fp8_scales(at: DevicePtr) -> Fp8Scales {
    Fp8Scales { at, block_cols: 128 }
}

pub(super) fn norm(bench: &Bench, rows: u32, cols: u32, copies: u64) -> Prepared {
    let (x, weight, out) = (bench.inputs, bench.pool, bench.out);
    let norm = RmsNorm { x, weight, out, store: StoreMode::Overwrite, rows, cols, eps: 1e-6 };
    let bytes = u64::from(rows) * u64::from(cols) * 6;
    Prepared { launches: vec![norm.launch(); copies as usize], products: Vec::new(), bytes, operations: 0.0 }
}

pub(super) fn linear(bench: &mut Bench, rows: u32, shape: LinearShape, copies: u64) -> Prepared {
    let LinearShape { outputs, inputs, store, norm, format } = shape;
    let weights = u64::from(outputs) * u64::from(inputs);
    let scale_bytes = format.scale_bytes(outputs, inputs);
    let fp8 = (format == Format::Fp8).then(|| fp8_scales(ones(bench, format, scale_bytes)));
    let normed = LinearInput::Normed { x: bench.inputs, weight: bench.pool, eps: 1e-6 };
    let x = if norm { normed } else { LinearInput::Bf16(bench.inputs) };
    let layer = |number| {
        let weight = LinearWeight { at: bench.piece(number, format.bytes(weights)), fp8 };
        Linear { x, weight, bias: None, out: bench.out, store, rows, outputs, inputs }
    };
    // Of a gated layer the library's part is its product.
    let product = |linear: Linear| {
        let store = if store == LinearStore::SwiGlu { LinearStore::Bf16 } else { store };
        Linear { store, ..linear }.product()
    };
    let written = u64::from(outputs)
        * match store {
            LinearStore::Bf16 => 2,
            LinearStore::F32 => 4,
            LinearStore::AddF32 => 8,
            LinearStore::SwiGlu => 1,
        };
    let read = u64::from(inputs) * if norm { 4 } else { 2 };
    let bytes = format.bytes(weights) + scale_bytes + u64::from(rows) * (read + written);
    let operations = (2 * weights * u64::from(rows)) as f64;
    Prepared {
        launches: (0..copies).map(|number| layer(number).launch()).collect(),
        products: (0..copies).filter_map(|number| product(layer(number))).collect(),
        bytes,
        operations,
    }
}

/// Linear layer of experts; the routes go to the experts in turn.
pub(super) fn experts(bench: &mut Bench, tokens: u32, shape: ExpertShape, copies: u64) -> Prepared {
    let ExpertShape { experts, per_token, n, k, format } = shape;
    let routes = tokens * per_token;
    let mut order: Vec<u32> = (0..routes).collect();
    order.sort_by_key(|route| route % experts);
    let before = |expert| (0..routes).filter(|route| route % experts < expert).count() as u32;
    let starts: Vec<u32> = (0..=experts).map(before).collect();
    let (order, starts) = (bench.u32(&order), bench.u32(&starts));
    let bytes = format.bytes(u64::from(n) * u64::from(k));
    let scale_bytes = format.scale_bytes(n, k);
    let scales = ones(bench, format, u64::from(experts) * scale_bytes.max(4));
    let (x, out) = (bench.inputs, bench.out);
    let launch = |number| {
        let format = match format {
            Format::Bf16 => ExpertFormat::Bf16,
            Format::Mxfp4 => ExpertFormat::Mxfp4 { scales },
            Format::Fp8 => ExpertFormat::Fp8(fp8_scales(scales)),
        };
        let at = bench.piece(number, bytes * u64::from(experts));
        let weights = StoredExperts { at, format, bias: None };
        let layer = MoeLayer::GateUp { per_token };
        MoeLinear { x, order, starts, weights, out, routes, experts, n, k, layer }.launch()
    };
    Prepared {
        launches: (0..copies).map(launch).collect(),
        products: Vec::new(),
        bytes: u64::from(routes.min(experts)) * (bytes + scale_bytes)
            + u64::from(routes) * u64::from(n + k) * 2,
        operations: 2.0 * f64::from(routes) * f64::from(n) * f64::from(k),
    }
}
