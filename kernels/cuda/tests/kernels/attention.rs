//! Attention kernels against the reference: the simple one, by spans, and by tiles.

use cuda_kernels::{
    AttentionDecode, AttentionPrefill, PrefillRows, Tolerance, decode_work, prefill_tiles, size,
    write_decode_work,
};
use ops::QkvShape;

use super::device::in_both_orders;
use super::paged::Step;

/// Weights are rounded to bf16, each by up to 2⁻⁹ of itself, in sums of values of about one; then
/// the result is rounded.
const ROUNDED_WEIGHTS: Tolerance = Tolerance { absolute: 2e-3, relative: 1.0 / 256.0 };

fn check(step: &Step) {
    in_both_orders(|device| {
        let prepared = step.prepare(device);
        device.run(&prepared.attention.launch());
        device.check_bf16(prepared.attention.out, &prepared.wanted, Tolerance::BF16, &format!("{step:?}"));
    });
}

fn step(head_dim: usize, sequences: &[(usize, usize)]) -> Step {
    let shape = QkvShape { heads: 4, kv_heads: 2, head_dim };
    Step { sequences: sequences.to_vec(), shape, window: None, sinks: false }
}

#[test]
fn heads_of_any_width_attend_over_scattered_blocks() {
    for head_dim in [12, 16, 32, 64, 80, 128, 256] {
        check(&step(head_dim, &[(1, 1), (70, 1), (130, 3)]));
    }
}

#[test]
fn window_hides_all_before_it_and_sinks_take_weight() {
    for (window, sinks) in [(Some(1), false), (Some(65), true), (Some(1000), true), (None, true)] {
        check(&Step { window, sinks, ..step(32, &[(1, 1), (66, 66), (200, 1)]) });
    }
}

#[test]
fn heads_may_share_one_key_or_have_one_each() {
    for (heads, kv_heads) in [(1, 1), (5, 1), (3, 3)] {
        let shape = QkvShape { heads, kv_heads, head_dim: 32 };
        check(&Step { shape, ..step(32, &[(33, 2), (1, 1)]) });
    }
}

/// Checks the step by spans on `blocks` blocks. It is launched twice, as a graph is replayed.
fn check_decode(step: &Step, blocks: u32) {
    in_both_orders(|device| {
        let prepared = step.prepare(device);
        let work = decode_work(&prepared.positions, step.window.map(size));
        let partials = AttentionDecode::partial_bytes(work[0] as usize, step.shape);
        let counters = device.u32(&vec![0; prepared.positions.len() * step.shape.kv_heads]);
        let decode = AttentionDecode {
            attention: prepared.attention,
            work: device.u32(&work),
            partials: device.out::<u8>(partials),
            counters,
            blocks,
        };
        for _ in 0..2 {
            device.spoil(prepared.attention.out, prepared.wanted.len() * 2);
            device.run(&decode.launch());
            device.check_bf16(
                prepared.attention.out,
                &prepared.wanted,
                ROUNDED_WEIGHTS,
                &format!("{step:?}, {blocks} blocks"),
            );
        }
    });
}

#[test]
fn rows_of_any_length_share_any_number_of_blocks() {
    let lengths = [(1, 1), (64, 1), (65, 1), (256, 1), (257, 1), (700, 1), (1024, 1)];
    for (head_dim, blocks) in [(32, 1), (64, 3), (96, 5), (128, 40)] {
        check_decode(&step(head_dim, &lengths), blocks);
    }
}

#[test]
fn spans_know_windows_and_sinks() {
    let lengths = [(1, 1), (66, 1), (300, 1), (1000, 1)];
    for (window, sinks) in [(Some(1), false), (Some(65), true), (Some(300), true), (None, true)] {
        check_decode(&Step { window, sinks, ..step(64, &lengths) }, 4);
    }
    let short = decode_work(&[999], Some(65));
    assert_eq!(short, [1, 0, 0, 0, 0, 896, 0, 1], "one span, from the block of the first position on");
}

#[test]
fn up_to_sixteen_heads_share_a_key() {
    for (heads, kv_heads) in [(1, 1), (7, 1), (9, 1), (16, 1), (32, 2), (3, 3)] {
        let shape = QkvShape { heads, kv_heads, head_dim: 32 };
        check_decode(&Step { shape, ..step(32, &[(33, 1), (300, 1)]) }, 2);
    }
}

#[test]
fn rows_of_one_sequence_see_what_is_before_them() {
    check_decode(&step(64, &[(300, 5), (5, 5)]), 3);
}

#[test]
fn several_lists_share_the_rows_and_use_the_same_room() {
    let step = step(64, &[(300, 1), (700, 1), (5, 1), (520, 1)]);
    in_both_orders(|device| {
        let prepared = step.prepare(device);
        let counters = device.u32(&vec![0; prepared.positions.len() * step.shape.kv_heads]);
        let partials = device.out::<u8>(AttentionDecode::partial_bytes(5, step.shape));
        let (mut work, mut first_row) = (Vec::new(), 0);
        for rows in prepared.positions.chunks(2) {
            write_decode_work(first_row, rows, None, &mut work);
            first_row += rows.len() as u32;
            let attention = prepared.attention;
            let work = device.u32(&work);
            device.run(&AttentionDecode { attention, work, partials, counters, blocks: 3 }.launch());
        }
        device.check_bf16(prepared.attention.out, &prepared.wanted, ROUNDED_WEIGHTS, "two lists");
    });
}

/// Checks the step by tiles.
fn check_prefill(step: &Step) {
    in_both_orders(|device| {
        let prepared = step.prepare(device);
        let count = step.sequences.len() as u32;
        let mut first_row = 0;
        let sequence = |(s, (len, rows)): (u32, &(usize, usize))| {
            let (position, rows) = ((len - rows) as u32, *rows as u32);
            first_row += rows;
            PrefillRows { first_row: first_row - rows, rows, position, lane: count - 1 - s }
        };
        let rows: Vec<_> = (0..).zip(&step.sequences).map(sequence).collect();
        let tiles = prefill_tiles(&rows, AttentionPrefill::TILE_ROWS);
        let count = tiles.len() as u32 / 4;
        let tiles = device.u32(&tiles);
        device.run(&AttentionPrefill { attention: prepared.attention, tiles, count }.launch());
        device.check_bf16(prepared.attention.out, &prepared.wanted, ROUNDED_WEIGHTS, &format!("{step:?}"));
    });
}

#[test]
fn prompts_of_any_length_are_cut_into_tiles() {
    for head_dim in [32, 64, 96, 128] {
        let heads = if head_dim == 32 { 4 } else { 2 };
        let shape = QkvShape { heads, kv_heads: 2, head_dim };
        check_prefill(&Step { shape, ..step(head_dim, &[(1, 1), (16, 16), (130, 130), (200, 17)]) });
    }
}

#[test]
fn tiles_know_windows_and_sinks() {
    for (window, sinks) in
        [(Some(1), false), (Some(20), true), (Some(64), false), (Some(150), true), (None, true)]
    {
        let shape = QkvShape { heads: 2, kv_heads: 1, head_dim: 32 };
        check_prefill(&Step { shape, window, sinks, ..step(32, &[(140, 140), (333, 70), (64, 64)]) });
    }
}
