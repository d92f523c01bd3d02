//! Attention over a compressed cache: each kernel against its reference.

use cuda_kernels::{
    MlaAttention, MlaDecode, MlaProject, MlaShape, MlaSide, MlaWrite, Tolerance, decode_work,
    interleaved_rope_reference, mla_attention_reference, mla_keys_reference, mla_values_reference,
    rms_norm_reference,
};

use super::device::{Device, in_both_orders, near, values};

const SMALL: MlaShape = MlaShape { heads: 3, rank: 40, nope: 24, rope: 8, value: 20 };
const MOONLIGHT: MlaShape = MlaShape { heads: 2, rank: 512, nope: 128, rope: 64, value: 128 };

fn widths(shape: MlaShape) -> [usize; 5] {
    [shape.heads, shape.rank, shape.nope, shape.rope, shape.value].map(|x| x as usize)
}

#[test]
fn rows_are_normed_rotated_and_written_to_their_slots() {
    in_both_orders(|device| {
        for shape in [SMALL, MOONLIGHT] {
            let [heads, rank, nope, rope, _] = widths(shape);
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
                norm: device.f32(&norm),
                eps: 1e-6,
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
                |x: &[f32], row: usize| interleaved_rope_reference(x, &frequencies, 1.25, positions[row]);
            let exact = |x: &[f32]| x.iter().map(|x| f64::from(*x)).collect::<Vec<_>>();

            let cached = device.read_bf16(cache, 192 * (rank + rope));
            for (slot, got) in cached.chunks_exact(rank + rope).enumerate() {
                let Some(row) = slots.iter().position(|s| *s as usize == slot) else {
                    assert!(got.iter().all(|x| x.is_nan()), "slot {slot} was written");
                    continue;
                };
                let (latent, key) = kv[row * (rank + rope)..][..rank + rope].split_at(rank);
                let wanted = [rms_norm_reference(latent, &norm, 1e-6), rotate(key, row)].concat();
                near(Tolerance::BF16, got, &wanted, &format!("{shape:?}, slot {slot}"));
            }
            let head = |(i, x): (usize, &[f32])| [exact(&x[..nope]), rotate(&x[nope..], i / heads)].concat();
            let wanted: Vec<f64> = queries.chunks_exact(nope + rope).enumerate().flat_map(head).collect();
            device.check_bf16(pointer, &wanted, Tolerance::BF16, "queries");
        }
    });
}

fn project(device: &Device, shape: MlaShape, rows: usize, side: MlaSide) {
    let [heads, rank, nope, rope, value] = widths(shape);
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
}

#[test]
fn heads_are_multiplied_by_their_parts_of_the_projection() {
    in_both_orders(|device| {
        for side in [MlaSide::Queries, MlaSide::Values] {
            for rows in [1, 17, 70] {
                project(device, SMALL, rows, side);
            }
            project(device, MOONLIGHT, 5, side);
        }
    });
}

/// Attention over a compressed cache, and its reference results; made from sequences of (tokens, rows), each on a lane of its
/// own.
struct Compressed {
    attention: MlaAttention,
    wanted: Vec<f64>,
    positions: Vec<u32>,
}

fn compressed(device: &Device, shape: MlaShape, sequences: &[(usize, usize)]) -> Compressed {
    let [heads, rank, _, rope, _] = widths(shape);
    let width = rank + rope;
    let blocks = |len: usize| len.div_ceil(64);
    let table_width = sequences.iter().map(|(len, _)| blocks(*len)).max().unwrap() + 1;
    let mut next = sequences.iter().map(|(len, _)| blocks(*len)).sum::<usize>();
    let (mut cache, mut tables) =
        (vec![f32::NAN; next * 64 * width], vec![u32::MAX; sequences.len() * table_width]);
    let (mut lanes, mut positions, mut wanted) = (Vec::new(), Vec::new(), Vec::new());
    let count: usize = sequences.iter().map(|(_, rows)| rows).sum();
    let queries: Vec<f32> = values(count * heads * width, 6).iter().map(|x| x * 2.0).collect();
    let scale = 1.0 / (width as f32).sqrt();
    for (lane, (len, rows)) in sequences.iter().enumerate() {
        let cached = values(len * width, 7 + lane as u32);
        for (at, row) in cached.chunks_exact(width).enumerate() {
            let entry = &mut tables[lane * table_width + at / 64];
            if at % 64 == 0 {
                next -= 1;
                *entry = next as u32;
            }
            cache[(*entry as usize * 64 + at % 64) * width..][..width].copy_from_slice(row);
        }
        for at in len - rows..*len {
            let seen: Vec<&[f32]> = cached.chunks_exact(width).take(at + 1).collect();
            for head in 0..heads {
                let query = &queries[(lanes.len() * heads + head) * width..][..width];
                wanted.extend(mla_attention_reference(query, &seen, rank, scale));
            }
            lanes.push(lane as u32);
            positions.push(at as u32);
        }
    }
    let attention = MlaAttention {
        queries: device.bf16(&queries),
        cache: device.bf16(&cache),
        tables: device.u32(&tables),
        table_width: table_width as u32,
        lanes: device.u32(&lanes),
        positions: device.u32(&positions),
        out: device.out::<u16>(count * heads * rank),
        rows: count as u32,
        shape,
        scale,
    };
    Compressed { attention, wanted, positions }
}

#[test]
fn latent_queries_attend_over_scattered_rows() {
    in_both_orders(|device| {
        for shape in [SMALL, MOONLIGHT] {
            let Compressed { attention, wanted, .. } =
                compressed(device, shape, &[(1, 1), (70, 2), (130, 1)]);
            device.run(&attention.launch());
            device.check_bf16(attention.out, &wanted, Tolerance::BF16, &format!("{shape:?}"));
        }
    });
}

#[test]
fn rows_are_shared_out_over_blocks_and_heads_come_by_sixteen() {
    // Weights are rounded to bf16, each by up to 2⁻⁹ of itself, in sums of values of about one.
    let tolerance = Tolerance { absolute: 2e-3, ..Tolerance::BF16 };
    let tiny = MlaShape { heads: 17, rank: 64, nope: 8, rope: 16, value: 8 };
    let lengths = [(1, 1), (33, 1), (256, 1), (257, 1), (600, 2)];
    in_both_orders(|device| {
        for (shape, blocks) in [(tiny, 1), (tiny, 5), (MOONLIGHT, 3), (MlaShape { heads: 16, ..tiny }, 40)] {
            let Compressed { attention, wanted, positions } = compressed(device, shape, &lengths);
            let work = decode_work(&positions, None);
            let partials = MlaDecode::partial_bytes(work[0] as usize, shape);
            let counters = device.u32(&vec![0; positions.len() * shape.heads.div_ceil(16) as usize]);
            let partials = device.out::<u8>(partials);
            let decode = MlaDecode { attention, work: device.u32(&work), partials, counters, blocks };
            // Launched twice, as a graph is replayed.
            for _ in 0..2 {
                device.spoil(attention.out, wanted.len() * 2);
                device.run(&decode.launch());
                device.check_bf16(attention.out, &wanted, tolerance, &format!("{shape:?}, {blocks} blocks"));
            }
        }
    });
}
