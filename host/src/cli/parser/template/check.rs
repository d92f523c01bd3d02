//! `host parser template check`: plays turns by a response template and checks the properties that
//! every parser must have, says what transformers loses by it and where it is ambiguous, and
//! compares it with the chat template. Exit status 0: it is sound; 1: it isn't; 2: it can't be
//! checked.

use std::io::Write;
use std::process::ExitCode;

use fit::{Fit, FitVerdict, Material};
use parsers::conformance::{self, ParserSource, Recording, Report};
use serde::Serialize;

use super::given::{CaseOrigin, GivenArguments, GivenTemplate};
use super::losses::{ambiguities, losses};
use crate::cli::parser::paint::{BAD, BOLD, DIM, GOOD, painted};
use crate::cli::parser::test;

#[derive(clap::Args)]
pub(super) struct CheckArguments {
    #[command(flatten)]
    given: GivenArguments,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// What came of a check.
#[derive(Serialize)]
pub(super) struct TemplateReport {
    template: String,
    /// Version of the server that checked it.
    version: &'static str,
    /// Why it can't be read as text arrives.
    refused: Option<String>,
    /// Shapes of demanded turns that no grammar describes, and why.
    unforced: Vec<String>,
    transformers_loses: Vec<String>,
    ambiguous: Vec<String>,
    turns: &'static str,
    properties: Option<Report>,
    fit: Option<Fit>,
}

pub(super) fn run(arguments: &CheckArguments) -> anyhow::Result<ExitCode> {
    let template = arguments.given.find()?;
    let (report, _) = checked(&arguments.given, &template)?;
    let mut out = anstream::AutoStream::auto(std::io::stdout().lock());
    if arguments.json {
        writeln!(out, "{}", serde_json::to_string_pretty(&report)?)?;
    } else {
        report.print(&mut out)?;
    }
    Ok(if report.is_sound() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Checks a template. Returns the cases that were played, too.
pub(super) fn checked(
    given: &GivenArguments,
    template: &GivenTemplate,
) -> anyhow::Result<(TemplateReport, Vec<Recording>)> {
    let value = template.value()?;
    let mut report = TemplateReport {
        template: template.name.clone(),
        version: env!("CARGO_PKG_VERSION"),
        refused: None,
        unforced: Vec::new(),
        transformers_loses: losses(&value),
        ambiguous: ambiguities(&value),
        turns: CaseOrigin::Grammars.words(),
        properties: None,
        fit: None,
    };
    let (reader, options) = (given.reader()?, template.options());
    let descriptor = match reader.load(&options) {
        Ok(subject) => subject.descriptor().clone(),
        Err(error) => {
            report.refused = Some(error);
            return Ok((report, Vec::new()));
        }
    };
    let grammar = descriptor.grammar.unwrap_or_default();
    report.unforced =
        grammar.lines().filter_map(|line| line.strip_prefix("%refuse ")).map(str::to_owned).collect();
    let (origin, cases) = given.cases(template, &reader)?;
    report.turns = origin.words();
    let properties = conformance::test_recordings(&cases, &reader, given.seed).map_err(anyhow::Error::msg)?;
    report.properties = Some(properties);
    if let Some(model) = &template.model {
        let fit = fit::check(model, &reader, &options, &Material::default()).map_err(anyhow::Error::msg)?;
        report.fit = Some(fit);
    }
    Ok((report, cases))
}

impl TemplateReport {
    /// Whether the template can be read, keeps every property, and fits the chat template.
    pub(super) fn is_sound(&self) -> bool {
        let keeps_all = self.properties.as_ref().is_some_and(|properties| properties.passed);
        keeps_all && !self.fit.as_ref().is_some_and(Fit::differs)
    }

    fn print(&self, out: &mut impl Write) -> anyhow::Result<()> {
        if let Some(error) = &self.refused {
            writeln!(out, "{}\n  {} {error}", painted(BOLD, &self.template), painted(BAD, "refused:"))?;
        }
        if let Some(properties) = &self.properties {
            writeln!(out, "{}, {}", painted(BOLD, &self.template), self.turns)?;
            test::table(properties, out)?;
        }
        if let Some(fit) = &self.fit {
            let [same, differ] = [FitVerdict::Same, FitVerdict::Differs].map(|verdict| fit.count(verdict));
            let word = match (fit.differs(), fit.proves()) {
                (true, _) => painted(BAD, "differs"),
                (false, true) => painted(GOOD, "fits"),
                (false, false) => painted(DIM, "nothing is proved"),
            };
            writeln!(
                out,
                "chat template: {word}, {same} same, {differ} differ (host parser fit shows them)"
            )?;
        }
        for (what, lines) in [
            ("can't be forced", &self.unforced),
            ("transformers loses", &self.transformers_loses),
            ("ambiguous", &self.ambiguous),
        ] {
            for line in lines {
                writeln!(out, "{what}: {}", painted(DIM, line))?;
            }
        }
        Ok(())
    }
}
