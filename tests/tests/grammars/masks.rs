//! Masks of a format's grammar as an engine uses them: prepared beside a step, along drafts that are
//! checked and taken back, over a vocabulary in which the format's markers are tokens. None of it
//! fails, whatever is drawn.

use std::sync::Arc;
use std::task::{Context, Waker};

use engine::{MaskError, TokenMask};
use grammar::{Demand, MarkerTokens, ToolChoice};
use mask::GrammarMask;
use prompt::Tokenizer;
use seeded::SplitMix64;
use serde_json::{Value, json};
use tests::grammars::{compile, grammars};

use super::oracle::Format;
use super::requests::{of, tool};

const EMBEDDED: &[u8] = include_bytes!("../../../host/models/qwen3-tiny/tokenizer.json");
const SEEDS: u64 = 60;
/// Greatest number of steps of a walk.
const STEPS: usize = 150;

/// The embedded tokenizer, in which these texts are tokens, too.
fn tokenizer<'a>(texts: impl Iterator<Item = &'a str>) -> Arc<Tokenizer> {
    let mut file: Value = serde_json::from_slice(EMBEDDED).expect("JSON");
    let tokens = file["added_tokens"].as_array_mut().expect("a list");
    for text in texts {
        let last = tokens.iter().filter_map(|token| token["id"].as_u64()).max().expect("some");
        if tokens.iter().all(|token| token["content"] != text) {
            tokens.push(json!({"id": last + 1, "content": text, "single_word": false, "lstrip": false,
                "rstrip": false, "normalized": false, "special": false}));
        }
    }
    Arc::new(Tokenizer::from_json(file.to_string().as_bytes()).expect("a tokenizer"))
}

/// Walk through a grammar, by tokens below `ids`.
struct Walk {
    mask: GrammarMask,
    ids: u32,
    random: SplitMix64,
}

impl Walk {
    fn allowed(&mut self) -> Result<Vec<u32>, MaskError> {
        let mut words = vec![u32::MAX; (self.ids as usize).div_ceil(32)];
        self.mask.apply(&mut words)?;
        Ok((0..self.ids).filter(|id| words[*id as usize / 32] >> (id % 32) & 1 == 1).collect())
    }

    fn drawn(&mut self, among: &[u32]) -> u32 {
        among[self.random.below(among.len())]
    }

    /// A draft now and then: what is forced and something, as far as it may come.
    fn draft(&mut self) -> Vec<u32> {
        let mut draft = Vec::new();
        if self.random.below(3) == 0 {
            self.mask.forced(&mut draft, 4);
            draft.push(u32::try_from(self.random.below(self.ids as usize)).expect("an id"));
            draft.truncate(self.mask.validate(&draft));
        }
        draft
    }

    /// One step of an engine: a draft, of which a part is taken or taken back, and a token.
    fn step(&mut self) -> Result<u32, MaskError> {
        let draft = self.draft();
        self.mask.prepare(&draft);
        while self.mask.poll_ready(&mut Context::from_waker(Waker::noop())).is_pending() {
            std::thread::yield_now();
        }
        let kept = &draft[..self.random.below(draft.len() + 1)];
        for token in kept {
            assert!(self.allowed()?.contains(token), "{token} of {draft:?}");
            self.mask.advance(*token)?;
        }
        if self.random.below(2) == 0 {
            self.mask.rollback(kept.len())?;
        }
        let may = self.allowed()?;
        let token = self.drawn(&may);
        self.mask.advance(token)?;
        Ok(token)
    }
}

fn walk_all(format: &Format, request: &Demand) {
    let descriptor = format.descriptor();
    let markers = format.traits.tokens.iter().map(|at| descriptor.markers[*at].as_str());
    let tokenizer = tokenizer(markers.chain(format.traits.inner.iter().copied()));
    let ids: Vec<_> = descriptor.markers.iter().map(|text| tokenizer.token_id(text)).collect();
    let inner = format.traits.inner.iter().filter_map(|text| Some((*text, tokenizer.token_id(text)?)));
    let inner: Vec<_> = inner.collect();
    let tokens = MarkerTokens { ids: &ids, inner: &inner, stops: &descriptor.stops };
    let grammar = format.template().compose(request, tokens).expect("composed").expect("a grammar");
    let compiler = grammars(&tokenizer);
    let stop = tokenizer.token_id("<|im_end|>").expect("a stop");
    let start =
        compile(&compiler, &grammar).expect("compiled").start(&[], &Arc::from([stop])).expect("begun");
    for seed in 0..SEEDS {
        let ids = u32::try_from(tokenizer.vocab_size()).expect("few");
        let mut walk = Walk { mask: start.mask(), ids, random: SplitMix64::new(seed) };
        for _ in 0..STEPS {
            match walk.step() {
                Ok(token) if token == stop => break,
                Ok(_) => {}
                Err(error) => panic!("seed {seed}: {error}\n{grammar}"),
            }
        }
    }
}

/// A schema that the format can't follow allows any JSON, whose longest numbers end at a token.
#[test]
fn kimi_k3_masks_never_fail() {
    let text = json!({"type": "string", "maxLength": 12});
    let schema = json!({"type": "object", "properties": {"tz": text}, "additionalProperties": false});
    walk_all(&super::format("kimi-k3"), &of(vec![tool("f", &schema.to_string())], ToolChoice::Required));
}

#[test]
fn kimi_k3_masks_of_numbers_never_fail() {
    let numbers = json!({
        "any": {"type": "number"}, "some": {"type": "number", "minimum": -3, "exclusiveMaximum": 0.5},
        "few": {"type": "integer", "multipleOf": 5, "minimum": 0, "maximum": 100}, "either": {"type": ["null", "number"]},
    });
    let schema = json!({"type": "object", "properties": numbers, "additionalProperties": false});
    walk_all(&super::format("kimi-k3"), &of(vec![tool("f", &schema.to_string())], ToolChoice::Required));
}
