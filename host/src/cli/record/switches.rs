//! The switches of `serve` on which an answer depends: a record names them, and `host replay` takes
//! them from it.
//!
//! Invariant: a record may come from anybody, and these switches open no address, run no program,
//! load no library and write no file.

use std::path::Path;

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

/// Those of them whose values may name files or folders.
const PATHS: [&str; 6] = ["model", "parser", "plugins", "chat-template", "mcp", "compaction-prompt"];

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

/// The switches of a record that name what is here, a file or a folder.
///
/// # Errors
/// One names something else: a device or a pipe may have no end.
pub(in crate::cli) fn paths(switches: &[String]) -> anyhow::Result<Vec<&str>> {
    let mut named = Vec::new();
    for switch in switches {
        let Some((name, value)) = switch.strip_prefix("--").and_then(|switch| switch.split_once('=')) else {
            continue;
        };
        if !PATHS.contains(&name) {
            continue;
        }
        // The name of a model may stand before it.
        let values = [Some(value), value.split_once('=').map(|(_, value)| value)];
        let here = values.into_iter().flatten().find_map(|path| Path::new(path).metadata().ok());
        if let Some(here) = here {
            anyhow::ensure!(
                here.is_file() || here.is_dir(),
                "it names {switch:?}, which is no file and no folder"
            );
            named.push(switch.as_str());
        }
    }
    Ok(named)
}

fn is_taken(argument: &clap::Arg) -> bool {
    let limit = argument.get_help_heading().is_some_and(|heading| {
        matches!(heading, "Limits" | "Limits of parsers" | "Limits of tools that the server runs")
    });
    limit || SWITCHES.contains(&argument.get_id().as_str())
}
