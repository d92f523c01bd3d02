//! Logits of all positions of some sequences, as numbers in a file: what scripts compare with other
//! engines'.
//!
//! `cargo run --release -p engine --example logits -- MODEL IDS.json OUT [f16|f32 [auto|f32]]`
//!
//! IDS.json is a list of lists of token ids, each of at most 512. OUT gets `[tokens, vocabulary]`
//! numbers of 32 bits, little-endian, of one sequence after the other. The words at the end are the
//! number types of KV cache and inputs, `f16 auto` as in `host serve`.
#![allow(clippy::unwrap_used, reason = "a script's tool")]

use std::io::Write;
use std::path::Path;

use engine::cpu::{self, CpuOptions, InputDtype, KvDtype, Numerics, Threads};
use engine::{GgufFiles, ModelFiles};

#[path = "../tests/steps/mod.rs"]
mod steps;
use steps::{BLOCK, Sequence, batch, run};

/// Number of tokens for which a [`Sequence`] has blocks.
const MOST_TOKENS: usize = 32 * BLOCK;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [model, ids, out, numerics @ ..] = args.as_slice() else {
        return Err("expected MODEL IDS.json OUT [f16|f32 [auto|f32]]".into());
    };
    let is_f32 = |at: usize| numerics.get(at).is_some_and(|dtype| dtype == "f32");
    let mut options = CpuOptions { kv_cache_bytes: 512 << 20, ..CpuOptions::default() };
    options.numerics = Numerics {
        kv_cache_dtype: if is_f32(0) { KvDtype::F32 } else { KvDtype::F16 },
        dtype: if is_f32(1) { InputDtype::F32 } else { InputDtype::Auto },
        ..Numerics::default()
    };
    let path = Path::new(model);
    let files = if GgufFiles::is_gguf(path) {
        ModelFiles::Gguf(GgufFiles::open(path)?)
    } else {
        ModelFiles::Directory(path.to_owned())
    };
    let sequences: Vec<Vec<u32>> = serde_json::from_slice(&std::fs::read(ids)?)?;
    if let Some(long) = sequences.iter().find(|ids| !(1..=MOST_TOKENS).contains(&ids.len())) {
        return Err(format!("a sequence of {} tokens, expected 1 to {MOST_TOKENS}", long.len()).into());
    }
    let mut runner = cpu::load(&files, &Threads::start(None)?, &options, &mut |_| {})?;
    let mut out = std::io::BufWriter::new(std::fs::File::create(out)?);
    for ids in sequences {
        let logits = run(&mut runner, &batch(&[&Sequence::new(&ids, 0, 1)], &[ids.len()], true))?;
        for logit in logits {
            out.write_all(&logit.to_le_bytes())?;
        }
    }
    Ok(out.flush()?)
}
