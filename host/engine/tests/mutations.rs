//! Thousands of broken copies of each family's files: each gives an error of one line or a model
//! that runs; none makes the loader or a step panic, and none takes memory that its files don't
//! have.
#![expect(clippy::cast_possible_truncation, reason = "counts of a few hundred")]
#![expect(clippy::unwrap_used, reason = "a test may fail here")]

use std::path::{Path, PathBuf};

use engine::ModelFiles;
use engine::cpu::{self, CpuOptions, CpuRunner, Threads};
use engine::models::LoadError;
use engine::runner::Runner;
use proptest::prelude::*;
use proptest::sample::Index;
use proptest::test_runner::TestRunner;
use serde_json::{Map, Value, json};
use tempfile::TempDir;

mod steps;
use steps::{Sequence, advance};

/// Number of mutations of each family.
const CASES: u32 = 1000;
/// Maximum memory, in bytes, that all mutations of a family may ever have touched: a hundred times
/// the size of its files.
const MOST_MEMORY: u64 = 1 << 29;

/// What is done to a copy of a model.
#[derive(Debug, Clone)]
enum Mutation {
    /// Changes bytes at the beginning of a file of weights, and perhaps truncates the file.
    Header { edits: Vec<(Index, u8, u8)>, cut: Option<Index> },
    /// Changes a value of the configuration.
    Field(Index, Value),
    /// Changes a byte of a JSON file.
    Byte(Index, Index, u8),
}

fn value() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        Just(json!("x")),
        Just(json!([])),
        Just(json!([1, 2])),
        Just(json!({})),
        any::<bool>().prop_map(|b| json!(b)),
        prop::sample::select(vec![-1.0, 0.5, 1e300, 1e-300]).prop_map(|x: f64| json!(x)),
        prop::sample::select(vec![0, 1, 2, 3, 4, 8, 16, 32, 64, u64::MAX]).prop_map(|n| json!(n)),
        (0u64..1 << 40).prop_map(|n| json!(n)),
        (0.0..1e9).prop_map(|x: f64| json!(x)),
    ]
}

fn mutation() -> impl Strategy<Value = Mutation> {
    let edits = prop::collection::vec((any::<Index>(), any::<u8>(), 0u8..3), 1..6);
    prop_oneof![
        (edits, prop::option::weighted(0.2, any::<Index>()))
            .prop_map(|(edits, cut)| Mutation::Header { edits, cut }),
        (any::<Index>(), value()).prop_map(|(field, value)| Mutation::Field(field, value)),
        (any::<Index>(), any::<Index>(), any::<u8>()).prop_map(|(f, at, byte)| Mutation::Byte(f, at, byte)),
    ]
}

/// Files of `folder` whose names end with `ends`, in order.
fn files(folder: &Path, ends: &str) -> Vec<PathBuf> {
    let all = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut found: Vec<PathBuf> = all.filter(|path| path.to_string_lossy().ends_with(ends)).collect();
    found.sort();
    found
}

impl Mutation {
    fn apply(&self, folder: &Path) {
        match self {
            Self::Header { edits, cut } => {
                let path = edits[0].0.get(&files(folder, ".safetensors")).clone();
                let mut bytes = std::fs::read(&path).unwrap();
                let end = 8 + u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
                for edit in edits {
                    edit_byte(&mut bytes[..end], *edit);
                }
                if let Some(cut) = cut {
                    bytes.truncate(cut.index(end + 100));
                }
                std::fs::write(path, bytes).unwrap();
            }
            Self::Field(field, value) => {
                let path = folder.join("config.json");
                let mut config: Map<String, Value> =
                    serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
                *field_mut(&mut config, *field) = value.clone();
                std::fs::write(path, Value::Object(config).to_string()).unwrap();
            }
            Self::Byte(file, at, byte) => {
                let json = ["config.json", "index.json"].iter().flat_map(|ends| files(folder, ends));
                let path = file
                    .get(&json.filter(|path| !path.ends_with("generation_config.json")).collect::<Vec<_>>())
                    .clone();
                let mut bytes = std::fs::read(&path).unwrap();
                let at = at.index(bytes.len());
                bytes[at] = *byte;
                std::fs::write(path, bytes).unwrap();
            }
        }
    }
}

