//! Router of a mixture of experts: which experts a token goes to, and with which weights. All in f32; a token's choice depends on
//! its own scores only, and of equal scores the lower expert is first.

/// How scores of all experts become a choice and weights.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Scoring {
    /// Softmax over all; the greatest are chosen (Qwen3).
    Softmax {
        /// Weights are divided by their sum.
        normalize: bool,
    },
    /// The greatest are chosen; softmax over those (gpt-oss).
    SoftmaxOfChosen,
    /// Sigmoid of each; groups of neighbours with the greatest sums of two are left, and the greatest of those are chosen
    /// (DeepSeek-V3, arXiv:2412.19437).
    Sigmoid {
        /// Groups of experts; divides their number.
        groups: usize,
        /// Groups that are left.
        top_groups: usize,
        /// Weights are divided by their sum.
        normalize: bool,
        /// Factor of weights.
        scale: f32,
    },
}

/// What a router chooses from.
#[derive(Debug, Clone, Copy)]
pub struct RouteParams<'a> {
    /// Experts.
    pub experts: usize,
    /// Experts of a token.
    pub per_token: usize,
    /// Choice and weights.
    pub scoring: Scoring,
    /// `[experts]`: added to what the choice is made by, and not to weights.
    pub correction: Option<&'a [f32]>,
}

/// Experts of each token, the most fitting first.
#[derive(Debug, Default, Clone, PartialEq)]
pub struct Routes {
    /// Experts of a token.
    pub per_token: usize,
    /// `[tokens, per_token]`, different for each token.
    pub experts: Vec<u32>,
    /// `[tokens, per_token]`.
    pub weights: Vec<f32>,
}

/// Chooses by `scores` `[tokens, experts]`.
///
/// # Panics
/// Where the sizes don't fit each other.
pub fn route(params: RouteParams<'_>, scores: &[f32], out: &mut Routes) {
    let RouteParams { experts, per_token, .. } = params;
    assert!(scores.len().is_multiple_of(experts) && (1..=experts).contains(&per_token), "scores of experts");
    assert!(params.correction.is_none_or(|correction| correction.len() == experts), "a correction for each");
    *out = Routes {
        per_token,
        experts: std::mem::take(&mut out.experts),
        weights: std::mem::take(&mut out.weights),
    };
    out.experts.clear();
    out.weights.clear();
    let mut choice = Choice::default();
    for scores in scores.chunks_exact(experts) {
        choice.make(params, scores);
        out.experts.extend(&choice.order[..per_token]);
        out.weights.extend(&choice.weights);
    }
}

/// One token's choice, and room to make it in.
#[derive(Default)]
struct Choice {
    /// What weights are made of.
    scores: Vec<f32>,
    /// What the choice is made by.
    ranks: Vec<f32>,
    /// Experts, the chosen ones first.
    order: Vec<u32>,
    weights: Vec<f32>,
}

impl Choice {
    fn make(&mut self, params: RouteParams<'_>, scores: &[f32]) {
        self.scores.clear();
        self.scores.extend_from_slice(scores);
        match params.scoring {
            Scoring::Softmax { .. } => softmax(&mut self.scores),
            Scoring::SoftmaxOfChosen => {}
            Scoring::Sigmoid { .. } => self.scores.iter_mut().for_each(|x| *x = 1.0 / (1.0 + (-*x).exp())),
        }
        self.ranks.clear();
        self.ranks.extend_from_slice(&self.scores);
        if let Some(correction) = params.correction {
            self.ranks.iter_mut().zip(correction).for_each(|(rank, c)| *rank += c);
        }
        if let Scoring::Sigmoid { groups, top_groups, .. } = params.scoring {
            leave_groups(&mut self.ranks, groups, top_groups);
        }
        greatest(&self.ranks, params.per_token, &mut self.order);
        self.weigh(params);
    }

    fn weigh(&mut self, params: RouteParams<'_>) {
        let chosen = &self.order[..params.per_token];
        self.weights.clear();
        self.weights.extend(chosen.iter().map(|expert| self.scores[*expert as usize]));
        match params.scoring {
            Scoring::Softmax { normalize: false } => {}
            Scoring::Softmax { normalize: true } => divide(&mut self.weights, 0.0, 1.0),
            Scoring::SoftmaxOfChosen => softmax(&mut self.weights),
            Scoring::Sigmoid { normalize: true, scale, .. } => divide(&mut self.weights, 1e-20, scale),
            Scoring::Sigmoid { normalize: false, scale, .. } => {
                self.weights.iter_mut().for_each(|weight| *weight *= scale);
            }
        }
    }
}

/// The indices of `ranks`, those of the `count` greatest first and in order.
fn greatest(ranks: &[f32], count: usize, order: &mut Vec<u32>) {
    order.clear();
    order.extend((0..).take(ranks.len()));
    let before = |a: &u32, b: &u32| ranks[*b as usize].total_cmp(&ranks[*a as usize]).then(a.cmp(b));
    if count < order.len() {
        order.select_nth_unstable_by(count, before);
    }
    order[..count].sort_unstable_by(before);
}

