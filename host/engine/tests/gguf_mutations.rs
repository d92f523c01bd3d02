//! Thousands of broken GGUF files: each gives an error of one line or a model that runs; none makes
//! the reader, the loader or a step panic, and none takes memory that its file doesn't have.
#![expect(clippy::cast_possible_truncation, reason = "counts of a few hundred")]
#![expect(clippy::unwrap_used, reason = "a test may fail here")]

use std::path::{Path, PathBuf};

use engine::cpu::{self, CpuOptions, Threads};
use engine::runner::Runner;
use engine::{GgufFiles, ModelFiles};
use proptest::prelude::*;
use proptest::sample::Index;
use proptest::test_runner::TestRunner;

mod steps;
#[path = "../../gguf/tests/tools/mod.rs"]
mod tools;
use steps::{Sequence, advance};
use tools::convert::convert;
use tools::tokens;

/// Number of mutations of a file, and of a model in parts.
const CASES: u32 = 1000;
/// Memory, in bytes, that a file may take beside its own size.
const MOST_MEMORY: u64 = 64 << 20;
/// Number of tests here, which run at the same time.
const TESTS: u64 = 2;
/// Files that are made of keys.
const SMALL: [&str; 5] = [
    "config.json",
    "generation_config.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "chat_template.jinja",
];

/// What is done to a file.
#[derive(Debug, Clone)]
enum Mutation {
    /// A byte of the header becomes another.
    Byte(Index, u8),
    /// A bit of the header is flipped.
    Bit(Index, u8),
    /// Eight bytes of the header become a length, a count or an offset at its extremes.
    Number(Index, u64),
    /// A word of the header becomes a type or a number of dimensions.
    Word(Index, u32),
    /// The file ends early.
    Cut(Index),
    /// A range of the header is there twice.
    Twice(Index, u8),
}

fn mutation() -> impl Strategy<Value = Mutation> {
    let extremes =
        [0, 1, 2, 255, 1 << 16, 1 << 20, 1 << 31, 1 << 32, 1 << 40, 1 << 63, u64::MAX - 7, u64::MAX];
    prop_oneof![
        (any::<Index>(), any::<u8>()).prop_map(|(at, byte)| Mutation::Byte(at, byte)),
        (any::<Index>(), 0u8..8).prop_map(|(at, bit)| Mutation::Bit(at, bit)),
        (any::<Index>(), prop::sample::select(extremes.to_vec())).prop_map(|(at, n)| Mutation::Number(at, n)),
        (any::<Index>(), 0u32..45).prop_map(|(at, word)| Mutation::Word(at, word)),
        any::<Index>().prop_map(Mutation::Cut),
        (any::<Index>(), any::<u8>()).prop_map(|(at, length)| Mutation::Twice(at, length)),
    ]
}

impl Mutation {
    fn apply(&self, file: &mut Vec<u8>, header: usize) {
        if header <= size_of::<u64>() {
            return; // it was cut so short that no number is left
        }
        let mut put = |at: &Index, bytes: &[u8]| {
            let at = at.index(header.saturating_sub(bytes.len()));
            file[at..at + bytes.len()].copy_from_slice(bytes);
        };
        match self {
            Self::Byte(at, byte) => put(at, &[*byte]),
            Self::Number(at, number) => put(at, &number.to_le_bytes()),
            Self::Word(at, word) => put(at, &word.to_le_bytes()),
            Self::Bit(at, bit) => file[at.index(header)] ^= 1 << bit,
            Self::Cut(at) => file.truncate(at.index(header + 1000)),
            Self::Twice(at, length) => {
                let at = at.index(header);
                let again = file[at..(at + usize::from(*length)).min(header)].to_vec();
                file.splice(at..at, again);
            }
        }
    }
}

/// Uses a file that may be broken; what loads must run. Returns whether something was refused.
fn survives(path: &Path) -> bool {
    let one_line = |error: &dyn std::fmt::Display| assert!(!error.to_string().contains('\n'), "{error}");
    let files = match GgufFiles::open(path) {
        Ok(files) => ModelFiles::Gguf(files),
        Err(error) => {
            one_line(&error);
            return true;
        }
    };
    let mut refused = false;
    for name in SMALL {
        if let Err(error) = files.read(name) {
            one_line(&error);
            refused = true;
        }
    }
    let options = CpuOptions { kv_cache_bytes: 4 << 20, batch_tokens: 8, ..CpuOptions::default() };
    match cpu::load(&files, &Threads::start(Some(1)).unwrap(), &options, &mut |_| {}) {
        Ok(mut runner) => {
            let last = runner.shape().vocab as u32 - 1;
            let count = runner.shape().context.min(3);
            let mut sequence = Sequence::new(&[0, last, last / 2], 0, 0);
            assert_eq!(advance(&mut runner, &mut sequence, count).len(), runner.shape().vocab);
            refused
        }
        Err(error) => {
            one_line(&error);
            true
        }
    }
}

/// Mutates one of the files of a model, which are written to paths that `path` gives.
fn mutate(files: &[(Vec<u8>, usize)], path: impl Fn(&Path, usize) -> PathBuf) {
    let config = ProptestConfig { cases: CASES, failure_persistence: None, ..ProptestConfig::default() };
    let refused = std::cell::Cell::new(0);
    let size: usize = files.iter().map(|(file, _)| file.len()).sum();
    #[cfg(target_os = "linux")]
    let most = peak_memory() + TESTS * (size as u64 + MOST_MEMORY);
    let mutations = (any::<Index>(), prop::collection::vec(mutation(), 1..4));
    let outcome = TestRunner::new(config).run(&mutations, |(which, mutations)| {
        let folder = tempfile::tempdir().unwrap();
        let mutated = which.index(files.len());
        for (at, (file, header)) in files.iter().enumerate() {
            let mut file = file.clone();
            if at == mutated {
                for mutation in &mutations {
                    let header = (*header).min(file.len());
                    mutation.apply(&mut file, header);
                }
            }
            std::fs::write(path(folder.path(), at), file).unwrap();
        }
        refused.set(refused.get() + u32::from(survives(&path(folder.path(), 0))));
        Ok(())
    });
    outcome.unwrap();
    assert!(refused.get() > CASES / 2, "only {} of {CASES} were refused", refused.get());
    #[cfg(target_os = "linux")]
    assert!(peak_memory() < most, "{} bytes were touched, of {most}", peak_memory());
}

/// Peak memory of this process, in bytes.
#[cfg(target_os = "linux")]
fn peak_memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    peak.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024
}

fn model() -> tools::writer::Writer {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut writer = convert(&root.join("tests/goldens/mistral-bf16"));
    tokens::write(&mut writer, &root.join("../models/qwen3-tiny"));
    writer
}

#[test]
fn no_mutation_of_a_gguf_file_makes_the_loader_panic() {
    let writer = model();
    mutate(&[(writer.finish(), writer.header_len())], |folder, _| folder.join("m.gguf"));
}

#[test]
fn no_mutation_of_gguf_parts_makes_the_loader_panic() {
    let parts = model().parts(3).into_iter().map(|part| (part.len().min(1500), part));
    let parts: Vec<_> = parts.map(|(header, part)| (part, header)).collect();
    mutate(&parts, |folder, at| folder.join(format!("m-{:05}-of-00003.gguf", at + 1)));
}
