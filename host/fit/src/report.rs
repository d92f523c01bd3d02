//! What came of the probes.

use serde::Serialize;
use serde_json::Value;

/// What came of a probe.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// The parser gives the probe back.
    Same,
    /// The parser gives something else.
    Differs,
    /// The template leaves some of the probe out.
    Unshown,
    /// The template writes a value in another way than as it is or as JSON.
    Rewritten,
    /// The template raises an exception.
    Refused,
    /// The turn doesn't begin with the generation prompt, or its end is unknown.
    Unopened,
    /// The template writes other arguments alike, so no parser can tell them apart.
    Ambiguous,
}

impl Verdict {
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
    pub verdict: Verdict,
    /// Where its turn stood: `last`, `results` or `after`.
    pub context: &'static str,
    /// Argument of the template with which it was written, if that was needed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub argument: Option<String>,
    /// Message of a template that raised.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub raised: Option<String>,
    /// The difference, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub difference: Option<Difference>,
    /// Whether the probe is plain text.
    #[serde(skip)]
    pub(crate) is_text: bool,
    /// Whether the probe has calls.
    #[serde(skip)]
    pub(crate) has_calls: bool,
}

/// What came of all probes.
#[derive(Debug, Clone, Serialize)]
pub struct Fit {
    /// Name of the parser.
    pub parser: String,
    /// Key under which the template got reasoning.
    pub reasoning: &'static str,
    /// Each probe.
    pub probes: Vec<ProbeReport>,
    /// Tokens of the model that the template writes in turns, and that are neither markers nor the
    /// turn's end.
    pub unknown_tokens: Vec<String>,
    /// Markers of the parser that the template never writes.
    pub unwritten_markers: Vec<String>,
}

impl Fit {
    /// Number of probes with this verdict.
    pub fn count(&self, verdict: Verdict) -> usize {
        self.probes.iter().filter(|probe| probe.verdict == verdict).count()
    }

    /// Whether a probe differs.
    pub fn differs(&self) -> bool {
        self.count(Verdict::Differs) > 0
    }

    /// Whether plain text and a call were compared, without which nothing is proved.
    pub fn proves(&self) -> bool {
        let same = || self.probes.iter().filter(|probe| probe.verdict == Verdict::Same);
        same().any(|probe| probe.is_text) && same().any(|probe| probe.has_calls)
    }
}