/// Takes all groups but the `left` best out of the choice. A group is as good as the sum of its two greatest.
fn leave_groups(ranks: &mut [f32], groups: usize, left: usize) {
    if left >= groups {
        return;
    }
    let size = ranks.len() / groups;
    let mut order = Vec::new();
    let sum_of_two = |group: &[f32]| -> f32 {
        let mut order = Vec::new();
        greatest(group, 2.min(size), &mut order);
        order.iter().take(2).map(|i| group[*i as usize]).sum()
    };
    let sums: Vec<f32> = ranks.chunks_exact(size).map(sum_of_two).collect();
    greatest(&sums, left, &mut order);
    for group in &order[left..] {
        ranks[*group as usize * size..][..size].fill(f32::NEG_INFINITY);
    }
}

fn softmax(values: &mut [f32]) {
    let most = values.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    for x in &mut *values {
        *x = (*x - most).exp();
    }
    divide(values, 0.0, 1.0);
}

/// Divides by the sum, to which `more` is added, and multiplies by `scale`.
fn divide(values: &mut [f32], more: f32, scale: f32) {
    let sum = values.iter().sum::<f32>() + more;
    for x in values {
        *x = *x / sum * scale;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn routes(params: RouteParams<'_>, scores: &[f32]) -> Routes {
        let mut routes = Routes { per_token: 9, experts: vec![7; 3], weights: vec![1.0] };
        route(params, scores, &mut routes);
        routes
    }

    fn params(per_token: usize, scoring: Scoring) -> RouteParams<'static> {
        RouteParams { experts: 8, per_token, scoring, correction: None }
    }

    fn close(got: &[f32], wanted: &[f64]) {
        assert_eq!(got.len(), wanted.len());
        assert!(got.iter().zip(wanted).all(|(a, b)| (f64::from(*a) - b).abs() < 1e-6), "{got:?} {wanted:?}");
    }

    const SCORES: [f32; 8] = [0.1, 2.0, -1.0, 2.0, 0.5, 3.0, -2.0, 0.0];

    #[test]
    fn softmax_is_over_all_experts_or_over_the_chosen_ones() {
        let e = |x: f64| x.exp();
        let all: f64 = SCORES.iter().map(|x| e(f64::from(*x))).sum();
        let chosen = e(3.0) + 2.0 * e(2.0);
        let plain = routes(params(3, Scoring::Softmax { normalize: false }), &SCORES);
        assert_eq!(
            (plain.per_token, &plain.experts[..]),
            (3, &[5, 1, 3][..]),
            "equal scores: the lower first"
        );
        close(&plain.weights, &[e(3.0) / all, e(2.0) / all, e(2.0) / all]);
        let wanted = [e(3.0) / chosen, e(2.0) / chosen, e(2.0) / chosen];
        for scoring in [Scoring::Softmax { normalize: true }, Scoring::SoftmaxOfChosen] {
            let routes = routes(params(3, scoring), &[SCORES, SCORES].concat());
            assert_eq!(routes.experts, [5, 1, 3, 5, 1, 3]);
            close(&routes.weights, &[wanted, wanted].concat());
        }
    }

    #[test]
    fn groups_are_chosen_by_their_two_best_and_the_correction_changes_no_weight() {
        let sigmoid = |x: f64| 1.0 / (1.0 + (-x).exp());
        let scoring = Scoring::Sigmoid { groups: 4, top_groups: 2, normalize: true, scale: 2.5 };
        // Group sums are largest for 0 (expert 1), 1 (expert 3) and 2 (expert 5).
        let plain = routes(params(2, scoring), &SCORES);
        assert_eq!(plain.experts, [5, 1]);
        let sum = sigmoid(3.0) + sigmoid(2.0) + 1e-20;
        close(&plain.weights, &[2.5 * sigmoid(3.0) / sum, 2.5 * sigmoid(2.0) / sum]);
        let correction = [0.0, 0.0, 0.0, 0.0, 0.0, -5.0, 3.0, 3.0];
        let corrected = RouteParams { correction: Some(&correction), ..params(3, scoring) };
        let got = routes(corrected, &SCORES);
        assert_eq!(got.experts, [7, 6, 1]);
        let sum = sigmoid(0.0) + sigmoid(-2.0) + sigmoid(2.0);
        close(&got.weights, &[0.0, -2.0, 2.0].map(|x| 2.5 * sigmoid(x) / sum));
        let scoring = Scoring::Sigmoid { groups: 1, top_groups: 1, normalize: false, scale: 0.5 };
        close(&routes(params(1, scoring), &SCORES).weights, &[0.5 * sigmoid(3.0)]);
    }

    #[test]
    fn scores_that_are_not_numbers_still_choose_different_experts() {
        for scoring in [
            Scoring::Softmax { normalize: true },
            Scoring::SoftmaxOfChosen,
            Scoring::Sigmoid { groups: 4, top_groups: 2, normalize: true, scale: 1.0 },
        ] {
            let mut experts = routes(params(4, scoring), &[f32::NAN; 8]).experts;
            experts.sort_unstable();
            experts.dedup();
            assert_eq!(experts.len(), 4);
        }
    }
}
