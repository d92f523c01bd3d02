//! Runs all probes through a chat template and a parser.

use jinja::{Origin, Text};
use model::TemplateFiles;
use parsers::conformance::ParserSource;

use crate::cut::{Cut, Ends, NoCut, cut};
use crate::play::Played;
use crate::probes::{Probe, probes};
use crate::report::{Fit, ProbeReport, Verdict};
use crate::template::{ARGUMENTS, Carrier, Context, ProbeTemplate};

/// What a template wrote for a probe.
struct Written {
    context: Context,
    argument: Option<(&'static str, &'static str)>,
    cut: Cut,
}

/// Why a probe can't be compared: the verdict, and the message of a template that raised.
type NotWritten = (Verdict, Option<String>);

/// A template, and how to run it.
struct Writer<'a> {
    template: ProbeTemplate,
    carrier: Carrier,
    ends: Ends<'a>,
}

/// Compares a parser, loaded with these options, with the chat template of a model.
///
/// # Errors
/// The template or the parser can't be used; the message has one line.
pub fn check(
    files: &TemplateFiles,
    source: &dyn ParserSource,
    options: &[(String, String)],
) -> Result<Fit, String> {
    let subject = source.load(options)?;
    let descriptor = subject.descriptor();
    let marker = |index: &u32| descriptor.markers.get(*index as usize).map(String::as_str);
    let ends = Ends {
        stops: descriptor.stops.iter().filter_map(marker).collect(),
        tokens: files.ends.iter().map(AsRef::as_ref).collect(),
    };
    let template =
        ProbeTemplate::parse(files, descriptor.history_call_ids.clone()).map_err(|error| error.0)?;
    let carrier = Carrier { reasoning: "reasoning_content", arguments_as_text: false, content_none: false };
    let probes = probes(&descriptor.markers);
    let writer = Writer { template, carrier, ends }.with_best_carrier(&probes);
    let played = Played { source, options, markers: &descriptor.markers };
    let mut fit = Fit {
        parser: descriptor.name.clone(),
        reasoning: writer.carrier.reasoning,
        probes: Vec::new(),
        unknown_tokens: Vec::new(),
        unwritten_markers: descriptor.markers.clone(),
    };
    for probe in &probes {
        let written = writer.write(probe);
        if let Ok(written) = &written {
            fit.note_tokens(&written.cut, files, &writer.ends, &descriptor.markers);
        }
        fit.probes.push(writer.judge(probe, written, &played)?);
    }
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

/// What the template itself wrote, run by run.
fn template_runs(text: &Text) -> String {
    let runs = text.runs().filter(|(origin, _)| *origin == Origin::Template);
    runs.map(|(_, run)| run).collect::<Vec<_>>().join("\u{0}")
}

impl Writer<'_> {
    /// Takes the form of reasoning, arguments and empty content in which the template shows most.
    fn with_best_carrier(mut self, probes: &[Probe]) -> Self {
        let names = ["reasoning-text", "reasoning-call", "one-argument", "numbers"];
        let tried: Vec<&Probe> = probes.iter().filter(|probe| names.contains(&probe.name.as_str())).collect();
        let mut best = (0, self.carrier);
        for reasoning in ["reasoning_content", "thinking", "reasoning"] {
            for (arguments_as_text, content_none) in
                [(false, false), (true, false), (false, true), (true, true)]
            {
                self.carrier = Carrier { reasoning, arguments_as_text, content_none };
                let shown = tried.iter().filter_map(|probe| self.write(probe).ok());
                // Arguments printed as Python prints them are shown, but not as the model writes them.
                let count = shown.map(|written| if is_plain(&written.cut) { 2 } else { 1 }).sum::<usize>();
                if count > best.0 {
                    best = (count, self.carrier);
                }
            }
        }
        self.carrier = best.1;
        self
    }

    /// What the template writes for a probe, in the first context and with the first argument that
    /// shows it.
    fn write(&self, probe: &Probe) -> Result<Written, NotWritten> {
        let mut contexts = vec![Context::Last, Context::After];
        if !probe.calls.is_empty() {
            contexts.insert(1, Context::Results);
        }
        let mut best: Option<NotWritten> = None;
        for context in contexts {
            for argument in ARGUMENTS {
                let failed = match self.template.run(probe, context, self.carrier, argument) {
                    Err(raised) => (Verdict::Refused, Some(raised)),
                    Ok(texts) => match cut(&texts, &probe.words(), &self.ends, context == Context::Results) {
                        Ok(cut) => return Ok(Written { context, argument, cut }),
                        Err(NoCut::Unopened) => (Verdict::Unopened, None),
                        Err(NoCut::Unshown) => (Verdict::Unshown, None),
                    },
                };
                if best.as_ref().is_none_or(|(known, _)| nearness(failed.0) > nearness(*known)) {
                    best = Some(failed);
                }
            }
        }
        Err(best.unwrap_or((Verdict::Refused, None)))
    }

    fn judge(
        &self,
        probe: &Probe,
        written: Result<Written, NotWritten>,
        played: &Played,
    ) -> Result<ProbeReport, String> {
        let report = |verdict, context: Context, argument: Option<(&str, &str)>| ProbeReport {
            probe: probe.name.clone(),
            verdict,
            context: context.name(),
            argument: argument.map(|(name, value)| format!("{name}={value}")),
            raised: None,
            difference: None,
            is_text: probe.name == "text",
            has_calls: !probe.calls.is_empty(),
        };
        let written = match written {
            Ok(written) => written,
            Err((verdict, raised)) => {
                return Ok(ProbeReport { raised, ..report(verdict, Context::Last, None) });
            }
        };
        let Written { context, argument, ref cut } = written;
        if !probe.strings().all(|string| is_shown(string, cut.output.as_str())) {
            return Ok(report(Verdict::Rewritten, context, argument));
        }
        let difference = played.difference(probe, cut)?;
        let verdict = match &difference {
            None => Verdict::Same,
            Some(_) if self.is_ambiguous(probe, &written) => Verdict::Ambiguous,
            Some(_) => Verdict::Differs,
        };
        let difference = difference.filter(|_| verdict == Verdict::Differs);
        Ok(ProbeReport { difference, ..report(verdict, context, argument) })
    }

    /// Whether the template writes the call with other arguments alike.
    fn is_ambiguous(&self, probe: &Probe, written: &Written) -> bool {
        probe.twins.iter().any(|arguments| {
            let calls = probe.calls.iter().map(|(name, _)| (*name, arguments.clone())).collect();
            let twin = Probe { calls, ..probe.clone() };
            let texts = self.template.run(&twin, written.context, self.carrier, written.argument);
            let cut = texts.ok().and_then(|texts| {
                cut(&texts, &twin.words(), &self.ends, written.context == Context::Results).ok()
            });
            cut.is_some_and(|cut| cut.output.as_str() == written.cut.output.as_str())
        })
    }
}

/// How near a verdict is to a comparison; the nearest one is told.
fn nearness(verdict: Verdict) -> usize {
    match verdict {
        Verdict::Refused => 0,
        Verdict::Unshown => 1,
        _ => 2,
    }
}

/// Whether no argument is printed as Python prints it, or as JSON inside a JSON string.
fn is_plain(cut: &Cut) -> bool {
    let output = cut.output.as_str();
    !["'zk", "\\\"zk", ": False"].iter().any(|odd| output.contains(odd))
}

/// Whether a string stands in the text as it is or as JSON, with other characters than ASCII
/// escaped or not.
fn is_shown(string: &str, text: &str) -> bool {
    let json = serde_json::Value::from(string).to_string();
    let inner = &json[1..json.len() - 1];
    let escape = |c: char| if c.is_ascii() { c.to_string() } else { utf16(c) };
    let ascii: String = inner.chars().map(escape).collect();
    [string, inner, &ascii].iter().any(|spelt| text.contains(spelt))
}

fn utf16(c: char) -> String {
    let units = c.encode_utf16(&mut [0; 2]).to_vec();
    units.iter().fold(String::new(), |text, unit| text + &format!("\\u{unit:04x}"))
}
