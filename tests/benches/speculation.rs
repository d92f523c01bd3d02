//! Benchmark of drafts for a file that is written again with one change: tokens per step, and the
//! time of a step on the CPU with random weights in the shape of Qwen3-0.6B.
//!
//! A random model doesn't copy, so a mask that allows one token at a time determines the output:
//! 400 lines of this project's code, one of them changed, as a model that follows the instruction
//! would write them. The mask accepts every draft as valid and then rejects the tokens that differ,
//! so drafts are found, run and rejected as in real use; only the cost of a real mask is missing.
//! Tokens are words with the blank before them, signs, and line ends with the blanks after them.
//! The steps of the whole answer are counted with a small model. The time of a step is measured
//! over a part of the answer, as wall time and as processor time divided by the number of threads,
//! which estimates the wall time on a machine without other work. The speed-up of the whole answer
//! is tokens per step times the ratio of both steps' times.
//!
//! `cargo bench-dist -p tests --bench speculation`
#![expect(clippy::print_stdout, reason = "its result is what it prints")]
#![expect(clippy::cast_precision_loss, reason = "counts of a few thousand")]

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

use engine::cpu::{CpuOptions, CpuRunner, Threads};
use engine::models::{ModelConfig, Weights};
use engine::{Engine, GenerationRequest, LocalEngine, LocalOptions, MaskError, TokenMask};
use tests::measure::processor_time;

const QWEN3_06B: &str = r#"{"architectures": ["Qwen3ForCausalLM"], "vocab_size": 151936, "hidden_size": 1024,
    "intermediate_size": 3072, "num_hidden_layers": 28, "num_attention_heads": 16, "num_key_value_heads": 8, "head_dim": 128,
    "max_position_embeddings": 40960, "rms_norm_eps": 1e-6, "rope_theta": 1000000, "tie_word_embeddings": true}"#;
const SMALL: &str = r#"{"architectures": ["Qwen3ForCausalLM"], "vocab_size": 4096, "hidden_size": 64,
    "intermediate_size": 64, "num_hidden_layers": 1, "num_attention_heads": 1, "num_key_value_heads": 1, "head_dim": 64,
    "max_position_embeddings": 40960, "rms_norm_eps": 1e-6, "rope_theta": 1000000, "tie_word_embeddings": true}"#;

const FILES: [&str; 2] =
    [include_str!("../../host/engine/src/generation/mod.rs"), include_str!("../../host/engine/src/local.rs")];
const LINES: usize = 400;
/// Index of the changed line, and its new text.
const CHANGED: (usize, &str) = (10, "use crate::tokens::{Sampling, Token as GeneratedToken};");
/// Ranges of the measured tokens: without drafts, and with drafts, where they match again after the
/// change.
const TIMED: [Range<usize>; 2] = [1..33, 256..512];

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
    let small = edit.run(&start(SMALL), 1..edit.answer.len(), true);
    println!("whole answer: {small}");
    let engine = start(QWEN3_06B);
    // Puts the prompt into the prefix cache.
    edit.run(&engine, 0..1, false);
    let [plain, drafted] = TIMED.map(|range| (range.start > 1, range)).map(|(drafts, range)| {
        let run = edit.run(&engine, range, drafts);
        println!("0.6B, {} drafts: {run}", if drafts { "with" } else { "without" });
        run
    });
    let times = |time: fn(&Run) -> Duration| time(&plain).as_secs_f64() / time(&drafted).as_secs_f64();
    let (clock, quiet) = (times(|run| run.clock / run.steps), times(|run| run.quiet / run.steps));
    let per_step = small.per_step();
    println!("a step without drafts takes {clock:.2} of one with drafts, {quiet:.2} by processor time");
    println!(
        "whole answer: {:.2} times as fast as without drafts, {:.2} by processor time",
        per_step * clock,
        per_step * quiet
    );
}

/// Splits a text into words, signs and white space as tokenizers for code do, and numbers them in
/// the order of their appearance.
fn tokens<'a>(text: &'a str, ids: &mut HashMap<&'a str, u32>) -> Vec<u32> {
    let mut tokens = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let alike: fn(char) -> bool = match first {
            ' ' | 'a'..='z' | 'A'..='Z' | '0'..='9' => |c| c.is_ascii_alphanumeric(),
            '\n' => |c| c == ' ',
            _ => |_| false,
        };
        let begins = first.len_utf8();
        let end = rest[begins..].find(|c| !alike(c)).map_or(rest.len(), |length| begins + length);
        let next = u32::try_from(ids.len()).expect("few words");
        tokens.push(*ids.entry(&rest[..end]).or_insert(next));
        rest = &rest[end..];
    }
    tokens
}

