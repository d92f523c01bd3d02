//! Sampling on the device against the reference: equal tokens, except in rows where the draw or the
//! nucleus is within 10⁻⁷ of all weight of another outcome, or a weight within 10⁻⁶ of itself of
//! `min_p`. Such rows are counted, and few.

use cuda_kernels::{DrawRow, EditRow, Sample, SampledRow, sample_reference};

use super::device::{Device, in_both_orders};

/// Least margin of a comparison, as a share of all weight. Weights are exact to 2⁻²², and the
/// errors of a sum's many weights cancel.
const MARGIN: f64 = 1e-7;

const PLAIN: DrawRow = DrawRow {
    logit_row: 0,
    lane: None,
    mask_row: None,
    edits: (0, 0),
    temperature: 1.0,
    top_p: 1.0,
    top_k: 0,
    min_p: 0.0,
    seed: 11,
    position: 0,
    top_logprobs: None,
};

/// Rows that are sampled in one launch; draws refer to masks and edits by index, and may share
/// them.
struct Case<'a> {
    logits: &'a [f32],
    vocab: usize,
    masks: &'a [u32],
    edits: &'a [EditRow],
    draws: Vec<DrawRow>,
}

type Top = Vec<(u32, f32)>;

impl Case<'_> {
    fn run(&self, device: &Device) -> Vec<(SampledRow, Top)> {
        let rows = self.draws.len();
        let words: Vec<u32> = self.draws.iter().flat_map(DrawRow::words).collect();
        let edits: Vec<u32> = self.edits.iter().flat_map(EditRow::words).collect();
        let width = self.draws.iter().filter_map(|draw| draw.top_logprobs).max().map_or(0, usize::from);
        let (out, top) = (device.out::<u32>(rows * 4), device.out::<u32>(rows * width * 2 + 1));
        let sample = Sample {
            logits: device.f32(self.logits),
            draws: device.u32(&words),
            edits: (!edits.is_empty()).then(|| device.u32(&edits)),
            masks: (!self.masks.is_empty()).then(|| device.u32(self.masks)),
            samples: None,
            out,
            top: (width > 0).then_some(top),
            rows: rows as u32,
            vocab: self.vocab as u32,
            top_width: width as u32,
        };
        device.run(&sample.launch());
        let top: Vec<u32> = device.read(top, rows * width * 2);
        let words: Vec<u32> = device.read(out, rows * 4);
        let row = |(at, words): (usize, &[u32; 4])| {
            let row = SampledRow::from_words(*words).unwrap();
            let SampledRow::Token { alternatives, .. } = row else { return (row, Vec::new()) };
            let top = top.as_chunks::<2>().0[at * width..][..alternatives as usize].iter();
            (row, top.map(|[id, logprob]| (*id, f32::from_bits(*logprob))).collect())
        };
        words.as_chunks::<4>().0.iter().enumerate().map(row).collect()
    }

    /// Compares with the reference; returns the number of rows whose margin is too small to
    /// compare.
    fn check(&self, device: &Device) -> usize {
        let near = |(draw, (got, _)): (&DrawRow, (SampledRow, Top))| {
            let logits = &self.logits[draw.logit_row as usize * self.vocab..][..self.vocab];
            let words = self.vocab.div_ceil(32);
            let mask = draw.mask_row.map(|row| &self.masks[row as usize * words..][..words]);
            let edits = &self.edits[draw.edits.0 as usize..draw.edits.1 as usize];
            let wanted = sample_reference(logits, draw, mask, edits);
            match (got, wanted.id) {
                (SampledRow::NoToken, None) => 0,
                (SampledRow::Token { id, .. }, Some(_)) if wanted.margin < MARGIN => {
                    assert!((id as usize) < self.vocab);
                    1
                }
                (SampledRow::Token { id, .. }, Some(wanted)) if id == wanted => 0,
                _ => panic!("{got:?}, wanted {wanted:?}: {draw:?}, {} ids", self.vocab),
            }
        };
        self.draws.iter().zip(self.run(device)).map(near).sum()
    }
}

