//! Writes probes by the chat template, in the form in which it shows most.

use model::TemplateFiles;

use super::align::common_start;
use super::format::Delimiters;
use crate::conversation::{Context, Reasoning, Turn};
use crate::cut::{Cut, Ends};
use crate::probes::{Probe, probes};
use crate::report::FitVerdict;
use crate::template::{ARGUMENTS, ProbeTemplate};
use crate::writer::Writer;

/// Spellings of ids of calls: any, then one with the tool's name and a counter in it.
const IDS: [Option<&str>; 2] = [None, Some("functions.{name}:{index}")];

/// A turn as the template writes it.
#[derive(Debug, Clone)]
pub(super) struct ShownTurn {
    /// The turn as it is played.
    pub(super) cut: Cut,
    /// Whether the output begins where the generation prompt ends.
    pub(super) is_opened: bool,
}

impl ShownTurn {
    /// The whole turn, from the message's header on.
    pub(super) fn whole(&self) -> String {
        format!("{}{}", self.cut.opening, self.cut.output.as_str())
    }
}

/// Writes turns.
pub(super) struct Turns<'a> {
    writer: Writer<'a>,
}

impl<'a> Turns<'a> {
    /// # Errors
    /// The template can't be parsed.
    pub(super) fn new(files: &'a TemplateFiles) -> Result<Self, String> {
        let known = probes(&[]);
        let mut first = None;
        for ids in IDS {
            let template = ProbeTemplate::parse(files, ids.map(str::to_owned)).map_err(|error| error.0)?;
            let tokens = files.ends.iter().map(AsRef::as_ref).collect();
            let ends = Ends { stops: Vec::new(), tokens, wrapper: None };
            let turns = Self { writer: Writer::new(template, ends, &known, &[]) };
            let shows = known.iter().find(|probe| probe.name == "one-argument");
            if shows.is_some_and(|probe| turns.write(probe).is_ok()) {
                return Ok(turns);
            }
            first.get_or_insert(turns);
        }
        first.ok_or_else(|| "no spelling of ids".to_owned())
    }

    /// What the template writes behind any turn.
    pub(super) fn wrapper(&self) -> Option<&str> {
        self.writer.ends.wrapper.as_deref()
    }

    /// Delimiters with which reasoning reaches the template inside a text: it knows them, since it
    /// moves such reasoning or leaves it out.
    pub(super) fn given(&self) -> Option<Delimiters> {
        let Reasoning::Inline(marks) = &self.writer.carrier.reasoning else { return None };
        Some(Delimiters { open: marks.open.clone(), close: marks.close.clone() })
    }

    /// What generation prompts write behind a user's message, each once.
    pub(super) fn openings(&self) -> Vec<String> {
        let probe = Probe { text: Some("zq"), ..Probe::default() };
        let mut openings: Vec<String> = Vec::new();
        for argument in ARGUMENTS {
            let texts = self.writer.template.run(&probe, Context::Last, &self.writer.carrier, argument);
            let Ok([before, prompt, _]) = texts else { continue };
            let shared = common_start(prompt.as_str(), before.as_str()).len();
            let opening = prompt.as_str()[shared..].to_owned();
            if !openings.contains(&opening) {
                openings.push(opening);
            }
        }
        openings
    }

    /// Whether the template takes what stands before `close` in a text for reasoning, and leaves it
    /// out or moves it.
    pub(super) fn strips_before(&self, close: &str) -> bool {
        const WORDS: [&str; 2] = ["zqbefore", "zqbehind"];
        let text = format!("{}{close}{}", WORDS[0], WORDS[1]);
        let turn = Turn { text: Some(&text), ..Turn::default() };
        let whole = self.writer.template.with(&turn, &[], Context::Last, &self.writer.carrier, None);
        whole.is_ok_and(|whole| whole.as_str().contains(WORDS[1]) && !whole.as_str().contains(&text))
    }

    /// What the template writes for a probe, else why it doesn't, with the message of a template
    /// that raised.
    pub(super) fn write(&self, probe: &Probe) -> Result<ShownTurn, (FitVerdict, Option<String>)> {
        // Delimiters that the probe brings along show nothing.
        if probe.reasoning.is_some() && self.given().is_some() {
            return Err((FitVerdict::Unshown, None));
        }
        match self.writer.write(probe) {
            Ok(written) => Ok(ShownTurn { cut: written.cut, is_opened: true }),
            Err(failed) => match failed.unopened {
                Some(written) => Ok(ShownTurn { cut: written.cut, is_opened: false }),
                None => Err((failed.verdict, failed.raised)),
            },
        }
    }
}
