//! `host bench serve`.
use std::process::ExitCode;
#[derive(clap::Args)]
pub(super) struct Arguments {}
pub(super) fn run(_: Arguments) -> anyhow::Result<ExitCode> {
    Ok(ExitCode::SUCCESS)
}
