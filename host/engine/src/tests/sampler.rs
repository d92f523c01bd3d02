//! The sampler: distributions, edges of its parameters, masks, log-probabilities.

#![expect(clippy::cast_possible_truncation, clippy::cast_precision_loss, reason = "small numbers")]

use crate::cpu::Sampler;
use crate::runner::{Draw, Draws, Edit, SampleError, Sampled};
use crate::token::{SamplingParams, Token};

const PLAIN: SamplingParams = SamplingParams { temperature: 1.0, top_p: 1.0, top_k: 0, min_p: 0.0, seed: 11 };

fn draw(sampling: SamplingParams, position: usize) -> Draw {
    Draw { sampling, position, top_logprobs: None }
}

fn next(logits: &[f32], sampling: SamplingParams, position: usize) -> Result<u32, SampleError> {
    Sampler::default().next(logits, &draw(sampling, position), None, &[]).map(|token| token.id)
}

/// How often each token comes at 20,000 positions.
fn histogram(logits: &[f32], sampling: SamplingParams) -> Vec<f64> {
    let mut counts = vec![0.0; logits.len()];
    let mut sampler = Sampler::default();
    for position in 0..20_000 {
        counts[sampler.next(logits, &draw(sampling, position), None, &[]).unwrap().id as usize] += 1.0;
    }
    counts
}

/// Pearson's statistic against expected shares; tokens of share 0 must not come.
fn chi_square(counts: &[f64], shares: &[f64]) -> f64 {
    let total: f64 = shares.iter().sum();
    let pairs = counts.iter().zip(shares.iter().map(|share| share / total * 20_000.0));
    pairs
        .map(
            |(count, expected)| {
                if expected > 0.0 { (count - expected).powi(2) / expected } else { count * 1e9 }
            },
        )
        .sum()
}

#[test]
fn tokens_come_as_often_as_their_probability_says() {
    let shares = [0.4, 0.05, 0.25, 0.1, 0.2];
    let logits: Vec<f32> = shares.iter().map(|share: &f64| share.ln() as f32 + 3.0).collect();
    // 99.9th percentile with 4 degrees of freedom: 18.5.
    assert!(chi_square(&histogram(&logits, PLAIN), &shares) < 18.5);
    let hot = SamplingParams { temperature: 2.0, ..PLAIN };
    assert!(chi_square(&histogram(&logits, hot), &shares.map(f64::sqrt)) < 18.5);
    let three = SamplingParams { top_k: 3, ..PLAIN };
    assert!(chi_square(&histogram(&logits, three), &[0.4, 0.0, 0.25, 0.0, 0.2]) < 18.5);
    let nucleus = SamplingParams { top_p: 0.6, ..PLAIN };
    assert!(chi_square(&histogram(&logits, nucleus), &[0.4, 0.0, 0.25, 0.0, 0.0]) < 18.5);
}

#[test]
fn top_p_counts_within_what_top_k_left() {
    let logits = [0.4f32, 0.3, 0.2, 0.1].map(f32::ln);
    let both = SamplingParams { top_k: 2, top_p: 0.55, ..PLAIN };
    assert_eq!(histogram(&logits, both)[1..], [0.0; 3], "0.4 of 0.7 is more than 0.55");
}

#[test]
fn nucleus_wider_than_one_sorting_round_is_exact() {
    let logits = vec![0.0; 2000];
    let nucleus = SamplingParams { top_p: 0.5, ..PLAIN };
    let ids = (0..5000).map(|position| next(&logits, nucleus, position).unwrap());
    assert_eq!(ids.max(), Some(999));
}

