//! What operations mean, in f64 and without any cleverness: tests compare the kernels of every
//! device with these.

mod delta;
mod short_conv;

pub use delta::gated_delta;
pub use short_conv::short_conv;

use crate::Norm;

/// RMS norm of rows as wide as `weight`.
#[expect(clippy::cast_precision_loss, reason = "a row is far shorter than 2⁵²")]
pub fn rms_norm(x: &[f32], Norm { weight, eps }: Norm<&[f32]>) -> Vec<f64> {
    let scaled = |row: &[f32]| {
        let squares: f64 = row.iter().map(|x| f64::from(*x).powi(2)).sum();
        let scale = (squares / row.len() as f64 + f64::from(eps)).sqrt().recip();
        row.iter().zip(weight).map(|(x, w)| f64::from(*x) * scale * f64::from(*w)).collect::<Vec<_>>()
    };
    x.chunks_exact(weight.len()).flat_map(scaled).collect()
}

/// Linear layer of rows of `inputs` values: `x · weightᵀ + bias`, `[rows, outputs]`.
pub fn linear(x: &[f32], weight: &[f32], bias: Option<&[f32]>, inputs: usize) -> Vec<f64> {
    let dot =
        |x: &[f32], row: &[f32]| x.iter().zip(row).map(|(x, w)| f64::from(*x) * f64::from(*w)).sum::<f64>();
    let bias = |output: usize| bias.map_or(0.0, |bias| f64::from(bias[output]));
    let row = |x| weight.chunks_exact(inputs).enumerate().map(move |(i, row)| dot(x, row) + bias(i));
    x.chunks_exact(inputs).flat_map(row).collect()
}

/// `silu(gate) * up` of rows of `2 * cols` values, in which `group` columns of gate and as many of
/// up alternate.
pub fn silu_mul(gate_up: &[f32], cols: usize, group: usize) -> Vec<f64> {
    gate_mul(gate_up, cols, group, |gate| gate / (1.0 + (-gate).exp()))
}

/// `gelu(gate) * up` of such rows ([`GateActivation::GeluTanh`](crate::GateActivation::GeluTanh)).
pub fn gelu_mul(gate_up: &[f32], cols: usize, group: usize) -> Vec<f64> {
    let inner = |x: f64| std::f64::consts::FRAC_2_PI.sqrt() * (x + 0.044_715 * x.powi(3));
    gate_mul(gate_up, cols, group, |gate| 0.5 * gate * (1.0 + inner(gate).tanh()))
}

fn gate_mul(gate_up: &[f32], cols: usize, group: usize, activation: impl Fn(f64) -> f64) -> Vec<f64> {
    let row = |row: &[f32]| {
        let place = |col: usize| col / group * 2 * group + col % group;
        let of = |col| (f64::from(row[place(col)]), f64::from(row[place(col) + group]));
        (0..cols).map(of).map(|(gate, up)| activation(gate) * up).collect::<Vec<_>>()
    };
    gate_up.chunks_exact(2 * cols).flat_map(row).collect()
}

/// [`ExpertActivation::ClampedSwiGlu`](crate::ExpertActivation::ClampedSwiGlu) of pairs of gate and
/// up.
pub fn clamped_swiglu(gate_up: &[f32], alpha: f32, limit: f32) -> Vec<f64> {
    let (alpha, limit) = (f64::from(alpha), f64::from(limit));
    let one = |pair: &[f32; 2]| {
        let (gate, up) = (f64::from(pair[0]).min(limit), f64::from(pair[1]).clamp(-limit, limit));
        (up + 1.0) * gate / (1.0 + (-alpha * gate).exp())
    };
    gate_up.as_chunks().0.iter().map(one).collect()
}

/// Attention of one query of one head: the (key, value) pairs that it sees, at least one, and its
/// head's sink.
pub fn attention<'a>(
    query: &[f32],
    seen: impl Iterator<Item = (&'a [f32], &'a [f32])> + Clone,
    sink: Option<f32>,
    scale: f32,
) -> Vec<f64> {
    let score = |key: &[f32]| -> f64 {
        query.iter().zip(key).map(|(q, k)| f64::from(*q) * f64::from(*k)).sum::<f64>() * f64::from(scale)
    };
    let sink = sink.map_or(f64::NEG_INFINITY, f64::from);
    let scores: Vec<f64> = seen.clone().map(|(key, _)| score(key)).collect();
    let most = scores.iter().copied().fold(sink, f64::max);
    let mut out = Vec::new();
    let mut sum = (sink - most).exp();
    for (score, (_, value)) in scores.into_iter().zip(seen) {
        let weight = (score - most).exp();
        sum += weight;
        out.resize(value.len(), 0.0);
        out.iter_mut().zip(value).for_each(|(out, v)| *out += weight * f64::from(*v));
    }
    out.into_iter().map(|x| x / sum).collect()
}

/// One query or key head: its norm, if there is one, then its rotation at a position. Of the `r`
/// dimensions that have frequencies, `i` is rotated with `i + r / 2`; the others stay as they are.
pub fn norm_rope(
    head: &[f32],
    norm: Option<Norm<&[f32]>>,
    frequencies: &[f32],
    factor: f32,
    position: u32,
) -> Vec<f64> {
    let x = norm.map_or_else(|| head.iter().map(|x| f64::from(*x)).collect(), |norm| rms_norm(head, norm));
    let (rotated_part, rest) = x.split_at(2 * frequencies.len());
    let (low, high) = rotated_part.split_at(frequencies.len());
    let pairs = low.iter().zip(high).zip(frequencies);
    let (low, high): (Vec<f64>, Vec<f64>) = pairs
        .map(|((a, b), frequency)| <(f64, f64)>::from(rotated([*a, *b], *frequency, factor, position)))
        .unzip();
    [&low, &high, rest].concat()
}

/// Rotation at a position in which dimension `2 i` is rotated with `2 i + 1`.
pub fn interleaved_rope(x: &[f32], frequencies: &[f32], factor: f32, position: u32) -> Vec<f64> {
    let pairs = x.as_chunks::<2>().0.iter().zip(frequencies);
    pairs.flat_map(|(pair, frequency)| rotated(pair.map(f64::from), *frequency, factor, position)).collect()
}

/// A pair of dimensions, rotated by an angle that is rounded to f32 as in the models' training.
#[expect(clippy::cast_precision_loss, reason = "positions are below 2²⁴")]
fn rotated([a, b]: [f64; 2], frequency: f32, factor: f32, position: u32) -> [f64; 2] {
    let (sine, cosine) = f64::from(position as f32 * frequency).sin_cos();
    [a * cosine - b * sine, b * cosine + a * sine].map(|x| x * f64::from(factor))
}

/// Rows of `x`, as wide as `gate` or with one gate for each row: `x * sigmoid(gate)`.
pub fn sigmoid_mul(x: &[f32], gate: &[f32]) -> Vec<f64> {
    let cols = x.len() / gate.len();
    let sigmoid = |x: f32| 1.0 / (1.0 + (-f64::from(x)).exp());
    x.iter().enumerate().map(|(i, x)| f64::from(*x) * sigmoid(gate[i / cols])).collect()
}
