//! Benchmark of prefill and decode on the CPU, with random bf16 weights in the shape of Qwen3-0.6B.
//!
//! Two figures are printed: one by wall time, and one by processor time divided by the number of
//! threads, which estimates the wall time on a machine without other work (Linux only).
//!
//! `cargo bench-dist -p tests --bench engine`
#![expect(clippy::print_stdout, reason = "its result is what it prints")]
#![expect(clippy::cast_possible_truncation, clippy::cast_precision_loss, reason = "counts of a few hundred")]

use std::time::{Duration, Instant};

use engine::batch::{Batch, TableEdit};
use engine::cpu::{CpuOptions, CpuRunner, Threads};
use engine::models::{ModelConfig, Weights};
use engine::runner::Runner;
use tests::measure::processor_time;

const CONFIG: &str = r#"{"architectures": ["Qwen3ForCausalLM"], "vocab_size": 151936, "hidden_size": 1024,
    "intermediate_size": 3072, "num_hidden_layers": 28, "num_attention_heads": 16, "num_key_value_heads": 8, "head_dim": 128,
    "max_position_embeddings": 40960, "rms_norm_eps": 1e-6, "rope_theta": 1000000, "tie_word_embeddings": true}"#;
/// Number of blocks that each sequence may use.
const WIDTH: usize = 64;

fn main() {
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let begin = Instant::now();
    let config = ModelConfig::parse("config.json", CONFIG.as_bytes()).expect("the configuration is sound");
    let options = CpuOptions { kv_cache_bytes: 1 << 30, ..CpuOptions::default() };
    let pool = Threads::start(Some(threads)).expect("threads start");
    let mut runner =
        CpuRunner::new(&config, &Weights::random(1), &pool, &options, &mut |_| {}).expect("there is memory");
    println!("{}; loaded in {:.1} s", runner.shape().name, begin.elapsed().as_secs_f64());
    for tokens in [128, 512] {
        let took = best_of(3, || time(&mut runner, &rows(1, 0, tokens)));
        print("prefill", tokens, tokens, took, threads);
    }
    // The last token and a draft's tokens, verified in one step.
    for drafted in [1, 2, 4, 8, 15] {
        let took = best_of(3, || time(&mut runner, &drafts(128, drafted)));
        print("verify", drafted + 1, drafted + 1, took, threads);
    }
    for sequences in [1, 4] {
        let steps = 16;
        let mut step = |i| time(&mut runner, &rows(sequences, 128 + i, 1));
        let took = best_of(3, || (0..steps).map(&mut step).fold((Duration::ZERO, Duration::ZERO), add));
        print("decode", sequences, sequences * steps, took, threads);
    }
}

/// Wall time, and processor time of all threads together.
type Times = (Duration, Duration);

fn add(a: Times, b: Times) -> Times {
    (a.0 + b.0, a.1 + b.1)
}

fn best_of(times: usize, mut measure: impl FnMut() -> Times) -> Times {
    let all: Vec<Times> = (0..times).map(|_| measure()).collect();
    let least = |one: fn(&Times) -> Duration| all.iter().map(one).min().expect("at least once");
    (least(|t| t.0), least(|t| t.1))
}

fn print(what: &str, width: usize, tokens: usize, (clock, cpu): Times, threads: usize) {
    let rate = |time: Duration| tokens as f64 / time.as_secs_f64();
    let quiet = rate(cpu) * threads as f64;
    println!("{what:<8}{width:>4}: {:7.1} tokens/s, {quiet:7.1} by processor time", rate(clock));
}

fn time(runner: &mut CpuRunner, batch: &Batch) -> Times {
    let (begin, cpu) = (Instant::now(), processor_time());
    runner.forward(batch).expect("the batch is sound");
    (begin.elapsed(), processor_time().saturating_sub(cpu))
}

/// Batch of one token at position `from` and `drafted` tokens after it, with the logits of all.
fn drafts(from: usize, drafted: usize) -> Batch {
    let batch = rows(1, from, drafted + 1);
    Batch { logit_rows: (0..=drafted as u32).collect(), ..batch }
}

/// Batch of `count` tokens from position `from` on, for each of `sequences` sequences.
fn rows(sequences: usize, from: usize, count: usize) -> Batch {
    let mut batch = Batch { starts: vec![0], ..Batch::default() };
    for sequence in 0..sequences {
        let first_block = sequence * WIDTH;
        for position in from..from + count {
            batch.tokens.push((position * 7919 + sequence) as u32 % 151_936);
            batch.positions.push(position as u32);
            batch.slots.push((first_block * 16 + position) as u32);
        }
        batch.starts.push(batch.tokens.len() as u32);
        batch.context_lens.push((from + count) as u32);
        let lane = sequence as u32;
        batch.lanes.push(lane);
        let edit = |at| TableEdit { lane, at: at as u32, block: (first_block + at) as u32 };
        batch.table_edits.extend((0..WIDTH).map(edit));
        batch.logit_rows.push(batch.tokens.len() as u32 - 1);
    }
    batch
}
