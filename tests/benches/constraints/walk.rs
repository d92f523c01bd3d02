//! Costs of one sequence's masks, token by token.

use std::time::Duration;

use engine::TokenMask;
use mask::GrammarMask;
use tests::measure::thread_cpu;

/// Cost of each token, in microseconds.
#[derive(Default)]
pub(crate) struct Costs(Vec<f64>);

impl Costs {
    /// Measures the tokens `ids` as the engine runs them: for each, it computes a mask, then takes
    /// the drawn token.
    pub(crate) fn walk(&mut self, mut mask: GrammarMask, ids: &[u32], vocabulary: usize) {
        let mut allowed = vec![0; vocabulary.div_ceil(32)];
        for (at, &id) in ids.iter().enumerate() {
            let began = thread_cpu();
            allowed.fill(u32::MAX);
            mask.apply(&mut allowed).expect("a mask");
            let masked = thread_cpu().saturating_sub(began);
            assert!(
                allowed[id as usize / 32] & 1 << (id % 32) != 0,
                "token {id}, the {at}th of the text, is masked"
            );
            let began = thread_cpu();
            mask.advance(id).expect("an allowed token");
            self.0.push(microseconds(masked + thread_cpu().saturating_sub(began)));
        }
        self.0.sort_unstable_by(f64::total_cmp);
    }

    pub(crate) fn mean(&self) -> f64 {
        self.0.iter().sum::<f64>() / self.0.len() as f64
    }

    /// Percentile of the costs.
    pub(crate) fn percentile(&self, percent: usize) -> f64 {
        self.0[(self.0.len() - 1) * percent / 100]
    }
}

pub(crate) fn microseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}