fn start(config: &str) -> LocalEngine {
    let config = ModelConfig::parse("config.json", config.as_bytes()).expect("the configuration is sound");
    let threads = Threads::start(None).expect("threads start");
    let options = CpuOptions { kv_cache_bytes: 2 << 30, ..CpuOptions::default() };
    let runner = CpuRunner::new(&config, &Weights::random(1), &threads, &options, &mut |_| {});
    LocalEngine::start(Box::new(runner.expect("there is memory")), LocalOptions::default())
}

/// Prompt with a file, and the answer that is the changed file.
struct Edit {
    prompt: Vec<u32>,
    answer: Arc<[u32]>,
}

/// Measurements of a part of an answer.
struct Run {
    tokens: usize,
    steps: u32,
    drafted: u64,
    accepted: u64,
    clock: Duration,
    quiet: Duration,
}

impl Edit {
    /// Generates the answer up to the end of `measured`; tokens before that range aren't measured.
    fn run(&self, engine: &LocalEngine, measured: Range<usize>, drafts: bool) -> Run {
        let script = Script { tokens: Arc::clone(&self.answer), at: 0, drafts };
        // One step at a time, so that the engine's statistics are read between steps.
        let greedy = GenerationRequest::greedy(self.prompt.clone(), measured.end, 1);
        let request = GenerationRequest { mask: Some(Box::new(script)), ..greedy };
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        let mut generation = engine.submit(request).expect("taken on");
        let (mut written, mut steps) = (Vec::new(), 0);
        let mut begin = None;
        while let Some(step) = runtime.block_on(generation.next()) {
            written.extend(step.tokens.iter().map(|token| token.id));
            match &begin {
                Some(_) => steps += 1,
                None if written.len() >= measured.start => {
                    begin = Some((written.len(), engine.stats(), Instant::now(), processor_time()));
                }
                None => {}
            }
        }
        assert_eq!(written, self.answer[..measured.end], "drafts changed the answer");
        let (from, before, clock, cpu) = begin.expect("there were steps");
        let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let after = engine.stats();
        Run {
            tokens: written.len() - from,
            steps,
            drafted: after.drafted_tokens - before.drafted_tokens,
            accepted: after.accepted_tokens - before.accepted_tokens,
            clock: clock.elapsed(),
            quiet: processor_time().saturating_sub(cpu) / u32::try_from(threads).expect("few threads"),
        }
    }
}

impl Run {
    fn per_step(&self) -> f64 {
        self.tokens as f64 / f64::from(self.steps)
    }
}

impl std::fmt::Display for Run {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { tokens, steps, drafted, accepted, clock, quiet } = self;
        let millis = |time: &Duration| time.as_secs_f64() * 1e3 / f64::from((*steps).max(1));
        write!(
            f,
            "{tokens} tokens in {steps} steps ({:.2} each), {accepted} of {drafted} drafted accepted, {:.1} ms a step, {:.1} by processor \
             time",
            self.per_step(),
            millis(clock),
            millis(quiet)
        )
    }
}

/// Mask that allows only the next token of a text. It accepts all drafts as valid, right or wrong,
/// or none.
#[derive(Debug)]
struct Script {
    tokens: Arc<[u32]>,
    at: usize,
    drafts: bool,
}

impl TokenMask for Script {
    fn apply(&mut self, mask: &mut [u32]) -> Result<(), MaskError> {
        mask.fill(0);
        // A draft may go on after the text's end; it isn't accepted there.
        let id = self.tokens.get(self.at).copied().unwrap_or(0) as usize;
        mask[id / 32] |= 1 << (id % 32);
        Ok(())
    }

    fn advance(&mut self, _: u32) -> Result<(), MaskError> {
        self.at += 1;
        Ok(())
    }

    fn validate(&mut self, tokens: &[u32]) -> usize {
        if self.drafts { tokens.len() } else { 0 }
    }

    fn rollback(&mut self, tokens: usize) -> Result<(), MaskError> {
        self.at -= tokens;
        Ok(())
    }
}