fn edit_byte(bytes: &mut [u8], (at, byte, kind): (Index, u8, u8)) {
    let at = at.index(bytes.len());
    match kind {
        0 => bytes[at] = byte,
        // Replaces a digit by a digit: sizes and offsets are still numbers.
        1 => {
            if let Some(at) = (at..bytes.len()).find(|at| bytes[*at].is_ascii_digit()) {
                bytes[at] = b'0' + byte % 10;
            }
        }
        _ => bytes[at] ^= 1 << (byte % 8),
    }
}

/// One of the values in an object, or in the objects that it contains.
fn field_mut(config: &mut Map<String, Value>, field: Index) -> &mut Value {
    let inner = |(name, value): (&String, &Value)| -> Vec<(String, Option<String>)> {
        let fields = value.as_object().into_iter().flatten();
        let inner = fields.map(|(field, _)| (name.clone(), Some(field.clone())));
        std::iter::once((name.clone(), None)).chain(inner).collect()
    };
    let all: Vec<(String, Option<String>)> = config.iter().flat_map(inner).collect();
    match field.get(&all) {
        (name, None) => &mut config[name],
        (name, Some(field)) => &mut config[name][field],
    }
}

fn load(folder: &Path) -> Result<CpuRunner, LoadError> {
    let options = CpuOptions { kv_cache_bytes: 4 << 20, batch_tokens: 8, ..CpuOptions::default() };
    let threads = Threads::start(Some(1)).unwrap();
    cpu::load(&ModelFiles::Directory(folder.to_owned()), &threads, &options, &mut |_| {})
}

/// Loads a model that may be broken; one that loads must run, whatever it computes. Returns whether
/// it was refused.
fn survives(folder: &TempDir) -> bool {
    match load(folder.path()) {
        Ok(mut runner) => {
            let last = runner.shape().vocab as u32 - 1;
            let count = runner.shape().context.min(3);
            let mut sequence = Sequence::new(&[0, last, last / 2], 0, 0);
            assert_eq!(advance(&mut runner, &mut sequence, count).len(), runner.shape().vocab);
            false
        }
        Err(error) => {
            assert!(!error.to_string().contains('\n'), "{error}");
            true
        }
    }
}

fn mutate(name: &str) {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/goldens").join(name);
    let config = ProptestConfig { cases: CASES, failure_persistence: None, ..ProptestConfig::default() };
    let refused = std::cell::Cell::new(0);
    let outcome = TestRunner::new(config).run(&mutation(), |mutation| {
        let folder = tempfile::tempdir().unwrap();
        for entry in std::fs::read_dir(&golden).unwrap() {
            let entry = entry.unwrap();
            std::fs::copy(entry.path(), folder.path().join(entry.file_name())).unwrap();
        }
        mutation.apply(folder.path());
        refused.set(refused.get() + u32::from(survives(&folder)));
        Ok(())
    });
    outcome.unwrap();
    // Many mutations change nothing that matters, but more than a quarter must be refused.
    assert!(refused.get() > CASES / 4, "{name}: only {} of {CASES} were refused", refused.get());
    #[cfg(target_os = "linux")]
    assert!(peak_memory() < MOST_MEMORY, "{name}: {} bytes were touched", peak_memory());
}

/// Peak memory of this process, in bytes.
#[cfg(target_os = "linux")]
fn peak_memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    peak.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024
}

#[test]
fn no_mutation_of_llama_makes_the_loader_panic() {
    mutate("llama-bias-f32");
}

#[test]
fn no_mutation_of_mistral_makes_the_loader_panic() {
    mutate("mistral-window-bf16");
}

#[test]
fn no_mutation_of_qwen3_makes_the_loader_panic() {
    mutate("sharded-bf16");
}

#[test]
fn qwen3_moe_mutations_never_make_the_loader_panic() {
    mutate("moe-sharded-bf16");
}

#[test]
fn no_mutation_of_gpt_oss_makes_the_loader_panic() {
    mutate("gpt-oss-mxfp4");
}

#[test]
fn no_mutation_of_deepseek_makes_the_loader_panic() {
    mutate("deepseek-fp8");
}

#[test]
fn no_mutation_of_gemma3_makes_the_loader_panic() {
    mutate("gemma3-vision-bf16");
}

#[test]
fn gemma4_mutations_never_make_the_loader_panic() {
    mutate("gemma4-small-bf16");
    mutate("gemma4-experts-bf16");
}

#[test]
fn no_mutation_of_phi3_makes_the_loader_panic() {
    mutate("phi3-short-bf16");
}

#[test]
fn no_mutation_of_glm4_makes_the_loader_panic() {
    mutate("glm4-moe-bf16");
}
