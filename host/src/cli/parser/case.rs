//! `host parser case RECORD`: writes a generation of a record as a case.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, ensure};
use model::Model;
use model::record::Record;
use model::record::line::{FinishLine, Line};
use parser_kit::case::CaseEnd;
use serde_json::{Map, Value, json};

use crate::cli::cache::CacheArgument;
use crate::cli::replay::{LoadedModels, Wanted, case_item};

#[derive(clap::Args)]
pub(super) struct CaseArguments {
    /// File of a record (`*.slrec`).
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Generation of the answer, from 0 on: turns come one after the other, and a turn's choices in
    /// their order.
    #[arg(long, value_name = "N", default_value = "0")]
    turn: u32,
    /// What the case shows.
    #[arg(long, value_name = "TEXT")]
    about: Option<String>,
    /// Parser in place of the recorded one: a file, or a name in the plugins folder or among the
    /// shipped parsers.
    #[arg(long, value_name = "FILE|PARSER")]
    parser: Option<String>,
    /// Model in place of the recorded one: a directory, or ORG/NAME. Its tokenizer has to be the same.
    #[arg(long, value_name = "DIR|ORG/NAME")]
    model: Option<String>,
    #[command(flatten)]
    cache: CacheArgument,
}

pub(super) fn run(arguments: &CaseArguments, command: &clap::Command) -> anyhow::Result<ExitCode> {
    let place = || format!("record {}", arguments.file.display());
    let record = Record::load(&arguments.file)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let mut models = LoadedModels::new(arguments.model.clone(), &arguments.cache, command);
    let wanted = Wanted { parser: arguments.parser.clone(), generates: false };
    let loaded = runtime.block_on(async { models.get(&record, &wanted) }).with_context(place)?;
    let mut case = case(&loaded.model, &record, arguments.turn).with_context(place)?;
    if let (Some(about), Some(case)) = (&arguments.about, case.as_object_mut()) {
        case.shift_insert(0, "about".to_owned(), json!(about));
    }
    writeln!(std::io::stdout().lock(), "{}", serde_json::to_string_pretty(&case)?)?;
    runtime.shutdown_background();
    Ok(ExitCode::SUCCESS)
}

/// All generations of a record as cases, without what the parser makes of them.
pub(super) fn outputs(models: &mut LoadedModels, file: &Path, parser: &str) -> anyhow::Result<Vec<Value>> {
    let record = Record::load(file)?;
    let place = || format!("record {}", file.display());
    let wanted = Wanted { parser: Some(parser.to_owned()), generates: false };
    let loaded = models.get(&record, &wanted).with_context(place)?;
    let turns = record.prompts.iter().filter(|(_, prompt)| !prompt.raw).map(|(turn, _)| *turn);
    let case = |turn| -> anyhow::Result<Value> {
        let mut case = case(&loaded.model, &record, turn).with_context(place)?;
        case.as_object_mut().and_then(|case| case.remove("expect"));
        Ok(case)
    };
    turns.map(case).collect()
}

/// A generation of a record as a case.
fn case(model: &Model, record: &Record, turn: u32) -> anyhow::Result<Value> {
    let prompt = record.prompts.get(&turn).with_context(|| format!("it has no turn {turn}"))?;
    ensure!(!prompt.raw, "it has a raw prompt, whose output no parser reads");
    let reparsed = model.reparse(record, turn).context("it has no such turn")?;
    let markers = model.markers();
    let by_id = markers.iter().any(|(_, id)| id.is_some());
    let items = reparsed.items.map_err(|error| anyhow::anyhow!("{error}"))?;
    let items: Vec<_> = items.into_iter().map(case_item).collect();
    let tools = prompt.tools.iter().map(|tool| {
        let parameters: Value = serde_json::from_str(&tool.schema).unwrap_or_default();
        let kind = if tool.custom { "custom" } else { "function" };
        json!({ "name": tool.name, "kind": kind, "parameters": parameters })
    });
    let options: Map<String, Value> =
        prompt.options.iter().map(|(name, value)| (name.clone(), json!(value))).collect();
    let opening: String = prompt.opening.iter().map(|(_, text)| text.as_str()).collect();
    let case = Map::from_iter([
        ("tools".to_owned(), tools.collect()),
        ("options".to_owned(), options.into()),
        ("generation_prompt".to_owned(), opening.into()),
        ("markers".to_owned(), if by_id { "id" } else { "text" }.into()),
        ("chunks".to_owned(), chunks(&reparsed.steps, &markers).into()),
        ("finish".to_owned(), finish(record, prompt.generation).into()),
        ("expect".to_owned(), json!({ "items": items, "end": CaseEnd::of(&reparsed.end) })),
    ]);
    Ok(case.into())
}

/// The steps as chunks. A marker that is a token has a chunk of its own; between them, text that
/// only looks like one has no ids.
fn chunks(steps: &[Vec<(u32, String)>], markers: &[(String, Option<u32>)]) -> Vec<Value> {
    let is_marker = |id: u32| markers.iter().any(|(_, marker)| *marker == Some(id));
    let looks_like =
        |text: &str| markers.iter().any(|(literal, id)| id.is_some() && text.contains(&**literal));
    let mut chunks = Vec::new();
    for step in steps {
        for tokens in step.chunk_by(|(one, _), (other, _)| !is_marker(*one) && !is_marker(*other)) {
            let text: String = tokens.iter().map(|(_, text)| text.as_str()).collect();
            let ids: Vec<u32> = tokens.iter().map(|(id, _)| *id).collect();
            let is_text = !ids.iter().any(|id| is_marker(*id));
            if is_text && looks_like(&text) {
                chunks.push(json!(text));
            } else if !text.is_empty() {
                chunks.push(json!({ "text": text, "ids": ids }));
            }
        }
    }
    chunks
}

/// Why the generation ended, in the words of cases.
fn finish(record: &Record, generation: u32) -> &'static str {
    let finish = record.lines.iter().rev().find_map(|line| match line {
        Line::Step(step) if step.generation == generation => step.finish.as_ref(),
        _ => None,
    });
    match finish {
        Some(FinishLine::Stop(_)) => "stop",
        Some(FinishLine::Length) => "length",
        Some(FinishLine::Error(_) | FinishLine::Died) | None => "cancelled",
    }
}
