//! Attention over a compressed cache: the simple kernel, spans and tiles against the reference.

use cuda_kernels::{
    MlaAttention, MlaDecode, MlaPrefill, PrefillRows, Tolerance, decode_work, prefill_tiles, size,
};
use ops::{MlaShape, reference};

use super::device::{Device, in_both_orders, values};
use super::mla::{MOONLIGHT, SMALL};

/// Weights are rounded to bf16, each by up to 2⁻⁹ of itself, in sums of values of about one.
const ROUNDED_WEIGHTS: Tolerance = Tolerance { absolute: 2e-3, ..Tolerance::BF16 };

fn tiny(heads: usize) -> MlaShape {
    MlaShape { heads, rank: 64, nope: 8, rope: 16, value: 8 }
}

/// Attention over a compressed cache, and its reference results; made from sequences of (tokens,
/// rows), each on a lane of its own.
struct Compressed {
    attention: MlaAttention,
    wanted: Vec<f64>,
    positions: Vec<u32>,
    sequences: Vec<PrefillRows>,
}

fn compressed(device: &Device, shape: MlaShape, sequences: &[(usize, usize)]) -> Compressed {
    let MlaShape { heads, rank, rope, .. } = shape;
    let width = rank + rope;
    let blocks = |len: usize| len.div_ceil(64);
    let table_width = sequences.iter().map(|(len, _)| blocks(*len)).max().unwrap() + 1;
    let mut next = sequences.iter().map(|(len, _)| blocks(*len)).sum::<usize>();
    let (mut cache, mut tables) =
        (vec![f32::NAN; next * 64 * width], vec![u32::MAX; sequences.len() * table_width]);
    let (mut lanes, mut positions, mut wanted, mut listed) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
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
        listed.push(PrefillRows {
            first_row: lanes.len() as u32,
            rows: *rows as u32,
            position: (len - rows) as u32,
            lane: lane as u32,
        });
        for at in len - rows..*len {
            let seen = cached.chunks_exact(width).take(at + 1).map(|row| (row, &row[..rank]));
            for head in 0..heads {
                let query = &queries[(lanes.len() * heads + head) * width..][..width];
                wanted.extend(reference::attention(query, seen.clone(), None, scale));
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
    Compressed { attention, wanted, positions, sequences: listed }
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
fn rows_are_shared_over_blocks_and_heads_by_sixteen() {
    let lengths = [(1, 1), (33, 1), (256, 1), (257, 1), (600, 2)];
    in_both_orders(|device| {
        for (shape, blocks) in [(tiny(17), 1), (tiny(17), 5), (MOONLIGHT, 3), (tiny(16), 40)] {
            let Compressed { attention, wanted, positions, .. } = compressed(device, shape, &lengths);
            let work = decode_work(&positions, None);
            let partials = MlaDecode::partial_bytes(work[0] as usize, shape);
            let counters = device.u32(&vec![0; positions.len() * shape.heads.div_ceil(16)]);
            let partials = device.out::<u8>(partials);
            let decode = MlaDecode { attention, work: device.u32(&work), partials, counters, blocks };
            // Launched twice, as a graph is replayed.
            for _ in 0..2 {
                device.spoil(attention.out, wanted.len() * 2);
                device.run(&decode.launch());
                device.check_bf16(
                    attention.out,
                    &wanted,
                    ROUNDED_WEIGHTS,
                    &format!("{shape:?}, {blocks} blocks"),
                );
            }
        }
    });
}

/// Shared memory of devices on which a block has 32 cached rows at a time, and 16.
const SHARED: [u32; 2] = [163 << 10, 99 << 10];

/// Attention of these rows by tiles.
fn run_tiles(device: &Device, attention: MlaAttention, rows: &[PrefillRows], block_shared_bytes: u32) {
    let list = prefill_tiles(rows, MlaPrefill::tile_rows(size(attention.shape.heads)));
    let (tiles, count) = (device.u32(&list), list.len() as u32 / 4);
    device.run(&MlaPrefill { attention, tiles, count, block_shared_bytes }.launch());
}

fn check_tiles(shape: MlaShape, lengths: &[(usize, usize)]) {
    in_both_orders(|device| {
        let Compressed { attention, wanted, sequences, .. } = compressed(device, shape, lengths);
        for shared in SHARED.into_iter().filter(|shared| *shared <= device.block_shared_bytes()) {
            device.spoil(attention.out, wanted.len() * 2);
            run_tiles(device, attention, &sequences, shared);
            let what = format!("{shape:?}, {lengths:?}, {shared} bytes");
            device.check_bf16(attention.out, &wanted, ROUNDED_WEIGHTS, &what);
        }
    });
}

#[test]
fn tiles_have_any_number_of_heads_and_end_anywhere() {
    let lengths = [(1, 1), (33, 33), (70, 7), (16, 16), (131, 66)];
    for heads in [1, 5, 16, 20] {
        check_tiles(tiny(heads), &lengths);
    }
    check_tiles(tiny(128), &[(1, 1), (66, 3)]);
}

#[test]
fn tiles_have_rows_of_any_width() {
    check_tiles(MlaShape { rank: 128, ..tiny(20) }, &[(40, 40), (97, 2)]);
    check_tiles(MlaShape { rank: 192, rope: 112, ..tiny(3) }, &[(40, 30), (65, 1)]);
    check_tiles(MlaShape { heads: 16, ..MOONLIGHT }, &[(5, 5), (130, 6)]);
    check_tiles(MlaShape { heads: 20, ..MOONLIGHT }, &[(70, 4)]);
}

/// Deterministic engines rely on this.
#[test]
fn a_row_has_the_same_bits_in_any_tile() {
    in_both_orders(|device| {
        for (heads, shared) in [(5, SHARED[0]), (16, SHARED[0]), (20, SHARED[1])] {
            let Compressed { attention, wanted, sequences, .. } =
                compressed(device, tiny(heads), &[(150, 90)]);
            let bits = |cuts: &[u32]| -> Vec<u16> {
                let part = |ends: &[u32]| PrefillRows {
                    first_row: ends[0],
                    rows: ends[1] - ends[0],
                    position: sequences[0].position + ends[0],
                    lane: 0,
                };
                device.spoil(attention.out, wanted.len() * 2);
                let parts: Vec<_> = cuts.windows(2).map(part).collect();
                run_tiles(device, attention, &parts, shared);
                device.read(attention.out, wanted.len())
            };
            let whole = bits(&[0, 90]);
            assert!(whole == bits(&[0, 7, 8, 40, 87, 89, 90]), "{heads} heads, cut");
            assert!(whole == bits(&(0..=90).collect::<Vec<_>>()), "{heads} heads, row by row");
        }
    });
}
