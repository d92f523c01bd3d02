//! Benchmark of attacks: what one hostile client, engine or tool server costs the server and its
//! other clients. Each attack has a row: the answers, the server's CPU time, its peak memory beyond
//! the idle server's, what it keeps afterwards, the slowest `/health` meanwhile, and where there is
//! another key its slowest request.
//!
//! `cargo bench-dist -p tests --bench attacks [-- WORD…]` runs the attacks whose names
//! contain one of these words. The server is the binary that `SLUICE_HOST` names (an older one, to
//! compare), else the one beside the benchmark.
#![expect(clippy::print_stdout, reason = "its result is what it prints")]

mod connections;
mod conversations;
mod engines;
mod grammars;
mod keys;
mod logs;
mod model;
mod parse;
mod row;
mod stored;
mod tools;

use row::Row;

fn main() {
    let asked: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    let is_asked = |name: &str| asked.is_empty() || asked.iter().any(|word| name.contains(word.as_str()));
    Row::print_header();
    for words in [4_000, 151_000] {
        grammars::run(words, &is_asked);
    }
    engines::run(&is_asked);
    tools::run(&is_asked);
    logs::run(&is_asked);
    connections::run(&is_asked);
    conversations::run(&is_asked);
    keys::run(&is_asked);
    stored::run(&is_asked);
    parse::run(&is_asked);
}
