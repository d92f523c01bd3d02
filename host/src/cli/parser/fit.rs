//! `host parser fit FILE --model DIR`: lets the model's chat template write probes, and checks that
//! the parser gives them back. Exit status 0: it does; 1: a probe differs; 2: it can't be checked;
//! 3: nothing is proved.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context;
use fit::{Difference, Fit, ProbeReport, Verdict};
use model::TemplateFiles;
use parsers::TABLE_OPTION;
use parsers::conformance::Measures;

use super::paint::{BAD, BOLD, DIM, GOOD, painted};
use super::source::ParserArguments;

/// Name of the parser that reads a model's own response template.
const TABLE_PARSER: &str = "response-template";
/// Most bytes of a rendering that are printed.
const SHOWN: usize = 600;

#[derive(clap::Args)]
pub(super) struct FitArguments {
    #[command(flatten)]
    parser: ParserArguments,
    /// Model: a directory or a name, as for `host serve`. Weights aren't read.
    #[arg(long, value_name = "DIR|NAME")]
    model: String,
    /// Chat template in place of the model's own.
    #[arg(long, value_name = "FILE")]
    chat_template: Option<PathBuf>,
    /// Setting that is passed to the parser (repeatable).
    #[arg(long, value_name = "KEY=VALUE", value_parser = crate::cli::values::key_value)]
    option: Vec<(String, String)>,
    /// Write the case of each probe that differs into this folder.
    #[arg(long, value_name = "DIR")]
    save: Option<PathBuf>,
    /// Accept a template that shows no plain text or no call: exit status 0 instead of 3.
    #[arg(long)]
    partial: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

pub(super) fn run(arguments: &FitArguments) -> anyhow::Result<ExitCode> {
    let fit = match checked(arguments) {
        Ok(fit) => fit,
        Err(error) => {
            crate::cli::fail(&crate::cli::one_line(&error));
            return Ok(ExitCode::from(2));
        }
    };
    let mut out = anstream::AutoStream::auto(std::io::stdout().lock());
    if arguments.json {
        writeln!(out, "{}", serde_json::to_string_pretty(&fit)?)?;
    } else {
        print(&fit, &mut out)?;
    }
    Ok(match (fit.differs(), fit.proves() || arguments.partial) {
        (true, _) => ExitCode::FAILURE,
        (false, true) => ExitCode::SUCCESS,
        (false, false) => ExitCode::from(3),
    })
}

fn checked(arguments: &FitArguments) -> anyhow::Result<Fit> {
    let template = arguments.chat_template.as_deref().map(|file| {
        std::fs::read_to_string(file).with_context(|| format!("--chat-template {}", file.display()))
    });
    let files = TemplateFiles::read(&arguments.model, template.transpose()?)?;
    let mut options = arguments.option.clone();
    if arguments.parser.source()?.name() == TABLE_PARSER && options.iter().all(|(key, _)| key != TABLE_OPTION)
    {
        options.extend(files.table.clone().map(|table| (TABLE_OPTION.to_owned(), table)));
    }
    let parser = arguments.parser.load(Measures::Nothing)?;
    let fit = fit::check(&files, &parser, &options).map_err(anyhow::Error::msg)?;
    if let Some(folder) = &arguments.save {
        save(&fit, folder).with_context(|| format!("--save {}", folder.display()))?;
    }
    Ok(fit)
}

/// Writes the cases of probes that differ.
fn save(fit: &Fit, folder: &Path) -> anyhow::Result<()> {
    std::fs::create_dir_all(folder)?;
    for (report, difference) in differences(fit) {
        let case = serde_json::to_string_pretty(&difference.case)? + "\n";
        std::fs::write(folder.join(format!("fit-{}.json", report.probe)), case)?;
    }
    Ok(())
}

fn differences(fit: &Fit) -> impl Iterator<Item = (&ProbeReport, &Difference)> {
    fit.probes.iter().filter_map(|report| Some((report, report.difference.as_ref()?)))
}

/// Prints a line for each probe, then what differs.
fn print(fit: &Fit, out: &mut impl Write) -> anyhow::Result<()> {
    writeln!(out, "{}, reasoning as {}", painted(BOLD, &fit.parser), fit.reasoning)?;
    for report in &fit.probes {
        let style = match report.verdict {
            Verdict::Same => GOOD,
            Verdict::Differs => BAD,
            _ => DIM,
        };
        let verdict = painted(style, format_args!("{:10}", report.verdict.name()));
        let notes = [report.argument.as_deref(), report.raised.as_deref()];
        let notes = notes.into_iter().flatten().collect::<Vec<_>>().join(" ");
        writeln!(out, "  {:20} {verdict} {:8} {}", report.probe, report.context, painted(DIM, notes))?;
    }
    for (report, Difference { rendering, played, got, why, .. }) in differences(fit) {
        writeln!(out, "\n{} {}, played {played}", painted(BAD, "differs"), report.probe)?;
        let shown: String = rendering.chars().take(SHOWN).collect();
        writeln!(out, "  the template writes: {}", shown.escape_debug())?;
        for item in got {
            let item: String = item.to_string().chars().take(SHOWN).collect();
            writeln!(out, "  the parser reads:    {item}")?;
        }
        for line in why {
            writeln!(out, "  {line}")?;
        }
    }
    for (words, literals) in [
        ("tokens in turns that the parser doesn't know", &fit.unknown_tokens),
        ("markers that the template never writes", &fit.unwritten_markers),
    ] {
        if !literals.is_empty() {
            let literals: Vec<_> =
                literals.iter().map(|literal| literal.escape_debug().to_string()).collect();
            writeln!(out, "{words}: {}", literals.join(" "))?;
        }
    }
    let counts = [Verdict::Same, Verdict::Differs].map(|verdict| fit.count(verdict));
    let unjudged = fit.probes.len() - counts[0] - counts[1];
    let result = match (fit.differs(), fit.proves()) {
        (true, _) => "doesn't fit",
        (false, true) => "fits",
        (false, false) => "nothing is proved",
    };
    writeln!(out, "{result}: {} same, {} differ, {unjudged} not comparable", counts[0], counts[1])?;
    Ok(())
}
