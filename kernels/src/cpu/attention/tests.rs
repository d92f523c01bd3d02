//! Attention against its reference, and against itself with the work cut differently.

#![expect(clippy::cast_possible_truncation, reason = "counts of a few hundred")]

use std::ops::Range;

use ops::{AttentionSpec, HeadNorms, QkvShape, reference};

use super::PART;
use crate::cpu::kv::{KvCache, KvData, KvDtype, KvShape};
use crate::cpu::{AttentionParams, Cpu, Isa, RopeAngles, SequenceRows, attention, qk_norm_rope_write};

const SHAPE: QkvShape = QkvShape { heads: 4, kv_heads: 2, head_dim: 24 };
/// Number of blocks, enough for contexts of several parts.
const BLOCKS: usize = 320;
const SCALE: f32 = 0.204;
const PLAIN: AttentionSpec<&[f32]> = AttentionSpec { shape: SHAPE, scale: SCALE, window: None, sinks: None };

fn value(i: usize) -> f32 {
    ((i * 7919) % 1999) as f32 / 500.0 - 2.0
}

/// Returns a cache with `context` tokens of one sequence in scattered blocks, these blocks, and the
/// sequence's qkv rows after norm and rotation.
fn filled(context: usize, dtype: KvDtype) -> (KvCache, Vec<u32>, Vec<f32>) {
    let shape =
        KvShape { blocks: BLOCKS, kv_heads: SHAPE.kv_heads, head_dim: SHAPE.head_dim, latent: false, dtype };
    let mut cache = KvCache::new(&[shape]).unwrap();
    let blocks: Vec<u32> = (0..context.div_ceil(16) as u32).map(|i| (i * 7 + 3) % BLOCKS as u32).collect();
    let slots: Vec<u32> = (0..context).map(|p| blocks[p / 16] * 16 + p as u32 % 16).collect();
    let mut qkv: Vec<f32> = (0..context * SHAPE.width()).map(value).collect();
    let mut angles = RopeAngles::default();
    let positions: Vec<u32> = (0..context as u32).collect();
    angles.fill(&positions, &[0.3; 12], 1.0);
    let ones = [1.5; 24];
    let norms = HeadNorms { q: &ones[..], k: &ones[..], values: false, eps: 1e-6 };
    qk_norm_rope_write(&Cpu::new(1), SHAPE, &mut qkv, Some(norms), &angles, &slots, cache.layer_mut(0));
    (cache, blocks, qkv)
}

/// Computes attention of the last `rows` tokens in one call.
fn last(
    cpu: &Cpu,
    spec: AttentionSpec<&[f32]>,
    (cache, blocks, qkv): &(KvCache, Vec<u32>, Vec<f32>),
    context: usize,
    rows: usize,
) -> Vec<f32> {
    let sequence = SequenceRows { first_row: 0, rows, context, blocks };
    let mut out = vec![f32::NAN; rows * SHAPE.out_width()];
    let qkv = &qkv[(context - rows) * SHAPE.width()..context * SHAPE.width()];
    attention(cpu, AttentionParams::of_qkv(spec), qkv, &[sequence], cache.layer(0), &mut out);
    out
}

/// Sinks of the tests' heads: one below all scores, one above.
const SINKS: &[f32] = &[-9.0, 0.5, 2.0, 40.0];

fn equals_the_reference(spec: AttentionSpec<&[f32]>) {
    for dtype in [KvDtype::F16, KvDtype::F32] {
        equals_the_reference_of(spec, dtype);
    }
}

fn equals_the_reference_of(spec: AttentionSpec<&[f32]>, dtype: KvDtype) {
    let context = 300;
    let all = filled(context, dtype);
    let width = SHAPE.out_width();
    for isa in Isa::available() {
        let out = last(&Cpu::with_isa(2, isa), spec, &all, context, context);
        for position in [0, 1, 15, 16, 127, 128, 129, 299] {
            equals_the_reference_at(spec, &all, position, &out[position * width..][..width]);
        }
    }
}

/// Compares one position's heads with the reference.
fn equals_the_reference_at(
    spec: AttentionSpec<&[f32]>,
    (cache, blocks, qkv): &(KvCache, Vec<u32>, Vec<f32>),
    position: usize,
    out: &[f32],
) {
    let d = SHAPE.head_dim;
    let gather = |from: &KvData, head: usize, seen: Range<usize>| -> Vec<f32> {
        let row = |p: usize| cache.layer(0).shape().row_at(blocks[p / 16] as usize * 16 + p % 16, head);
        seen.flat_map(|p| from.to_f32(row(p)..row(p) + d)).collect()
    };
    let first = spec.window.map_or(0, |window| (position + 1).saturating_sub(window));
    for head in 0..SHAPE.heads {
        let query = &qkv[position * SHAPE.width() + head * d..][..d];
        let layer = cache.layer(0);
        let keys = gather(&layer.keys, head / 2, first..position + 1);
        let values = gather(&layer.values, head / 2, first..position + 1);
        let sink = spec.sinks.map(|sinks| sinks[head]);
        let seen = keys.chunks_exact(d).zip(values.chunks_exact(d));
        let wanted = reference::attention(query, seen, sink, spec.scale);
        for (a, b) in out[head * d..][..d].iter().zip(&wanted) {
            assert!((f64::from(*a) - b).abs() < 1e-5, "{position} {head}: {a} {b}");
        }
    }
}

