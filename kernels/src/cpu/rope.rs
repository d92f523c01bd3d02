//! Fused operation between the qkv projection and attention: RMS norm of heads, rotary embedding of all or the first of its dimensions (half-split: of `r` dimensions, `i` is
//! rotated with `i + r / 2`), scaling of queries by position, write of keys and values to the cache.
//! One pass over each head, all in f32.

use ops::{HeadNorms, Norm, QkvShape};

use super::Cpu;
use super::isa::Kernel;
use super::kv::{KvLayer, KvOutput, KvShape};
use super::lanes::{LANES, Lanes};
use super::norm::{normalize_row_in_place, scale_row_in_place};
use super::output::Output;
use super::rope_angles::RopeAngles;

/// Number of rows in a task of queries alone.
const ROWS: usize = 4;

/// Normalises (if `norms` are given) and rotates the queries of `qkv`
/// `[slots.len(), shape.width()]` in place, and writes the keys (normalised and rotated, too) and
/// values (normalised where the norms say so) of row `r` to slot `slots[r]` of the cache.
///
/// # Panics
/// If the sizes don't fit each other or a slot is not in the cache.
pub fn qk_norm_rope_write(
    cpu: &Cpu,
    shape: QkvShape,
    qkv: &mut [f32],
    norms: Option<HeadNorms<&[f32]>>,
    angles: &RopeAngles,
    slots: &[u32],
    cache: &mut KvLayer,
) {
    assert_eq!(qkv.len(), slots.len() * shape.width(), "rows of qkv");
    assert!(
        shape.kv_heads == cache.shape.kv_heads && shape.head_dim == cache.shape.head_dim,
        "heads of the cache"
    );
    assert!(2 * angles.pairs <= shape.head_dim, "rotated dimensions of a head");
    let cost = qkv.len() * 4;
    let place = cache.shape;
    let (qkv, keys, values) = (Output::new(qkv), cache.keys.output(), cache.values.output());
    cpu.parallel_for(shape.kv_heads, cost, |head| {
        cpu.isa().run(Heads { shape, norms, angles, head, qkv: &qkv, slots, place, to: (&keys, &values) });
    });
}

/// Normalises (if a norm is given) and rotates queries `[rows, heads * head_dim]` in place, for
/// attention over keys that are in the cache already.
///
/// # Panics
/// If the sizes don't fit each other.
pub fn q_norm_rope(
    cpu: &Cpu,
    QkvShape { heads, head_dim, .. }: QkvShape,
    queries: &mut [f32],
    norm: Option<Norm<&[f32]>>,
    angles: &RopeAngles,
) {
    let width = heads * head_dim;
    assert!(queries.len().is_multiple_of(width), "rows of queries");
    assert!(2 * angles.pairs <= head_dim, "rotated dimensions of a head");
    let (rows, cost) = (queries.len() / width, queries.len() * 4);
    let queries = Output::new(queries);
    cpu.parallel_for(rows.div_ceil(ROWS), cost, |task| {
        let first_row = task * ROWS;
        let count = ROWS.min(rows - first_row);
        #[expect(unsafe_code, reason = "each task its rows")]
        // SAFETY: tasks have disjoint ranges of rows.
        let queries = unsafe { queries.part(first_row * width, count * width) };
        cpu.isa().run(Queries { width, head_dim, norm, angles, first_row, rows: queries });
    });
}

/// Task: all query heads of some rows.
struct Queries<'a> {
    width: usize,
    head_dim: usize,
    norm: Option<Norm<&'a [f32]>>,
    angles: &'a RopeAngles,
    first_row: usize,
    rows: &'a mut [f32],
}

impl Kernel for Queries<'_> {
    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) {
        for (row, heads) in (self.first_row..).zip(self.rows.chunks_exact_mut(self.width)) {
            for head in heads.chunks_exact_mut(self.head_dim) {
                normalize_and_rotate(lanes, head, self.norm, self.angles.row(row));
                self.angles.scale_query(row, head);
            }
        }
    }
}

/// Task: one key head and its group of query heads, in all rows.
struct Heads<'a> {
    shape: QkvShape,
    norms: Option<HeadNorms<&'a [f32]>>,
    angles: &'a RopeAngles,
    head: usize,
    qkv: &'a Output<'a, f32>,
    slots: &'a [u32],
    place: KvShape,
    /// Keys and values of the cache.
    to: (&'a KvOutput<'a>, &'a KvOutput<'a>),
}

