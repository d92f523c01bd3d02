//! From a row of logits to a token: mask, edits, temperature, min-p, top-k, top-p, draw,
//! log-probabilities.
//!
//! Invariants: the token depends on (logits, draw, mask, edits) only; a token that the mask forbids
//! or whose probability is zero is never chosen; logits that aren't numbers are an error, never a
//! token. Ties go to the lower id. Called by the CPU's runner. Time is linear in the vocabulary,
//! whatever the parameters.

use std::cmp::Ordering;

use seeded::uniform;

use crate::runner::{Draw, Draws, Edit, SampleError, Sampled};
use crate::token::{Logprobs, SamplingParams, Token};

/// Sampler of tokens, which reuses its buffers.
#[derive(Debug, Default)]
pub(crate) struct Sampler {
    /// Logits of a row after mask and edits; those of masked tokens are minus infinity.
    row: Vec<f32>,
    candidates: Vec<Candidate>,
}

#[derive(Debug, Clone, Copy)]
struct Candidate {
    logit: f32,
    /// Probability relative to the likeliest token's.
    weight: f32,
    id: u32,
}

impl Sampler {
    /// Samples one token for each row of `logits`, which `draws` must fit.
    pub(crate) fn sample(&mut self, logits: &[f32], draws: &Draws<'_>, sampled: &mut Sampled) {
        sampled.rows.clear();
        let width = logits.len() / draws.rows.len().max(1);
        for (row, draw) in draws.rows.iter().enumerate() {
            let (mask, edits) = draws.limits(row);
            sampled.rows.push(self.next(&logits[row * width..][..width], draw, mask, edits));
        }
    }

    /// Samples one token. `logits` has one logit per token id.
    pub(crate) fn next(
        &mut self,
        logits: &[f32],
        draw: &Draw,
        mask: Option<&[u32]>,
        edits: &[Edit],
    ) -> Result<Token, SampleError> {
        check(logits, draw.position)?;
        let row = if self.limit(logits, mask, edits) { &self.row } else { logits };
        let max = max(row);
        if max == f32::NEG_INFINITY {
            return Err(SampleError::NoToken { position: draw.position });
        }
        let id = choose(row, max, draw, &mut self.candidates);
        let logprobs = draw.top_logprobs.map(|count| Box::new(self.logprobs(logits, id, count.into())));
        Ok(Token { id, logprobs })
    }

    /// Writes the logits after mask and edits to `row`; false where there is neither.
    fn limit(&mut self, logits: &[f32], mask: Option<&[u32]>, edits: &[Edit]) -> bool {
        if mask.is_none() && edits.is_empty() {
            return false;
        }
        self.row.clear();
        match mask {
            Some(mask) => self.copy_masked(logits, mask),
            None => self.row.extend_from_slice(logits),
        }
        for edit in edits {
            let logit = &mut self.row[edit.id as usize];
            *logit = edit.apply(*logit);
        }
        true
    }

    fn copy_masked(&mut self, logits: &[f32], mask: &[u32]) {
        for (word, logits) in mask.iter().zip(logits.chunks(32)) {
            match *word {
                // Most words of a mask are one or the other: nearly all may come in text, little in calls.
                u32::MAX => self.row.extend_from_slice(logits),
                0 => self.row.resize(self.row.len() + logits.len(), f32::NEG_INFINITY),
                word => {
                    let bits = logits.iter().enumerate().map(|(bit, logit)| (word >> bit & 1 == 1, logit));
                    let kept =
                        bits.map(|(may_come, logit)| if may_come { *logit } else { f32::NEG_INFINITY });
                    self.row.extend(kept);
                }
            }
        }
    }

