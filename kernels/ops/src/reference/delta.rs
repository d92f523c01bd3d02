//! The gated delta rule, token by token.

use super::rms_norm;
use crate::{DELTA_L2_EPS, DeltaShape, DeltaWeights, Norm};

/// A layer's result for one sequence from its beginning: rows of the wide and of the narrow
/// projection, results `[rows, out_width]`.
pub fn gated_delta(
    shape: DeltaShape,
    weights: DeltaWeights<&[f32]>,
    projected: &[f32],
    rates: &[f32],
) -> Vec<f64> {
    let rows = projected.len() / shape.projected_width();
    let mut out = vec![0.0; rows * shape.out_width()];
    for key_head in 0..shape.key_heads {
        for member in 0..shape.group() {
            one_head(shape, weights, (projected, rates), (key_head, member), &mut out);
        }
    }
    out
}

fn one_head(
    shape: DeltaShape,
    weights: DeltaWeights<&[f32]>,
    (projected, rates): (&[f32], &[f32]),
    (key_head, member): (usize, usize),
    out: &mut [f64],
) {
    let DeltaShape { key_dim, value_dim, .. } = shape;
    let head = shape.value_head(key_head, member);
    let ((query_at, key_at), at) = (shape.query_key(key_head), shape.offsets(key_head, member));
    let channels = shape.conv_channels(key_head, member);
    let (decay_bias, decay) = (f64::from(weights.decay_bias[head]), f64::from(weights.decay[head]));
    let width = f64::from(u32::try_from(key_dim).expect("a head is narrow"));
    let mut state = vec![0.0; key_dim * value_dim];
    for (row, rates) in rates.chunks_exact(shape.rates_width()).enumerate() {
        let mixed = |from: usize, channel: usize, width: usize| -> Vec<f64> {
            (0..width)
                .map(|i| convolved(shape, weights.conv, projected, (row, from + i, channel + i)))
                .collect()
        };
        let (query, key) = (mixed(query_at, channels[0], key_dim), mixed(key_at, channels[1], key_dim));
        let (query, key) = (unit(&query), unit(&key));
        let value = mixed(at.value, channels[2], value_dim);
        let rate = 1.0 / (1.0 + (-f64::from(rates[at.rate])).exp());
        let kept = (-decay * (f64::from(rates[at.decay]) + decay_bias).exp().ln_1p()).exp();
        for x in &mut state {
            *x *= kept;
        }
        let mut result = vec![0.0f32; value_dim];
        for j in 0..value_dim {
            let known: f64 = (0..key_dim).map(|i| state[i * value_dim + j] * key[i]).sum();
            let change = rate * (value[j] - known);
            (0..key_dim).for_each(|i| state[i * value_dim + j] += key[i] * change);
            let read: f64 = (0..key_dim).map(|i| state[i * value_dim + j] * query[i]).sum();
            result[j] = narrow(read / width.sqrt());
        }
        let Norm { weight, eps } = weights.norm;
        let gates = &projected[row * shape.projected_width() + at.gate..][..value_dim];
        let to = &mut out[row * shape.out_width() + head * value_dim..][..value_dim];
        for ((to, x), gate) in to.iter_mut().zip(rms_norm(&result, Norm { weight, eps })).zip(gates) {
            *to = x * silu(f64::from(*gate));
        }
    }
}

/// The convolution of one channel up to a row, and its activation; before the first row are zeros.
fn convolved(shape: DeltaShape, conv: &[f32], projected: &[f32], at: (usize, usize, usize)) -> f64 {
    let (row, column, channel) = at;
    let tap = |tap: usize| {
        let from = (row + tap + 1).checked_sub(shape.taps);
        let x = from.map_or(0.0, |row| projected[row * shape.projected_width() + column]);
        f64::from(x) * f64::from(conv[channel * shape.taps + tap])
    };
    silu((0..shape.taps).map(tap).sum())
}

fn unit(x: &[f64]) -> Vec<f64> {
    let squares: f64 = x.iter().map(|x| x * x).sum();
    x.iter().map(|x| x / (squares + f64::from(DELTA_L2_EPS)).sqrt()).collect()
}

fn silu(x: f64) -> f64 {
    x / (1.0 + (-x).exp())
}

#[expect(clippy::cast_possible_truncation, reason = "a norm's input is f32")]
fn narrow(x: f64) -> f32 {
    x as f32
}
