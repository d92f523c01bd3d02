//! Fused operation between the projections and the compressed cache: RMS norm of the latent row,
//! rotary embedding of its key and of the queries (neighbours are rotated together: dimension `2 i`
//! with `2 i + 1`), write of one row per token to the cache. All in f32.

use ops::{MlaShape, Norm};

use crate::cpu::isa::Kernel;
use crate::cpu::kv::{KvLayer, KvOutput, KvShape};
use crate::cpu::lanes::Lanes;
use crate::cpu::norm::scale_row;
use crate::cpu::output::Output;
use crate::cpu::{Cpu, RopeAngles};

/// Rotates the queries `[rows, shape.query_width()]` in place, and writes the normalised and
/// rotated rows of `kv` `[rows, shape.cached_width()]` to their slots. The norm's weight is
/// `[rank]`.
///
/// # Panics
/// If the sizes don't fit each other or a slot is not in the cache.
pub fn mla_write(
    cpu: &Cpu,
    shape: MlaShape,
    norm: Norm<&[f32]>,
    angles: &RopeAngles,
    slots: &[u32],
    (queries, kv): (&mut [f32], &[f32]),
    cache: &mut KvLayer,
) {
    let (rows, width) = (slots.len(), shape.query_width());
    assert!(queries.len() == rows * width && kv.len() == rows * shape.cached_width(), "rows of mla_write");
    assert!(
        cache.shape.latent && cache.shape.kv_heads == 1 && cache.shape.head_dim == shape.cached_width(),
        "rows of the cache"
    );
    assert_eq!(norm.weight.len(), shape.rank, "weight of the norm");
    cpu.isa().run(Write { shape, norm, angles, slots, kv, place: cache.shape, keys: cache.keys.output() });
    let cost = queries.len() * 2;
    let queries = Output::new(queries);
    cpu.parallel_for(rows, cost, |row| {
        #[expect(unsafe_code, reason = "each task its row")]
        // SAFETY: a task is one row, and no other task has that row.
        let queries = unsafe { queries.part(row * width, width) };
        for head in queries.chunks_exact_mut(shape.nope + shape.rope) {
            rotate(&mut head[shape.nope..], angles.row(row));
        }
    });
}

struct Write<'a> {
    shape: MlaShape,
    norm: Norm<&'a [f32]>,
    angles: &'a RopeAngles,
    slots: &'a [u32],
    kv: &'a [f32],
    place: KvShape,
    keys: KvOutput<'a>,
}

impl Kernel for Write<'_> {
    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) {
        let width = self.shape.cached_width();
        let mut to = vec![0.0; width];
        for (row, (slot, kv)) in self.slots.iter().zip(self.kv.chunks_exact(width)).enumerate() {
            let (latent, key) = kv.split_at(self.shape.rank);
            let (to_latent, to_key) = to.split_at_mut(self.shape.rank);
            scale_row(lanes, latent, self.norm.weight, self.norm.eps, to_latent);
            to_key.copy_from_slice(key);
            rotate(to_key, self.angles.row(row));
            #[expect(unsafe_code, reason = "this thread writes all rows")]
            // SAFETY: rows are written one after the other.
            unsafe {
                self.keys.write(lanes, self.place.row_at(*slot as usize, 0), &to);
            }
        }
    }
}

#[inline(always)]
fn rotate(x: &mut [f32], (cos, sin): (&[f32], &[f32])) {
    for (pair, (cos, sin)) in x.as_chunks_mut::<2>().0.iter_mut().zip(cos.iter().zip(sin)) {
        let [a, b] = *pair;
        *pair = [a * cos - b * sin, b * cos + a * sin];
    }
}
