//! Attention, the simple way.

use cuda_kernels::Tolerance;

use crate::device::in_both_orders;
use crate::paged::Step;

fn check(step: &Step) {
    in_both_orders(|device| {
        let prepared = step.prepare(device);
        device.run(&prepared.attention.launch());
        device.check_bf16(prepared.attention.out, &prepared.wanted, Tolerance::BF16, &format!("{step:?}"));
    });
}

fn step(head_dim: usize, sequences: &[(usize, usize)]) -> Step {
    let sequences = sequences.to_vec();
    Step { sequences, heads: 4, kv_heads: 2, head_dim, window: None, sinks: false }
}

#[test]
fn heads_of_any_width_attend_over_scattered_blocks() {
    for head_dim in [12, 16, 32, 64, 80, 128, 256] {
        check(&step(head_dim, &[(1, 1), (70, 1), (130, 3)]));
    }
}

#[test]
fn a_window_hides_what_is_before_it_and_sinks_take_weight() {
    for (window, sinks) in [(Some(1), false), (Some(65), true), (Some(1000), true), (None, true)] {
        check(&Step { window, sinks, ..step(32, &[(1, 1), (66, 66), (200, 1)]) });
    }
}

#[test]
fn heads_may_share_one_key_or_have_one_each() {
    for (heads, kv_heads) in [(1, 1), (5, 1), (3, 3)] {
        check(&Step { heads, kv_heads, ..step(32, &[(33, 2), (1, 1)]) });
    }
}
