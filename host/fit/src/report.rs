//! What came of the probes.

use serde::Serialize;
use serde_json::Value;

use crate::conversation::Context;
use crate::probes::Probe;

/// What came of a probe.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum FitVerdict {
    /// The parser gives the probe back.
    Same,
    /// The parser gives something else.
    Differs,
    /// The template leaves some of the probe out.
    Unshown,
    /// The template writes a value in another way than as it is or as JSON, or text as reasoning.
    Rewritten,
    /// The template raises an exception.
    Refused,
    /// The turn doesn't begin with the generation prompt, or its end is unknown.
    Unopened,
    /// The template writes other arguments alike, so no parser can tell them apart.
    Ambiguous,
    /// The template's own call is broken: a quote is missing at the tool's name.
    Broken,
}

impl FitVerdict {
    /// Its name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Same => "same",
            Self::Differs => "differs",
            Self::Unshown => "unshown",
            Self::Rewritten => "rewritten",
            Self::Refused => "refused",
            Self::Unopened => "unopened",
            Self::Ambiguous => "ambiguous",
            Self::Broken => "broken",
        }
    }
}

/// How a parser's reading differs from the probe.
#[derive(Debug, Clone, Serialize)]
pub struct Difference {
    /// What the template wrote of the turn.
    pub rendering: String,
    /// How it was played: by text or by id, and in chunks of how many characters.
    pub played: String,
    /// What the parser made of it.
    pub got: Vec<Value>,
    /// Faults, one a line.
    pub why: Vec<String>,
    /// The case, which `host parser test` takes.
    pub case: Value,
}

/// What came of one probe.
#[derive(Debug, Clone, Serialize)]
pub struct ProbeReport {
    /// Name of the probe.
    pub probe: String,
    /// What came of it.
    pub verdict: FitVerdict,
    /// Where its turn stood: `last`, `results`, `after` or `history`.
    pub context: &'static str,
    /// Argument of the template with which it was written, if that was needed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub argument: Option<String>,
    /// Message of a template that raised.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub raised: Option<String>,
    /// Whether reasoning was added, since the generation prompt opens it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub with_reasoning: bool,
    /// What the template wrote of a turn whose opening isn't the generation prompt's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rendering: Option<String>,
    /// Whether the parser gives such a turn back, which proves nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub is_read: Option<bool>,
    /// The difference, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub difference: Option<Difference>,
    /// The case that the parser reads, where it gives the probe back.
    #[serde(skip)]
    pub read: Option<Value>,
    /// Whether the probe has a text.
    #[serde(skip)]
    pub(crate) has_text: bool,
    /// Whether the probe has calls.
    #[serde(skip)]
    pub(crate) has_calls: bool,
}

impl ProbeReport {
    pub(crate) fn new(probe: &Probe, verdict: FitVerdict, context: Context) -> Self {
        Self {
            probe: probe.name.clone(),
            verdict,
            context: context.name(),
            argument: None,
            raised: None,
            with_reasoning: false,
            rendering: None,
            is_read: None,
            difference: None,
            read: None,
            has_text: probe.text.is_some(),
            has_calls: !probe.calls.is_empty(),
        }
    }
}

/// What a template loses of a case's items.
#[derive(Debug, Clone, Serialize)]
pub struct CaseReport {
    /// Name of the case.
    pub case: String,
    /// The items and arguments that the template doesn't show.
    pub lost: Vec<String>,
    /// Message of a template that raised.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub raised: Option<String>,
}

/// What a parser makes of a recorded output.
#[derive(Debug, Clone, Serialize)]
pub struct RecordedReport {
    /// Name of the output.
    pub name: String,
    /// What the parser made of it.
    pub items: Vec<Value>,
    /// Faults, one a line; none if the output is read.
    pub why: Vec<String>,
}

/// What came of all probes.
#[derive(Debug, Clone, Serialize)]
pub struct Fit {
    /// Name of the parser.
    pub parser: String,
    /// Where the template got reasoning.
    pub reasoning: String,
    /// Each probe.
    pub probes: Vec<ProbeReport>,
    /// Tokens of the model that the template writes in turns, and that are neither markers nor the
    /// turn's end.
    pub unknown_tokens: Vec<String>,
    /// Markers of the parser that the template never writes.
    pub unwritten_markers: Vec<String>,
    /// Cases whose items the template was given.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub cases: Vec<CaseReport>,
    /// Outputs that a model wrote.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub recorded: Vec<RecordedReport>,
}

impl Fit {
    /// Number of probes with this verdict.
    pub fn count(&self, verdict: FitVerdict) -> usize {
        self.probes.iter().filter(|probe| probe.verdict == verdict).count()
    }

    /// Whether a probe or a recorded output differs.
    pub fn differs(&self) -> bool {
        self.count(FitVerdict::Differs) > 0 || self.recorded.iter().any(|output| !output.why.is_empty())
    }

    /// Whether a text and a call were compared, without which nothing is proved.
    pub fn proves(&self) -> bool {
        let same = || self.probes.iter().filter(|probe| probe.verdict == FitVerdict::Same);
        same().any(|probe| probe.has_text) && same().any(|probe| probe.has_calls)
    }

    /// Whether the template writes any call.
    pub fn shows_calls(&self) -> bool {
        let mut calls = self.probes.iter().filter(|probe| probe.has_calls);
        calls.any(|probe| !matches!(probe.verdict, FitVerdict::Unshown | FitVerdict::Refused))
    }

    /// Whether every call that the template writes is broken.
    pub fn breaks_calls(&self) -> bool {
        let mut calls = self.probes.iter().filter(|probe| probe.has_calls);
        self.count(FitVerdict::Broken) > 0
            && !calls.any(|probe| matches!(probe.verdict, FitVerdict::Same | FitVerdict::Differs))
    }

    /// The template's message, if it raises for every call.
    pub fn refuses_calls(&self) -> Option<&str> {
        let mut calls = self.probes.iter().filter(|probe| probe.has_calls).peekable();
        let raised = calls.peek()?.raised.as_deref()?;
        calls.all(|probe| probe.verdict == FitVerdict::Refused).then_some(raised)
    }
}
