//! Outputs of models for `--recorded`: records, cases and texts of a folder.

use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};
use fit::{Recorded, RecordedOutput};
use serde_json::Value;
use system::bounded::{self, SETTINGS_BYTES};

use super::FitArguments;
use crate::cli::parser::case::outputs;
use crate::cli::replay::LoadedModels;

/// File of the tools that were declared for the texts of its folder.
const TOOLS: &str = "tools.json";

/// The outputs in a folder, in the order of the files' names. `command` is the whole command line.
pub(super) fn recorded(
    folder: &Path,
    arguments: &FitArguments,
    command: &clap::Command,
) -> anyhow::Result<Vec<Recorded>> {
    let place = || format!("--recorded {}", folder.display());
    let entries = std::fs::read_dir(folder).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    let mut files: Vec<PathBuf> = entries.with_context(place)?.iter().map(std::fs::DirEntry::path).collect();
    files.sort();
    let tools = folder.join(TOOLS);
    let tools = tools.is_file().then(|| json_of(&tools)).transpose()?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let model = Some(arguments.model.clone());
    let mut models = LoadedModels::new(model, arguments.parser.cache(), command);
    let mut recorded = Vec::new();
    for file in files {
        let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        match file.extension().and_then(std::ffi::OsStr::to_str) {
            Some("slrec") => {
                let parser = arguments.parser.given();
                let turns = runtime.block_on(async { outputs(&mut models, &file, parser) })?;
                recorded.extend(turns.into_iter().enumerate().map(|(turn, case)| Recorded {
                    name: format!("{name}, turn {turn}"),
                    output: RecordedOutput::Case(case),
                }));
            }
            Some("json") if name != TOOLS => {
                recorded.push(Recorded { name, output: RecordedOutput::Case(json_of(&file)?) });
            }
            Some("txt") => {
                let text = text_of(&file)?;
                recorded.push(Recorded { name, output: RecordedOutput::Text(text, tools.clone()) });
            }
            _ => {}
        }
    }
    runtime.shutdown_background();
    ensure!(!recorded.is_empty(), "{}: no outputs (*.slrec, *.json, *.txt)", place());
    Ok(recorded)
}

/// The text of a file of the folder, which may be anybody's.
fn text_of(file: &Path) -> anyhow::Result<String> {
    bounded::regular_text(file, SETTINGS_BYTES).with_context(|| file.display().to_string())
}

fn json_of(file: &Path) -> anyhow::Result<Value> {
    serde_json::from_str(&text_of(file)?).with_context(|| file.display().to_string())
}
