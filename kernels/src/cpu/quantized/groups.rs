//! Quantisation of one group of sixteen rows at a time, a row in each lane: finds scales and codes.
//!
//! Products and sums are rounded one by one, in a fixed order, so a model has the same codes on
//! every machine.

use super::GROUP;
use crate::cpu::lanes::LANES;
use crate::cpu::lanes::dots::Dots;

/// Values of one group of sixteen rows, in f32: element `i` of `all` has value `i` of each row.
pub(super) struct Values<L: Dots> {
    lanes: L,
    all: [L::V; GROUP],
    /// Number of values in the group; the rest of `all` is zero.
    count: usize,
    /// Zero, or NaN for a row with a value that is infinite or NaN.
    zero: L::V,
}

/// Codes of a group: `value = scale * code + minimum`, where 128 is taken off a code of
/// [`Values::q8`] first. A value that isn't finite makes its row's scale NaN.
pub(super) struct Quantized<L: Dots> {
    pub(super) scale: L::V,
    pub(super) minimum: L::V,
    /// Codes as whole numbers in f32.
    pub(super) codes: [L::V; GROUP],
}

/// Line `value = scale * code + minimum`, one for the row in each lane.
#[derive(Clone, Copy)]
struct Line<V> {
    scale: V,
    minimum: V,
}

/// Result of quantising values by a line: the squared error, and the line that fits the resulting
/// codes best by least squares.
struct LineFit<V> {
    line: Line<V>,
    error: V,
    refitted: Line<V>,
}

#[expect(clippy::needless_range_loop, reason = "i indexes values and codes")]
impl<L: Dots> Values<L> {
    /// Gathers a group's values from `rows` `[16, cols]`.
    #[inline(always)]
    pub(super) fn gather(lanes: L, rows: &[f32], cols: usize, group: usize) -> Self {
        let first = group * GROUP;
        let count = GROUP.min(cols - first);
        let mut values = [lanes.splat(0.0); GROUP];
        let mut zero = lanes.splat(0.0);
        for i in 0..count {
            let mut column = [0.0; LANES];
            for lane in 0..LANES {
                column[lane] = rows[lane * cols + first + i];
            }
            values[i] = lanes.load(&column);
            zero = lanes.add(zero, lanes.mul(values[i], lanes.splat(0.0)));
        }
        Self { lanes, all: values, count, zero }
    }

    /// Quantises to codes from 1 to 255, which stand for -127 to 127 times the scale.
    #[inline(always)]
    pub(super) fn q8(&self) -> Quantized<L> {
        let lanes = self.lanes;
        let mut most = lanes.splat(0.0);
        for value in &self.all[..self.count] {
            most = lanes.max(most, lanes.max(*value, lanes.sub(lanes.splat(0.0), *value)));
        }
        let scale = lanes.round_to_f16(lanes.div(most, lanes.splat(127.0)));
        let factor = reciprocal(lanes, scale);
        let mut codes = [lanes.splat(128.0); GROUP];
        for i in 0..self.count {
            let code = lanes.mul(self.all[i], factor);
            let code = lanes.max(lanes.min(code, lanes.splat(127.0)), lanes.splat(-127.0));
            codes[i] = lanes.add(round(lanes, code), lanes.splat(128.0));
        }
        Quantized { scale: lanes.add(scale, self.zero), minimum: lanes.splat(0.0), codes }
    }

    /// Quantises to codes from 0 to 15. It tries the scale that spans all values, and some that
    /// span less, each also refitted to the codes that it makes, and takes the one with the least
    /// squared error.
    #[inline(always)]
    pub(super) fn q4(&self) -> Quantized<L> {
        const TRIES: u8 = 8;
        let lanes = self.lanes;
        let (low, high) = self.range();
        let span = lanes.sub(high, low);
        let fifteenth = lanes.splat(1.0 / 15.0);
        let mut best = self.fit(Line { scale: lanes.mul(span, fifteenth), minimum: low });
        for shrink in 0..TRIES {
            let margin = lanes.mul(span, lanes.splat(0.01 * f32::from(shrink)));
            let narrow = lanes.sub(span, lanes.add(margin, margin));
            let line = Line { scale: lanes.mul(narrow, fifteenth), minimum: lanes.add(low, margin) };
            let first = self.fit(line);
            let fitted = self.fit(first.refitted);
            best = better(lanes, &better(lanes, &best, &first), &fitted);
        }
        let Line { scale, minimum } = best.line;
        let factor = reciprocal(lanes, scale);
        let mut codes = [lanes.splat(0.0); GROUP];
        for i in 0..self.count {
            codes[i] = self.code(i, factor, minimum);
        }
        Quantized { scale: lanes.add(scale, self.zero), minimum, codes }
    }

