//! `host store check`: whether everything stored is whole.

use std::io::Write as _;
use std::process::ExitCode;

use net::printable::Escaped;

use super::file::{StoreArgument, wait};

#[derive(clap::Args)]
pub(super) struct CheckArguments {
    #[command(flatten)]
    store: StoreArgument,
}

pub(super) fn run(arguments: &CheckArguments) -> anyhow::Result<ExitCode> {
    let faults = wait(arguments.store.open()?.check())?;
    let mut out = std::io::stdout().lock();
    if faults.is_empty() {
        writeln!(out, "whole")?;
        return Ok(ExitCode::SUCCESS);
    }
    for fault in faults {
        writeln!(out, "{}", Escaped(fault))?;
    }
    Ok(ExitCode::FAILURE)
}