#[test]
fn rows_equal_the_reference_over_keys_up_to_them() {
    equals_the_reference(PLAIN);
}

#[test]
fn window_hides_keys_before_it_and_sink_takes_share() {
    for window in [1, 2, 16, 100, 128, 1000] {
        equals_the_reference(AttentionSpec { window: Some(window), ..PLAIN });
    }
    equals_the_reference(AttentionSpec { sinks: Some(SINKS), ..PLAIN });
    equals_the_reference(AttentionSpec { window: Some(50), sinks: Some(SINKS), scale: 0.1, ..PLAIN });
}

#[test]
fn token_is_bit_equal_alone_in_chunks_and_in_prompts() {
    let context = 290;
    let all = filled(context, KvDtype::F16);
    let windowed = AttentionSpec { window: Some(70), sinks: Some(SINKS), ..PLAIN };
    for (isa, spec) in Isa::available().into_iter().flat_map(|isa| [(isa, PLAIN), (isa, windowed)]) {
        let whole = last(&Cpu::with_isa(3, isa), spec, &all, context, context);
        let one_thread = Cpu::with_isa(1, isa);
        let width = SHAPE.out_width();
        for end in [1, 16, 17, 128, 129, 257, 290] {
            for rows in [1, 5, 100] {
                let rows = rows.min(end);
                let part = last(&one_thread, spec, &all, end, rows);
                assert_eq!(part, whole[(end - rows) * width..end * width], "{} {end} {rows}", isa.name());
            }
        }
    }
}

#[test]
fn context_parts_have_same_bits_together_and_as_tasks() {
    let context = 2 * PART + 300;
    let all = filled(context, KvDtype::F16);
    let windowed = AttentionSpec { window: Some(PART + 100), sinks: Some(SINKS), ..PLAIN };
    for (isa, spec) in Isa::available().into_iter().flat_map(|isa| [(isa, PLAIN), (isa, windowed)]) {
        let ends = [PART - 1, PART, PART + 1, 2 * PART, 2 * PART + 130, context];
        // The last row of a chunk that has enough tasks, and the same row alone, whose parts are
        // tasks.
        for end in ends {
            let chunk = last(&Cpu::with_isa(1, isa), spec, &all, end, 64);
            let alone = last(&Cpu::with_isa(3, isa), spec, &all, end, 1);
            assert_eq!(alone, chunk[chunk.len() - alone.len()..], "{} {end}", isa.name());
            equals_the_reference_at(spec, &all, end - 1, &alone);
        }
    }
}

/// Replaces the values of some positions of a sequence by NaN and infinity.
fn spoil(cache: &mut KvCache, blocks: &[u32], positions: impl Iterator<Item = usize>) {
    let shape = cache.layer(0).shape();
    for position in positions {
        for head in 0..SHAPE.kv_heads {
            let at = shape.row_at(blocks[position / 16] as usize * 16 + position % 16, head);
            let odd = if position % 2 == 0 { f32::NAN } else { f32::INFINITY };
            cache.layer_mut(0).values.fill(at..at + SHAPE.head_dim, odd);
        }
    }
}

#[test]
fn nonfinite_values_reach_only_rows_that_see_them() {
    let cases =
        [1, 3, 17, 130, 200].map(|context| [KvDtype::F16, KvDtype::F32].map(|dtype| (context, dtype)));
    for (context, dtype) in cases.into_iter().flatten() {
        let clean = filled(context, dtype);
        for isa in Isa::available() {
            let cpu = Cpu::with_isa(1, isa);
            let wanted = last(&cpu, PLAIN, &clean, context, context);
            // Values that a block held before, behind the sequence's last token.
            let mut recycled = filled(context, dtype);
            spoil(&mut recycled.0, &recycled.1, context..context.next_multiple_of(16));
            assert_eq!(last(&cpu, PLAIN, &recycled, context, context), wanted, "{} {context}", isa.name());
            // The last token's own value, which earlier rows of its chunk don't see.
            let mut own = filled(context, dtype);
            spoil(&mut own.0, &own.1, context - 1..context);
            let (got, width) = (last(&cpu, PLAIN, &own, context, context), SHAPE.out_width());
            let before = (context - 1) * width;
            assert_eq!(got[..before], wanted[..before], "{} {context}", isa.name());
            assert!(got[before..].iter().all(|x| !x.is_finite()));
        }
    }
}