    #[inline(always)]
    fn range(&self) -> (L::V, L::V) {
        let (mut low, mut high) = (self.all[0], self.all[0]);
        for value in &self.all[..self.count] {
            low = self.lanes.min(low, *value);
            high = self.lanes.max(high, *value);
        }
        (low, high)
    }

    #[inline(always)]
    fn code(&self, i: usize, factor: L::V, minimum: L::V) -> L::V {
        let lanes = self.lanes;
        let code = lanes.mul(lanes.sub(self.all[i], minimum), factor);
        round(lanes, lanes.max(lanes.min(code, lanes.splat(15.0)), lanes.splat(0.0)))
    }

    /// Quantises by `line`, rounded to f16.
    #[inline(always)]
    fn fit(&self, line: Line<L::V>) -> LineFit<L::V> {
        let lanes = self.lanes;
        let (scale, minimum) = (lanes.round_to_f16(line.scale), lanes.round_to_f16(line.minimum));
        let factor = reciprocal(lanes, scale);
        let zero = lanes.splat(0.0);
        let (mut error, mut c, mut cc, mut x, mut cx) = (zero, zero, zero, zero, zero);
        for i in 0..self.count {
            let (value, code) = (self.all[i], self.code(i, factor, minimum));
            let off = lanes.sub(value, lanes.add(lanes.mul(code, scale), minimum));
            error = lanes.add(error, lanes.mul(off, off));
            c = lanes.add(c, code);
            cc = lanes.add(cc, lanes.mul(code, code));
            x = lanes.add(x, value);
            cx = lanes.add(cx, lanes.mul(code, value));
        }
        let n = lanes.splat(self.count as f32);
        let spread = lanes.sub(lanes.mul(n, cc), lanes.mul(c, c));
        let slope = lanes.div(lanes.sub(lanes.mul(n, cx), lanes.mul(c, x)), spread);
        let slope = lanes.select_less(zero, spread, lanes.max(slope, zero), zero);
        let refitted = Line { scale: slope, minimum: lanes.div(lanes.sub(x, lanes.mul(slope, c)), n) };
        LineFit { line: Line { scale, minimum }, error, refitted }
    }
}

/// Returns, for each lane, the line with the smaller error.
#[inline(always)]
fn better<L: Dots>(lanes: L, best: &LineFit<L::V>, tried: &LineFit<L::V>) -> LineFit<L::V> {
    let (a, b) = (tried.error, best.error);
    let line = Line {
        scale: lanes.select_less(a, b, tried.line.scale, best.line.scale),
        minimum: lanes.select_less(a, b, tried.line.minimum, best.line.minimum),
    };
    LineFit { line, error: lanes.select_less(a, b, a, b), refitted: tried.refitted }
}

/// Rounds numbers below 2²² to the nearest whole number, halves to even.
#[inline(always)]
fn round<L: Dots>(lanes: L, x: L::V) -> L::V {
    const SHIFT: f32 = 12_582_912.0; // 1.5 · 2²³
    lanes.sub(lanes.add(x, lanes.splat(SHIFT)), lanes.splat(SHIFT))
}

/// Returns `1 / scale`, or zero if the scale is zero.
#[inline(always)]
fn reciprocal<L: Dots>(lanes: L, scale: L::V) -> L::V {
    let zero = lanes.splat(0.0);
    lanes.select_less(zero, scale, lanes.div(lanes.splat(1.0), scale), zero)
}
