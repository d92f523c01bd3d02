//! `host stream lint FILE`: checks that a recorded stream follows the Responses API (or another protocol).

use std::io::{Read, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use host::api::Protocol;
use host::printable::Escaped;

#[derive(clap::Args)]
pub(super) struct LintArguments {
    /// File of the recorded stream; `-` is standard input.
    file: PathBuf,
    /// Protocol of the stream.
    #[arg(long, value_parser = super::values::protocol(), default_value = "responses")]
    protocol: Protocol,
}

pub(super) fn run(arguments: &LintArguments) -> anyhow::Result<ExitCode> {
    let bytes = read(&arguments.file)?;
    let mut check = arguments.protocol.check();
    let mut out = std::io::stdout().lock();
    match check.feed(&bytes).and_then(|()| check.finish()) {
        Ok(()) => {
            writeln!(out, "{}: a whole and well-formed stream", arguments.file.display())?;
            Ok(ExitCode::SUCCESS)
        }
        Err(violation) => {
            writeln!(out, "{}: {}", arguments.file.display(), Escaped(violation))?;
            Ok(ExitCode::FAILURE)
        }
    }
}

fn read(file: &PathBuf) -> anyhow::Result<Vec<u8>> {
    if file.as_os_str() != "-" {
        return std::fs::read(file).with_context(|| file.display().to_string());
    }
    let mut bytes = Vec::new();
    std::io::stdin().lock().read_to_end(&mut bytes).context("standard input")?;
    Ok(bytes)
}
