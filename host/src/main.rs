//! The binary `host`.
#![doc = include_str!("../DESIGN.md")]
#![warn(
    clippy::print_stderr,
    reason = "it waits for whoever reads stderr, and panics where it is closed: cli/stderr.rs"
)]

mod cli;

use std::process::ExitCode;

fn main() -> ExitCode {
    cli::main()
}
