//! `host parser list`: lists the parsers of the plugins folder, and those inside the binary.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use host::limits::ParserLimits;
use host::model::shipped_parsers;
use host::parser::{LoadProblem, Plugin, PluginSource, Runtime};
use serde_json::{Value, json};

use crate::cli::cache::CacheArgument;
use crate::cli::progress::show;
use crate::cli::stderr;
use crate::cli::table::Table;

#[derive(clap::Args)]
pub(super) struct ListArguments {
    /// Folder of parsers.
    #[arg(long, value_name = "DIR", default_value = "plugins")]
    plugins: PathBuf,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    cache: CacheArgument,
}

/// Number of characters of a digest that the table shows.
const SHOWN_DIGEST: usize = 12;

pub(super) fn run(arguments: &ListArguments) -> anyhow::Result<ExitCode> {
    let runtime = Runtime::new(&ParserLimits::default())?.with_cache(arguments.cache.open()?);
    let sources = sources(&arguments.plugins);
    let mut rows = Vec::new();
    for (index, source) in sources.iter().enumerate() {
        show_progress(index, sources.len(), &source.name());
        rows.push((source.name(), runtime.load(source, &[]).map_err(|error| error.problem)));
    }
    show_progress(sources.len(), sources.len(), "");
    stderr::flush();
    let mut out = std::io::stdout().lock();
    if arguments.json {
        let rows: Vec<Value> = rows
            .iter()
            .map(|(file, plugin)| match plugin {
                Ok(plugin) => as_json(file, plugin),
                Err(LoadProblem::Options(words)) => json!({ "file": file, "needs_options": words }),
                Err(problem) => json!({ "file": file, "error": problem.to_string() }),
            })
            .collect();
        writeln!(out, "{}", serde_json::to_string_pretty(&rows)?)?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut table = Table::new(["FILE", "NAME", "VERSION", "MODELS", "MARKERS", "SIZE", "SHA-256"]);
    for (file, plugin) in rows {
        match plugin {
            Ok(plugin) => table.row(cells(&file, &plugin)),
            Err(LoadProblem::Options(words)) => {
                table.note(&file, &format!("needs a model's table, or --parser-option: {words}"));
            }
            Err(problem) => table.note(&file, &problem.to_string()),
        }
    }
    write!(out, "{table}")?;
    Ok(ExitCode::SUCCESS)
}

/// Shows progress on one line that is overwritten and finally cleared.
fn show_progress(loaded: usize, of: usize, next: &str) {
    let line =
        if loaded < of { format!("loading parser {} of {of}: {next}", loaded + 1) } else { String::new() };
    show(&line, false);
}

/// Parsers to list: the `.wasm` files of the folder by name, then the shipped ones.
fn sources(folder: &Path) -> Vec<PluginSource> {
    let entries = folder.read_dir().into_iter().flatten().filter_map(Result::ok);
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "wasm"));
    files.sort();
    files.into_iter().map(PluginSource::File).chain(shipped_parsers()).collect()
}

fn cells(file: &str, plugin: &Plugin) -> [String; 7] {
    let descriptor = plugin.descriptor();
    [
        file.to_owned(),
        descriptor.name.clone(),
        descriptor.version.clone(),
        descriptor.models.join(" "),
        descriptor.markers.len().to_string(),
        format!("{} KiB", plugin.size().div_ceil(1024)),
        plugin.digest()[..SHOWN_DIGEST].to_owned(),
    ]
}

/// All facts about a loaded parser.
pub(super) fn as_json(file: &str, plugin: &Plugin) -> Value {
    let descriptor = plugin.descriptor();
    json!({
        "file": file,
        "name": descriptor.name,
        "version": descriptor.version,
        "models": descriptor.models,
        "markers": descriptor.markers,
        "stops": descriptor.stops,
        "trim": { "reasoning": descriptor.trim.reasoning, "content": descriptor.trim.content },
        "history_call_ids": descriptor.history_call_ids,
        "bytes": plugin.size(),
        "sha256": plugin.digest(),
    })
}
