//! What kernels reach on a GPU, in shapes of models: bytes that they must move, the time of one in a graph of many, and the share of what a copy
//! reaches in the same run. Each launch has weights or a cache of its own, so that no second-level cache has them.
//!
//! The table is printed by `tests/cuda/run.sh` (it is ignored otherwise: times mean nothing on the shim); the test beside it launches everything
//! in small.

#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    reason = "shapes of models, for people"
)]

mod cases;

use std::path::PathBuf;
use std::time::Instant;

use cuda_kernels::{
    Attention, AttentionDecode, AttentionPrefill, DevicePtr, ExpertFormat, Fill, Launch, Linear, LinearInput,
    LinearStore, MlaAttention, MlaDecode, MlaShape, MoeLayer, MoeLinear, PagedCache, PrefillRows,
    RandomWeights, RmsNorm, StoredExperts, decode_work, prefill_tiles,
};

use super::rig::device;
use crate::ModelFiles;
use crate::cuda::driver::Driver;
use crate::models::ModelConfig;
use cases::{Work, cases, linear, shrunk};

/// A device with random numbers on it.
struct Bench {
    driver: Box<dyn Driver>,
    /// Weights and caches.
    pool: DevicePtr,
    pool_bytes: u64,
    /// Activations, and results.
    inputs: DevicePtr,
    out: DevicePtr,
}

impl Bench {
    fn new(mut driver: Box<dyn Driver>, pool_bytes: u64, activation_bytes: u64) -> Self {
        let bytes = |bytes: u64| usize::try_from(bytes).unwrap();
        let pool = driver.allocate("weights", bytes(pool_bytes)).unwrap();
        let inputs = driver.allocate("activations", bytes(activation_bytes)).unwrap();
        let out = driver.allocate("activations", bytes(activation_bytes)).unwrap();
        let mut bench = Self { driver, pool, pool_bytes, inputs, out };
        for (at, bytes) in [(pool, pool_bytes), (inputs, activation_bytes), (out, activation_bytes)] {
            let weights = RandomWeights { out: at, count: bytes / 2, seed: at.0, middle: 0.0, spread: 0.1 };
            bench.launch(&weights.launch());
        }
        bench.driver.synchronize().unwrap();
        bench
    }

    fn launch(&mut self, launch: &Launch) {
        self.driver.prepare(&[launch.kernel.variant()], &mut |_| {}).unwrap();
        self.driver.launch(launch).unwrap();
    }

    fn u32(&mut self, values: &[u32]) -> DevicePtr {
        let at = self.driver.allocate("lists", values.len().max(4) * 4).unwrap();
        let mut memory = self.driver.pinned(values.len() * 4).unwrap();
        memory.bytes_mut()[..values.len() * 4].copy_from_slice(bytemuck::cast_slice(values));
        self.driver.upload(memory.as_ref(), 0..values.len() * 4, at).unwrap();
        self.driver.synchronize().unwrap();
        at
    }

    fn zeros(&mut self, words: u32) -> DevicePtr {
        self.u32(&vec![0; words as usize])
    }

    /// A piece of the pool, another one for each number as far as there are others.
    fn piece(&self, number: u64, bytes: u64) -> DevicePtr {
        let pieces = (self.pool_bytes / bytes.next_multiple_of(256)).max(1);
        self.pool.offset(number % pieces * bytes.next_multiple_of(256))
    }

    /// Seconds of each of these, as one graph.
    fn time(&mut self, launches: &[Launch]) -> f64 {
        self.launch(&launches[0]);
        self.driver.synchronize().unwrap();
        self.driver.begin_capture().unwrap();
        for launch in launches {
            self.driver.launch(launch).unwrap();
        }
        let graph = self.driver.end_capture().unwrap();
        let mut best = f64::INFINITY;
        for _ in 0..3 {
            let begin = Instant::now();
            self.driver.replay(graph).unwrap();
            self.driver.synchronize().unwrap();
            best = best.min(begin.elapsed().as_secs_f64());
        }
        best / launches.len() as f64
    }

    /// Bytes per second of a copy of one half of the pool over the other, both ways counted.
    fn copy(&mut self) -> f64 {
        let (half, mut best) = (self.pool_bytes / 2, f64::INFINITY);
        for _ in 0..5 {
            let begin = Instant::now();
            self.driver.copy(self.pool, half as usize, self.pool.offset(half)).unwrap();
            self.driver.synchronize().unwrap();
            best = best.min(begin.elapsed().as_secs_f64());
        }
        2.0 * half as f64 / best
    }

    /// Launches of one case, the bytes that each has to move, and what it multiplies and adds.
    fn prepare(&mut self, rows: u32, work: Work, copies: u64) -> (Vec<Launch>, u64, f64) {
        match work {
            Work::Linear { .. } | Work::Norm { .. } => self.dense(rows, work, copies),
            Work::Experts { .. } => self.experts(rows, work, copies),
            _ => self.attention(rows, work, copies),
        }
    }

