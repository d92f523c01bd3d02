//! A whole layer of experts: each kernel reads what the kernel before it wrote.

use cuda_kernels::{
    ClampedSwiglu, DevicePtr, ExpertFormat, GateMul, Launch, MoeAlign, MoeCombine, MoeLayer, MoeLinear,
    MoeRoute, StoredExperts, Tolerance, moe_route_reference,
};
use ops::{GateActivation, Routing, Scoring, reference};

use super::device::{Device, in_both_orders, near, values};

const TOKENS: usize = 5;
const EXPERTS: usize = 6;
const PER_TOKEN: usize = 2;
const HIDDEN: usize = 40;
const INTER: usize = 24;
const ROUTES: usize = TOKENS * PER_TOKEN;
const SCORING: Scoring = Scoring::Softmax { normalize: true };

/// Values of a layer's input and weights, and its activation.
struct Layer {
    x: Vec<f32>,
    scores: Vec<f32>,
    gate_up: Vec<f32>,
    down: Vec<f32>,
    residual: Vec<f32>,
    clamped: bool,
}

impl Layer {
    fn new(clamped: bool) -> Self {
        Self {
            x: values(TOKENS * HIDDEN, 1),
            scores: values(TOKENS * EXPERTS, 2).iter().map(|x| x * 3.0).collect(),
            gate_up: values(EXPERTS * 2 * INTER * HIDDEN, 3),
            down: values(EXPERTS * HIDDEN * INTER, 4),
            residual: values(TOKENS * HIDDEN, 5),
            clamped,
        }
    }

    fn wanted(&self) -> Vec<f64> {
        let token = |token: usize| {
            let x = &self.x[token * HIDDEN..][..HIDDEN];
            let mut out: Vec<f64> =
                self.residual[token * HIDDEN..][..HIDDEN].iter().map(|x| f64::from(*x)).collect();
            for (expert, weight) in
                moe_route_reference(&self.scores[token * EXPERTS..][..EXPERTS], None, PER_TOKEN, SCORING)
            {
                let matrix = |all: &[f32], len: usize| all[expert as usize * len..][..len].to_vec();
                let narrow = |values: Vec<f64>| values.into_iter().map(|x| x as f32).collect::<Vec<_>>();
                let both =
                    narrow(reference::linear(x, &matrix(&self.gate_up, 2 * INTER * HIDDEN), None, HIDDEN));
                let active = if self.clamped {
                    reference::clamped_swiglu(&both, 1.702, 7.0)
                } else {
                    reference::silu_mul(&both, INTER, INTER)
                };
                let result =
                    reference::linear(&narrow(active), &matrix(&self.down, HIDDEN * INTER), None, INTER);
                out.iter_mut().zip(result).for_each(|(out, x)| *out += weight * x);
            }
            out
        };
        (0..TOKENS).flat_map(token).collect()
    }

    fn run(&self, device: &Device) -> Vec<f32> {
        let (chosen, weights) = (device.out::<u32>(ROUTES), device.out::<f32>(ROUTES));
        let (order, starts) = (device.out::<u32>(ROUTES), device.out::<u32>(EXPERTS + 1));
        let (both, active) = (device.out::<u16>(ROUTES * 2 * INTER), device.out::<u16>(ROUTES * INTER));
        let (results, out) = (device.out::<f32>(ROUTES * HIDDEN), device.f32(&self.residual));
        let (rows, routes, experts) = (TOKENS as u32, ROUTES as u32, EXPERTS as u32);
        let (per_token, cols, inter) = (PER_TOKEN as u32, HIDDEN as u32, INTER as u32);
        let linear = |x: DevicePtr, weight: &[f32], out: DevicePtr, (n, k): (u32, u32), layer: MoeLayer| {
            let weights = StoredExperts { at: device.bf16(weight), format: ExpertFormat::Bf16, bias: None };
            device.run(&MoeLinear { x, order, starts, weights, out, routes, experts, n, k, layer }.launch());
        };
        let scores = device.f32(&self.scores);
        let routing = Routing {
            experts: EXPERTS,
            per_token: PER_TOKEN,
            scoring: SCORING,
            correction: None,
            factors: None,
        };
        device.run(&MoeRoute { scores, chosen, weights, rows, routing }.launch());
        device.run(&MoeAlign { chosen, order, starts, routes, experts }.launch());
        let x = device.bf16(&self.x);
        linear(x, &self.gate_up, both, (2 * inter, cols), MoeLayer::GateUp { per_token });
        device.run(&self.activation(both, active));
        linear(active, &self.down, results, (cols, inter), MoeLayer::Down);
        device.run(&MoeCombine { results, weights, out, rows, cols, per_token }.launch());
        device.read_f32(out, TOKENS * HIDDEN)
    }

    fn activation(&self, gate_up: DevicePtr, out: DevicePtr) -> Launch {
        let (rows, cols) = (ROUTES as u32, INTER as u32);
        if self.clamped {
            ClampedSwiglu { gate_up, out, rows, cols, alpha: 1.702, limit: 7.0 }.launch()
        } else {
            GateMul { activation: GateActivation::Silu, gate_up, out, rows, cols, group: cols }.launch()
        }
    }
}

#[test]
fn layer_adds_weighted_results_of_each_tokens_experts() {
    in_both_orders(|device| {
        for clamped in [false, true] {
            let layer = Layer::new(clamped);
            // Values between the linear layers are bf16: sums of some twenty values of up to about
            // eight, each rounded twice.
            let tolerance = Tolerance { absolute: 0.1, relative: 1.0 / 128.0 };
            near(tolerance, &layer.run(device), &layer.wanted(), &format!("clamped {clamped}"));
        }
    });
}
