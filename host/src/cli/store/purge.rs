//! `host store purge`: deletes what an owner has stored, or what wasn't used for a time.

use std::io::Write as _;
use std::process::ExitCode;

use anyhow::bail;
use clap::builder::NonEmptyStringValueParser;
use store::{Evicted, Owner, Purge};

use super::file::{StoreArgument, wait};
use super::since::{Since, since};

#[derive(clap::Args)]
#[group(id = "what", required = true, multiple = true)]
pub(super) struct What {
    /// What this owner, the name of a key, has stored; without keys the owner is `local`.
    #[arg(long, value_name = "NAME", value_parser = NonEmptyStringValueParser::new())]
    owner: Option<String>,
    /// What wasn't used for this time, such as 30d or 12h, or since a date, such as 2026-11-25
    /// (UTC); 0s is everything.
    #[arg(long, value_name = "AGE|DATE", value_parser = since)]
    unused_since: Option<Since>,
}

#[derive(clap::Args)]
pub(super) struct PurgeArguments {
    #[command(flatten)]
    what: What,
    /// Delete. Without it, only say what would be deleted.
    #[arg(long)]
    yes: bool,
    #[command(flatten)]
    store: StoreArgument,
}

pub(super) fn run(arguments: &PurgeArguments) -> anyhow::Result<ExitCode> {
    let store = arguments.store.open()?;
    let owner = arguments.what.owner.as_deref().map(Owner::new);
    if let Some(owner) = &owner
        && wait(store.stats())?.owners.iter().all(|(known, _)| known != owner)
    {
        bail!("--owner {}: nobody of this name has stored anything", owner.name());
    }
    let unused_since = arguments.what.unused_since.map(|Since(moment)| moment);
    let purged = wait(store.purge(Purge { owner, unused_since, count_only: !arguments.yes }))?;
    let Evicted { responses, conversations, .. } = purged;
    let (did, rest) = if arguments.yes { ("deleted", "") } else { ("would delete", "; --yes deletes them") };
    let (responses, conversations) = (count(responses, "response"), count(conversations, "conversation"));
    writeln!(std::io::stdout().lock(), "{did} {responses} and {conversations}{rest}")?;
    Ok(ExitCode::SUCCESS)
}

fn count(number: u64, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}
