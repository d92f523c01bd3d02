//! The cost of one sequence's masks, token by token.

use std::time::Duration;

use engine::TokenMask;
use host::mask::GrammarMask;
use tests::measure::thread_cpu;

/// What tokens cost, in microseconds.
#[derive(Default)]
pub(crate) struct Costs(Vec<f64>);

impl Costs {
    /// Walks along `ids` as the engine does: a mask, then the token that was drawn.
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

    /// What so many of a hundred tokens don't exceed.
    pub(crate) fn percentile(&self, percent: usize) -> f64 {
        self.0[(self.0.len() - 1) * percent / 100]
    }
}

pub(crate) fn microseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}
