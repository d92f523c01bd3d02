//! What a request changes of the logits before a token is chosen: sequences that must not come, biases, penalties.
//!
//! The order is vLLM's (`v1/sample/sampler.py`: mask, bad words, logit bias, penalties; then temperature, min-p, top-k, top-p).
//! Invariants: what is changed depends on the sequence's own tokens only, which outlive a preemption; work is linear in the row
//! once (a copy into a kept buffer) and then in the *different* tokens of the sequence; a request without adjustments pays nothing.
//! The scheduler owns one [`Adjuster`] per sequence that has adjustments, the sampler applies it.

use std::collections::HashMap;

/// Changes to the logits. The default changes nothing.
#[derive(Debug, Clone, PartialEq)]
pub struct Adjustments {
    /// Subtracted from every token generated so far (`OpenAI`: -2 to 2).
    pub presence: f32,
    /// Subtracted from a token once for each time that it was generated (`OpenAI`: -2 to 2).
    pub frequency: f32,
    /// Divides the positive logits of tokens in prompt or output, and multiplies the negative ones (CTRL, Keskar et al. 2019, as
    /// Hugging Face's `RepetitionPenaltyLogitsProcessor` has it); above 0, 1 changes nothing.
    pub repetition: f32,
    /// Added to the logits of single tokens: (id, bias), ids below the vocabulary's size.
    pub bias: Vec<(u32, f32)>,
    /// Token sequences that may not come in the output: the last token of one can't follow the others (vLLM's `bad_words`).
    pub banned: Vec<Vec<u32>>,
}

impl Default for Adjustments {
    fn default() -> Self {
        Self { presence: 0.0, frequency: 0.0, repetition: 1.0, bias: Vec::new(), banned: Vec::new() }
    }
}

impl Adjustments {
    /// Whether the logits stay as they are.
    #[expect(clippy::float_cmp, reason = "exactly these values change nothing")]
    pub fn is_neutral(&self) -> bool {
        let Self { presence, frequency, repetition, bias, banned } = self;
        *presence == 0.0 && *frequency == 0.0 && *repetition == 1.0 && bias.is_empty() && banned.is_empty()
    }

    fn penalises(&self) -> bool {
        let Self { presence, frequency, repetition, .. } = *self;
        !Self { presence, frequency, repetition, ..Self::default() }.is_neutral()
    }
}

/// The adjustments of one sequence, and how often its tokens have come.
#[derive(Debug)]
pub(crate) struct Adjuster {
    adjustments: Adjustments,
    /// Tokens of the prompt.
    prompt: usize,
    /// Tokens of the sequence that were counted.
    counted: usize,
    /// How often each token of the sequence was generated: 0 where only the prompt has it.
    generated: HashMap<u32, u32>,
}

impl Adjuster {
    /// None where nothing is to be done.
    pub(crate) fn new(adjustments: Adjustments, prompt: usize) -> Option<Box<Self>> {
        if adjustments.is_neutral() {
            return None;
        }
        Some(Box::new(Self { adjustments, prompt, counted: 0, generated: HashMap::new() }))
    }

    /// Changes `logits` for the token that follows `tokens`, prompt and output so far.
    pub(crate) fn apply(&mut self, tokens: &[u32], logits: &mut [f32]) {
        self.ban(&tokens[self.prompt..], logits);
        for (id, bias) in &self.adjustments.bias {
            let logit = &mut logits[*id as usize];
            *logit = finite(*logit + bias);
        }
        if self.adjustments.penalises() {
            self.count(tokens);
            self.penalise(logits);
        }
    }

    fn ban(&self, output: &[u32], logits: &mut [f32]) {
        for sequence in &self.adjustments.banned {
            if let Some((last, before)) = sequence.split_last()
                && output.ends_with(before)
            {
                logits[*last as usize] = f32::NEG_INFINITY;
            }
        }
    }

    fn count(&mut self, tokens: &[u32]) {
        for (at, id) in tokens.iter().enumerate().skip(self.counted) {
            *self.generated.entry(*id).or_default() += u32::from(at >= self.prompt);
        }
        self.counted = tokens.len();
    }

    /// The order of tokens doesn't matter: each is changed by its own count alone.
    fn penalise(&self, logits: &mut [f32]) {
        let Adjustments { presence, frequency, repetition, .. } = &self.adjustments;
        for (id, generated) in &self.generated {
            let logit = &mut logits[*id as usize];
            *logit = if *logit > 0.0 { *logit / repetition } else { *logit * repetition };
            if *generated > 0 {
                #[expect(clippy::cast_precision_loss, reason = "counts are below 2^24 by far")]
                let count = *generated as f32;
                *logit -= frequency * count + presence;
            }
            *logit = finite(*logit);
        }
    }
}

/// Minus infinity stays: a token that can't come isn't made possible. What overflows upwards stays a number.
fn finite(logit: f32) -> f32 {
    logit.min(f32::MAX)
}
