//! Experts against their reference, and against themselves with other tokens beside them.

#![expect(clippy::cast_possible_truncation, reason = "a few experts; references are rounded to f32")]

use kernels::cpu::{Cpu, Elements, Expert, ExpertScratch, Isa, Matrix, Routes, experts, linear_reference};
use ops::{ExpertActivation, reference};

const HIDDEN: usize = 40;
const WIDTH: usize = 24;
const EXPERTS: usize = 5;
const PER_TOKEN: usize = 3;

fn values(n: usize, seed: usize) -> Vec<f32> {
    (0..n).map(|i| ((i * 7919 + seed * 104_729) % 2003) as f32 / 1001.0 - 1.0).collect()
}

struct Weights {
    gate_up: Vec<Vec<f32>>,
    down: Vec<Vec<f32>>,
    gate_up_bias: Vec<f32>,
    down_bias: Vec<f32>,
}

fn weights() -> Weights {
    let of = |len: usize, seed: usize| (0..EXPERTS).map(|e| values(len, e + seed)).collect();
    Weights {
        gate_up: of(2 * WIDTH * HIDDEN, 10),
        down: of(HIDDEN * WIDTH, 20),
        gate_up_bias: values(2 * WIDTH, 3),
        down_bias: values(HIDDEN, 4),
    }
}

impl Weights {
    fn expert(&self, id: usize) -> Expert<'_> {
        Expert {
            gate_up: vec![Matrix::new(Elements::F32(&self.gate_up[id]), 2 * WIDTH, HIDDEN)],
            gate_up_bias: Some(&self.gate_up_bias),
            down: vec![Matrix::new(Elements::F32(&self.down[id]), HIDDEN, WIDTH)],
            down_bias: Some(&self.down_bias),
        }
    }
}

fn routes(tokens: usize) -> Routes {
    let choices =
        (0..tokens).flat_map(|t| (0..PER_TOKEN).map(move |c| ((t * 2 + c * (1 + t % 2)) % EXPERTS) as u32));
    Routes { per_token: PER_TOKEN, experts: choices.collect(), weights: values(tokens * PER_TOKEN, 9) }
}

fn run(cpu: &Cpu, x: &[f32], routes: &Routes, activation: ExpertActivation) -> Vec<f32> {
    let weights = weights();
    let mut out = values(x.len(), 77);
    let mut scratch = ExpertScratch::default();
    experts(cpu, x, routes, |id| weights.expert(id), activation, &mut scratch, &mut out);
    out
}

const CLAMPED: ExpertActivation = ExpertActivation::ClampedSwiGlu { alpha: 1.702, limit: 2.0 };

#[test]
fn every_token_gets_the_weighted_sum_of_its_experts() {
    let (tokens, weights) = (17, weights());
    let (x, routes) = (values(tokens * HIDDEN, 1), routes(tokens));
    for activation in [ExpertActivation::SwiGlu, ExpertActivation::GeGlu, CLAMPED] {
        let mut wanted: Vec<f64> = values(x.len(), 77).into_iter().map(f64::from).collect();
        for (row, (id, weight)) in routes.experts.iter().zip(&routes.weights).enumerate() {
            let (token, expert) = (row / PER_TOKEN, weights.expert(*id as usize));
            let mut middle = linear_reference(&x[token * HIDDEN..][..HIDDEN], &expert.gate_up[0]);
            middle.iter_mut().zip(&weights.gate_up_bias).for_each(|(x, b)| *x += f64::from(*b));
            let narrow: Vec<f32> = middle.iter().map(|x| *x as f32).collect();
            let activated: Vec<f32> = match activation {
                ExpertActivation::SwiGlu => reference::silu_mul(&narrow, WIDTH, WIDTH),
                ExpertActivation::GeGlu => reference::gelu_mul(&narrow, WIDTH, WIDTH),
                ExpertActivation::ClampedSwiGlu { alpha, limit } => {
                    reference::clamped_swiglu(&narrow, alpha, limit)
                }
            }
            .iter()
            .map(|x| *x as f32)
            .collect();
            let result = linear_reference(&activated, &expert.down[0]);
            for (i, x) in result.iter().enumerate() {
                wanted[token * HIDDEN + i] += f64::from(*weight) * (x + f64::from(weights.down_bias[i]));
            }
        }
        for isa in Isa::available() {
            let got = run(&Cpu::with_isa(2, isa), &x, &routes, activation);
            for (a, b) in got.iter().zip(&wanted) {
                assert!((f64::from(*a) - b).abs() < 1e-4 * (1.0 + b.abs()), "{} {a} {b}", isa.name());
            }
        }
    }
}

#[test]
fn token_is_bit_equal_alone_and_among_others() {
    let (x, all) = (values(200 * HIDDEN, 1), routes(200));
    for isa in Isa::available() {
        let whole = run(&Cpu::with_isa(3, isa), &x, &all, CLAMPED);
        let cpu = Cpu::with_isa(1, isa);
        for token in [0, 1, 63, 199] {
            let of = |v: &[f32]| v[token * PER_TOKEN..][..PER_TOKEN].to_vec();
            let experts_of = all.experts[token * PER_TOKEN..][..PER_TOKEN].to_vec();
            let one = Routes { per_token: PER_TOKEN, experts: experts_of, weights: of(&all.weights) };
            let weights = weights();
            let mut out = values(x.len(), 77)[token * HIDDEN..][..HIDDEN].to_vec();
            let mut scratch = ExpertScratch::default();
            let row = &x[token * HIDDEN..][..HIDDEN];
            experts(&cpu, row, &one, |id| weights.expert(id), CLAMPED, &mut scratch, &mut out);
            assert_eq!(out, whole[token * HIDDEN..][..HIDDEN], "{} {token}", isa.name());
        }
    }
}
