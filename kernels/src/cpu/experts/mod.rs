//! Experts: the gated feed-forward layers that a router chose for each token. Tokens are gathered
//! by expert, so that each expert's weights are read once for all its tokens; results are added per
//! token, in the order of its choice.
//!
//! A token's result is computed from its own rows of linear layers alone, so it doesn't depend on
//! the tokens beside it.

use std::ops::Range;

use ops::{ExpertActivation, GateActivation, StoreMode};

use super::clamped_swiglu::clamped_swiglu;
use super::linear::{Group, grouped_linear};
use super::matrix::Matrix;
use super::output::Output;
use super::route::Routes;
use super::{Cpu, gate_mul};

/// Weights of one expert.
#[derive(Debug, Clone)]
pub struct Expert<'a> {
    /// `[2 * intermediate, hidden]`, stacked by rows: rows of gate and up in the order that the
    /// activation takes.
    pub gate_up: Vec<Matrix<'a>>,
    /// `[2 * intermediate]`: bias of `gate_up`.
    pub gate_up_bias: Option<&'a [f32]>,
    /// `[hidden, intermediate]`, stacked by rows.
    pub down: Vec<Matrix<'a>>,
    /// `[hidden]`: bias of `down`.
    pub down_bias: Option<&'a [f32]>,
}

/// Buffers for the activations between the linear layers, `tokens * per_token` rows each. Each
/// layer uses them again.
#[derive(Debug, Default)]
pub struct ExpertScratch {
    gathered: Vec<f32>,
    gate_up: Vec<f32>,
    activated: Vec<f32>,
    results: Vec<f32>,
}

impl ExpertScratch {
    /// Allocates room for `rows` rows (tokens times experts of each); `false` if the system doesn't
    /// grant the memory.
    pub fn reserve(&mut self, rows: usize, hidden: usize, intermediate: usize) -> bool {
        let grow = |buffer: &mut Vec<f32>, cols: usize| {
            let Some(len) = rows.checked_mul(cols) else { return false };
            if buffer.len() < len {
                // Pages that are never written take no memory.
                let Ok(larger) = bytemuck::allocation::try_zeroed_vec(len) else { return false };
                *buffer = larger;
            }
            true
        };
        grow(&mut self.gathered, hidden)
            && grow(&mut self.gate_up, 2 * intermediate)
            && grow(&mut self.activated, intermediate)
            && grow(&mut self.results, hidden)
    }
}

/// Computes `out[t] += Σ weight · expert(x[t])` over the experts of each token; `x` and `out` are
/// `[tokens, hidden]`.
///
/// # Panics
/// If the sizes don't fit each other.
pub fn experts<'a>(
    cpu: &Cpu,
    x: &[f32],
    routes: &Routes,
    expert: impl Fn(usize) -> Expert<'a>,
    activation: ExpertActivation,
    scratch: &mut ExpertScratch,
    out: &mut [f32],
) {
    let rows = routes.experts.len();
    if rows == 0 {
        return;
    }
    let tokens = rows / routes.per_token;
    let hidden = x.len() / tokens;
    assert!(x.len() == tokens * hidden && out.len() == x.len(), "rows of experts");
    let order = Order::new(routes);
    let chosen: Vec<Expert<'a>> = order.groups.iter().map(|(id, _)| expert(*id)).collect();
    let width = chosen[0].down[0].cols();
    assert!(scratch.reserve(rows, hidden, width), "memory of the experts' activations");
    let ExpertScratch { gathered, gate_up, activated, results } = scratch;
    let (gathered, gate_up) = (&mut gathered[..rows * hidden], &mut gate_up[..rows * 2 * width]);
    let (activated, results) = (&mut activated[..rows * width], &mut results[..rows * hidden]);
    for (row, to) in order.rows.iter().zip(gathered.chunks_exact_mut(hidden)) {
        to.copy_from_slice(&x[row / routes.per_token * hidden..][..hidden]);
    }
    let groups = order.linear(&chosen, |expert| (&expert.gate_up, expert.gate_up_bias));
    grouped_linear(cpu, gathered, &groups, StoreMode::Overwrite, gate_up);
    match activation {
        ExpertActivation::SwiGlu => gate_mul(cpu, GateActivation::Silu, gate_up, width, activated),
        ExpertActivation::GeGlu => gate_mul(cpu, GateActivation::GeluTanh, gate_up, width, activated),
        ExpertActivation::ClampedSwiGlu { alpha, limit } => {
            clamped_swiglu(cpu, gate_up, (alpha, limit), activated);
        }
    }
    let groups = order.linear(&chosen, |expert| (&expert.down, expert.down_bias));
    grouped_linear(cpu, activated, &groups, StoreMode::Overwrite, results);
    combine(cpu, routes, &order, results, out);
}

/// Order of rows (`token * per_token + choice`) by expert.
struct Order {
    /// Row at each place.
    rows: Vec<usize>,
    /// Place of each row.
    places: Vec<usize>,
    /// Experts that have tokens, with the places of their rows.
    groups: Vec<(usize, Range<usize>)>,
}

impl Order {
    fn new(routes: &Routes) -> Self {
        let mut rows: Vec<usize> = (0..routes.experts.len()).collect();
        // The sort is stable, so the tokens of an expert stay in order.
        rows.sort_by_key(|row| routes.experts[*row]);
        let mut places = vec![0; rows.len()];
        rows.iter().enumerate().for_each(|(place, row)| places[*row] = place);
        let mut groups = Vec::new();
        let mut start = 0;
        for same in rows.chunk_by(|a, b| routes.experts[*a] == routes.experts[*b]) {
            groups.push((routes.experts[same[0]] as usize, start..start + same.len()));
            start += same.len();
        }
        Self { rows, places, groups }
    }

    /// Returns one linear layer of each chosen expert, for the rows of its tokens.
    fn linear<'a>(
        &self,
        chosen: &[Expert<'a>],
        layer: impl for<'e> Fn(&'e Expert<'a>) -> (&'e Vec<Matrix<'a>>, Option<&'a [f32]>),
    ) -> Vec<Group<'a>> {
        let group = |((_, rows), expert): (&(usize, Range<usize>), &Expert<'a>)| {
            let (parts, bias) = layer(expert);
            Group { rows: rows.clone(), parts: parts.clone(), bias }
        };
        self.groups.iter().zip(chosen).map(group).collect()
    }
}

/// Adds the weighted results of each token's experts to its row of `out`.
fn combine(cpu: &Cpu, routes: &Routes, order: &Order, results: &[f32], out: &mut [f32]) {
    let per_token = routes.per_token;
    let tokens = routes.experts.len() / per_token;
    let hidden = out.len() / tokens;
    let out = Output::new(out);
    cpu.parallel_for(tokens, results.len() * 2, |token| {
        #[expect(unsafe_code, reason = "each task its row")]
        // SAFETY: a task is one token, and no other task has that token's row.
        let out = unsafe { out.part(token * hidden, hidden) };
        for row in token * per_token..(token + 1) * per_token {
            let (weight, from) = (routes.weights[row], &results[order.places[row] * hidden..][..hidden]);
            out.iter_mut().zip(from).for_each(|(out, x)| *out += weight * x);
        }
    });
}
