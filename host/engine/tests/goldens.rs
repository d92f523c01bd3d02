//! Logits and greedy tokens against those that transformers computed (`goldens/*/golden.json`),
//! with any chunks and batches.
#![expect(clippy::cast_possible_truncation, reason = "counts of a few hundred")]
#![expect(clippy::unwrap_used, reason = "a test may fail here")]
#![expect(clippy::print_stdout, reason = "shown where a test fails: how near the others were")]

use std::path::{Path, PathBuf};

use engine::ModelFiles;
use engine::batch::StateEdit;
use engine::cpu::{self, CpuOptions, CpuRunner, Numerics, Threads};
use engine::runner::Runner;
use serde::Deserialize;

mod steps;
use steps::{Sequence, advance, batch, run};

/// Greatest difference of a logit, relative to the greatest magnitude of its position.
const TOLERANCE: f32 = 1e-3;

#[derive(Deserialize)]
struct Golden {
    prompts: Vec<Prompt>,
    all_positions: AllPositions,
}

#[derive(Deserialize)]
struct Prompt {
    ids: Vec<u32>,
    logits: Vec<f32>,
    greedy: Vec<u32>,
}

#[derive(Deserialize)]
struct AllPositions {
    ids: Vec<u32>,
    logits: Vec<Vec<f32>>,
}

/// Every folder with a golden: the tiny random models here, and the trained ones.
fn goldens() -> Vec<(PathBuf, Golden)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folders = std::fs::read_dir(root.join("tests/goldens")).unwrap().map(|entry| entry.unwrap().path());
    let mut found = Vec::new();
    let trained = ["qwen3-tiny", "gpt-oss-tiny", "kimi-tiny"].map(|name| root.join("../models").join(name));
    for folder in folders.chain(trained) {
        if let Ok(text) = std::fs::read(folder.join("golden.json")) {
            let golden =
                serde_json::from_slice(&text).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
            found.push((folder, golden));
        }
    }
    assert!(found.len() >= 62, "only {} goldens", found.len());
    found
}

/// A runner with room for a few hundred KV blocks, and without rounding.
fn runner(files: &ModelFiles, threads: usize) -> CpuRunner {
    let options = CpuOptions { kv_cache_bytes: 64 << 20, numerics: Numerics::EXACT, ..CpuOptions::default() };
    cpu::load(files, &Threads::start(Some(threads)).unwrap(), &options, &mut |_| {}).unwrap()
}

fn for_each_golden(threads: usize, check: impl Fn(&str, &mut CpuRunner, &Golden)) {
    for (folder, golden) in goldens() {
        let mut runner = runner(&ModelFiles::Directory(folder.clone()), threads);
        check(&folder.file_name().unwrap().to_string_lossy(), &mut runner, &golden);
    }
}

fn assert_close(what: &str, got: &[f32], wanted: &[f32]) {
    assert_eq!(got.len(), wanted.len(), "{what}");
    let greatest = wanted.iter().fold(0f32, |a, x| a.max(x.abs()));
    let apart = got.iter().zip(wanted).fold(0f32, |a, (x, y)| a.max((x - y).abs()));
    assert!(apart <= TOLERANCE * greatest, "{what}: {apart} apart, greatest {greatest}");
    println!("{what}: {:.1e}", apart / greatest);
}

#[test]
fn last_positions_logits_equal_those_of_transformers() {
    for_each_golden(2, |name, runner, golden| {
        for prompt in &golden.prompts {
            let n = prompt.ids.len();
            let logits = advance(runner, &mut Sequence::new(&prompt.ids, 0, 1), n);
            assert_close(&format!("{name}, {n} tokens"), &logits, &prompt.logits);
        }
    });
}

#[test]
fn all_positions_logits_equal_those_of_transformers() {
    for_each_golden(1, |name, runner, golden| {
        let sequence = Sequence::new(&golden.all_positions.ids, 3, 2);
        let logits = run(runner, &batch(&[&sequence], &[sequence.tokens.len()], true)).unwrap();
        let vocab = runner.shape().vocab;
        assert_eq!(logits.len(), golden.all_positions.logits.len() * vocab);
        for (i, (got, wanted)) in logits.chunks_exact(vocab).zip(&golden.all_positions.logits).enumerate() {
            assert_close(&format!("{name}, position {i}"), got, wanted);
        }
    });
}

#[test]
fn packed_weights_are_used_as_they_are_stored() {
    for (name, types) in [
        ("tied-bf16", "bf16"),
        ("moe-fp8", "bf16, fp8"),
        ("gpt-oss-mxfp4", "bf16, mxfp4"),
        ("gpt-oss-bf16", "bf16"),
    ] {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/goldens").join(name);
        let runner = runner(&ModelFiles::Directory(folder), 1);
        let shown = &runner.shape().name;
        assert!(
            shown.starts_with("cpu, 1 thread, ") && shown.ends_with(&format!(", {types}")),
            "{name}: {shown}"
        );
        assert_eq!(shown.split(", ").count(), 3 + types.split(", ").count(), "{name}: {shown}");
    }
}