#[test]
fn sampled_token_is_decided_by_seed_and_position() {
    let logits: Vec<f32> = (0..500).map(|id| (id * 37 % 101) as f32 / 50.0).collect();
    let tokens = |seed| {
        (0..50).map(|at| next(&logits, SamplingParams { seed, ..PLAIN }, at).unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(tokens(1), tokens(1));
    let same = tokens(1).iter().zip(tokens(2)).filter(|(a, b)| **a == *b).count();
    assert!(same < 5, "{same} of 50 agree");
    assert!(tokens(3).windows(2).filter(|pair| pair[0] == pair[1]).count() < 5);
}

#[test]
fn parameters_at_their_edges_give_the_likeliest_token() {
    let logits = [0.5, 2.0, -1.0, 2.0];
    for sampling in [
        SamplingParams { temperature: 0.0, ..PLAIN },
        SamplingParams { temperature: -1.0, ..PLAIN },
        SamplingParams { temperature: f32::NAN, ..PLAIN },
        SamplingParams { top_k: 1, ..PLAIN },
        SamplingParams { top_p: 0.0, ..PLAIN },
        SamplingParams { top_p: f32::MIN_POSITIVE, ..PLAIN },
    ] {
        for position in 0..20 {
            assert_eq!(next(&logits, sampling, position), Ok(1), "{sampling:?}: of equals the lower id");
        }
    }
    let tiny = SamplingParams { temperature: 1e-40, ..PLAIN };
    assert!((0..50).all(|position| matches!(next(&logits, tiny, position), Ok(1 | 3))));
}

#[test]
fn parameters_that_restrict_nothing_change_nothing() {
    let logits: Vec<f32> = (0..70).map(|id| (id * 29 % 17) as f32 / 4.0).collect();
    let free = |position| next(&logits, PLAIN, position).unwrap();
    let wide = SamplingParams { top_k: 70, top_p: 1.5, ..PLAIN };
    assert!((0..200).all(|position| next(&logits, wide, position) == Ok(free(position))));
    let infinite = SamplingParams { temperature: f32::INFINITY, ..PLAIN };
    assert!((0..200).any(|position| next(&logits, infinite, position) != Ok(free(position))));
}

#[test]
fn a_vocabulary_of_one_token_works() {
    assert_eq!(next(&[-3.0], SamplingParams { top_k: 5, top_p: 0.1, ..PLAIN }, 0), Ok(0));
}

#[test]
fn nan_logits_are_errors_and_minus_infinity_is_barred() {
    assert!(next(&[0.0, f32::NAN], PLAIN, 0).unwrap_err().to_string().contains("NaN for token 1"));
    assert!(next(&[0.0, f32::INFINITY], PLAIN, 0).unwrap_err().to_string().contains("inf"));
    assert!(next(&[f32::NEG_INFINITY; 2], PLAIN, 7).unwrap_err().to_string().contains("position 7"));
    assert!((0..200).all(|position| next(&[f32::NEG_INFINITY, -50.0], PLAIN, position) == Ok(1)));
}

/// A mask of 70 ids that allows only these.
fn only(ids: &[u32]) -> [u32; 3] {
    let mut mask = [0; 3];
    for id in ids {
        mask[*id as usize / 32] |= 1 << (id % 32);
    }
    mask
}

#[test]
fn a_mask_restricts_every_way_of_choosing() {
    let logits: Vec<f32> = (0..70).map(|id| -(id as f32)).collect();
    let mut sampler = Sampler::default();
    for sampling in [
        SamplingParams { temperature: 0.0, ..PLAIN },
        PLAIN,
        SamplingParams { top_k: 2, top_p: 0.9, ..PLAIN },
    ] {
        for position in 0..20 {
            let mask = only(&[69, 32, 33]);
            let id = sampler.next(&logits, &draw(sampling, position), Some(&mask), &[]).unwrap().id;
            assert!([69, 32, 33].contains(&id));
        }
    }
}

#[test]
fn a_mask_that_allows_nothing_is_an_error() {
    let masked = Sampler::default().next(&[0.0; 70], &draw(PLAIN, 4), Some(&only(&[])), &[]);
    assert_eq!(masked, Err(SampleError::NoToken { position: 4 }));
}

#[test]
fn masks_and_edits_are_those_of_their_row() {
    let cold = Draw { sampling: SamplingParams::GREEDY, position: 0, top_logprobs: None };
    let logits = [1.0, 2.0, 3.0].repeat(4);
    let edit = |row, id, bias| Edit { row, id, bias, repetition: 1.0, minus: 0.0 };
    let draws = Draws {
        rows: &[cold; 4],
        edits: &[edit(0, 0, 9.0), edit(3, 0, -9.0), edit(3, 1, 5.0)],
        mask_rows: &[1, 3],
        masks: &[0b001, 0b101],
    };
    draws.check(4, 3).unwrap();
    let mut sampled = Sampled::default();
    Sampler::default().sample(&logits, &draws, &mut sampled);
    let ids: Vec<u32> = sampled.rows.iter().flatten().map(|token| token.id).collect();
    assert_eq!(ids, [0, 0, 2, 2]);
}

#[test]
fn draws_that_do_not_fit_the_rows_are_refused() {
    let cold = Draw { sampling: SamplingParams::GREEDY, position: 0, top_logprobs: None };
    let edit = |row, id| Edit { row, id, bias: 0.0, repetition: 1.0, minus: 0.0 };
    let sound = Draws { rows: &[cold; 2], edits: &[edit(0, 69)], mask_rows: &[1], masks: &[0; 3] };
    assert!(sound.check(2, 70).is_ok());
    for broken in [
        Draws { rows: &[cold], ..sound },
        Draws { edits: &[edit(2, 0)], ..sound },
        Draws { edits: &[edit(0, 70)], ..sound },
        Draws { edits: &[edit(1, 0), edit(0, 0)], ..sound },
        Draws { masks: &[0; 2], ..sound },
        Draws { mask_rows: &[2], ..sound },
    ] {
        assert!(broken.check(2, 70).is_err(), "{broken:?}");
    }
}

#[test]
fn logprobs_precede_temperature_and_mask() {
    let shares = [0.1f32, 0.6, 0.3, 0.0];
    let logits = shares.map(|share| share.ln() + 5.0);
    let cold = SamplingParams { temperature: 0.0, ..PLAIN };
    let ask = |count| {
        let draw = Draw { top_logprobs: Some(count), ..draw(cold, 0) };
        let Token { id, logprobs } = Sampler::default().next(&logits, &draw, None, &[]).unwrap();
        (id, logprobs.unwrap())
    };
    let (id, logprobs) = ask(2);
    assert_eq!((id, logprobs.top.len()), (1, 2));
    assert!((logprobs.chosen.exp() - 0.6).abs() < 1e-5);
    for ((id, logprob), expected) in logprobs.top.iter().zip([1, 2]) {
        assert_eq!(*id, expected);
        assert!((logprob.exp() - shares[expected as usize]).abs() < 1e-5);
    }
    assert_eq!(ask(0).1.top, []);
    assert_eq!(ask(20).1.top.len(), 3, "what can't come at all isn't an alternative");
}
