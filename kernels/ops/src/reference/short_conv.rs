//! Short gated convolution.

use crate::{ShortConvShape, ShortConvWeights};

/// A layer's result for one sequence from its beginning: rows of the projection, results
/// `[rows, channels]`.
pub fn short_conv(shape: ShortConvShape, weights: ShortConvWeights<&[f32]>, projected: &[f32]) -> Vec<f64> {
    let ShortConvShape { channels, taps } = shape;
    let at = |row: usize, part: usize, channel: usize| {
        f64::from(projected[row * shape.projected_width() + part * channels + channel])
    };
    let one = |row: usize, channel: usize| {
        let tap = |tap: usize| {
            let input = (row + tap + 1).checked_sub(taps);
            let input = input.map_or(0.0, |row| at(row, 0, channel) * at(row, 2, channel));
            input * f64::from(weights.factors[channel * taps + tap])
        };
        let bias = weights.bias.map_or(0.0, |bias| f64::from(bias[channel]));
        at(row, 1, channel) * (bias + (0..taps).map(tap).sum::<f64>())
    };
    let rows = projected.len() / shape.projected_width();
    (0..rows).flat_map(|row| (0..channels).map(move |channel| one(row, channel))).collect()
}
