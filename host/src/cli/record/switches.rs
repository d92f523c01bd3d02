//! The switches of `serve` on which an answer depends: a record names them, and `host replay` takes
//! them from it.
//!
//! Invariant: a record may come from anybody, and these switches open no address, run no program,
//! load no library and write no file.

use clap::{ArgMatches, Command};

/// The switches, but for limits.
const SWITCHES: [&str; 17] = [
    "model",
    "parser",
    "plugins",
    "parser_option",
    "parser_fault",
    "draft_contracts",
    "chat_template",
    "served_model_name",
    "context",
    "load_format",
    "kv_cache_dtype",
    "dtype",
    "quantize",
    "template_argument",
    "reasoning_events",
    "compaction_prompt",
    "mcp",
];

/// The switches with their values, as `--NAME=VALUE`, defaults included. `serve` is the command
/// whose arguments `matches` has.
pub(in crate::cli) fn given(serve: &Command, matches: &ArgMatches) -> Vec<String> {
    let mut all = Vec::new();
    for argument in serve.get_arguments().filter(|argument| is_taken(argument)) {
        let (Some(long), id) = (argument.get_long(), argument.get_id().as_str()) else { continue };
        let values = matches.try_get_raw(id).ok().flatten().into_iter().flatten();
        let values = values.map(|value| value.to_string_lossy());
        if argument.get_action().takes_values() {
            all.extend(values.map(|value| format!("--{long}={value}")));
        } else if values.into_iter().any(|value| value == "true") {
            all.push(format!("--{long}"));
        }
    }
    all
}

/// Checks the switches of a record.
///
/// # Errors
/// One isn't among those on which answers depend.
pub(in crate::cli) fn check(serve: &Command, switches: &[String]) -> anyhow::Result<()> {
    let taken: Vec<_> = serve.get_arguments().filter(|argument| is_taken(argument)).collect();
    for switch in switches {
        let name = switch.strip_prefix("--").map(|name| name.split_once('=').map_or(name, |(name, _)| name));
        let is_known = taken.iter().any(|argument| argument.get_long() == name && name.is_some());
        anyhow::ensure!(is_known, "it names {switch:?}, which is no switch of a record");
    }
    Ok(())
}

fn is_taken(argument: &clap::Arg) -> bool {
    let limit = argument.get_help_heading().is_some_and(|heading| {
        matches!(heading, "Limits" | "Limits of parsers" | "Limits of tools that the server runs")
    });
    limit || SWITCHES.contains(&argument.get_id().as_str())
}