/// Logits with ties, zeros of both signs and minus infinity.
fn logits(rows: usize, vocab: usize) -> Vec<f32> {
    let mixed = |i: usize| {
        let x = (i as u32 ^ 0x5bd1).wrapping_mul(0x9e37_79b9) ^ (vocab as u32);
        (x ^ x >> 15).wrapping_mul(0x2c1b_3c6d) >> 8
    };
    let logit = |i: usize| match mixed(i) % 16 {
        0 => f32::NEG_INFINITY,
        1 => -0.0,
        2 => 0.0,
        3..6 => (mixed(i) >> 8) as f32 % 7.0 - 3.0,
        _ => (mixed(i) >> 4) as f32 / 1_048_576.0 * 10.0 - 6.0,
    };
    (0..rows * vocab).map(logit).collect()
}

/// Draws with all kinds of parameters, at different positions.
fn draws(rows: usize) -> Vec<DrawRow> {
    let kinds = [
        PLAIN,
        DrawRow { temperature: 0.0, ..PLAIN },
        DrawRow { temperature: f32::NAN, ..PLAIN },
        DrawRow { temperature: 0.6, top_k: 20, top_p: 0.95, ..PLAIN },
        DrawRow { top_k: 1, ..PLAIN },
        DrawRow { top_k: 7, temperature: 1e-40, ..PLAIN },
        DrawRow { top_p: 0.3, ..PLAIN },
        DrawRow { top_p: 0.0, ..PLAIN },
        DrawRow { top_p: 0.9, min_p: 0.05, temperature: 1.7, ..PLAIN },
        DrawRow { min_p: 0.2, ..PLAIN },
        DrawRow { min_p: 3.0, ..PLAIN },
        DrawRow { temperature: f32::INFINITY, top_k: 33, ..PLAIN },
        DrawRow { temperature: 4.0, top_p: 0.99, seed: u64::MAX, ..PLAIN },
    ];
    let row = |i: usize| DrawRow { logit_row: i as u32, position: (i * 77) as u64, ..kinds[i % kinds.len()] };
    (0..rows).map(row).collect()
}

#[test]
fn tokens_are_the_references_for_all_parameters() {
    in_both_orders(|device| {
        for vocab in [1, 2, 31, 70, 1000, 5003] {
            let logits = logits(52, vocab);
            let mut case = Case { logits: &logits, vocab, masks: &[], edits: &[], draws: draws(52) };
            // In a very short row all logits may be minus infinity; the reference then has no token
            // either.
            let near = case.check(device);
            assert!(near <= 2, "{near} rows of {vocab} ids are too near");
            case.draws.iter_mut().for_each(|draw| draw.position += 1 << 40);
            assert!(case.check(device) <= 2);
        }
    });
}

#[test]
fn a_large_vocabulary_is_drawn_from_like_a_small_one() {
    in_both_orders(|device| {
        let logits = logits(13, 151_936);
        let case = Case { logits: &logits, vocab: 151_936, masks: &[], edits: &[], draws: draws(13) };
        let near = case.check(device);
        assert!(near <= 1, "{near} rows are too near");
    });
}

#[test]
fn masks_and_edits_are_those_of_their_row() {
    in_both_orders(|device| {
        let (vocab, logits) = (70, logits(26, 70));
        let masks = [0b1011 << 5, 0, 1 << 5, 0, 0, 0];
        let edit = |id, bias, repetition, minus| EditRow { id, bias, repetition, minus };
        let edits = [
            edit(5, 9.0, 1.0, 0.0),
            edit(6, -9.0, 1.5, 0.25),
            edit(69, f32::MAX, 0.5, -1.0),
            edit(3, 2.0, 1.3, 0.5),
            edit(4, f32::NEG_INFINITY, 1.0, 0.0),
        ];
        let mut draws = draws(26);
        for (i, draw) in draws.iter_mut().enumerate() {
            draw.mask_row = [None, Some(0), Some(1)][i % 3];
        }
        (draws[0].edits, draws[4].edits, draws[16].edits) = ((0, 3), (3, 4), (4, 5));
        let case = Case { logits: &logits, vocab, masks: &masks, edits: &edits, draws };
        assert!(case.check(device) <= 1);
        let none = case.run(device).iter().filter(|(row, _)| *row == SampledRow::NoToken).count();
        assert_eq!(none, 8, "the second mask allows nothing");
    });
}

