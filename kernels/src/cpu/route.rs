//! Router of a mixture of experts: chooses the experts of each token, and their weights. All in
//! f32; a token's choice depends on its own scores only, and of equal scores the lower expert is
//! first.

use ops::{Routing, Scoring};

/// Experts chosen for each token, the best first.
#[derive(Debug, Default, Clone, PartialEq)]
pub struct Routes {
    /// Number of experts for each token.
    pub per_token: usize,
    /// `[tokens, per_token]`: ids of the experts; a token's are all different.
    pub experts: Vec<u32>,
    /// `[tokens, per_token]`: weights of the experts.
    pub weights: Vec<f32>,
}

/// Chooses the experts of each token by `scores` `[tokens, experts]`, and writes them to `out`.
///
/// # Panics
/// If the sizes don't fit each other.
pub fn route(routing: Routing<&[f32]>, scores: &[f32], out: &mut Routes) {
    let Routing { experts, per_token, .. } = routing;
    assert!(scores.len().is_multiple_of(experts) && (1..=experts).contains(&per_token), "scores of experts");
    assert!(routing.correction.is_none_or(|correction| correction.len() == experts), "a correction for each");
    assert!(routing.factors.is_none_or(|factors| factors.len() == experts), "a factor for each");
    *out = Routes {
        per_token,
        experts: std::mem::take(&mut out.experts),
        weights: std::mem::take(&mut out.weights),
    };
    out.experts.clear();
    out.weights.clear();
    let mut choice = ExpertChoice::default();
    for scores in scores.chunks_exact(experts) {
        choice.make(routing, scores);
        out.experts.extend(&choice.order[..per_token]);
        out.weights.extend(&choice.weights);
    }
}

/// Choice of one token's experts, in buffers that every token uses.
#[derive(Default)]
struct ExpertChoice {
    /// Scores that weights are computed from.
    scores: Vec<f32>,
    /// Scores that experts are chosen by.
    ranks: Vec<f32>,
    /// Ids of all experts, the chosen ones first.
    order: Vec<u32>,
    weights: Vec<f32>,
}

impl ExpertChoice {
    fn make(&mut self, routing: Routing<&[f32]>, scores: &[f32]) {
        self.scores.clear();
        self.scores.extend_from_slice(scores);
        match routing.scoring {
            Scoring::Softmax { .. } => softmax(&mut self.scores),
            Scoring::SoftmaxOfChosen => {}
            Scoring::Sigmoid { .. } => self.scores.iter_mut().for_each(|x| *x = 1.0 / (1.0 + (-*x).exp())),
        }
        self.ranks.clear();
        self.ranks.extend_from_slice(&self.scores);
        if let Some(correction) = routing.correction {
            self.ranks.iter_mut().zip(correction).for_each(|(rank, c)| *rank += c);
        }
        if let Scoring::Sigmoid { groups, top_groups, .. } = routing.scoring {
            mask_groups(&mut self.ranks, groups, top_groups);
        }
        greatest(&self.ranks, routing.per_token, &mut self.order);
        self.weigh(routing);
    }

    fn weigh(&mut self, routing: Routing<&[f32]>) {
        let chosen = &self.order[..routing.per_token];
        self.weights.clear();
        self.weights.extend(chosen.iter().map(|expert| self.scores[*expert as usize]));
        match routing.scoring {
            Scoring::Softmax { normalize: false } => {}
            Scoring::Softmax { normalize: true } => divide(&mut self.weights, 0.0, 1.0),
            Scoring::SoftmaxOfChosen => softmax(&mut self.weights),
            Scoring::Sigmoid { normalize: true, eps, scale, .. } => divide(&mut self.weights, eps, scale),
            Scoring::Sigmoid { normalize: false, scale, .. } => {
                self.weights.iter_mut().for_each(|weight| *weight *= scale);
            }
        }
        if let Some(factors) = routing.factors {
            let weights = self.weights.iter_mut().zip(chosen);
            weights.for_each(|(weight, expert)| *weight *= factors[*expert as usize]);
        }
    }
}

/// Writes the indices of `ranks` to `order`, those of the `count` greatest first and in order.
fn greatest(ranks: &[f32], count: usize, order: &mut Vec<u32>) {
    order.clear();
    order.extend((0..).take(ranks.len()));
    let before = |a: &u32, b: &u32| ranks[*b as usize].total_cmp(&ranks[*a as usize]).then(a.cmp(b));
    if count < order.len() {
        order.select_nth_unstable_by(count, before);
    }
    order[..count].sort_unstable_by(before);
}

