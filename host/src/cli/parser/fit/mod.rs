//! `host parser fit FILE --model DIR`: lets the model's chat template write probes, and checks that
//! the parser gives them back. Exit status 0: it does; 1: a probe differs; 2: it can't be checked;
//! 3: nothing is proved.

mod material;
mod print;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context;
use fit::{Difference, Fit, Material, ProbeReport};
use model::TemplateFiles;
use parsers::TABLE_OPTION;
use parsers::conformance::Measures;
use parsers::shipped::TABLE_PARSER;

use super::source::ParserArguments;
use crate::cli::settings_file;

#[derive(clap::Args)]
pub(super) struct FitArguments {
    #[command(flatten)]
    parser: ParserArguments,
    /// Model: a directory or a name, as for `serve`. Weights aren't read.
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
    /// Write the cases of the probes that the parser reads as well.
    #[arg(long, requires = "save")]
    all: bool,
    /// Also check that the template shows the items of the cases in this folder.
    #[arg(long, value_name = "DIR")]
    cases: Option<PathBuf>,
    /// Also play what models wrote: records (*.slrec), cases (*.json) and texts (*.txt) in this
    /// folder. Texts get the tools of the file tools.json there.
    #[arg(long, value_name = "DIR")]
    recorded: Option<PathBuf>,
    /// Accept a template that shows no plain text or no call: exit status 0 instead of 3.
    #[arg(long)]
    partial: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// `command` is the whole command line.
pub(super) fn run(arguments: &FitArguments, command: &clap::Command) -> anyhow::Result<ExitCode> {
    let fit = match checked(arguments, command) {
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
        print::report(&fit, &mut out)?;
    }
    Ok(match (fit.differs(), fit.proves() || arguments.partial) {
        (true, _) => ExitCode::FAILURE,
        (false, true) => ExitCode::SUCCESS,
        (false, false) => ExitCode::from(3),
    })
}

fn checked(arguments: &FitArguments, command: &clap::Command) -> anyhow::Result<Fit> {
    let template = arguments.chat_template.as_deref();
    let template = template.map(|file| settings_file::read("--chat-template", file));
    let files = TemplateFiles::read(&arguments.model, template.transpose()?)?;
    let mut options = arguments.option.clone();
    if arguments.parser.source()?.name() == TABLE_PARSER && options.iter().all(|(key, _)| key != TABLE_OPTION)
    {
        options.extend(files.table.clone().map(|table| (TABLE_OPTION.to_owned(), table)));
    }
    let parser = arguments.parser.load(Measures::Nothing)?;
    let cases = arguments.cases.as_deref().map(|folder| arguments.parser.case_files(Some(folder)));
    let recorded = arguments.recorded.as_deref();
    let material = Material {
        cases: cases.transpose()?.unwrap_or_default(),
        recorded: recorded
            .map(|folder| material::recorded(folder, arguments, command))
            .transpose()?
            .unwrap_or_default(),
    };
    let fit = fit::check(&files, &parser, &options, &material).map_err(anyhow::Error::msg)?;
    if let Some(folder) = &arguments.save {
        save(&fit, folder, arguments.all).with_context(|| format!("--save {}", folder.display()))?;
    }
    Ok(fit)
}

/// Writes the cases of probes that differ or, if `all` are asked for, are read.
fn save(fit: &Fit, folder: &Path, all: bool) -> anyhow::Result<()> {
    std::fs::create_dir_all(folder)?;
    for report in &fit.probes {
        let differs = report.difference.as_ref().map(|difference| &difference.case);
        if let Some(case) = differs.or_else(|| report.read.as_ref().filter(|_| all)) {
            let case = serde_json::to_string_pretty(case)? + "\n";
            std::fs::write(folder.join(format!("fit-{}.json", report.probe)), case)?;
        }
    }
    Ok(())
}

fn differences(fit: &Fit) -> impl Iterator<Item = (&ProbeReport, &Difference)> {
    fit.probes.iter().filter_map(|report| Some((report, report.difference.as_ref()?)))
}
