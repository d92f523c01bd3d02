//! What the tests of both adapters share: outputs to read, a tokenizer, what the façade makes of an
//! output, and where the other projects' packages are.

mod facade;
mod outputs;
mod packages;
mod tokens;

use std::path::PathBuf;

pub use facade::{Seen, push, read};
pub use outputs::{Output, Tool, each_case};
pub use packages::{literals, package};
pub use tokens::{Token, Tokens, texts};

use seeded::SplitMix64;

/// Number of ways in which each output is cut.
pub const CUTS: u64 = 6;

/// Components that fail when they are asked about text.
pub const FAILING: [&str; 7] =
    ["trap_in_text", "loop_in_text", "deep_recursion", "memory_bomb", "bad_op", "bad_route", "fault_in_text"];

/// A component that the project's `guests` wrote.
///
/// # Panics
/// It isn't there: `test.sh` builds them.
pub fn guest(name: &str) -> String {
    let folder = std::env::var("SLUICE_GUESTS").expect("SLUICE_GUESTS names the folder that `guests` wrote");
    let path = PathBuf::from(folder).join(name).with_extension("wasm");
    path.to_str().expect("a path in UTF-8").to_owned()
}

/// The items in groups of 1 to `most`, as the seed says.
pub fn groups<T>(items: &[T], most: usize, seed: u64) -> Vec<&[T]> {
    let (mut random, mut rest, mut groups) = (SplitMix64::new(seed), items, Vec::new());
    while !rest.is_empty() {
        let (group, behind) = rest.split_at((1 + random.below(most)).min(rest.len()));
        groups.push(group);
        rest = behind;
    }
    groups
}

/// A text in pieces of some characters, as the seed says; whole for seed 0.
pub fn pieces(text: &str, seed: u64) -> Vec<String> {
    if seed == 0 {
        return vec![text.to_owned()];
    }
    let characters: Vec<char> = text.chars().collect();
    // One seed cuts it into single characters.
    let most = if seed == 1 { 1 } else { 17 };
    groups(&characters, most, seed).into_iter().map(|group| group.iter().collect()).collect()
}
