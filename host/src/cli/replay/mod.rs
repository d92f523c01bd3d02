//! `host replay FILE…`: generates recorded answers again from their inputs, and compares the events.

mod fork;
mod items;
mod loaded;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, bail};
use model::record::line::{Delivery, EndLine, Line};
use model::record::{Record, word_of};
use net::printable::Escaped;
use server::answer::Replay;

use super::stderr;
pub(super) use items::case_item;
pub(super) use loaded::{LoadedModels, Wanted};

#[derive(clap::Args)]
pub(super) struct ReplayArguments {
    /// Files of records (`*.slrec`).
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Model in place of the recorded one: a directory, or ORG/NAME. Its tokenizer has to be the same.
    #[arg(long, value_name = "DIR|ORG/NAME")]
    model: Option<String>,
    /// Parse what the model wrote by this parser, and compare the items with those of the recorded
    /// one: a file, or a name in the plugins folder or among the shipped parsers.
    #[arg(long, value_name = "FILE|PARSER")]
    parser: Option<String>,
    /// Go on by the engine behind the first N tokens, and print the answer's body.
    #[arg(long, value_name = "N", conflicts_with = "parser")]
    fork: Option<usize>,
    /// Setting of the tokens behind the fork (repeatable): `temperature`, `top_p`, `top_k`, `min_p`,
    /// `seed`, `presence_penalty`, `frequency_penalty`, `repetition_penalty` or `max_tokens`.
    #[arg(long, value_name = "KEY=VALUE", requires = "fork", value_parser = super::values::key_value)]
    set: Vec<(String, String)>,
    /// Key file of the server, for requests with reasoning that it has sealed (as in `serve`).
    #[arg(long, value_name = "FILE")]
    seal_key: Option<PathBuf>,
    #[command(flatten)]
    cache: super::cache::CacheArgument,
}

pub(super) fn run(arguments: &ReplayArguments, command: &clap::Command) -> anyhow::Result<ExitCode> {
    super::log::log_to_stderr(false, None, "error");
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.context("can't start the runtime")?;
    let mut models = LoadedModels::new(arguments.model.clone(), &arguments.cache, command);
    let mut equal = true;
    for file in &arguments.files {
        let replayed = runtime.block_on(one(arguments, &mut models, file));
        equal &= replayed.unwrap_or_else(|error| {
            stderr::write(format!("error: {}\n", Escaped(super::one_line(&error))).as_bytes());
            false
        });
    }
    runtime.shutdown_background();
    Ok(if equal { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Replays one record, and prints what came of it. Returns whether all is as it was.
async fn one(
    arguments: &ReplayArguments,
    models: &mut LoadedModels<'_>,
    file: &Path,
) -> anyhow::Result<bool> {
    let record = Record::load(file)?;
    if let Some(parser) = &arguments.parser {
        return items::compare(models, &record, file, parser);
    }
    let place = || format!("record {}", file.display());
    if let Some(tokens) = arguments.fork {
        let fork = fork::Fork { tokens, settings: &arguments.set };
        return fork::run(models, arguments, &record, &fork).await.with_context(place).map(|()| true);
    }
    if record.lost() > 0 {
        bail!("{}: it lacks {} lines, so it can't be replayed", place(), record.lost());
    }
    let replay = loaded::replay(models, arguments, &record).await.with_context(place)?;
    let difference = difference(&record, &replay);
    let (events, file) = (replay.events.len(), file.display());
    match &difference {
        None => println_out(format_args!("{file}: equal, {events} events"))?,
        Some(difference) => println_out(format_args!("{file}: {difference}"))?,
    }
    Ok(difference.is_none())
}

/// What differs first between a record and its replay.
fn difference(record: &Record, replay: &Replay) -> Option<String> {
    let recorded: Vec<&str> = record
        .lines
        .iter()
        .flat_map(|line| match line {
            Line::Events(events) => events.as_slice(),
            _ => &[],
        })
        .map(|event| event.get())
        .collect();
    let got: Vec<_> = replay.events.iter().map(|event| String::from_utf8_lossy(event)).collect();
    let first = recorded.iter().zip(&got).position(|(recorded, got)| recorded != got);
    if let Some(at) = first {
        return Some(format!("event {at} differs\nexpected: {}\ngot:      {}", recorded[at], got[at]));
    }
    let Some(end) = &record.end else {
        // Behind the last line that was written, more may have come.
        let missing = recorded.len().saturating_sub(got.len());
        return (missing > 0)
            .then(|| format!("{missing} events are missing\nexpected: {}", recorded[got.len()]));
    };
    match recorded.len().cmp(&got.len()) {
        std::cmp::Ordering::Greater => {
            Some(format!("event {} is missing\nexpected: {}", got.len(), recorded[got.len()]))
        }
        std::cmp::Ordering::Less => {
            Some(format!("event {} is new\ngot:      {}", recorded.len(), got[recorded.len()]))
        }
        std::cmp::Ordering::Equal => different_end(end, replay),
    }
}

fn different_end(end: &EndLine, replay: &Replay) -> Option<String> {
    if end.sha256 != digest(&replay.events) {
        return Some("the events are equal, but their digest isn't: the record was changed".to_owned());
    }
    let got = replay.end.as_ref().map_or("cancelled", word_of);
    if got != end.end {
        return Some(format!("the end differs\nexpected: {}\ngot:      {got}", end.end));
    }
    (replay.left > 0).then(|| format!("{} recorded inputs were not taken", replay.left))
}

fn digest(events: &[Vec<u8>]) -> String {
    model::record::digest(events.iter().map(Vec::as_slice))
}

/// How the answer went to its client.
pub(super) fn delivery(record: &Record) -> Delivery {
    let line = record.lines.iter().find_map(|line| match line {
        Line::Answer(line) => Some(line.delivery),
        _ => None,
    });
    line.unwrap_or(Delivery::Whole)
}

fn println_out(text: std::fmt::Arguments<'_>) -> std::io::Result<()> {
    use std::io::Write as _;
    writeln!(std::io::stdout().lock(), "{text}")
}
