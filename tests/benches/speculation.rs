//! What drafts bring where a file is written again with one change: tokens per step, and tokens per second on the CPU with random
//! weights in the shape of Qwen3-0.6B.
//!
//! A random model doesn't copy, so a mask that allows one token at a time says what it writes: 400 lines of this project's code, one of
//! them changed, as a model that follows the instruction would. The mask lets every draft through and rejects what differs, so drafts
//! are found, run and rejected as in earnest; everything is computed but for what a mask costs and what it takes to be right.
//! Words and signs are the tokens. Steps of the whole file are counted with a small model; time is taken of its first part.
//!
//! `cargo bench --profile dist -p tests --bench speculation`
#![expect(clippy::print_stdout, reason = "its result is what it prints")]
#![expect(clippy::cast_precision_loss, reason = "counts of a few thousand")]

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use engine::cpu::{CpuOptions, CpuRunner, Threads};
use engine::models::{ModelConfig, Weights};
use engine::{
    Engine, EngineStats, GenerationRequest, LocalEngine, LocalOptions, LogitsProcessors, MaskError,
    SamplingParams, SpeculationOptions, TokenMask,
};

const QWEN3_06B: &str = r#"{"architectures": ["Qwen3ForCausalLM"], "vocab_size": 151936, "hidden_size": 1024,
    "intermediate_size": 3072, "num_hidden_layers": 28, "num_attention_heads": 16, "num_key_value_heads": 8, "head_dim": 128,
    "max_position_embeddings": 40960, "rms_norm_eps": 1e-6, "rope_theta": 1000000, "tie_word_embeddings": true}"#;
const SMALL: &str = r#"{"architectures": ["Qwen3ForCausalLM"], "vocab_size": 4096, "hidden_size": 64,
    "intermediate_size": 64, "num_hidden_layers": 1, "num_attention_heads": 1, "num_key_value_heads": 1, "head_dim": 64,
    "max_position_embeddings": 40960, "rms_norm_eps": 1e-6, "rope_theta": 1000000, "tie_word_embeddings": true}"#;

const FILES: [&str; 2] =
    [include_str!("../../host/engine/src/generation.rs"), include_str!("../../host/engine/src/local.rs")];
const LINES: usize = 400;
/// The line that is changed, and into what.
const CHANGED: (usize, &str) = (10, "use crate::tokens::{Sampling, Token as GeneratedToken};");
/// Tokens whose time is taken; the change is among them.
const TIMED: usize = 192;

fn main() {
    let mut ids = HashMap::new();
    let lines: Vec<&str> = FILES.iter().flat_map(|file| file.lines()).take(LINES).collect();
    let mut changed = lines.clone();
    changed[CHANGED.0] = CHANGED.1;
    let (file, answer) = (lines.join("\n"), changed.join("\n"));
    let prompt = [
        tokens("Write this file again with other names in its imports:\n", &mut ids),
        tokens(&file, &mut ids),
        tokens("\nassistant:\n", &mut ids),
    ];
    let edit = Edit { prompt: prompt.concat(), answer: tokens(&answer, &mut ids).into() };
    println!("{} tokens of prompt, {} of the answer", edit.prompt.len(), edit.answer.len());
    let auto = SpeculationOptions::default();
    let small = start(SMALL, auto);
    print("small, whole answer", &edit.run(&small, edit.answer.len()), auto);
    drop(small);
    let mut plain = None;
    for options in [SpeculationOptions::OFF, auto] {
        let engine = start(QWEN3_06B, options);
        // The prompt is cached by then.
        edit.run(&engine, 1);
        let run = edit.run(&engine, TIMED);
        print("0.6B, its beginning", &run, options);
        let plain = *plain.get_or_insert(run.time);
        println!("{:>66.2} times as fast as without", plain.as_secs_f64() / run.time.as_secs_f64());
    }
}