    fn dense(&mut self, rows: u32, work: Work, copies: u64) -> (Vec<Launch>, u64, f64) {
        let (inputs, out, n) = (self.inputs, self.out, u64::from(rows));
        let Work::Linear { outputs, inputs: cols, store, norm } = work else {
            let Work::Norm { cols } = work else { unreachable!("a dense one") };
            let norm = RmsNorm { x: inputs, weight: self.pool, out, rows, cols, eps: 1e-6 };
            return (vec![norm.launch(); copies as usize], n * u64::from(cols) * 6, 0.0);
        };
        let bytes = u64::from(outputs) * u64::from(cols) * 2;
        let launch = |number| {
            let normed = LinearInput::Normed { x: inputs, weight: self.pool, eps: 1e-6 };
            let x = if norm { normed } else { LinearInput::Bf16(inputs) };
            let weight = self.piece(number, bytes);
            Linear { x, weight, bias: None, out, store, rows, outputs, inputs: cols }.launch()
        };
        let written = match store {
            LinearStore::Bf16 => 2 * u64::from(outputs),
            LinearStore::F32 => 4 * u64::from(outputs),
            LinearStore::AddF32 => 8 * u64::from(outputs),
            LinearStore::SwiGlu => u64::from(outputs),
        };
        let moved = bytes + n * (u64::from(cols) * if norm { 4 } else { 2 } + written);
        ((0..copies).map(launch).collect(), moved, (bytes * n) as f64)
    }

    fn experts(&mut self, tokens: u32, work: Work, copies: u64) -> (Vec<Launch>, u64, f64) {
        let Work::Experts { experts, per_token, n, k, mxfp4 } = work else { unreachable!("experts") };
        let routes = tokens * per_token;
        // Every expert in turn, as many as there are routes.
        let mut order: Vec<u32> = (0..routes).collect();
        order.sort_by_key(|route| route % experts);
        let starts: Vec<u32> = (0..=experts)
            .map(|expert| (0..routes).filter(|route| route % experts < expert).count() as u32)
            .collect();
        let (order, starts) = (self.u32(&order), self.u32(&starts));
        let bytes = u64::from(n) * u64::from(k) * if mxfp4 { 1 } else { 4 } / 2;
        let scales = self.driver.allocate("scales", (experts * n * k / 32) as usize).unwrap();
        self.launch(
            &Fill { out: scales, words: u64::from(experts * n * k / 128), word: 0x7f7f_7f7f }.launch(),
        );
        let launch = |number| {
            let format = if mxfp4 { ExpertFormat::Mxfp4 { scales } } else { ExpertFormat::Bf16 };
            let at = self.piece(number, bytes * u64::from(experts));
            let weights = StoredExperts { at, format, bias: None };
            let layer = MoeLayer::GateUp { per_token };
            MoeLinear { x: self.inputs, order, starts, weights, out: self.out, routes, experts, n, k, layer }
                .launch()
        };
        let exponents = if mxfp4 { u64::from(n * k / 32) } else { 0 };
        let moved =
            u64::from(routes.min(experts)) * (bytes + exponents) + u64::from(routes) * u64::from(n + k) * 2;
        let work = 2.0 * f64::from(routes) * f64::from(n) * f64::from(k);
        ((0..copies).map(launch).collect(), moved, work)
    }

