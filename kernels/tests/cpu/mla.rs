//! Attention over the compressed cache against attention over keys and values made of it, and
//! against itself with the work cut differently.

#![expect(clippy::cast_possible_truncation, reason = "counts of a few hundred")]

use kernels::cpu::{
    Cpu, Isa, KvCache, KvDtype, KvShape, MlaScratch, MlaWeights, RopeAngles, SequenceRows, mla_attention,
    mla_write,
};
use ops::{MlaShape, Norm, reference};

const SHAPE: MlaShape = MlaShape { heads: 10, rank: 40, nope: 12, rope: 8, value: 14 };
const BLOCKS: usize = 20;
const SCALE: f32 = 0.2;
const EPS: f32 = 1e-6;
const FREQUENCIES: [f32; 4] = [1.0, 0.3, 0.05, 0.001];

fn value(i: usize) -> f32 {
    ((i * 7919) % 1999) as f32 / 1000.0 - 1.0
}

struct Layer {
    blocks: Vec<u32>,
    norm: Vec<f32>,
    /// Latent rows and keys as they come from the projection.
    kv: Vec<f32>,
    queries: Vec<f32>,
    projection: Vec<f32>,
}

fn layer(context: usize) -> Layer {
    let of = |count: usize, seed: usize| (0..count).map(|i| value(i + seed * 31)).collect::<Vec<f32>>();
    Layer {
        blocks: (0..context.div_ceil(16) as u32).map(|i| (i * 7 + 3) % BLOCKS as u32).collect(),
        norm: of(SHAPE.rank, 1).iter().map(|x| 1.0 + x / 2.0).collect(),
        kv: of(context * SHAPE.cached_width(), 2),
        queries: of(context * SHAPE.query_width(), 3),
        projection: of(SHAPE.heads * (SHAPE.nope + SHAPE.value) * SHAPE.rank, 4),
    }
}

/// Computes attention of a whole sequence that comes in chunks of `chunk` tokens.
fn run(cpu: &Cpu, layer: &Layer, context: usize, chunk: usize) -> Vec<f32> {
    let (head_dim, dtype) = (SHAPE.cached_width(), KvDtype::F32);
    let shape = KvShape { blocks: BLOCKS, kv_heads: 1, head_dim, latent: true, dtype };
    let mut cache = KvCache::new(&[shape]).unwrap();
    let weights = MlaWeights::new(SHAPE, &layer.projection);
    let mut scratch = MlaScratch::default();
    let mut all = Vec::new();
    for first in (0..context).step_by(chunk) {
        let end = (first + chunk).min(context);
        let positions: Vec<u32> = (first as u32..end as u32).collect();
        let slot = |p: &u32| layer.blocks[*p as usize / 16] * 16 + p % 16;
        let slots: Vec<u32> = positions.iter().map(slot).collect();
        let mut angles = RopeAngles::default();
        angles.fill(&positions, &FREQUENCIES, 1.25);
        let mut queries = layer.queries[first * SHAPE.query_width()..end * SHAPE.query_width()].to_vec();
        let kv = &layer.kv[first * SHAPE.cached_width()..end * SHAPE.cached_width()];
        let norm = Norm { weight: &layer.norm[..], eps: EPS };
        mla_write(cpu, SHAPE, norm, &angles, &slots, (&mut queries, kv), cache.layer_mut(0));
        let sequence = SequenceRows { first_row: 0, rows: end - first, context: end, blocks: &layer.blocks };
        let mut out = vec![f32::NAN; (end - first) * SHAPE.heads * SHAPE.value];
        let cache = cache.layer(0);
        mla_attention(cpu, &weights, (&queries, SCALE), &[sequence], cache, &mut scratch, &mut out);
        all.extend(out);
    }
    all
}

/// Rotates pairs of neighbours, times the factor of the angles.
fn rotated(x: &[f32], position: usize) -> Vec<f32> {
    let rotated = reference::interleaved_rope(x, &FREQUENCIES, 1.25, position as u32);
    rotated.into_iter().map(|x| x as f32).collect()
}

#[test]
fn absorbed_form_equals_plain_attention() {
    let context = 150;
    let layer = layer(context);
    let MlaShape { heads, rank, nope, rope, value } = SHAPE;
    for isa in Isa::available() {
        let got = run(&Cpu::with_isa(2, isa), &layer, context, context);
        for (position, head) in [(0, 0), (0, 9), (1, 8), (17, 3), (149, 7), (149, 9)] {
            let (mut keys, mut values) = (Vec::new(), Vec::new());
            for p in 0..=position {
                let row = &layer.kv[p * (rank + rope)..][..rank + rope];
                let latent = reference::rms_norm(&row[..rank], Norm { weight: &layer.norm, eps: EPS });
                let made = |i: usize| -> f32 {
                    let row = &layer.projection[(head * (nope + value) + i) * rank..][..rank];
                    row.iter().zip(&latent).map(|(w, x)| f64::from(*w) * x).sum::<f64>() as f32
                };
                keys.extend((0..nope).map(made));
                keys.extend(rotated(&row[rank..], p));
                values.extend((nope..nope + value).map(made));
            }
            let query =
                &layer.queries[position * SHAPE.query_width() + head * (nope + rope)..][..nope + rope];
            let query = [&query[..nope], &rotated(&query[nope..], position)].concat();
            let seen = keys.chunks_exact(nope + rope).zip(values.chunks_exact(value));
            let wanted = reference::attention(&query, seen, None, SCALE);
            let got = &got[(position * heads + head) * value..][..value];
            for (a, b) in got.iter().zip(&wanted) {
                assert!((f64::from(*a) - b).abs() < 1e-4, "{} {position} {head}: {a} {b}", isa.name());
            }
        }
    }
}

#[test]
fn chunks_and_threads_change_no_bit() {
    let context = 140;
    let layer = layer(context);
    for isa in Isa::available() {
        let whole = run(&Cpu::with_isa(3, isa), &layer, context, context);
        for chunk in [1, 7, 64] {
            assert!(run(&Cpu::with_isa(1, isa), &layer, context, chunk) == whole, "{} {chunk}", isa.name());
        }
    }
}