#[test]
fn logits_that_are_no_numbers_are_errors_of_their_row() {
    in_both_orders(|device| {
        let mut logits = vec![0.5; 3 * 100];
        (logits[77], logits[99], logits[250]) = (f32::INFINITY, f32::NAN, f32::NAN);
        let row = |logit_row| DrawRow { logit_row, top_logprobs: Some(3), ..PLAIN };
        let draws = vec![row(0), row(1), row(2)];
        let case = Case { logits: &logits, vocab: 100, masks: &[], edits: &[], draws };
        let rows: Vec<SampledRow> = case.run(device).into_iter().map(|(row, _)| row).collect();
        assert_eq!(rows[0], SampledRow::NotANumber { id: 77, logit: f32::INFINITY });
        assert!(matches!(rows[1], SampledRow::Token { alternatives: 3, .. }));
        assert!(matches!(rows[2], SampledRow::NotANumber { id: 50, logit } if logit.is_nan()));
    });
}

#[test]
fn logprobs_precede_edits_and_mask() {
    in_both_orders(|device| {
        for (vocab, count) in [(5, 255), (70, 0), (70, 20), (3000, 255)] {
            let logits = logits(1, vocab);
            // Only id 3 may be chosen, and its logit is edited.
            let mut masks = vec![0; vocab.div_ceil(32)];
            masks[0] = 1 << 3;
            let edits = [EditRow { id: 3, bias: 5.0, repetition: 1.0, minus: 0.0 }];
            let draw = DrawRow { top_logprobs: Some(count), mask_row: Some(0), edits: (0, 1), ..PLAIN };
            let case = Case { logits: &logits, vocab, masks: &masks, edits: &edits, draws: vec![draw] };
            let (row, top) = case.run(device).remove(0);
            let sum: f64 = logits.iter().map(|x| f64::from(*x).exp()).sum();
            let wanted = |id: u32| f64::from(logits[id as usize]) - sum.ln();
            let near = |id: u32, logprob: f32| (f64::from(logprob) - wanted(id)).abs() < 1e-5;
            assert!(matches!(row, SampledRow::Token { id: 3, logprob, .. } if near(3, logprob)), "{row:?}");
            let mut ids: Vec<u32> =
                (0..vocab as u32).filter(|id| logits[*id as usize] > f32::NEG_INFINITY).collect();
            ids.sort_by(|a, b| wanted(*b).partial_cmp(&wanted(*a)).unwrap().then(a.cmp(b)));
            ids.truncate(count.into());
            assert_eq!(top.iter().map(|(id, _)| *id).collect::<Vec<_>>(), ids);
            assert!(top.iter().all(|(id, logprob)| near(*id, *logprob)));
        }
    });
}

#[test]
fn ids_are_written_to_their_lanes() {
    in_both_orders(|device| {
        let (logits, samples, out) =
            (device.f32(&[0.0, 2.0, 1.0, 3.0]), device.u32(&[9; 3]), device.out::<u32>(8));
        let row = |logit_row, lane| DrawRow { temperature: 0.0, logit_row, lane, ..PLAIN }.words();
        let draws = device.u32(&[row(0, None), row(1, Some(2))].concat());
        let samples_at = Some(samples);
        let (rows, vocab, top_width) = (2, 2, 0);
        let sample = Sample {
            logits,
            draws,
            edits: None,
            masks: None,
            samples: samples_at,
            out,
            top: None,
            rows,
            vocab,
            top_width,
        };
        device.run(&sample.launch());
        assert_eq!(device.read::<u32>(samples, 3), [9, 9, 1]);
    });
}
