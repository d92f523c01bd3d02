//! Logits processors of a request: banned token sequences, biases, penalties. They are passed to
//! the runner as data ([`Edit`]).
//!
//! The order is vLLM's (`v1/sample/sampler.py`: mask, bad words, logit bias, penalties; then
//! temperature, min-p, top-k, top-p). Invariants: edits depend on the sequence's own tokens only,
//! which outlive a preemption; work is linear in the *different* tokens of the sequence; a request
//! without processors pays nothing. Each sequence that has processors owns one [`LogitsState`]; the
//! scheduler asks it for edits in each step.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use crate::runner::Edit;

/// Changes to the logits. The default changes nothing.
#[derive(Debug, Clone, PartialEq)]
pub struct LogitsProcessors {
    /// Subtracted from every token generated so far (`OpenAI`: -2 to 2).
    pub presence: f32,
    /// Subtracted from a token once for each time that it was generated (`OpenAI`: -2 to 2).
    pub frequency: f32,
    /// Divides the positive logits of tokens in prompt or output, and multiplies the negative ones
    /// (CTRL, Keskar et al. 2019, as Hugging Face's `RepetitionPenaltyLogitsProcessor` has it);
    /// above 0, 1 changes nothing.
    pub repetition: f32,
    /// Added to the logits of single tokens: (id, bias), ids below the vocabulary's size.
    pub bias: Vec<(u32, f32)>,
    /// Token sequences that may not come in the output: the last token of one can't follow the
    /// others (vLLM's `bad_words`).
    pub banned: Vec<Vec<u32>>,
    /// Number of tokens that the output has before one of `ends` may come (vLLM's `min_tokens`).
    pub min_tokens: usize,
    /// Tokens that can't be among the first `min_tokens`: those that end the sequence.
    pub ends: Vec<u32>,
}

impl Default for LogitsProcessors {
    fn default() -> Self {
        Self {
            presence: 0.0,
            frequency: 0.0,
            repetition: 1.0,
            bias: Vec::new(),
            banned: Vec::new(),
            min_tokens: 0,
            ends: Vec::new(),
        }
    }
}

impl LogitsProcessors {
    /// Whether the logits stay as they are.
    #[expect(clippy::float_cmp, reason = "exactly these values change nothing")]
    pub fn is_neutral(&self) -> bool {
        let Self { presence, frequency, repetition, bias, banned, min_tokens, ends } = self;
        let may_end = *min_tokens == 0 || ends.is_empty();
        let is_free = bias.is_empty() && banned.is_empty() && may_end;
        *presence == 0.0 && *frequency == 0.0 && *repetition == 1.0 && is_free
    }

    fn penalises(&self) -> bool {
        let Self { presence, frequency, repetition, .. } = *self;
        !Self { presence, frequency, repetition, ..Self::default() }.is_neutral()
    }
}

/// The logits processors of one sequence, and how often its tokens have come.
#[derive(Debug)]
pub(crate) struct LogitsState {
    processors: LogitsProcessors,
    /// Number of prompt tokens.
    prompt: usize,
    /// Number of the sequence's tokens that are counted in `changed`.
    counted: usize,
    /// Token ids whose logits change, with their biases and counts.
    changed: BTreeMap<u32, Change>,
}

/// Bias and counts of one token id.
#[derive(Debug, Clone, Copy, Default)]
struct Change {
    /// Bias from the request, if it has one for this id.
    bias: Option<f32>,
    /// How often the id occurs in prompt and output.
    seen: u32,
    /// How often the id occurs in the output.
    generated: u32,
}

impl LogitsState {
    /// `None` where the processors change nothing.
    pub(crate) fn new(processors: LogitsProcessors, prompt: usize) -> Option<Box<Self>> {
        if processors.is_neutral() {
            return None;
        }
        let mut changed: BTreeMap<u32, Change> = BTreeMap::new();
        for (id, bias) in &processors.bias {
            *changed.entry(*id).or_default().bias.get_or_insert_default() += bias;
        }
        Some(Box::new(Self { processors, prompt, counted: 0, changed }))
    }

    /// Appends the edits of row `row`, whose token follows `tokens`, prompt and output so far.
    /// Ascending by id, each once.
    pub(crate) fn push_edits(&mut self, tokens: &[u32], row: u32, edits: &mut Vec<Edit>) {
        if self.processors.penalises() {
            self.count(tokens);
        }
        let first = edits.len();
        edits.extend(self.changed.iter().map(|(id, change)| self.edit(row, *id, *change)));
        for id in self.banned_after(&tokens[self.prompt..]) {
            match edits[first..].binary_search_by_key(&id, |edit| edit.id) {
                Ok(at) => edits[first + at].bias = f32::NEG_INFINITY,
                Err(at) => edits.insert(
                    first + at,
                    Edit { row, id, bias: f32::NEG_INFINITY, repetition: 1.0, minus: 0.0 },
                ),
            }
        }
    }

    fn edit(&self, row: u32, id: u32, change: Change) -> Edit {
        let LogitsProcessors { presence, frequency, repetition, .. } = &self.processors;
        let Change { bias, seen, generated } = change;
        #[expect(clippy::cast_precision_loss, reason = "counts are below 2^24 by far")]
        let minus = if generated > 0 { frequency * generated as f32 + presence } else { 0.0 };
        let repetition = if seen > 0 { *repetition } else { 1.0 };
        Edit { row, id, bias: bias.unwrap_or_default(), repetition, minus }
    }

    /// Tokens that would complete a banned sequence, or end the output too early.
    fn banned_after<'a>(&'a self, output: &'a [u32]) -> impl Iterator<Item = u32> + 'a {
        let last = move |sequence: &Vec<u32>| {
            let (last, before) = sequence.split_last()?;
            output.ends_with(before).then_some(*last)
        };
        let is_early = output.len() < self.processors.min_tokens;
        let ends = self.processors.ends.iter().filter(move |_| is_early).copied();
        self.processors.banned.iter().filter_map(last).chain(ends)
    }

    fn count(&mut self, tokens: &[u32]) {
        for (at, id) in tokens.iter().enumerate().skip(self.counted) {
            let change = self.changed.entry(*id).or_default();
            change.seen += 1;
            change.generated += u32::from(at >= self.prompt);
        }
        self.counted = tokens.len();
    }

    /// Takes all but the first `length` of `tokens` out of the counts. They are draft tokens that
    /// may not be accepted.
    pub(crate) fn rollback(&mut self, tokens: &[u32], length: usize) {
        for (at, id) in tokens.iter().enumerate().take(self.counted).skip(length) {
            let Entry::Occupied(mut entry) = self.changed.entry(*id) else { continue };
            let change = entry.get_mut();
            change.seen -= 1;
            change.generated -= u32::from(at >= self.prompt);
            if change.seen == 0 && change.bias.is_none() {
                entry.remove();
            }
        }
        self.counted = self.counted.min(length);
    }
}
