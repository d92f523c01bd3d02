//! Absorbed form of attention: queries are projected into the latent space and attend there; their
//! results are projected to values.

use ops::{AttentionSpec, MlaShape, QkvShape, StoreMode};

use crate::cpu::kv::KvLayer;
use crate::cpu::linear::{Group, grouped_linear};
use crate::cpu::{AttentionParams, Cpu, Elements, Matrix, SequenceRows, attention};

/// Projection of latent rows to keys and values, split for the absorbed form: f32, a part for each
/// head.
#[derive(Debug)]
pub struct MlaWeights {
    shape: MlaShape,
    /// `[heads, rank, nope]`: projects queries into the latent space.
    into_latent: Vec<f32>,
    /// `[heads, value, rank]`: projects results to values.
    into_value: Vec<f32>,
}

impl MlaWeights {
    /// Splits the projection of latent rows `[heads * (nope + value), rank]`, which has for each
    /// head the keys' rows, then the values'.
    ///
    /// # Panics
    /// If the sizes don't fit each other.
    pub fn new(shape: MlaShape, projection: &[f32]) -> Self {
        let MlaShape { heads, rank, nope, value, .. } = shape;
        assert_eq!(projection.len(), heads * (nope + value) * rank, "projection of latent rows");
        let mut into_latent = Vec::with_capacity(heads * rank * nope);
        let mut into_value = Vec::with_capacity(heads * value * rank);
        for head in projection.chunks_exact((nope + value) * rank) {
            let (keys, values) = head.split_at(nope * rank);
            into_latent.extend((0..rank).flat_map(|col| (0..nope).map(move |row| keys[row * rank + col])));
            into_value.extend_from_slice(values);
        }
        Self { shape, into_latent, into_value }
    }

    /// Multiplies rows `[heads, rows, k]` by one of the weights `[heads, n, k]`.
    fn apply(&self, cpu: &Cpu, (weights, n, k): (&[f32], usize, usize), x: &[f32], out: &mut [f32]) {
        let rows = x.len() / k / self.shape.heads;
        let group = |(head, weights)| Group {
            rows: head * rows..(head + 1) * rows,
            parts: vec![Matrix::new(Elements::F32(weights), n, k)],
            bias: None,
        };
        let groups: Vec<Group<'_>> = weights.chunks_exact(n * k).enumerate().map(group).collect();
        grouped_linear(cpu, x, &groups, StoreMode::Overwrite, out);
    }
}

/// Buffers for the rows between the steps, which each layer uses again.
#[derive(Debug, Default)]
pub struct MlaScratch {
    front: Vec<f32>,
    back: Vec<f32>,
}

impl MlaScratch {
    /// Allocates room for `tokens` tokens; `false` if the system doesn't grant the memory.
    pub fn reserve(&mut self, tokens: usize, shape: MlaShape) -> bool {
        let widest = shape.cached_width().max(shape.nope).max(shape.value);
        let Some(len) = shape.heads.checked_mul(widest).and_then(|n| n.checked_mul(tokens)) else {
            return false;
        };
        for buffer in [&mut self.front, &mut self.back] {
            if buffer.len() < len {
                // Pages that are never written take no memory.
                let Ok(larger) = bytemuck::allocation::try_zeroed_vec(len) else { return false };
                *buffer = larger;
            }
        }
        true
    }
}

/// Computes causal attention of the rotated queries `[rows, shape.query_width()]`; `scale` is the
/// factor of scores, `out` is `[rows, heads * value]`.
///
/// # Panics
/// If the sizes don't fit each other or a block is not in the cache.
pub fn mla_attention(
    cpu: &Cpu,
    weights: &MlaWeights,
    (queries, scale): (&[f32], f32),
    sequences: &[SequenceRows<'_>],
    cache: &KvLayer,
    scratch: &mut MlaScratch,
    out: &mut [f32],
) {
    let shape = weights.shape;
    let MlaShape { heads, rank, nope, rope, value } = shape;
    let rows = queries.len() / shape.query_width();
    assert!(
        queries.len() == rows * shape.query_width() && out.len() == rows * shape.out_width(),
        "rows of mla_attention"
    );
    assert!(scratch.reserve(rows, shape), "memory of the queries in the latent space");
    let (front, back) = (&mut scratch.front, &mut scratch.back);
    let (plain, latent) = (&mut front[..heads * rows * nope], &mut back[..heads * rows * rank]);
    transpose((queries, nope + rope), (plain, nope), nope, (rows, heads));
    weights.apply(cpu, (&weights.into_latent, rank, nope), plain, latent);
    let width = shape.cached_width();
    let absorbed = &mut front[..rows * heads * width];
    transpose((latent, rank), (absorbed, width), rank, (heads, rows));
    for (to, from) in absorbed.chunks_exact_mut(width).zip(queries.chunks_exact(nope + rope)) {
        to[rank..].copy_from_slice(&from[nope..]);
    }
    let shape = QkvShape { heads, kv_heads: 1, head_dim: width };
    let spec = AttentionSpec { shape, scale, window: None, sinks: None };
    let params = AttentionParams { spec, query_stride: heads * width, value_dim: rank };
    let attended = &mut back[..rows * heads * rank];
    attention(cpu, params, absorbed, sequences, cache, attended);
    let by_head = &mut front[..heads * rows * rank];
    transpose((attended, rank), (by_head, rank), rank, (rows, heads));
    let values = &mut back[..heads * rows * value];
    weights.apply(cpu, (&weights.into_value, value, rank), by_head, values);
    transpose((values, value), (out, value), value, (heads, rows));
}

/// Copies rows `[a, b]` to `[b, a]`: the first `width` values of each, from and to rows that may be
/// wider.
fn transpose(
    (from, from_width): (&[f32], usize),
    (to, to_width): (&mut [f32], usize),
    width: usize,
    (a, b): (usize, usize),
) {
    for (i, from) in from.chunks_exact(from_width).take(a * b).enumerate() {
        let place = (i % b * a + i / b) * to_width;
        to[place..place + width].copy_from_slice(&from[..width]);
    }
}