    fn attention(&mut self, rows: u32, work: Work, copies: u64) -> (Vec<Launch>, u64, f64) {
        let (heads, kv_heads, head_dim, context, window) = match work {
            Work::Decode { heads, kv_heads, head_dim, context, window } => {
                (heads, kv_heads, head_dim, context, window)
            }
            Work::Prefill { heads, kv_heads, head_dim, context } => {
                (heads, kv_heads, head_dim, context, None)
            }
            Work::Mla { heads, context } => (heads, 1, 576, context, None),
            _ => unreachable!("attention"),
        };
        let sequences = if matches!(work, Work::Prefill { .. }) { 1 } else { rows };
        let rows = if sequences == 1 { rows.min(context) } else { rows };
        let width = context.div_ceil(64);
        let tables = self.u32(&(0..sequences * width).collect::<Vec<_>>());
        let lanes = self.u32(&(0..sequences).collect::<Vec<_>>());
        let at = vec![context - 1; rows as usize];
        let (positions, list) = (self.u32(&at), decode_work(&at, window));
        let plane = u64::from(sequences * width * 64) * u64::from(kv_heads * head_dim) * 2;
        let seen = u64::from(window.unwrap_or(context).min(context));
        let blocks = self.driver.device().multiprocessors * 2;
        let counters = self.zeros(rows * kv_heads.max(2));
        let (inputs, out, scale) = (self.inputs, self.out, 0.1);
        if let Work::Mla { .. } = work {
            let shape = MlaShape { heads, rank: 512, nope: 128, rope: 64, value: 128 };
            let partials =
                self.driver.allocate("parts", MlaDecode::partial_bytes(list[0] as usize, shape)).unwrap();
            let work = self.u32(&list);
            let launch = |number| {
                let cache = self.piece(number, plane);
                let attention = MlaAttention {
                    queries: inputs,
                    cache,
                    tables,
                    table_width: width,
                    lanes,
                    positions,
                    out,
                    rows,
                    shape,
                    scale,
                };
                MlaDecode { attention, work, partials, counters, blocks }.launch()
            };
            let moved = u64::from(rows) * (seen * 1152 + u64::from(heads) * (576 + 512) * 2);
            return ((0..copies).map(launch).collect(), moved, 0.0);
        }
        let parts = AttentionDecode::partial_bytes(list[0] as usize, heads, head_dim);
        let partials = self.driver.allocate("parts", parts).unwrap();
        let tiles = prefill_tiles(&[PrefillRows { first_row: 0, rows, position: context - rows, lane: 0 }]);
        let (work_list, count, tiles) = (self.u32(&list), tiles.len() as u32 / 4, self.u32(&tiles));
        let launch = |number| {
            let keys = self.piece(2 * number, plane);
            let cache =
                PagedCache { keys, values: self.piece(2 * number + 1, plane), tables, table_width: width };
            let attention = Attention {
                qkv: inputs,
                cache,
                lanes,
                positions,
                sinks: None,
                out,
                rows,
                heads,
                kv_heads,
                head_dim,
                window,
                scale,
            };
            match work {
                Work::Prefill { .. } => AttentionPrefill { attention, tiles, count }.launch(),
                _ => AttentionDecode { attention, work: work_list, partials, counters, blocks }.launch(),
            }
        };
        let launches: Vec<Launch> = (0..copies).map(launch).collect();
        let per_row = u64::from(heads * head_dim) * 4;
        let cached = u64::from(sequences) * seen * u64::from(kv_heads * head_dim) * 4;
        let pairs = u64::from(rows) * (u64::from(context) + u64::from(context - rows)) / 2;
        let work = if sequences == 1 { 4.0 * pairs as f64 * f64::from(heads * head_dim) } else { 0.0 };
        (launches, cached + u64::from(rows) * per_row, work)
    }
}

fn print(kernel: &str, name: &str, rows: u32, (bytes, work, seconds): (u64, f64, f64), copy: f64) {
    let rate = bytes as f64 / seconds;
    println!(
        "{kernel:<18} {name:<20} {rows:>5} rows {:>10.2} MB {:>9.1} us {:>8.0} GB/s {:>6.1} % of copy {:>7.1} TFLOP/s",
        bytes as f64 / 1e6,
        seconds * 1e6,
        rate / 1e9,
        rate / copy * 100.0,
        work / seconds / 1e12
    );
}

#[test]
#[ignore = "for a GPU, by tests/cuda/run.sh"]
fn table() {
    let mut bench = Bench::new(device(), 6 << 30, 512 << 20);
    let copy = bench.copy();
    println!("copy {:.0} GB/s (read and written)", copy / 1e9);
    let (launches, bytes, work) = bench.prepare(4096, linear(8192, 8192, LinearStore::Bf16), 8);
    let seconds = bench.time(&launches);
    print(launches[0].kernel.entry, "matmul rate", 4096, (bytes, work, seconds), copy);
    for (name, rows, work) in cases() {
        // Enough launches to have read more than caches hold, and for the clock.
        let (_, bytes, _) = bench.prepare(rows, work, 1);
        let copies = ((512 << 20) / bytes).clamp(4, 64);
        let (launches, bytes, work) = bench.prepare(rows, work, copies);
        let seconds = bench.time(&launches);
        print(launches[0].kernel.entry, name, rows, (bytes, work, seconds), copy);
    }
}

#[test]
fn everything_in_the_table_runs() {
    let mut bench = Bench::new(device(), 16 << 20, 4 << 20);
    for case in cases() {
        let (_, rows, work) = shrunk(case);
        let (launches, bytes, _) = bench.prepare(rows, work, 2);
        assert!(bench.time(&launches) > 0.0 && bytes > 0, "{case:?}");
    }
}

#[test]
fn the_models_that_are_measured_have_configurations() {
    let shapes = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/cuda/shapes");
    let layers = ["qwen3-0.6b", "qwen3-8b", "gpt-oss-20b", "moonlight"].map(|name| {
        let files = ModelFiles::Directory(PathBuf::from(shapes).join(name));
        ModelConfig::read(&files).unwrap_or_else(|error| panic!("{name}: {error}")).layers.len()
    });
    assert_eq!(layers, [28, 36, 24, 27]);
}