    /// Log-probabilities over the whole vocabulary, from the model's logits before mask and edits.
    fn logprobs(&mut self, logits: &[f32], chosen: u32, count: usize) -> Logprobs {
        let max = max(logits);
        let sum: f64 = logits.iter().map(|logit| f64::from((logit - max).exp())).sum();
        #[expect(clippy::cast_possible_truncation, reason = "a logarithm of at most the vocabulary's size")]
        let log_sum = sum.ln() as f32;
        let logprob = |logit: f32| logit - max - log_sum;
        likeliest(logits, count, &mut self.candidates);
        let top = self.candidates.iter().map(|one| (one.id, logprob(one.logit))).collect();
        Logprobs { chosen: logprob(logits[chosen as usize]), top }
    }
}

/// Refuses NaN and plus infinity; minus infinity is the logit of a token that can't come.
fn check(logits: &[f32], position: usize) -> Result<(), SampleError> {
    let bad = |logit: &f32| logit.is_nan() || *logit == f32::INFINITY;
    if logits.iter().fold(false, |any, logit| any | bad(logit)) {
        let (id, logit) = (0..).zip(logits).find(|(_, logit)| bad(logit)).expect("one of them is");
        return Err(SampleError::NotANumber { logit: *logit, id, position });
    }
    Ok(())
}

/// The largest logit, computed in lanes that the compiler vectorises.
fn max(logits: &[f32]) -> f32 {
    let larger = |a: f32, b: f32| if b > a { b } else { a };
    let mut lanes = [f32::NEG_INFINITY; 16];
    let chunks = logits.chunks_exact(lanes.len());
    let rest = chunks.remainder();
    for chunk in chunks {
        for (lane, logit) in lanes.iter_mut().zip(chunk) {
            *lane = larger(*lane, *logit);
        }
    }
    lanes.iter().chain(rest).fold(f32::NEG_INFINITY, |a, b| larger(a, *b))
}

/// Chooses from logits of which `max` is the largest, and finite.
fn choose(logits: &[f32], max: f32, draw: &Draw, candidates: &mut Vec<Candidate>) -> u32 {
    let SamplingParams { temperature, top_p, top_k, min_p, seed } = draw.sampling;
    let best = || (0..).zip(logits).find(|(_, logit)| **logit >= max).expect("the largest is one of them").0;
    if temperature.is_nan() || temperature <= 0.0 {
        return best();
    }
    match top_k as usize {
        count if (1..logits.len()).contains(&count) => likeliest(logits, count, candidates),
        _ => all(logits, candidates),
    }
    for one in candidates.iter_mut() {
        one.weight = ((one.logit - max) / temperature).exp();
    }
    if min_p > 0.0 {
        // Weights are relative to the likeliest token's, which stays.
        candidates.retain(|one| one.weight >= min_p.min(1.0));
    }
    if top_p < 1.0 {
        keep_nucleus(candidates, top_p.into());
    }
    // Drawn in the order of ids, as GPUs do, which don't sort.
    if !candidates.is_sorted_by_key(|one| one.id) {
        candidates.sort_unstable_by_key(|one| one.id);
    }
    let target = uniform(seed, draw.position as u64) * total(candidates);
    let mut sum = 0.0;
    let hit = candidates.iter().find(|one| {
        sum += f64::from(one.weight);
        sum > target
    });
    hit.map_or_else(best, |one| one.id)
}

/// Keeps the smallest set of likeliest candidates that has the share `top_p` of all weight.
fn keep_nucleus(candidates: &mut Vec<Candidate>, top_p: f64) {
    let all = total(candidates);
    // What is lighter than this weighs less than 1 - top_p even taken together, so that it can't be
    // needed.
    #[expect(clippy::cast_precision_loss, reason = "a bound")]
    let light = (1.0 - top_p) * all / candidates.len() as f64;
    candidates.retain(|one| f64::from(one.weight) >= light);
    // The nucleus is longer than `kept` and at most as long as `end`; the range is halved until it
    // has one length.
    let (mut kept, mut end, mut missing) = (0, candidates.len(), top_p * all);
    while end - kept > 1 {
        let half = (end - kept) / 2;
        let open = &mut candidates[kept..end];
        open.select_nth_unstable_by(half, likelier_first);
        let weight = total(&open[..half]);
        if weight >= missing {
            end = kept + half;
        } else {
            missing -= weight;
            kept += half;
        }
    }
    candidates.truncate(end);
}

