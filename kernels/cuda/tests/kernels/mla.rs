//! Rows of a compressed cache and projections of heads against their references.

use cuda_kernels::{MlaProject, MlaSide, MlaWrite, Tolerance, mla_keys_reference, mla_values_reference};
use ops::{MlaShape, Norm, reference};

use super::device::{Device, in_both_orders, near, values};

pub(crate) const SMALL: MlaShape = MlaShape { heads: 3, rank: 40, nope: 24, rope: 8, value: 20 };
pub(crate) const MOONLIGHT: MlaShape = MlaShape { heads: 2, rank: 512, nope: 128, rope: 64, value: 128 };

#[test]
fn rows_are_normed_rotated_and_written_to_their_slots() {
    in_both_orders(|device| {
        for shape in [SMALL, MOONLIGHT] {
            let MlaShape { heads, rank, nope, rope, .. } = shape;
            let positions = [0, 77, 40_000, 1_000_003];
            let slots = [191, 0, 64, 5];
            let (queries, kv) = (values(4 * heads * (nope + rope), 1), values(4 * (rank + rope), 2));
            let norm = values(rank, 3);
            let frequencies: Vec<f32> =
                (0..rope / 2).map(|i| 10_000f32.powf(-2.0 * i as f32 / rope as f32)).collect();
            let (pointer, cache) = (device.bf16(&queries), device.out::<u16>(192 * (rank + rope)));
            let write = MlaWrite {
                queries: pointer,
                kv: device.bf16(&kv),
                norm: Norm { weight: device.f32(&norm), eps: 1e-6 },
                frequencies: device.f32(&frequencies),
                rope_factor: 1.25,
                positions: device.u32(&positions),
                slots: device.u32(&slots),
                cache,
                rows: 4,
                shape,
            };
            device.run(&write.launch());
            let rotate =
                |x: &[f32], row: usize| reference::interleaved_rope(x, &frequencies, 1.25, positions[row]);
            let exact = |x: &[f32]| x.iter().map(|x| f64::from(*x)).collect::<Vec<_>>();

            let cached = device.read_bf16(cache, 192 * (rank + rope));
            for (slot, got) in cached.chunks_exact(rank + rope).enumerate() {
                let Some(row) = slots.iter().position(|s| *s as usize == slot) else {
                    assert!(got.iter().all(|x| x.is_nan()), "slot {slot} was written");
                    continue;
                };
                let (latent, key) = kv[row * (rank + rope)..][..rank + rope].split_at(rank);
                let wanted =
                    [reference::rms_norm(latent, Norm { weight: &norm, eps: 1e-6 }), rotate(key, row)]
                        .concat();
                near(Tolerance::BF16, got, &wanted, &format!("{shape:?}, slot {slot}"));
            }
            let head = |(i, x): (usize, &[f32])| [exact(&x[..nope]), rotate(&x[nope..], i / heads)].concat();
            let wanted: Vec<f64> = queries.chunks_exact(nope + rope).enumerate().flat_map(head).collect();
            device.check_bf16(pointer, &wanted, Tolerance::BF16, "queries");
        }
    });
}

/// Checks the projection of `rows` rows; returns the bits of the results.
fn project(device: &Device, shape: MlaShape, rows: usize, side: MlaSide) -> Vec<u16> {
    let MlaShape { heads, rank, nope, rope, value } = shape;
    let (from, to) = match side {
        MlaSide::Queries => (nope + rope, rank + rope),
        MlaSide::Values => (rank, value),
    };
    let (x, projection) = (values(rows * heads * from, 4), values(heads * (nope + value) * rank, 5));
    let out = device.out::<u16>(rows * heads * to);
    let (px, pw, count) = (device.bf16(&x), device.bf16(&projection), rows as u32);
    device.run(&MlaProject { x: px, projection: pw, out, rows: count, shape, side }.launch());
    let one = |(i, x): (usize, &[f32])| {
        let (keys, values) =
            projection[i % heads * (nope + value) * rank..][..(nope + value) * rank].split_at(nope * rank);
        match side {
            MlaSide::Queries => mla_keys_reference(x, keys, rank),
            MlaSide::Values => mla_values_reference(x, values),
        }
    };
    let wanted: Vec<f64> = x.chunks_exact(from).enumerate().flat_map(one).collect();
    // Sums of up to `rank` products of numbers about one, in f32.
    let tolerance = Tolerance { absolute: 1e-4, ..Tolerance::BF16 };
    device.check_bf16(out, &wanted, tolerance, &format!("{rows} rows, {side:?}, {shape:?}"));
    device.read(out, wanted.len())
}

#[test]
fn heads_multiply_by_their_parts_of_the_projection() {
    in_both_orders(|device| {
        for side in [MlaSide::Queries, MlaSide::Values] {
            for (shape, few) in [(SMALL, 1), (SMALL, 17), (MOONLIGHT, 5)] {
                project(device, shape, few, side);
            }
        }
    });
}

/// Deterministic engines rely on this.
#[test]
fn row_products_have_equal_bits_in_tiles_of_any_size() {
    let wide = MlaShape { heads: 2, rank: 200, nope: 72, rope: 8, value: 132 };
    in_both_orders(|device| {
        for side in [MlaSide::Queries, MlaSide::Values] {
            // Tiles of 128 rows, 64 and 16.
            for shape in [SMALL, wide] {
                let many = project(device, shape, 259, side);
                for rows in [70, 20] {
                    let few = project(device, shape, rows, side);
                    assert!(few == many[..few.len()], "{rows} rows, {side:?}, {shape:?}");
                }
            }
        }
    });
}