/// Words, signs and white space, numbered as they come.
fn tokens<'a>(text: &'a str, ids: &mut HashMap<&'a str, u32>) -> Vec<u32> {
    let mut tokens = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let alike: fn(char) -> bool = match first {
            'a'..='z' | 'A'..='Z' | '0'..='9' => |c| c.is_ascii_alphanumeric(),
            ' ' => |c| c == ' ',
            _ => |_| false,
        };
        let end = rest.find(|c| !alike(c)).unwrap_or(rest.len()).max(first.len_utf8());
        let next = u32::try_from(ids.len()).expect("few words");
        tokens.push(*ids.entry(&rest[..end]).or_insert(next));
        rest = &rest[end..];
    }
    tokens
}

fn start(config: &str, speculation: SpeculationOptions) -> LocalEngine {
    let config = ModelConfig::parse("config.json", config.as_bytes()).expect("the configuration is sound");
    let threads = Threads::start(None).expect("threads start");
    let options = CpuOptions { kv_cache_bytes: 2 << 30, ..CpuOptions::default() };
    let runner = CpuRunner::new(&config, &Weights::random(1), &threads, &options, &mut |_| {});
    let options = LocalOptions { speculation, ..LocalOptions::default() };
    LocalEngine::start(Box::new(runner.expect("there is memory")), options)
}

/// A file to write again.
struct Edit {
    prompt: Vec<u32>,
    answer: Arc<[u32]>,
}

/// What one answer took, from its first token on.
struct Run {
    tokens: usize,
    time: Duration,
    before: EngineStats,
    after: EngineStats,
}

impl Edit {
    fn run(&self, engine: &LocalEngine, tokens: usize) -> Run {
        let request = GenerationRequest {
            prompt: self.prompt.clone(),
            max_tokens: tokens,
            sampling: SamplingParams::GREEDY,
            processors: LogitsProcessors::default(),
            stop_ids: Arc::new([]),
            top_logprobs: None,
            mask: Some(Box::new(Script { tokens: Arc::clone(&self.answer), at: 0 })),
            constraint: None,
            cache_salt: 0,
            affinity: 0,
            priority: 0,
            queue: tokens,
        };
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        let mut written = Vec::new();
        let mut begin = Instant::now();
        let mut generation = engine.submit(request).expect("taken on");
        let mut before = engine.stats();
        while let Some(step) = runtime.block_on(generation.next()) {
            if written.is_empty() {
                (begin, before) = (Instant::now(), engine.stats());
            }
            written.extend(step.tokens.iter().map(|token| token.id));
        }
        assert_eq!(written, self.answer[..tokens], "drafts changed the answer");
        Run { tokens, time: begin.elapsed(), before, after: engine.stats() }
    }
}

fn print(what: &str, run: &Run, SpeculationOptions { draft_tokens, .. }: SpeculationOptions) {
    let Run { tokens, time, before, after } = run;
    let drafted = after.drafted_tokens - before.drafted_tokens;
    let accepted = after.accepted_tokens - before.accepted_tokens;
    // Each step of a sequence alone brings one token and those that were accepted.
    let steps = *tokens as u64 - accepted;
    let rate = *tokens as f64 / time.as_secs_f64();
    let per_step = *tokens as f64 / steps as f64;
    println!(
        "{what}, drafts of {draft_tokens}: {tokens} tokens in {steps} steps ({per_step:.2} each), {accepted} of {drafted} drafted \
         accepted, {rate:.1} tokens/s"
    );
}

/// Allows the next token of a text and no other. Drafts are none of its business.
#[derive(Debug)]
struct Script {
    tokens: Arc<[u32]>,
    at: usize,
}

impl TokenMask for Script {
    fn apply(&mut self, mask: &mut [u32]) -> Result<(), MaskError> {
        mask.fill(0);
        // Behind the text's end a draft may stand that isn't accepted.
        let id = self.tokens.get(self.at).copied().unwrap_or(0) as usize;
        mask[id / 32] |= 1 << (id % 32);
        Ok(())
    }

    fn advance(&mut self, _: u32) -> Result<(), MaskError> {
        self.at += 1;
        Ok(())
    }

    fn validate(&mut self, tokens: &[u32]) -> usize {
        tokens.len()
    }

    fn rollback(&mut self, tokens: usize) -> Result<(), MaskError> {
        self.at -= tokens;
        Ok(())
    }
}
