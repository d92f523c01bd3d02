//! Kernels of a mixture of experts other than its linear layers: router, order by expert,
//! activation, weighted sum.

use cuda_kernels::{
    ClampedSwiglu, MoeAlign, MoeCombine, MoeRoute, Tolerance, moe_align_reference, moe_combine_reference,
    moe_route_reference,
};
use ops::{Routing, SIGMOID_EPS, Scoring, reference};

use super::device::{Device, in_both_orders, near, values};

fn route(
    device: &Device,
    scores: &[f32],
    correction: Option<&[f32]>,
    (rows, per_token): (usize, usize),
    scoring: Scoring,
) -> (Vec<u32>, Vec<f32>) {
    let count = rows * per_token;
    let (chosen, weights) = (device.out::<u32>(count), device.out::<f32>(count));
    let experts = scores.len() / rows;
    let correction = correction.map(|correction| device.f32(correction));
    let rows = rows as u32;
    let scores = device.f32(scores);
    let routing = Routing { experts, per_token, scoring, correction, factors: None };
    device.run(&MoeRoute { scores, chosen, weights, rows, routing }.launch());
    (device.read(chosen, count), device.read_f32(weights, count))
}

fn check(scorings: &[Scoring], experts: usize, per_token: usize, corrected: bool) {
    in_both_orders(|device| {
        let scores: Vec<f32> = values(5 * experts, 3).iter().map(|x| x * 3.0).collect();
        let correction = values(experts, 4);
        let correction = corrected.then_some(&correction[..]);
        for scoring in scorings {
            let (chosen, weights) = route(device, &scores, correction, (5, per_token), *scoring);
            let wanted = |row: &[f32]| moe_route_reference(row, correction, per_token, *scoring);
            let (ids, wanted): (Vec<u32>, Vec<f64>) = scores.chunks_exact(experts).flat_map(wanted).unzip();
            assert_eq!(chosen, ids, "{scoring:?}, {experts} experts");
            near(Tolerance::F32, &weights, &wanted, &format!("{scoring:?}"));
        }
    });
}

#[test]
fn softmax_is_over_all_experts_or_the_chosen_ones() {
    let scorings = [
        Scoring::Softmax { normalize: true },
        Scoring::Softmax { normalize: false },
        Scoring::SoftmaxOfChosen,
    ];
    for (experts, per_token) in [(8, 2), (5, 5), (33, 32), (128, 8)] {
        check(&scorings, experts, per_token, false);
    }
}

#[test]
fn groups_go_by_two_best_and_corrections_keep_weights() {
    let scoring = |groups, top_groups, normalize| Scoring::Sigmoid {
        groups,
        top_groups,
        normalize,
        eps: SIGMOID_EPS,
        scale: 2.5,
    };
    check(&[scoring(4, 2, true), scoring(8, 3, false), scoring(1, 1, true)], 64, 6, true);
    check(&[scoring(8, 4, true)], 256, 8, true);
    check(&[scoring(8, 4, true)], 8, 3, false);
}

#[test]
fn equal_scores_take_the_lower_expert_and_nan_differ() {
    in_both_orders(|device| {
        let scores = [0.1, 2.0, -1.0, 2.0, 0.5, 3.0, -2.0, 2.0];
        let scoring = Scoring::Softmax { normalize: true };
        assert_eq!(route(device, &scores, None, (1, 4), scoring).0, [5, 1, 3, 7]);
        let sigmoid =
            Scoring::Sigmoid { groups: 4, top_groups: 2, normalize: true, eps: SIGMOID_EPS, scale: 1.0 };
        for scoring in [scoring, Scoring::SoftmaxOfChosen, sigmoid] {
            let mut chosen = route(device, &[f32::NAN; 8], None, (1, 4), scoring).0;
            chosen.sort_unstable();
            chosen.dedup();
            assert!(chosen.len() == 4 && chosen[3] < 8, "{scoring:?}: {chosen:?}");
        }
    });
}

#[test]
fn routes_are_ordered_by_expert_and_stable_within_one() {
    in_both_orders(|device| {
        for (routes, experts) in [(1, 1), (31, 3), (64, 7), (1000, 130)] {
            // Some experts have no routes; the last is one of them.
            let chosen: Vec<u32> = (0..routes).map(|i| (i * i * 31 + i) % (experts * 2 / 3).max(1)).collect();
            let (order, starts) =
                (device.out::<u32>(routes as usize), device.out::<u32>(experts as usize + 1));
            device.run(&MoeAlign { chosen: device.u32(&chosen), order, starts, routes, experts }.launch());
            let got: (Vec<u32>, Vec<u32>) =
                (device.read(order, routes as usize), device.read(starts, experts as usize + 1));
            assert_eq!(got, moe_align_reference(&chosen, experts));
        }
    });
}

#[test]
fn clamped_gates_and_ups_take_turns() {
    in_both_orders(|device| {
        for (rows, cols) in [(1, 1), (3, 7), (2, 16), (1, 2056)] {
            let gate_up: Vec<f32> = values(2 * rows * cols, 3).iter().map(|x| x * 16.0).collect();
            let out = device.out::<u16>(rows * cols);
            let (gate, rows, cols) = (device.bf16(&gate_up), rows as u32, cols as u32);
            device.run(&ClampedSwiglu { gate_up: gate, out, rows, cols, alpha: 1.702, limit: 7.0 }.launch());
            let wanted = reference::clamped_swiglu(&gate_up, 1.702, 7.0);
            device.check_bf16(out, &wanted, Tolerance::BF16, &format!("{rows} rows of {cols}"));
        }
    });
}

#[test]
fn results_are_added_by_their_weights() {
    in_both_orders(|device| {
        for (rows, cols, per_token) in [(1, 1, 1), (3, 7, 2), (2, 1032, 8)] {
            let (results, weights) = (values(rows * cols * per_token, 1), values(rows * per_token, 2));
            let before = values(rows * cols, 3);
            let out = device.f32(&before);
            let combine = MoeCombine {
                results: device.f32(&results),
                weights: device.f32(&weights),
                out,
                rows: rows as u32,
                cols: cols as u32,
                per_token: per_token as u32,
            };
            device.run(&combine.launch());
            let wanted = moe_combine_reference(&results, &weights, &before, cols);
            near(Tolerance::F32, &device.read_f32(out, rows * cols), &wanted, "sums");
        }
    });
}
