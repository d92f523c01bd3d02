//! Router: chooses the experts of each token, and their weights.

use ops::{Routing, SIGMOID_EPS, Scoring};

use crate::check;
use crate::{Args, Defines, DevicePtr, KernelId, KernelSource, Launch, Variant, size};

static SOURCE: KernelSource = KernelSource { name: "moe_route.cu", text: include_str!("../../moe_route.cu") };

/// Chooses experts for each token, the best first; of equal ones the expert with the lower index is
/// first.
#[derive(Debug, Clone, Copy)]
pub struct MoeRoute {
    /// `[rows, experts]` f32.
    pub scores: DevicePtr,
    /// `[rows, per_token]` u32: the chosen experts, each once in a row.
    pub chosen: DevicePtr,
    /// `[rows, per_token]` f32: the weights of the chosen experts.
    pub weights: DevicePtr,
    /// Number of tokens.
    pub rows: u32,
    /// How experts are chosen: at most 32 of at most 1024, in at most 32 groups; the correction is
    /// f32, and there are no factors.
    pub routing: Routing<DevicePtr>,
}

impl MoeRoute {
    /// # Panics
    /// Where there is nothing to compute, a pointer is null, or a number is beyond its limit.
    pub fn launch(&self) -> Launch {
        let Routing { experts, per_token, scoring, correction, factors } = self.routing;
        assert!(factors.is_none(), "moe_route: factors of weights");
        let [experts, per_token] = [experts, per_token].map(size);
        check::shape("moe_route", self.rows, experts, &[self.scores, self.chosen, self.weights]);
        assert!(
            (1..=32).contains(&per_token) && per_token <= experts,
            "moe_route: {per_token} of {experts} experts"
        );
        let (groups, top_groups, normalize, scale) = match scoring {
            Scoring::Softmax { normalize } => (1, 1, normalize, 1.0),
            Scoring::SoftmaxOfChosen => (1, 1, true, 1.0),
            Scoring::Sigmoid { groups, top_groups, normalize, eps, scale } => {
                assert_eq!(eps.to_bits(), SIGMOID_EPS.to_bits(), "moe_route: constant of the sum");
                (size(groups), size(top_groups), normalize, scale)
            }
        };
        let groups_fit = (1..=32).contains(&groups) && experts.is_multiple_of(groups) && top_groups > 0;
        assert!(groups_fit, "moe_route: {top_groups} of {groups} groups");
        Launch {
            kernel: Self::kernel(experts, scoring),
            grid: [self.rows.div_ceil(4), 1, 1],
            block: [128, 1, 1],
            shared_bytes: 4 * 4 * experts,
            args: Args::new()
                .ptr(self.scores)
                .optional(correction)
                .ptr(self.chosen)
                .ptr(self.weights)
                .u32(self.rows)
                .u32(per_token)
                .u32(groups)
                .u32(top_groups)
                .u32(normalize.into())
                .f32(scale),
            overlaps: true,
        }
    }

    fn kernel(experts: u32, scoring: Scoring) -> KernelId {
        assert!(experts <= 1024, "moe_route: {experts} experts");
        let scoring = match scoring {
            Scoring::Softmax { .. } => 0,
            Scoring::SoftmaxOfChosen => 1,
            Scoring::Sigmoid { .. } => 2,
        };
        let defines = Defines::new(&[("EXPERTS", experts), ("SCORING", scoring)]);
        KernelId { source: &SOURCE, defines, entry: "moe_route" }
    }

    pub(crate) fn variants() -> Vec<Variant> {
        let sigmoid =
            Scoring::Sigmoid { groups: 1, top_groups: 1, normalize: true, eps: SIGMOID_EPS, scale: 1.0 };
        let all = [
            (8, Scoring::Softmax { normalize: true }),
            (128, Scoring::Softmax { normalize: true }),
            (32, Scoring::SoftmaxOfChosen),
            (128, Scoring::SoftmaxOfChosen),
            (64, sigmoid),
            (128, sigmoid),
            (256, sigmoid),
            (384, sigmoid),
        ];
        all.map(|(experts, scoring)| Self::kernel(experts, scoring).variant()).to_vec()
    }
}

/// Reference for one token: (expert, weight), the best first.
pub fn moe_route_reference(
    scores: &[f32],
    correction: Option<&[f32]>,
    per_token: usize,
    scoring: Scoring,
) -> Vec<(u32, f64)> {
    let scores: Vec<f64> = scores.iter().map(|x| f64::from(*x)).collect();
    let most = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let all: f64 = scores.iter().map(|x| (x - most).exp()).sum();
    let values: Vec<f64> = match scoring {
        Scoring::Softmax { .. } => scores.iter().map(|x| (x - most).exp() / all).collect(),
        Scoring::SoftmaxOfChosen => scores,
        Scoring::Sigmoid { .. } => scores.iter().map(|x| 1.0 / (1.0 + (-x).exp())).collect(),
    };
    let mut ranks = values.clone();
    for (rank, correction) in ranks.iter_mut().zip(correction.unwrap_or_default()) {
        *rank += f64::from(*correction);
    }
    if let Scoring::Sigmoid { groups, top_groups, .. } = scoring {
        let size = ranks.len() / groups;
        let sum_of_two = |group: &[f64]| greatest(group).iter().take(2).map(|i| group[*i]).sum::<f64>();
        let sums: Vec<f64> = ranks.chunks_exact(size).map(sum_of_two).collect();
        for group in greatest(&sums).into_iter().skip(top_groups) {
            ranks[group * size..][..size].fill(f64::NEG_INFINITY);
        }
    }
    let chosen: Vec<usize> = greatest(&ranks).into_iter().take(per_token).collect();
    let weights: Vec<f64> = match scoring {
        Scoring::SoftmaxOfChosen => chosen.iter().map(|i| (values[*i] - most).exp()).collect(),
        _ => chosen.iter().map(|i| values[*i]).collect(),
    };
    let sum: f64 = weights.iter().sum();
    let factor = match scoring {
        Scoring::Softmax { normalize: false } => 1.0,
        Scoring::Softmax { normalize: true } | Scoring::SoftmaxOfChosen => 1.0 / sum,
        Scoring::Sigmoid { normalize, scale, .. } => {
            f64::from(scale) / if normalize { sum + 1e-20 } else { 1.0 }
        }
    };
    #[expect(clippy::cast_possible_truncation, reason = "few experts")]
    chosen.iter().zip(weights).map(|(i, weight)| (*i as u32, weight * factor)).collect()
}

/// Indices of the values, those of the greatest first.
fn greatest(values: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|a, b| values[*b].total_cmp(&values[*a]));
    order
}
