//! A few rows of one key head's group: convolution, lengths, decays, the rule, norm and gate.

use ops::{DELTA_L2_EPS, DeltaShape, Norm};

use super::DeltaLayer;
use super::group::GroupShape;
use super::rule::HeadRows;
use crate::cpu::activation::silu;
use crate::cpu::lanes::{LANES, Lanes};
use crate::cpu::output::Output;

/// Maximum number of rows in a piece.
pub(super) const ROWS: usize = 16;

/// Buffers of one task, for the rows of a piece.
pub(super) struct Piece<'a> {
    weights: &'a DeltaLayer,
    group: GroupShape,
    key_head: usize,
    /// `[taps - 1 + rows, channels]`: inputs of the convolution, those before the piece first.
    inputs: Vec<f32>,
    /// `[rows, 2 * heads]`: update rates and decays, as they come from the projection.
    rates: Vec<f32>,
    mixed: Vec<f32>,
    /// `[rows, heads]`.
    factors: (Vec<f32>, Vec<f32>),
    /// `[rows, value]`.
    results: Vec<f32>,
    rows: usize,
}

/// Gates of a piece's results, and where the results go.
pub(super) struct Outlet<'a> {
    /// `[rows, projected_width]`.
    pub(super) projected: &'a [f32],
    /// Results of all heads in all rows of the step. Only those of this group are written.
    pub(super) out: &'a Output<'a, f32>,
    /// Index of the piece's first row there.
    pub(super) first_row: usize,
}

impl<'a> Piece<'a> {
    pub(super) fn new(weights: &'a DeltaLayer, key_head: usize) -> Self {
        let group = GroupShape::of(weights.shape);
        let zeros = |count| vec![0.0; count];
        Self {
            weights,
            group,
            key_head,
            inputs: zeros(group.window + ROWS * group.channels),
            rates: zeros(ROWS * 2 * group.heads),
            mixed: zeros(ROWS * group.channels),
            factors: (zeros(ROWS * group.heads), zeros(ROWS * group.heads)),
            results: zeros(ROWS * group.value),
            rows: 0,
        }
    }

    fn shape(&self) -> DeltaShape {
        self.weights.shape
    }

    /// Starts the next piece.
    pub(super) fn clear(&mut self) {
        self.rows = 0;
    }

    /// Appends a row of the step: of the wide and of the narrow projection.
    pub(super) fn push(&mut self, projected: &[f32], rates: &[f32]) {
        let (shape, group) = (self.shape(), self.group);
        let (query, key) = shape.query_key(self.key_head);
        let to = &mut self.inputs[group.window + self.rows * group.channels..][..group.channels];
        to[..shape.key_dim].copy_from_slice(&projected[query..][..shape.key_dim]);
        to[group.key..][..shape.key_dim].copy_from_slice(&projected[key..][..shape.key_dim]);
        for member in 0..group.heads {
            let at = shape.offsets(self.key_head, member);
            let value = &projected[at.value..][..shape.value_dim];
            to[2 * group.key + member * group.value..][..shape.value_dim].copy_from_slice(value);
            let both = &mut self.rates[2 * (self.rows * group.heads + member)..][..2];
            both.copy_from_slice(&[rates[at.rate], rates[at.decay]]);
        }
        self.rows += 1;
    }

    /// Appends a row that [`Self::keep`] has kept.
    pub(super) fn push_kept(&mut self, kept: &[f32]) {
        let group = self.group;
        let (channels, rates) = kept.split_at(group.channels);
        self.inputs[group.window + self.rows * group.channels..][..group.channels].copy_from_slice(channels);
        self.rates[self.rows * 2 * group.heads..][..2 * group.heads].copy_from_slice(rates);
        self.rows += 1;
    }

    /// Copies a row of the piece.
    pub(super) fn keep(&self, row: usize, to: &mut [f32]) {
        let group = self.group;
        let (channels, rates) = to.split_at_mut(group.channels);
        channels.copy_from_slice(&self.inputs[group.window + row * group.channels..][..group.channels]);
        rates.copy_from_slice(&self.rates[row * 2 * group.heads..][..2 * group.heads]);
    }

    /// Advances a group's state by the rows, and writes their results if they are wanted.
    #[inline(always)]
    pub(super) fn advance<L: Lanes>(&mut self, lanes: L, state: &mut [f32], outlet: Option<&Outlet<'_>>) {
        let (group, rows) = (self.group, self.rows);
        let (window, matrices) = state.split_at_mut(group.window);
        self.inputs[..group.window].copy_from_slice(window);
        window.copy_from_slice(&self.inputs[rows * group.channels..][..group.window]);
        self.convolve(lanes);
        self.normalize(lanes);
        self.decays();
        for (member, matrix) in matrices.chunks_exact_mut(group.matrix).enumerate() {
            let of_head = HeadRows {
                group,
                key_dim: self.weights.shape.key_dim,
                member,
                mixed: &self.mixed[..rows * group.channels],
                kept: &self.factors.0,
                rates: &self.factors.1,
            };
            of_head.advance(lanes, matrix, &mut self.results[..rows * group.value]);
            if let Some(outlet) = outlet {
                self.gate(lanes, member, outlet);
            }
        }
    }

