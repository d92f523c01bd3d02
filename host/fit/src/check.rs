//! Runs all probes through a chat template and a parser.

use std::path::PathBuf;

use jinja::{Origin, Text};
use model::TemplateFiles;
use parsers::conformance::ParserSource;
use serde_json::Value;

use crate::conversation::Context;
use crate::cut::{Cut, Ends};
use crate::losses::{is_shown, losses};
use crate::play::Played;
use crate::probes::{Probe, REASONING, probes};
use crate::recorded::{Markup, Recorded};
use crate::report::{Fit, FitVerdict, ProbeReport};
use crate::template::ProbeTemplate;
use crate::writer::{NotWritten, Writer, WrittenProbe};

/// Characters of a chunk in the case of a probe that is read.
const SIZE: usize = 24;

/// What is compared beside the probes.
#[derive(Debug, Default)]
pub struct Material {
    /// Files of cases whose items the template has to show.
    pub cases: Vec<PathBuf>,
    /// Outputs of models.
    pub recorded: Vec<Recorded>,
}

/// Compares a parser, loaded with these options, with the chat template of a model.
///
/// # Errors
/// The template, the parser or the material can't be used; the message has one line.
pub fn check(
    files: &TemplateFiles,
    source: &dyn ParserSource,
    options: &[(String, String)],
    material: &Material,
) -> Result<Fit, String> {
    let subject = source.load(options)?;
    let descriptor = subject.descriptor();
    let marker = |index: &u32| descriptor.markers.get(*index as usize).map(String::as_str);
    let ends = Ends {
        stops: descriptor.stops.iter().filter_map(marker).collect(),
        tokens: files.ends.iter().map(AsRef::as_ref).collect(),
        wrapper: None,
    };
    let template =
        ProbeTemplate::parse(files, descriptor.history_call_ids.clone()).map_err(|error| error.0)?;
    let probes = probes(&descriptor.markers);
    let writer = Writer::new(template, ends, &probes, &descriptor.markers);
    let played = Played { source, options, markers: &descriptor.markers };
    let mut fit = Fit {
        parser: descriptor.name.clone(),
        reasoning: writer.carrier.reasoning.name(),
        probes: Vec::new(),
        unknown_tokens: Vec::new(),
        unwritten_markers: descriptor.markers.clone(),
        cases: losses(&writer, &material.cases)?,
        recorded: Vec::new(),
    };
    for probe in &probes {
        let judged = writer.judge(probe, &played)?;
        if let Some(cut) = &judged.compared {
            fit.note_tokens(cut, files, &writer.ends, &descriptor.markers);
        }
        fit.probes.push(judged.report);
    }
    let call = probes.iter().find(|probe| !probe.calls.is_empty()).expect("some probes have calls");
    let markup = Markup::new(&writer, call, files, &descriptor.markers);
    let recorded = material.recorded.iter().map(|output| markup.report(output, source, options));
    fit.recorded = recorded.collect::<Result<_, String>>()?;
    files.check_time()?;
    Ok(fit)
}

impl Fit {
    /// Notes which tokens and markers a turn has.
    fn note_tokens(&mut self, cut: &Cut, files: &TemplateFiles, ends: &Ends, markers: &[String]) {
        let template = template_runs(&cut.output) + &cut.opening;
        self.unwritten_markers.retain(|marker| !template.contains(marker.as_str()));
        for token in &files.tokens {
            let is_known = || {
                ends.tokens.contains(&&**token)
                    || markers.iter().any(|marker| marker.contains(&**token))
                    || self.unknown_tokens.iter().any(|known| **known == **token)
            };
            // What the generation prompt writes is no output.
            if !token.trim().is_empty() && template_runs(&cut.output).contains(&**token) && !is_known() {
                self.unknown_tokens.push(token.to_string());
            }
        }
    }
}

/// Whether the template writes a quote on one side of a tool's name alone: no model is taught such a
/// call, and none that reads it right reads others.
fn lacks_quote(probe: &Probe, output: &Text) -> bool {
    let runs: Vec<(Origin, &str)> = output.runs().collect();
    let is_name = |run: &str| probe.calls.iter().any(|(name, _)| *name == run);
    runs.windows(3).any(|around| match around {
        [(Origin::Template, before), (_, name), (Origin::Template, behind)] if is_name(name) => {
            ['"', '\''].into_iter().any(|quote| before.ends_with(quote) != behind.starts_with(quote))
        }
        _ => false,
    })
}