/// Excludes all groups but the `top` best from the choice. A group's rank is the sum of its two
/// greatest.
fn mask_groups(ranks: &mut [f32], groups: usize, top: usize) {
    if top >= groups {
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
    greatest(&sums, top, &mut order);
    for group in &order[top..] {
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

/// Divides `values` by their sum plus `more`, and multiplies them by `scale`.
fn divide(values: &mut [f32], more: f32, scale: f32) {
    let sum = values.iter().sum::<f32>() + more;
    for x in values {
        *x = *x / sum * scale;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn routes(routing: Routing<&[f32]>, scores: &[f32]) -> Routes {
        let mut routes = Routes { per_token: 9, experts: vec![7; 3], weights: vec![1.0] };
        route(routing, scores, &mut routes);
        routes
    }

    fn routing(per_token: usize, scoring: Scoring) -> Routing<&'static [f32]> {
        Routing { experts: 8, per_token, scoring, correction: None, factors: None }
    }

    fn close(got: &[f32], wanted: &[f64]) {
        assert_eq!(got.len(), wanted.len());
        assert!(got.iter().zip(wanted).all(|(a, b)| (f64::from(*a) - b).abs() < 1e-6), "{got:?} {wanted:?}");
    }

    const SCORES: [f32; 8] = [0.1, 2.0, -1.0, 2.0, 0.5, 3.0, -2.0, 0.0];

    #[test]
    fn softmax_is_over_all_experts_or_the_chosen_ones() {
        let e = |x: f64| x.exp();
        let all: f64 = SCORES.iter().map(|x| e(f64::from(*x))).sum();
        let chosen = e(3.0) + 2.0 * e(2.0);
        let plain = routes(routing(3, Scoring::Softmax { normalize: false }), &SCORES);
        assert_eq!(
            (plain.per_token, &plain.experts[..]),
            (3, &[5, 1, 3][..]),
            "equal scores: the lower first"
        );
        close(&plain.weights, &[e(3.0) / all, e(2.0) / all, e(2.0) / all]);
        let wanted = [e(3.0) / chosen, e(2.0) / chosen, e(2.0) / chosen];
        for scoring in [Scoring::Softmax { normalize: true }, Scoring::SoftmaxOfChosen] {
            let routes = routes(routing(3, scoring), &[SCORES, SCORES].concat());
            assert_eq!(routes.experts, [5, 1, 3, 5, 1, 3]);
            close(&routes.weights, &[wanted, wanted].concat());
        }
    }

    #[test]
    fn groups_go_by_two_best_and_corrections_keep_weights() {
        let sigmoid = |x: f64| 1.0 / (1.0 + (-x).exp());
        let scoring =
            Scoring::Sigmoid { groups: 4, top_groups: 2, normalize: true, eps: ops::SIGMOID_EPS, scale: 2.5 };
        // Sums are largest for groups 2 (with expert 5) and 0 (with expert 1); expert 3 is in group
        // 1, which doesn't stay.
        let plain = routes(routing(2, scoring), &SCORES);
        assert_eq!(plain.experts, [5, 1]);
        let sum = sigmoid(3.0) + sigmoid(2.0) + 1e-20;
        close(&plain.weights, &[2.5 * sigmoid(3.0) / sum, 2.5 * sigmoid(2.0) / sum]);
        let correction = [0.0, 0.0, 0.0, 0.0, 0.0, -5.0, 3.0, 3.0];
        let corrected = Routing { correction: Some(&correction[..]), ..routing(3, scoring) };
        let got = routes(corrected, &SCORES);
        assert_eq!(got.experts, [7, 6, 1]);
        let sum = sigmoid(0.0) + sigmoid(-2.0) + sigmoid(2.0);
        close(&got.weights, &[0.0, -2.0, 2.0].map(|x| 2.5 * sigmoid(x) / sum));
        let scoring = Scoring::Sigmoid {
            groups: 1,
            top_groups: 1,
            normalize: false,
            eps: ops::SIGMOID_EPS,
            scale: 0.5,
        };
        close(&routes(routing(1, scoring), &SCORES).weights, &[0.5 * sigmoid(3.0)]);
    }

    #[test]
    fn factors_scale_weights_and_choose_nothing() {
        let factors = [9.0, 0.5, 9.0, -2.0, 9.0, 3.0, 9.0, 9.0];
        let plain = routing(3, Scoring::Softmax { normalize: true });
        let (without, with) =
            (routes(plain, &SCORES), routes(Routing { factors: Some(&factors[..]), ..plain }, &SCORES));
        assert_eq!((&with.experts[..], &without.experts[..]), (&[5, 1, 3][..], &[5, 1, 3][..]));
        let wanted = without.weights.iter().zip([3.0, 0.5, -2.0]).map(|(weight, factor)| weight * factor);
        assert_eq!(with.weights, wanted.collect::<Vec<_>>());
    }

    #[test]
    fn nan_scores_still_choose_different_experts() {
        for scoring in [
            Scoring::Softmax { normalize: true },
            Scoring::SoftmaxOfChosen,
            Scoring::Sigmoid { groups: 4, top_groups: 2, normalize: true, eps: ops::SIGMOID_EPS, scale: 1.0 },
        ] {
            let mut experts = routes(routing(4, scoring), &[f32::NAN; 8]).experts;
            experts.sort_unstable();
            experts.dedup();
            assert_eq!(experts.len(), 4);
        }
    }
}
