//! Lets a chat template write probes: in the form, the context and with the argument in which it
//! shows them.

use crate::conversation::{Carrier, Context, Delimiters, Reasoning};
use crate::cut::{Cut, Ends, NoCut, cut, tail, wrapper};
use crate::probes::Probe;
use crate::report::FitVerdict;
use crate::template::{ARGUMENTS, ProbeTemplate};

/// What a template wrote for a probe.
pub(crate) struct WrittenProbe {
    pub(crate) context: Context,
    pub(crate) argument: Option<(&'static str, &'static str)>,
    pub(crate) cut: Cut,
}

/// Why a probe can't be compared.
pub(crate) struct NotWritten {
    pub(crate) verdict: FitVerdict,
    /// Message of a template that raised.
    pub(crate) raised: Option<String>,
    /// The turn whose opening isn't the generation prompt's.
    pub(crate) unopened: Option<Box<WrittenProbe>>,
}

impl NotWritten {
    fn new(verdict: FitVerdict) -> Self {
        Self { verdict, raised: None, unopened: None }
    }

    /// How near it is to a comparison; the nearest one is told.
    fn nearness(&self) -> usize {
        match self.verdict {
            FitVerdict::Refused => 0,
            FitVerdict::Unshown => 1,
            _ => 2 + usize::from(self.unopened.is_some()),
        }
    }
}

/// A template, and how to run it.
pub(crate) struct Writer<'a> {
    pub(crate) template: ProbeTemplate,
    pub(crate) carrier: Carrier,
    pub(crate) ends: Ends<'a>,
}

impl<'a> Writer<'a> {
    /// Finds the form of arguments, empty content and reasoning in which the template shows most,
    /// then what it writes behind any turn. The parser has these markers.
    pub(crate) fn new(template: ProbeTemplate, ends: Ends<'a>, probes: &[Probe], markers: &[String]) -> Self {
        let forms = Reasoning::forms(markers);
        let first = Carrier { reasoning: forms[0].clone(), arguments_as_text: false, content_none: false };
        let mut writer = Self { template, carrier: first.clone(), ends };
        let contents = [(false, false), (true, false), (false, true), (true, true)];
        let contents = contents.map(|(arguments_as_text, content_none)| Carrier {
            arguments_as_text,
            content_none,
            ..first.clone()
        });
        writer.take_best(&contents, &named(probes, &["one-argument", "numbers"]));
        let chosen = writer.carrier.clone();
        let forms: Vec<Carrier> =
            forms.into_iter().map(|reasoning| Carrier { reasoning, ..chosen.clone() }).collect();
        writer.take_best(&forms, &named(probes, &["reasoning-text", "reasoning-call"]));
        writer.ends.wrapper = writer.wrapper(probes);
        writer
    }

    /// Takes the carrier with which most of these probes are shown, the first one of equals; where
    /// none is, that with which most are written behind another opening.
    fn take_best(&mut self, carriers: &[Carrier], probes: &[&Probe]) {
        let mut best = ((0, 0), self.carrier.clone());
        for carrier in carriers {
            self.carrier = carrier.clone();
            if matches!(carrier.reasoning, Reasoning::Inline(_)) && !self.takes_inline(probes[0]) {
                continue;
            }
            let mut count = (0, 0);
            for probe in probes {
                match self.write(probe) {
                    Ok(written) => count.0 += carrier.weight(&written.cut),
                    Err(NotWritten { unopened: Some(written), .. }) => {
                        count.1 += carrier.weight(&written.cut);
                    }
                    Err(_) => {}
                }
            }
            let count = if count.0 > 0 { (count.0, 0) } else { count };
            if count > best.0 {
                best = (count, carrier.clone());
            }
        }
        self.carrier = best.1;
    }

    /// Whether the template knows reasoning inside a text: it moves it or leaves it out somewhere.
    fn takes_inline(&self, probe: &Probe) -> bool {
        let Some(inline) = self.carrier.inline(&probe.turn()) else { return false };
        let words = probe.text.unwrap_or_default();
        [Context::Last, Context::After, Context::History].into_iter().any(|context| {
            let texts = self.template.run(probe, context, &self.carrier, None);
            texts.is_ok_and(|[_, _, whole]| {
                whole.as_str().contains(words) && !whole.as_str().contains(inline.as_str())
            })
        })
    }

    /// What the template writes behind a text as well as behind a call.
    fn wrapper(&self, probes: &[Probe]) -> Option<String> {
        let behind = |name: &str| {
            let probe = *named(probes, &[name]).first()?;
            let written = self.template.run(probe, Context::Last, &self.carrier, None).ok()?;
            tail(&written[2], &probe.words()).map(str::to_owned)
        };
        wrapper(&behind("text")?, &behind("one-argument")?)
    }

    /// The last token or tag that the template writes before the name of this probe's call.
    pub(crate) fn before_call(&self, probe: &Probe) -> Option<String> {
        let written = self.write(probe).ok()?;
        let output = written.cut.output.as_str();
        let lead = &output[..output.find(probe.calls.first()?.0)?];
        let end = lead.rfind(['>', ']'])? + 1;
        lead[..end].rfind(['<', '[']).map(|start| lead[start..end].to_owned())
    }