fn total(candidates: &[Candidate]) -> f64 {
    candidates.iter().map(|one| f64::from(one.weight)).sum()
}

/// Collects the tokens whose logits aren't minus infinity.
fn all(logits: &[f32], candidates: &mut Vec<Candidate>) {
    candidates.clear();
    let every = (0..).zip(logits).map(|(id, &logit)| Candidate { logit, weight: 0.0, id });
    candidates.extend(every.filter(|one| one.logit > f32::NEG_INFINITY));
}

/// Collects the `count` likeliest of the tokens whose logits aren't minus infinity, likeliest
/// first.
fn likeliest(logits: &[f32], count: usize, candidates: &mut Vec<Candidate>) {
    const FEW: usize = 256;
    if count > FEW {
        all(logits, candidates);
        if count < candidates.len() {
            candidates.select_nth_unstable_by(count, likelier_first);
            candidates.truncate(count);
        }
        return candidates.sort_unstable_by(likelier_first);
    }
    candidates.clear();
    let mut least = f32::NEG_INFINITY;
    for (id, &logit) in (0..).zip(logits) {
        if logit > least && count > 0 {
            candidates.truncate(count - 1);
            let at = candidates.partition_point(|one| one.logit >= logit);
            candidates.insert(at, Candidate { logit, weight: 0.0, id });
            if candidates.len() == count {
                least = candidates[count - 1].logit;
            }
        }
    }
}

/// Order of likelihood, ties by id; -0 and 0 are a tie.
fn likelier_first(a: &Candidate, b: &Candidate) -> Ordering {
    b.logit.partial_cmp(&a.logit).expect("logits are numbers").then(a.id.cmp(&b.id))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn logits() -> impl Strategy<Value = Vec<f32>> {
        let logit =
            prop_oneof![6 => -8.0f32..8.0, 3 => (-4i8..4).prop_map(f32::from), 1 => Just(f32::NEG_INFINITY)];
        proptest::collection::vec(logit, 1..700)
    }

    /// All tokens that can come, likeliest first, with weights at temperature 1.
    fn sorted(logits: &[f32]) -> Vec<Candidate> {
        let mut candidates = Vec::new();
        all(logits, &mut candidates);
        candidates.sort_by(likelier_first);
        for one in &mut candidates {
            one.weight = (one.logit - max(logits)).exp();
        }
        candidates
    }

    fn ids(candidates: &[Candidate]) -> Vec<u32> {
        candidates.iter().map(|one| one.id).collect()
    }

    proptest! {
        #[test]
        fn the_likeliest_are_those_of_a_full_sort(logits in logits(), count in 0..700usize) {
            let mut found = Vec::new();
            likeliest(&logits, count, &mut found);
            let mut expected = sorted(&logits);
            expected.truncate(count);
            prop_assert_eq!(ids(&found), ids(&expected));
        }

        #[test]
        fn nucleus_is_shortest_heavy_prefix_of_a_full_sort(
            logits in logits(),
            top_p in prop_oneof![0.0..1.0, 0.99..1.0],
        ) {
            let expected = sorted(&logits);
            prop_assume!(!expected.is_empty());
            let mut found = Vec::new();
            all(&logits, &mut found);
            for one in &mut found {
                one.weight = (one.logit - max(&logits)).exp();
            }
            keep_nucleus(&mut found, top_p);
            let (weight, enough) = (total(&found), top_p * total(&expected));
            found.sort_by(likelier_first);
            prop_assert_eq!(ids(&found), ids(&expected[..found.len()]));
            // Sums in another order differ in their last bits.
            prop_assert!(weight >= enough * (1.0 - 1e-12));
            let without_last = weight - f64::from(found.last().expect("never empty").weight);
            prop_assert!(found.len() == 1 || without_last < enough * (1.0 + 1e-12));
        }
    }
}
