//! `host parser inspect FILE`: shows a parser's descriptor, and how the parser was built.

use std::io::Write;
use std::process::ExitCode;

use net::printable::Escaped;
use parsers::{Plugin, build_sections};

use super::source::ParserArguments;

#[derive(clap::Args)]
pub(super) struct InspectArguments {
    #[command(flatten)]
    parser: ParserArguments,
    /// Setting that is passed to the parser (repeatable). Markers may depend on it.
    #[arg(long, value_name = "KEY=VALUE", value_parser = crate::cli::values::key_value)]
    option: Vec<(String, String)>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

pub(super) fn run(arguments: &InspectArguments) -> anyhow::Result<ExitCode> {
    let runtime = arguments.parser.runtime()?;
    let source = arguments.parser.source()?;
    let plugin = runtime.load(&source, &arguments.option)?;
    let stamps = build_sections(&runtime.read(&source)?);
    let mut out = std::io::stdout().lock();
    if arguments.json {
        let mut all = super::list::as_json(&source.name(), &(&*plugin).into());
        all["built_from"] = stamps.into_iter().collect();
        writeln!(out, "{}", serde_json::to_string_pretty(&all)?)?;
        return Ok(ExitCode::SUCCESS);
    }
    for (what, which) in facts(&source.name(), &plugin).into_iter().chain(stamps) {
        writeln!(out, "{what:16} {}", Escaped(which))?;
    }
    for (index, marker) in plugin.descriptor().markers.iter().enumerate() {
        let stop = plugin.descriptor().stops.iter().any(|stop| *stop as usize == index);
        writeln!(
            out,
            "{:16} {}{}",
            format!("marker {index}"),
            marker.escape_debug(),
            if stop { "   (ends the turn)" } else { "" }
        )?;
    }
    Ok(ExitCode::SUCCESS)
}

fn facts(file: &str, plugin: &Plugin) -> Vec<(String, String)> {
    let descriptor = plugin.descriptor();
    let models =
        if descriptor.models.is_empty() { "(none)".to_owned() } else { descriptor.models.join(", ") };
    let trimmed = match (descriptor.trim.reasoning, descriptor.trim.content) {
        (true, true) => "reasoning, content",
        (true, false) => "reasoning",
        (false, true) => "content",
        (false, false) => "nothing",
    };
    let grammar = descriptor.grammar.as_ref().map_or_else(
        || "(none: nothing can be forced)".to_owned(),
        |grammar| format!("a template of {} bytes", grammar.len()),
    );
    let needs =
        if descriptor.needs.is_empty() { "nothing more".to_owned() } else { descriptor.needs.join(", ") };
    let properties =
        descriptor.properties.iter().map(|(name, value)| (format!("property {name}"), value.clone()));
    let facts = [
        ("file", file),
        ("name", &descriptor.name),
        ("version", &descriptor.version),
        ("serves models", &models),
        ("trimmed", trimmed),
        ("call ids", descriptor.history_call_ids.as_deref().unwrap_or("as they are")),
        ("contract", super::list::contract_name(plugin.contract())),
        ("grammar", &grammar),
        ("reasoning end", descriptor.reasoning_end.as_deref().unwrap_or("(none: reasoning has no bound)")),
        ("needs", &needs),
        ("bytes", &plugin.size().to_string()),
        ("sha256", plugin.digest()),
    ]
    .map(|(what, which)| (what.to_owned(), which.to_owned()));
    facts.into_iter().chain(properties).collect()
}
