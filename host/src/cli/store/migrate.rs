//! `host store migrate`: brings a store to this version's schema.

use std::io::Write as _;
use std::process::ExitCode;

use store::SchemaVersions;

use super::file::StoreArgument;

#[derive(clap::Args)]
pub(super) struct MigrateArguments {
    #[command(flatten)]
    store: StoreArgument,
}

pub(super) fn run(arguments: &MigrateArguments) -> anyhow::Result<ExitCode> {
    let SchemaVersions { before, now } = arguments.store.schema()?;
    let mut out = std::io::stdout().lock();
    if before == now {
        writeln!(out, "it has schema {now} already")?;
    } else {
        writeln!(out, "migrated from schema {before} to {now}")?;
    }
    Ok(ExitCode::SUCCESS)
}
