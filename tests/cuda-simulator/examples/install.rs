//! Writes the simulated libraries to a folder, which tests find as `CUDA_SIMULATOR`:
//! `cargo run --release --manifest-path tests/cuda-simulator/Cargo.toml --example install -- FOLDER`.

use std::path::PathBuf;
use std::process::ExitCode;

fn main() -> ExitCode {
    let Some(folder) = std::env::args_os().nth(1).map(PathBuf::from) else {
        eprintln!("usage: install FOLDER");
        return ExitCode::FAILURE;
    };
    match cuda_simulator::install(&folder) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