    /// Each channel's sum over the taps, the oldest first, and its activation.
    #[inline(always)]
    fn convolve<L: Lanes>(&mut self, lanes: L) {
        let (channels, taps) = (self.group.channels, self.weights.shape.taps);
        let factors = &self.weights.conv[self.key_head * taps * channels..][..taps * channels];
        for row in 0..self.rows {
            let seen = &self.inputs[row * channels..][..taps * channels];
            let to = self.mixed[row * channels..][..channels].as_chunks_mut::<LANES>().0;
            for (i, to) in to.iter_mut().enumerate() {
                let mut sum = lanes.splat(0.0);
                for (x, factor) in seen.chunks_exact(channels).zip(factors.chunks_exact(channels)) {
                    let (x, factor) = (&x.as_chunks::<LANES>().0[i], &factor.as_chunks::<LANES>().0[i]);
                    sum = lanes.fma(lanes.load(x), lanes.load(factor), sum);
                }
                lanes.store(silu(lanes, sum), to);
            }
        }
    }

    /// Divides queries and keys by their lengths, and queries by the root of their width.
    #[inline(always)]
    fn normalize<L: Lanes>(&mut self, lanes: L) {
        let width = self.group.key;
        let root = (self.weights.shape.key_dim as f32).sqrt();
        for mixed in self.mixed[..self.rows * self.group.channels].chunks_exact_mut(self.group.channels) {
            let (query, rest) = mixed.split_at_mut(width);
            scale_to_length(lanes, query, root);
            scale_to_length(lanes, &mut rest[..width], 1.0);
        }
    }

    /// Factors of matrices, `exp(-decay * softplus(x + bias))`, and rates of their updates.
    fn decays(&mut self) {
        let heads = self.group.heads;
        for (i, pair) in self.rates[..2 * self.rows * heads].as_chunks::<2>().0.iter().enumerate() {
            let head = self.weights.shape.value_head(self.key_head, i % heads);
            let x = pair[1] + self.weights.decay_bias[head];
            // Beyond 20, softplus is its argument to all bits.
            let softplus = if x > 20.0 { x } else { x.exp().ln_1p() };
            self.factors.0[i] = (-self.weights.decay[head] * softplus).exp();
            self.factors.1[i] = 1.0 / (1.0 + (-pair[0]).exp());
        }
    }

    /// Writes the norm of each result times its gate.
    #[inline(always)]
    fn gate<L: Lanes>(&self, lanes: L, member: usize, outlet: &Outlet<'_>) {
        let shape = self.weights.shape;
        let (at, head) = (shape.offsets(self.key_head, member).gate, shape.value_head(self.key_head, member));
        let Norm { weight, eps } = &self.weights.norm;
        let rows = self.results.chunks_exact(self.group.value);
        let gates = outlet.projected.chunks_exact(shape.projected_width());
        for ((result, projected), row) in rows.zip(gates).zip(outlet.first_row..) {
            let of_head = row * shape.out_width() + head * shape.value_dim;
            #[expect(unsafe_code, reason = "each task its heads")]
            // SAFETY: a task has its own heads of its own rows.
            let out = unsafe { outlet.out.part(of_head, shape.value_dim) };
            let scale = 1.0 / (sum_of_squares(lanes, result) / shape.value_dim as f32 + eps).sqrt();
            let gates = projected[at..][..shape.value_dim].chunks(LANES);
            let of_result = result.as_chunks::<LANES>().0.iter().zip(weight.as_chunks::<LANES>().0);
            for (((x, weight), gate), to) in of_result.zip(gates).zip(out.chunks_mut(LANES)) {
                let normed = lanes.mul(lanes.mul(lanes.load(x), lanes.splat(scale)), lanes.load(weight));
                lanes.store_part(lanes.mul(normed, silu(lanes, lanes.load_part(gate))), to);
            }
        }
    }
}

/// Divides `x`, of whole vectors, by its length and by `divisor`.
#[inline(always)]
fn scale_to_length<L: Lanes>(lanes: L, x: &mut [f32], divisor: f32) {
    let scale = lanes.splat(1.0 / ((sum_of_squares(lanes, x) + DELTA_L2_EPS).sqrt() * divisor));
    for chunk in x.as_chunks_mut::<LANES>().0 {
        lanes.store(lanes.mul(lanes.load(chunk), scale), chunk);
    }
}

/// Sum of squares of whole vectors.
#[inline(always)]
fn sum_of_squares<L: Lanes>(lanes: L, x: &[f32]) -> f32 {
    let mut squares = lanes.splat(0.0);
    for chunk in x.as_chunks::<LANES>().0 {
        let v = lanes.load(chunk);
        squares = lanes.fma(v, v, squares);
    }
    lanes.sum(squares)
}
