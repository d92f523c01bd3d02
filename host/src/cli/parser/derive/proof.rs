//! Proves a derived parser: writes its cases, checks the properties that `host parser test` checks,
//! and compares it with the template as `host parser fit` does.

use std::io::Write;
use std::path::Path;

use anyhow::Context;
use fit::{Cases, Fit, FitVerdict, Material};
use model::TemplateFiles;
use parsers::conformance::{self, Property, Report, Sandboxed};

use crate::cli::parser::paint::{BAD, BOLD, GOOD, painted};

/// Seed of the properties' random choices, as `host parser test` has it.
const SEED: u64 = 1;

/// Cases without which nothing is proved.
const NEEDED: [&str; 2] = ["text_by_id", "one_argument_by_id"];

/// What came of the checks.
pub(super) struct Proof {
    report: Report,
    fit: Fit,
    /// Cases that the parser misses, or that there are none of.
    missed: Vec<String>,
}

/// Checks the parser, and writes its cases into `folder`.
pub(super) fn prove(files: &TemplateFiles, loaded: &Sandboxed, folder: &Path) -> anyhow::Result<Proof> {
    let Cases { read, missed } = fit::cases(files, loaded, &[]).map_err(anyhow::Error::msg)?;
    let mut paths = Vec::new();
    let lacks = |needed: &&str| !read.iter().any(|(name, _)| name == needed);
    let missed = missed.into_iter().chain(NEEDED.into_iter().filter(lacks).map(str::to_owned)).collect();
    for (name, case) in read {
        let path = folder.join(name).with_extension("json");
        super::files::save(&path, &(serde_json::to_string_pretty(&case)? + "\n"))?;
        paths.push(path);
    }
    let report = conformance::test(&paths, loaded, SEED).map_err(anyhow::Error::msg).context("its cases")?;
    let fit = fit::check(files, loaded, &[], &Material::default()).map_err(anyhow::Error::msg)?;
    Ok(Proof { report, fit, missed })
}

impl Proof {
    /// Whether the parser passes: it keeps every property and gives every probe back, among them
    /// [`NEEDED`].
    pub(super) fn passes(&self) -> bool {
        self.report.passed && self.missed.is_empty() && !self.fit.differs()
    }

    /// Whether one of the properties that aren't kept is about costs, which a busy machine shows higher.
    pub(super) fn depends_on_load(&self) -> bool {
        let missed = self.report.findings.iter().filter(|finding| !finding.passed);
        let mut missed = missed.map(|finding| finding.property);
        missed.any(|property| matches!(property, Property::Growth | Property::Limits))
    }

    /// What isn't kept, by check: cases, properties of `host parser test`, probes of `host parser fit`.
    pub(super) fn faults(&self) -> [(&'static str, Vec<&str>); 3] {
        let findings = self.report.findings.iter().filter(|finding| !finding.passed);
        let differs = self.fit.probes.iter().filter(|probe| probe.verdict == FitVerdict::Differs);
        [
            ("cases", self.missed.iter().map(String::as_str).collect()),
            ("host parser test", findings.map(|finding| finding.property.name()).collect()),
            ("host parser fit", differs.map(|probe| probe.probe.as_str()).collect()),
        ]
    }

    pub(super) fn print(&self, file: &Path, out: &mut impl Write) -> anyhow::Result<()> {
        let fits = if self.fit.proves() {
            "fits"
        } else {
            "nothing differs; a turn doesn't begin where the prompt ends"
        };
        writeln!(out, "{}, {} cases", painted(BOLD, file.display()), self.report.cases)?;
        let good = ["each gives its probe", "every property is kept", fits];
        for ((what, bad), good) in self.faults().into_iter().zip(good) {
            let result = if bad.is_empty() {
                painted(GOOD, good.to_owned())
            } else {
                painted(BAD, format!("fails: {}", bad.join(" ")))
            };
            writeln!(out, "  {what:17} {result}")?;
        }
        Ok(())
    }
}