impl Kernel for Heads<'_> {
    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) {
        let Self { shape, norms, .. } = self;
        let group = shape.group();
        for (row, slot) in self.slots.iter().enumerate() {
            for head in self.head * group..(self.head + 1) * group {
                let query = self.rotate(lanes, row, head, norms.map(|norms| norms.q));
                self.angles.scale_query(row, query);
            }
            let key = self.rotate(lanes, row, shape.heads + self.head, norms.map(|norms| norms.k));
            let at = self.place.row_at(*slot as usize, self.head);
            #[expect(unsafe_code, reason = "each task its heads")]
            // SAFETY: a task touches its own heads, and their rows of the cache, only.
            unsafe {
                self.to.0.write(lanes, at, key);
                let value = self.part(row, shape.heads + shape.kv_heads + self.head);
                if let Some(norms) = norms.filter(|norms| norms.values) {
                    normalize_row_in_place(lanes, value, norms.eps);
                }
                self.to.1.write(lanes, at, value);
            }
        }
    }
}

impl<'a> Heads<'a> {
    /// Returns a head of a row of qkv.
    ///
    /// # Safety
    /// The head is one of this task's, and no other reference to it is alive.
    #[inline(always)]
    #[expect(unsafe_code, reason = "each task its heads")]
    unsafe fn part(&self, row: usize, head: usize) -> &'a mut [f32] {
        let d = self.shape.head_dim;
        // SAFETY: by this function's contract.
        unsafe { self.qkv.part(row * self.shape.width() + head * d, d) }
    }

    /// Normalises and rotates a head of a row.
    #[inline(always)]
    fn rotate<L: Lanes>(&self, lanes: L, row: usize, head: usize, weight: Option<&[f32]>) -> &'a mut [f32] {
        #[expect(unsafe_code, reason = "each task its heads")]
        // SAFETY: the head is one of this task's, and only one is alive at a time.
        let x = unsafe { self.part(row, head) };
        let norm = weight.zip(self.norms).map(|(weight, norms)| Norm { weight, eps: norms.eps });
        normalize_and_rotate(lanes, x, norm, self.angles.row(row));
        x
    }
}

/// Normalises one head, if a norm is given, and rotates its first dimensions.
#[inline(always)]
fn normalize_and_rotate<L: Lanes>(
    lanes: L,
    x: &mut [f32],
    norm: Option<Norm<&[f32]>>,
    (cos, sin): (&[f32], &[f32]),
) {
    if let Some(Norm { weight, eps }) = norm {
        scale_row_in_place(lanes, x, weight, eps);
    }
    rotate(lanes, &mut x[..2 * cos.len()], (cos, sin));
}

/// Rotates the rotated part of one head in place: each element of its first half with the one of its
/// second half.
#[inline(always)]
fn rotate<L: Lanes>(lanes: L, x: &mut [f32], (cos, sin): (&[f32], &[f32])) {
    let (low, high) = x.split_at_mut(x.len() / 2);
    let (lows, low_rest) = low.as_chunks_mut::<LANES>();
    let (highs, high_rest) = high.as_chunks_mut::<LANES>();
    let ((coss, cos_rest), (sins, sin_rest)) = (cos.as_chunks::<LANES>(), sin.as_chunks::<LANES>());
    for (((low, high), cos), sin) in lows.iter_mut().zip(highs).zip(coss).zip(sins) {
        let angle = (lanes.load(cos), lanes.load(sin));
        let (first, second) = rotated(lanes, (lanes.load(low), lanes.load(high)), angle);
        lanes.store(first, low);
        lanes.store(second, high);
    }
    let angle = (lanes.load_part(cos_rest), lanes.load_part(sin_rest));
    let (first, second) = rotated(lanes, (lanes.load_part(low_rest), lanes.load_part(high_rest)), angle);
    lanes.store_part(first, low_rest);
    lanes.store_part(second, high_rest);
}

/// `(a cos - b sin, b cos + a sin)`.
#[inline(always)]
fn rotated<L: Lanes>(lanes: L, (a, b): (L::V, L::V), (cos, sin): (L::V, L::V)) -> (L::V, L::V) {
    let minus = lanes.sub(lanes.splat(0.0), lanes.mul(b, sin));
    (lanes.fma(a, cos, minus), lanes.fma(b, cos, lanes.mul(a, sin)))
}

#[cfg(test)]
mod tests {
    use ops::QueryScaling;
    use ops::reference::{norm_rope, rms_norm};

    use super::*;
    use crate::cpu::Isa;
    use crate::cpu::kv::{KvCache, KvData, KvDtype, KvShape};

