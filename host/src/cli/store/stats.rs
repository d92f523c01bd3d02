//! `host store stats`: how much is stored, and of whom.

use std::io::Write as _;
use std::process::ExitCode;

use serde_json::{Map, Value, json};
use store::Stats;

use super::file::{StoreArgument, wait};
use crate::cli::table::Table;

#[derive(clap::Args)]
pub(super) struct StatsArguments {
    #[command(flatten)]
    store: StoreArgument,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

pub(super) fn run(arguments: &StatsArguments) -> anyhow::Result<ExitCode> {
    let stats = wait(arguments.store.open()?.stats())?;
    let mut out = std::io::stdout().lock();
    let counts = counts(&stats);
    if arguments.json {
        let mut report: Map<String, Value> =
            counts.map(|(what, count)| (what.replace(' ', "_"), json!(count))).into_iter().collect();
        let owners =
            stats.owners.iter().map(|(owner, bytes)| json!({ "name": owner.name(), "bytes": bytes }));
        report.insert("owners".to_owned(), owners.collect());
        writeln!(out, "{}", serde_json::to_string_pretty(&report)?)?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut table = Table::new(["stored", "number"]);
    for (what, count) in counts {
        table.row([what.to_owned(), count.to_string()]);
    }
    writeln!(out, "{table}")?;
    let mut table = Table::new(["owner", "bytes"]);
    for (owner, bytes) in &stats.owners {
        table.row([owner.name().to_owned(), bytes.to_string()]);
    }
    write!(out, "{table}")?;
    Ok(ExitCode::SUCCESS)
}

fn counts(stats: &Stats) -> [(&'static str, u64); 6] {
    [
        ("responses", stats.responses),
        ("queued responses", stats.queued),
        ("running responses", stats.running),
        ("deleted responses", stats.kept),
        ("conversations", stats.conversations),
        ("file bytes", stats.file_bytes),
    ]
}
