//! `host parser derive --model DIR`: names the installed parser that reads what the model's chat
//! template writes, or writes one. Exit status 0: there is one that passes; 1: what was written
//! doesn't pass, or isn't proved yet; 2: it can't run; 3: the format can't be derived.

mod at_start;
mod files;
mod foresight;
mod installed;
mod proof;

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use fit::{Delimiters, Derivation, DerivedFormat, FormatPart, Underived};
use model::{TemplateFiles, find_parser};
use parsers::conformance::Measures;

pub(in crate::cli) use at_start::{ParserMaker, derive_missing};
pub(in crate::cli) use foresight::{Foreseen, Foresight, MOST as MOST_DERIVED};

use super::paint::{BOLD, DIM, painted};
use super::source::SandboxArguments;
use crate::cli::settings_file;

#[derive(clap::Args)]
pub(super) struct DeriveArguments {
    /// Model: a directory or a name, as for `serve`. Weights aren't read.
    #[arg(long, value_name = "DIR|NAME")]
    model: String,
    /// Chat template in place of the model's own.
    #[arg(long, value_name = "FILE")]
    chat_template: Option<PathBuf>,
    /// Write a parser even if an installed one fits.
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    component: ComponentArguments,
    /// Delimiters of reasoning, where the template shows none.
    #[arg(long, value_name = "OPEN,CLOSE", value_parser = delimiters)]
    reasoning: Option<Delimiters>,
    /// Folder to write the parser into.
    #[arg(long, value_name = "DIR", default_value = ".")]
    out: PathBuf,
    /// Name of the parser [default: that of the model].
    #[arg(long, value_name = "NAME", value_parser = super::new::name)]
    name: Option<String>,
    /// Print the format as JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    sandbox: SandboxArguments,
}

/// A component in place of a table.
#[derive(clap::Args)]
struct ComponentArguments {
    /// Write a crate, also where a table can say the format.
    #[arg(long = "crate")]
    as_crate: bool,
    /// Build the crate with cargo, and prove the component.
    #[arg(long)]
    build: bool,
}

pub(super) fn run(arguments: &DeriveArguments) -> anyhow::Result<ExitCode> {
    derived(arguments).or_else(|error| {
        crate::cli::fail(&crate::cli::one_line(&error));
        Ok(ExitCode::from(2))
    })
}

fn derived(arguments: &DeriveArguments) -> anyhow::Result<ExitCode> {
    let template = arguments.chat_template.as_deref();
    let template = template.map(|file| settings_file::read("--chat-template", file));
    let files = TemplateFiles::read(&arguments.model, template.transpose()?)?;
    let mut out = anstream::AutoStream::auto(std::io::stdout().lock());
    if !arguments.force
        && let Some(name) = installed::fitting(&files, &arguments.sandbox)?
    {
        writeln!(out, "{} fits: --parser {name}", painted(BOLD, &name))?;
        return Ok(ExitCode::SUCCESS);
    }
    let derived = match fit::derive(&files, arguments.reasoning.clone()) {
        Ok(derived) => derived,
        Err(Underived::Unusable(error)) => anyhow::bail!(error),
        Err(Underived::Refused(refusal)) => return Ok(refused(&refusal.to_string())),
    };
    show(&derived, arguments.json, &mut out)?;
    let name = arguments.name.clone().unwrap_or_else(|| name_of(&files.name));
    let parser = match files::write(&derived, &name, arguments)? {
        Ok(parser) => parser,
        Err(reason) => return Ok(refused(&reason)),
    };
    let Some(file) = parser.file else {
        writeln!(out, "{}: a crate, which --build proves", painted(BOLD, parser.folder.display()))?;
        return Ok(ExitCode::FAILURE);
    };
    let source = find_parser(&file.to_string_lossy(), &arguments.sandbox.plugins)?;
    let loaded = arguments.sandbox.load(source, Measures::Resources)?;
    let proof = proof::prove(&files, &loaded, &parser.folder.join("cases"))?;
    proof.print(&file, &mut out)?;
    Ok(if proof.passes() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn refused(reason: &str) -> ExitCode {
    crate::cli::fail(&format!("no parser derived: {reason}"));
    ExitCode::from(3)
}

/// Prints the format: each part, how sure it is, and how it is written.
fn show(Derivation { format, .. }: &Derivation, as_json: bool, out: &mut impl Write) -> anyhow::Result<()> {
    if as_json {
        writeln!(out, "{}", serde_json::to_string_pretty(format)?)?;
        return Ok(());
    }
    let around = |marks: &Delimiters| format!("{}…{}", marks.open, marks.close);
    let DerivedFormat { reasoning, content, calls, .. } = format;
    let reasoning = reasoning.as_ref().map(|field| ("reasoning", field.confidence, around(&field.value)));
    let section = &calls.value.section;
    let unit: String = calls.value.unit.iter().map(part).collect();
    let separator = calls.value.separator.as_deref().map_or("", |_| "…");
    let unit = format!("{}{unit}{separator}{}", section.open, section.close);
    let content = ("text", content.confidence, around(&content.value));
    for (what, confidence, spelt) in reasoning.into_iter().chain([content, ("calls", calls.confidence, unit)])
    {
        writeln!(out, "{what:10} {:8} {}", confidence.name(), painted(DIM, spelt.escape_debug()))?;
    }
    Ok(())
}

/// How a part of a call is printed.
fn part(part: &FormatPart) -> &str {
    match part {
        FormatPart::Literal(text) => text,
        FormatPart::Name => "NAME",
        FormatPart::Id => "ID",
        FormatPart::Counter => "N",
        FormatPart::Arguments => "ARGUMENTS",
    }
}

/// A parser's name for a model.
fn name_of(model: &str) -> String {
    let last = model.rsplit('/').next().unwrap_or_default().to_ascii_lowercase();
    let words = last.split(|char: char| !char.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    let name = words.collect::<Vec<_>>().join("-");
    super::new::name(&name).unwrap_or_else(|_| "derived".to_owned())
}

fn delimiters(text: &str) -> Result<Delimiters, String> {
    match text.split_once(',') {
        Some((open, close)) if !open.is_empty() && !close.is_empty() => {
            Ok(Delimiters { open: open.to_owned(), close: close.to_owned() })
        }
        _ => Err("expected OPEN,CLOSE, e.g. <think>,</think>".to_owned()),
    }
}
