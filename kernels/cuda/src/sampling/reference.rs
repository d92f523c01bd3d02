//! Reference of sampling, with sums in f64, and how near it was to another outcome.

use seeded::uniform;

use super::{DrawRow, EditRow};

/// Result of the reference for one row.
#[derive(Debug, Clone, PartialEq)]
pub struct Reference {
    /// The chosen token; `None` if mask and edits leave no token.
    pub id: Option<u32>,
    /// Distance of the sums from where another token would have been chosen, as a share of all
    /// weight.
    pub margin: f64,
}

#[derive(Debug, Clone, Copy)]
struct Candidate {
    id: u32,
    logit: f32,
    weight: f64,
}

/// Chooses a token of a row of logits without NaN and plus infinity.
pub fn sample_reference(
    logits: &[f32],
    draw: &DrawRow,
    mask: Option<&[u32]>,
    edits: &[EditRow],
) -> Reference {
    let mut candidates = likeliest_first(&limited(logits, mask, edits));
    let Some(best) = candidates.first().copied() else {
        return Reference { id: None, margin: f64::INFINITY };
    };
    if draw.temperature.is_nan() || draw.temperature <= 0.0 {
        return Reference { id: Some(best.id), margin: f64::INFINITY };
    }
    if (1..logits.len()).contains(&(draw.top_k as usize)) {
        candidates.truncate(draw.top_k as usize);
    }
    for one in &mut candidates {
        one.weight = f64::from((one.logit - best.logit) / draw.temperature).exp();
    }
    let mut margin = f64::INFINITY;
    if draw.min_p > 0.0 {
        let least = f64::from(draw.min_p.min(1.0));
        // A single weight is less exact than a sum of many.
        let far = |one: &Candidate| (one.weight - least).abs() / least / 10.0;
        // The likeliest token's weight is exactly 1.
        margin = candidates.iter().filter(|one| one.logit < best.logit).map(far).fold(margin, f64::min);
        candidates.retain(|one| one.weight >= least);
    }
    if draw.top_p < 1.0 {
        margin = margin.min(keep_nucleus(&mut candidates, draw.top_p.into()));
    }
    candidates.sort_by_key(|one| one.id);
    let all = total(&candidates);
    let target = uniform(draw.seed, draw.position) * all;
    let mut sum = 0.0;
    for one in &candidates {
        let before = sum;
        sum += one.weight;
        if sum > target {
            margin = margin.min((sum - target) / all);
            // The first candidate has no lower neighbour.
            margin = margin.min(if before > 0.0 { (target - before) / all } else { f64::INFINITY });
            return Reference { id: Some(one.id), margin };
        }
    }
    Reference { id: Some(best.id), margin: 0.0 }
}

/// Logits after edits and mask; masked ids are minus infinity.
fn limited(logits: &[f32], mask: Option<&[u32]>, edits: &[EditRow]) -> Vec<f32> {
    let may_come = |id: usize| mask.is_none_or(|mask| mask[id / 32] >> (id % 32) & 1 == 1);
    let mut row: Vec<f32> = logits.to_vec();
    for edit in edits {
        let biased = (row[edit.id as usize] + edit.bias).min(f32::MAX);
        let repeated = if biased > 0.0 { biased / edit.repetition } else { biased * edit.repetition };
        row[edit.id as usize] = (repeated - edit.minus).min(f32::MAX);
    }
    row.iter().enumerate().map(|(id, x)| if may_come(id) { *x } else { f32::NEG_INFINITY }).collect()
}

fn likeliest_first(logits: &[f32]) -> Vec<Candidate> {
    let all = (0..).zip(logits).map(|(id, &logit)| Candidate { id, logit, weight: 0.0 });
    let mut candidates: Vec<Candidate> = all.filter(|one| one.logit > f32::NEG_INFINITY).collect();
    // -0 and 0 are equal logits.
    candidates.sort_by(|a, b| (b.logit + 0.0).total_cmp(&(a.logit + 0.0)).then(a.id.cmp(&b.id)));
    candidates
}

/// Keeps the shortest prefix that has the share `top_p` of all weight; returns the distance to
/// another prefix's share.
fn keep_nucleus(candidates: &mut Vec<Candidate>, top_p: f64) -> f64 {
    let all = total(candidates);
    let mut sum = 0.0;
    for at in 0..candidates.len() {
        let before = sum;
        sum += candidates[at].weight;
        if sum >= top_p * all || at + 1 == candidates.len() {
            candidates.truncate(at + 1);
            let far = (sum - top_p * all).abs() / all;
            return if at > 0 { far.min((top_p * all - before) / all) } else { far };
        }
    }
    f64::INFINITY
}

fn total(candidates: &[Candidate]) -> f64 {
    candidates.iter().map(|one| one.weight).sum()
}