/// The likeliest token.
fn argmax(logits: &[f32]) -> u32 {
    let best = logits.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1));
    best.unwrap().0 as u32
}

/// Greedy tokens of one sequence alone, and the logits at each step; the prompt is run in chunks of
/// `chunk` tokens.
fn greedy_alone(runner: &mut CpuRunner, prompt: &Prompt, chunk: usize) -> (Vec<u32>, Vec<Vec<f32>>) {
    let mut sequence = Sequence::new(&prompt.ids, 1, 3);
    let mut all = Vec::new();
    while all.len() < prompt.greedy.len() {
        let mut logits = Vec::new();
        while sequence.done < sequence.tokens.len() {
            let count = chunk.min(sequence.tokens.len() - sequence.done);
            logits = advance(runner, &mut sequence, count);
        }
        sequence.tokens.push(argmax(&logits));
        all.push(logits);
    }
    (sequence.tokens[prompt.ids.len()..].to_vec(), all)
}

#[test]
fn greedy_tokens_equal_transformers_with_any_chunks() {
    for_each_golden(1, |name, runner, golden| {
        for prompt in &golden.prompts {
            let n = prompt.ids.len();
            let (tokens, whole) = greedy_alone(runner, prompt, 1000);
            assert_eq!(tokens, prompt.greedy, "{name}, {n} tokens");
            for chunk in [1, 7, 64] {
                let (tokens, logits) = greedy_alone(runner, prompt, chunk);
                assert_eq!(tokens, prompt.greedy, "{name}, {n} tokens, chunks of {chunk}");
                assert!(
                    logits == whole,
                    "{name}, {n} tokens, chunks of {chunk}: logits aren't the same bit for bit"
                );
            }
        }
    });
}

#[test]
fn cached_beginning_gives_the_same_logits_bit_for_bit() {
    for_each_golden(2, |name, runner, golden| {
        for prompt in golden.prompts.iter().filter(|prompt| prompt.ids.len() > 2 * steps::BLOCK) {
            let n = prompt.ids.len();
            let whole = Sequence::new(&prompt.ids, 0, 2);
            let borders = || 1..=(n - 1) / steps::BLOCK;
            let save = |shared: usize| StateEdit::Save {
                row: (shared * steps::BLOCK - 1) as u32,
                snapshot: shared as u32,
            };
            let load = |shared: usize| StateEdit::Load { lane: 1, snapshot: shared as u32 };
            let mut step = batch(&[&whole], &[n], false);
            let has_states = runner.shape().states.is_some();
            step.state_edits.extend(borders().filter(|_| has_states).map(save));
            let wanted = run(runner, &step).unwrap();
            for shared in borders() {
                let mut other = Sequence::new(&prompt.ids, 1, 2);
                other.blocks[..shared].copy_from_slice(&whole.blocks[..shared]);
                other.done = shared * steps::BLOCK;
                let mut step = batch(&[&other], &[n - other.done], false);
                step.state_edits.extend(has_states.then(|| load(shared)));
                assert!(run(runner, &step).unwrap() == wanted, "{name}, {n} tokens, {shared} blocks cached");
            }
        }
    });
}

#[test]
fn batched_logits_are_bit_for_bit_those_alone() {
    for_each_golden(2, |name, runner, golden| {
        let alone: Vec<_> = golden.prompts.iter().map(|prompt| greedy_alone(runner, prompt, 1000)).collect();
        // KV blocks of the sequences are interleaved; prompts come in chunks beside sequences that
        // decode already.
        let count = golden.prompts.len() as u32;
        let new = |(i, prompt): (usize, &Prompt)| Sequence::new(&prompt.ids, i as u32, count);
        let mut sequences: Vec<Sequence> = golden.prompts.iter().enumerate().map(new).collect();
        let mut generated = vec![0; sequences.len()];
        loop {
            let goes_on = |i: &usize| generated[*i] < golden.prompts[*i].greedy.len();
            let running: Vec<usize> = (0..sequences.len()).filter(goes_on).collect();
            if running.is_empty() {
                break;
            }
            let rest = |i: &usize| (sequences[*i].tokens.len() - sequences[*i].done).min(5 + 9 * i);
            let counts: Vec<usize> = running.iter().map(rest).collect();
            let members: Vec<&Sequence> = running.iter().map(|i| &sequences[*i]).collect();
            let logits = run(runner, &batch(&members, &counts, false)).unwrap();
            for ((i, count), logits) in
                running.iter().zip(counts).zip(logits.chunks_exact(runner.shape().vocab))
            {
                let sequence = &mut sequences[*i];
                sequence.done += count;
                if sequence.done == sequence.tokens.len() {
                    assert!(
                        logits == alone[*i].1[generated[*i]],
                        "{name}, sequence {i}, token {}",
                        generated[*i]
                    );
                    sequence.tokens.push(argmax(logits));
                    generated[*i] += 1;
                }
            }
        }
        for (sequence, prompt) in sequences.iter().zip(&golden.prompts) {
            assert_eq!(sequence.tokens[prompt.ids.len()..], prompt.greedy, "{name}");
        }
    });
}
