//! `host parser list`: lists the parsers of the plugins folder, and those inside the binary, as
//! their files describe them, then tables. Only a file without such a description is compiled;
//! whether the others can be is for `host parser inspect`.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use contract::Descriptor;
use model::{shipped_parsers, tables};
use parsers::ParserLimits;
use parsers::{ContractVersion, FileFacts, LoadProblem, Plugin, PluginLoadError, PluginSource, Runtime};
use serde_json::{Value, json};

use crate::cli::cache::CacheArgument;
use crate::cli::drafts::DraftArgument;
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
    #[command(flatten)]
    drafts: DraftArgument,
}

/// Number of characters of a digest that the table shows.
const SHOWN_DIGEST: usize = 12;

/// A parser's facts.
pub(super) struct Facts {
    descriptor: Descriptor,
    contract: Option<ContractVersion>,
    bytes: usize,
    sha256: String,
}

impl From<&Plugin> for Facts {
    fn from(plugin: &Plugin) -> Self {
        let (descriptor, sha256) = (plugin.descriptor().clone(), plugin.digest().to_owned());
        Self { descriptor, contract: plugin.contract(), bytes: plugin.size(), sha256 }
    }
}

/// A version of the contract for people; `-` for a parser that isn't a component.
pub(super) fn contract_name(contract: Option<ContractVersion>) -> &'static str {
    contract.map_or("-", ContractVersion::name)
}

pub(super) fn run(arguments: &ListArguments) -> anyhow::Result<ExitCode> {
    let runtime = Runtime::new(&ParserLimits::default())?
        .with_cache(arguments.cache.open()?)
        .with_drafts(arguments.drafts.allowed());
    let sources = sources(&arguments.plugins);
    let mut rows = Vec::new();
    for (index, source) in sources.iter().enumerate() {
        show_progress(index, sources.len(), &source.name());
        rows.push((source.name(), facts(&runtime, source).map_err(|error| error.problem)));
    }
    show_progress(sources.len(), sources.len(), "");
    stderr::flush();
    let tables = tables(&arguments.plugins).into_iter();
    let mut out = std::io::stdout().lock();
    if arguments.json {
        let tables = tables.map(|(name, table)| match table {
            Ok(table) => json!({ "file": table.name(), "table": name }),
            Err(error) => json!({ "file": name, "error": error.to_string() }),
        });
        let rows: Vec<Value> = rows
            .iter()
            .map(|(file, plugin)| match plugin {
                Ok(plugin) => as_json(file, plugin),
                Err(LoadProblem::Options(words)) => json!({ "file": file, "needs_options": words }),
                Err(problem) => json!({ "file": file, "error": problem.to_string() }),
            })
            .chain(tables)
            .collect();
        writeln!(out, "{}", serde_json::to_string_pretty(&rows)?)?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut table = Table::new([
        "FILE", "NAME", "VERSION", "CONTRACT", "GRAMMAR", "NEEDS", "MODELS", "MARKERS", "SIZE", "SHA-256",
    ]);
    for (file, plugin) in rows {
        match plugin {
            Ok(plugin) => table.row(cells(&file, &plugin)),
            Err(LoadProblem::Options(words)) => {
                table.note(&file, &format!("needs a model's table, or --parser-option: {words}"));
            }
            Err(problem) => table.note(&file, &problem.to_string()),
        }
    }
    for (name, source) in tables {
        match source {
            Ok(source) => table.note(&source.name(), &format!("the table {name}, read by response-template")),
            Err(error) => table.note(&name, &error.to_string()),
        }
    }
    write!(out, "{table}")?;
    Ok(ExitCode::SUCCESS)
}

/// Reads a parser's facts from its file; compiles it if the file lacks them.
fn facts(runtime: &Runtime, source: &PluginSource) -> Result<Facts, PluginLoadError> {
    let source = runtime.read(source)?;
    let FileFacts { contract, descriptor } = runtime.describe(&source)?;
    match (descriptor, &source) {
        (Some(descriptor), PluginSource::Bytes { bytes, .. }) => Ok(Facts {
            descriptor,
            contract: Some(contract),
            bytes: bytes.len(),
            sha256: source.digest().unwrap_or_default(),
        }),
        _ => Ok(Facts::from(&*runtime.load(&source, &[])?)),
    }
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

fn cells(file: &str, plugin: &Facts) -> [String; 10] {
    let Facts { descriptor, contract, bytes, sha256 } = plugin;
    [
        file.to_owned(),
        descriptor.name.clone(),
        descriptor.version.clone(),
        contract_name(*contract).to_owned(),
        if descriptor.grammar.is_some() { "yes" } else { "no" }.to_owned(),
        if descriptor.needs.is_empty() { "-".to_owned() } else { descriptor.needs.join(" ") },
        descriptor.models.join(" "),
        descriptor.markers.len().to_string(),
        format!("{} KiB", bytes.div_ceil(1024)),
        sha256[..SHOWN_DIGEST].to_owned(),
    ]
}

/// All facts about a parser.
pub(super) fn as_json(file: &str, facts: &Facts) -> Value {
    let Facts { descriptor, contract, bytes, sha256 } = facts;
    json!({
        "file": file,
        "name": descriptor.name,
        "version": descriptor.version,
        "models": descriptor.models,
        "markers": descriptor.markers,
        "stops": descriptor.stops,
        "trim": { "reasoning": descriptor.trim.reasoning, "content": descriptor.trim.content },
        "history_call_ids": descriptor.history_call_ids,
        "contract": contract.map(ContractVersion::name),
        "grammar": descriptor.grammar,
        "reasoning_end": descriptor.reasoning_end,
        "needs": descriptor.needs,
        "properties": descriptor.properties.iter().map(|(name, value)| json!([name, value])).collect::<Value>(),
        "bytes": bytes,
        "sha256": sha256,
    })
}