    /// Checks heads of which `pairs` pairs of dimensions are rotated, and queries that are scaled.
    fn check(pairs: usize, scaling: Option<QueryScaling>) {
        let (heads, kv_heads, head_dim) = (4, 2, 24);
        let shape = QkvShape { heads, kv_heads, head_dim };
        let value = |i: usize| ((i * 7919) % 1999) as f32 / 999.0 - 1.0;
        let before: Vec<f32> = (0..3 * shape.width()).map(value).collect();
        let (q, k): (Vec<f32>, Vec<f32>) = (0..head_dim).map(|i| (1.0 + value(i), 1.0 - value(i))).unzip();
        let frequencies: Vec<f32> = (0..pairs).map(|i| 1e4f32.powf(-(i as f32) / 12.0)).collect();
        let (positions, slots) = ([3, 0, 70], [40, 5, 17]);
        let mut angles = RopeAngles::default();
        angles.fill(&positions, &frequencies, 1.25);
        angles.scale_queries(&positions, scaling);
        let norms = HeadNorms { q: &q[..], k: &k[..], values: true, eps: 1e-6 };
        let cases = Isa::available().into_iter().flat_map(|isa| [(isa, Some(norms)), (isa, None)]);
        for (isa, norms) in cases {
            let cpu = Cpu::with_isa(2, isa);
            let cache = KvShape { blocks: 3, kv_heads, head_dim, latent: false, dtype: KvDtype::F32 };
            let mut cache = KvCache::new(&[cache]).unwrap();
            let mut qkv = before.clone();
            qk_norm_rope_write(&cpu, shape, &mut qkv, norms, &angles, &slots, cache.layer_mut(0));
            let mut queries: Vec<f32> =
                before.chunks(shape.width()).flat_map(|row| row[..heads * head_dim].to_vec()).collect();
            let norm = norms.map(|HeadNorms { q: weight, eps, .. }| Norm { weight, eps });
            q_norm_rope(&cpu, shape, &mut queries, norm, &angles);
            for (alone, row) in queries.chunks(heads * head_dim).zip(qkv.chunks(shape.width())) {
                assert_eq!(alone, &row[..heads * head_dim], "queries alone are those beside keys");
            }
            let cached = |all: &KvData, row: usize, head| {
                let from = cache.layer(0).shape().row_at(slots[row] as usize, head);
                all.to_f32(from..from + head_dim)
            };
            for (row, head) in (0..3).flat_map(|row| (0..heads + 2 * kv_heads).map(move |head| (row, head))) {
                let at = row * shape.width() + head * head_dim;
                let x = &before[at..at + head_dim];
                let norm = norms.map(|HeadNorms { q, k, eps, .. }| Norm {
                    weight: if head < heads { q } else { k },
                    eps,
                });
                let rotated = || norm_rope(x, norm, &frequencies, 1.25, positions[row]);
                let (got, wanted) = if head < heads {
                    let factor = f64::from(scaling.map_or(1.0, |scaling| scaling.factor(positions[row])));
                    (qkv[at..at + head_dim].to_vec(), rotated().iter().map(|x| x * factor).collect())
                } else if head < heads + kv_heads {
                    (cached(&cache.layer(0).keys, row, head - heads), rotated())
                } else {
                    let values = cached(&cache.layer(0).values, row, head - heads - kv_heads);
                    let wanted = match norms {
                        Some(HeadNorms { eps, .. }) => rms_norm(x, Norm { weight: &[1.0; 24], eps }),
                        None => x.iter().map(|x| f64::from(*x)).collect(),
                    };
                    (values, wanted)
                };
                for (a, b) in got.iter().zip(&wanted) {
                    assert!(
                        (f64::from(*a) - b).abs() < 1e-5,
                        "{} row {row} head {head}: {a} {b}",
                        isa.name()
                    );
                }
            }
        }
    }

    #[test]
    fn queries_stay_in_their_row_and_kv_go_to_their_slots() {
        check(12, None);
    }

    #[test]
    fn dimensions_behind_the_rotated_part_stay() {
        for pairs in [0, 3, 9] {
            check(pairs, None);
        }
    }

    #[test]
    fn queries_are_scaled_by_their_position() {
        let scaling = QueryScaling { beta: 0.5, original: 4 };
        assert_eq!((scaling.factor(3), scaling.factor(4)), (1.0, 1.0 + 0.5 * 2f32.ln()));
        check(12, Some(scaling));
        check(4, Some(scaling));
    }
}