/// What the template itself wrote, run by run.
fn template_runs(text: &Text) -> String {
    let runs = text.runs().filter(|(origin, _)| *origin == Origin::Template);
    runs.map(|(_, run)| run).collect::<Vec<_>>().join("\u{0}")
}

/// What came of a probe, and the turn that was compared.
struct Judged {
    report: ProbeReport,
    compared: Option<Cut>,
    /// Whether the template writes its text as reasoning.
    is_moved: bool,
}

impl Writer<'_> {
    /// Judges a probe. Where a turn without reasoning isn't comparable, since the generation prompt
    /// opens reasoning, the probe is tried with reasoning.
    fn judge(&self, probe: &Probe, played: &Played) -> Result<Judged, String> {
        let judged = self.judge_as_is(probe, played)?;
        let is_odd = match judged.report.verdict {
            FitVerdict::Unopened => true,
            FitVerdict::Rewritten => judged.is_moved,
            _ => false,
        };
        if !is_odd || probe.reasoning.is_some() {
            return Ok(judged);
        }
        let reasoned = Probe { reasoning: Some(REASONING), ..probe.clone() };
        let mut with = self.judge_as_is(&reasoned, played)?;
        if !matches!(with.report.verdict, FitVerdict::Same | FitVerdict::Differs) {
            return Ok(judged);
        }
        with.report.with_reasoning = true;
        Ok(with)
    }

    fn judge_as_is(&self, probe: &Probe, played: &Played) -> Result<Judged, String> {
        let written = match self.write(probe) {
            Ok(written) => written,
            Err(failed) => {
                return Ok(Judged {
                    report: unwritten(probe, failed, played)?,
                    compared: None,
                    is_moved: false,
                });
            }
        };
        let WrittenProbe { context, argument, cut } = &written;
        let mut report = ProbeReport {
            argument: argument.map(|(name, value)| format!("{name}={value}")),
            ..ProbeReport::new(probe, FitVerdict::Same, *context)
        };
        let output = cut.output.as_str();
        if probe.strings().all(|string| is_shown(string, output)) && !probe.is_python_in(output) {
            report.difference = played.difference(probe, cut)?;
        } else {
            report.verdict = FitVerdict::Rewritten;
        }
        if report.verdict == FitVerdict::Same && report.difference.is_none() {
            report.read = Some(played.case(probe, cut, "id", SIZE));
        }
        let mut is_moved = false;
        if let Some(difference) = &report.difference {
            is_moved = self.writes_as_reasoning(probe, &written);
            report.verdict = match () {
                () if lacks_quote(probe, &written.cut.output) => FitVerdict::Broken,
                () if is_moved => FitVerdict::Rewritten,
                () if self.is_ambiguous(probe, &written, &difference.got) => FitVerdict::Ambiguous,
                () => FitVerdict::Differs,
            };
            report.difference = report.difference.filter(|_| report.verdict == FitVerdict::Differs);
        }
        Ok(Judged { report, compared: Some(written.cut), is_moved })
    }

    /// Whether the template writes the call with other arguments alike: the probe's twins, or what
    /// the parser read, if its types are those of the probe.
    fn is_ambiguous(&self, probe: &Probe, written: &WrittenProbe, got: &[Value]) -> bool {
        let twins = probe.twins.iter().map(|arguments| {
            let calls = probe.calls.iter().map(|(name, _)| (*name, arguments.clone())).collect();
            Probe { calls, ..probe.clone() }
        });
        twins.chain(probe.with_arguments(got)).any(|twin| self.writes_alike(&twin, written))
    }
}

/// The report of a probe that can't be compared. One whose opening isn't the generation prompt's is
/// played for information.
fn unwritten(probe: &Probe, failed: NotWritten, played: &Played) -> Result<ProbeReport, String> {
    let context = failed.unopened.as_ref().map_or(Context::Last, |written| written.context);
    let mut report = ProbeReport::new(probe, failed.verdict, context);
    report.raised = failed.raised;
    if let Some(WrittenProbe { cut, .. }) = failed.unopened.as_deref() {
        report.rendering = Some(cut.output.as_str().to_owned());
        let whole = Cut { opening: format!("{}{}", cut.opening, cut.lacking), ..cut.clone() };
        let is_read = played.difference(probe, cut)?.is_none() || played.difference(probe, &whole)?.is_none();
        report.is_read = Some(is_read);
    }
    Ok(report)
}