    /// What the template writes for a probe, in the first context and with the first argument that
    /// shows it.
    pub(crate) fn write(&self, probe: &Probe) -> Result<WrittenProbe, NotWritten> {
        let mut best: Option<NotWritten> = None;
        for context in contexts(probe) {
            for argument in ARGUMENTS {
                let failed = match self.write_in(probe, context, argument) {
                    Ok(cut) => return Ok(WrittenProbe { context, argument, cut }),
                    Err(failed) => failed,
                };
                if best.as_ref().is_none_or(|known| failed.nearness() > known.nearness()) {
                    best = Some(failed);
                }
            }
        }
        Err(best.unwrap_or_else(|| NotWritten::new(FitVerdict::Refused)))
    }

    /// What the template writes for a probe there, if it shows it.
    fn write_in(
        &self,
        probe: &Probe,
        context: Context,
        argument: Option<(&'static str, &'static str)>,
    ) -> Result<Cut, NotWritten> {
        let texts = self.template.run(probe, context, &self.carrier, argument);
        let texts = texts
            .map_err(|raised| NotWritten { raised: Some(raised), ..NotWritten::new(FitVerdict::Refused) })?;
        let prints_block = || {
            let syntax = ["'thinking'", "\"thinking\""];
            self.carrier.reasoning == Reasoning::Block
                && syntax.iter().any(|key| texts[2].as_str().contains(key))
        };
        match cut(&texts, &probe.words(), &self.ends, context.is_followed()) {
            _ if prints_block() => Err(NotWritten::new(FitVerdict::Unshown)),
            Ok(cut) => Ok(cut),
            Err(NoCut::Unopened(cut)) => {
                let unopened = Some(Box::new(WrittenProbe { context, argument, cut }));
                Err(NotWritten { unopened, ..NotWritten::new(FitVerdict::Unopened) })
            }
            Err(NoCut::Unended) => Err(NotWritten::new(FitVerdict::Unopened)),
            Err(NoCut::Unshown) => Err(NotWritten::new(FitVerdict::Unshown)),
        }
    }

    /// Whether the template writes another probe just as it wrote this one.
    pub(crate) fn writes_alike(&self, other: &Probe, written: &WrittenProbe) -> bool {
        let cut = self.write_in(other, written.context, written.argument);
        cut.is_ok_and(|cut| cut.output.as_str() == written.cut.output.as_str())
    }

    /// Whether the template writes the text of this turn where it writes reasoning, so that no
    /// parser can tell them apart: the whole turn, or all that stands before the text.
    pub(crate) fn writes_as_reasoning(&self, probe: &Probe, written: &WrittenProbe) -> bool {
        let Some(text) = probe.text.filter(|_| probe.reasoning.is_none()) else { return false };
        let moved = Probe { reasoning: Some(text), text: None, ..probe.clone() };
        if self.writes_alike(&moved, written) {
            return true;
        }
        let both = Probe { reasoning: Some(crate::probes::REASONING), ..probe.clone() };
        let lead = |cut: &Cut, words: &str| {
            let at = cut.output.as_str().find(words.lines().next()?)?;
            Some((cut.opening.clone(), cut.output.as_str()[..at].trim().to_owned()))
        };
        let reasoned = self.write_in(&both, written.context, written.argument).ok();
        let reasoned = reasoned.and_then(|cut| lead(&cut, crate::probes::REASONING));
        reasoned.is_some_and(|reasoned| lead(&written.cut, text) == Some(reasoned))
    }
}

/// Contexts in which a probe is tried. Templates leave reasoning out of finished turns.
fn contexts(probe: &Probe) -> Vec<Context> {
    let mut contexts = vec![Context::Last, Context::After];
    if !probe.calls.is_empty() {
        contexts.insert(1, Context::Results);
    }
    if probe.reasoning.is_none() {
        contexts.push(Context::History);
    }
    contexts
}

fn named<'a>(probes: &'a [Probe], names: &[&str]) -> Vec<&'a Probe> {
    probes.iter().filter(|probe| names.contains(&probe.name.as_str())).collect()
}

impl Carrier {
    /// What a shown turn counts. One in which arguments are printed as Python prints them or as JSON
    /// inside a JSON string, or in which reasoning is opened twice, isn't what the model writes. One
    /// without an opening that the generation prompt lacks, too, is no turn.
    fn weight(&self, cut: &Cut) -> usize {
        let output = cut.output.as_str();
        let is_odd = ["'zk", "\\\"zk", ": False"].iter().any(|odd| output.contains(odd));
        let (is_open, is_doubled) = match &self.reasoning {
            Reasoning::Inline(Delimiters { open, close, is_opened }) => {
                let is_open = cut.opening.rfind(open) > cut.opening.rfind(close);
                (is_open || !is_opened, is_open && output.contains(open))
            }
            _ => (true, false),
        };
        match () {
            () if !is_open => 0,
            () if is_odd || is_doubled => 1,
            () => 2,
        }
    }
}
