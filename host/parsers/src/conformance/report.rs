//! Results of a run: counts while it runs ([`Tally`]), and the [`Report`] that is printed or
//! written as JSON.

use std::fmt::Write as _;

use serde::Serialize;
use serde_json::{Value, json};

use super::ledger::{PeakUse, Waits};
use super::limits::beside;
use super::thresholds::{GROWTH, MAX_SILENT_DELTAS, SIZES};
use crate::ParserLimits;

/// Property that every parser must have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Property {
    /// Each case gives the items and the end that it expects.
    Items,
    /// Each byte is routed or dropped exactly once.
    Conservation,
    /// The items don't depend on the chunking.
    Splits,
    /// A turn that is cut off anywhere ends well-formed.
    Truncation,
    /// Arguments that a client has seen are a prefix of the expected ones.
    ArgumentPrefix,
    /// A marker as a token inside a string of a call's JSON breaks the call off, and what follows
    /// is read as behind the call.
    LostQuote,
    /// A turn that is completed dropped white space and markup alone, also where a sentence, markup
    /// or a call that breaks off stands in its way.
    NothingLost,
    /// What the grammars of the parser's template allow is read as what their requests demand.
    Grammar,
    /// Text and string arguments are passed on while they come in.
    Silence,
    /// The cost of a delta doesn't grow with the stream's length.
    Growth,
    /// No limit is exceeded.
    Limits,
}

impl Property {
    /// All properties, in the order of reports.
    pub const ALL: [Self; 11] = [
        Self::Items,
        Self::Conservation,
        Self::Splits,
        Self::Truncation,
        Self::ArgumentPrefix,
        Self::LostQuote,
        Self::NothingLost,
        Self::Grammar,
        Self::Silence,
        Self::Growth,
        Self::Limits,
    ];

    /// Name of the property, for people.
    pub fn name(self) -> &'static str {
        match self {
            Self::Items => "items",
            Self::Conservation => "conservation",
            Self::Splits => "split invariance",
            Self::Truncation => "truncation",
            Self::ArgumentPrefix => "argument prefix",
            Self::LostQuote => "lost quote",
            Self::NothingLost => "nothing lost",
            Self::Grammar => "grammar",
            Self::Silence => "silence",
            Self::Growth => "cost growth",
            Self::Limits => "limits",
        }
    }
}

/// Failure of one case to have a property.
#[derive(Debug, Clone, Serialize)]
pub struct Failure {
    /// Name of the case.
    pub case: String,
    /// What is wrong. The first line is enough to understand it.
    pub what: String,
    /// Case file that reproduces the failure; for split invariance and truncation it has the
    /// smallest chunking found. `None` if the case itself or a stretched one fails.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reproduce: Option<Value>,
}

/// Result of one property.
#[derive(Debug, Clone, Serialize)]
pub struct Finding {
    /// Property that was checked.
    pub property: Property,
    /// Whether no check failed, also where there were no checks.
    pub passed: bool,
    /// Number of checks; 0 means that no case could show the property.
    pub checks: u64,
    /// The figures in words, for people.
    pub summary: String,
    /// Measured figures, by name.
    pub figures: Value,
    /// Failures, at most one for each case.
    pub failures: Vec<Failure>,
}

/// Result of a run.
#[derive(Debug, Clone, Serialize)]
pub struct Report {
    /// Name of the parser.
    pub parser: String,
    /// Version of the parser.
    pub version: String,
    /// SHA-256 of the parser's component.
    pub sha256: String,
    /// Number of cases.
    pub cases: usize,
    /// Seed of the random chunkings.
    pub seed: u64,
    /// Kinds of turns that no case shows. They fail nothing.
    pub uncovered: Vec<&'static str>,
    /// Whether no property failed.
    pub passed: bool,
    /// Results of all properties, in the order of [`Property::ALL`].
    pub findings: Vec<Finding>,
}

/// Cost of a delta as one case grows.
#[derive(Debug, Clone)]
pub(super) struct Grown {
    pub(super) case: String,
    pub(super) what: &'static str,
    /// Fuel per delta at each of [`SIZES`].
    pub(super) fuel: Vec<f64>,
}

impl Grown {
    pub(super) fn ratio(&self) -> f64 {
        let least = self.fuel.first().map_or(1.0, |fuel| fuel.max(1.0));
        self.fuel.last().map_or(1.0, |fuel| fuel.max(1.0)) / least
    }
}

/// Longest silences, in deltas.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Silence {
    pub(super) waits: Waits,
    /// Longest silence inside stretched text.
    pub(super) text: usize,
    /// Longest silence inside stretched string arguments.
    pub(super) arguments: usize,
}

/// Counts and failures during a run; those of several cases are merged.
#[derive(Debug, Default)]
pub(super) struct Tally {
    checks: [u64; Property::ALL.len()],
    failures: Vec<(Property, Failure)>,
    pub(super) bytes: u64,
    /// Number of requests for which the parser's template gives no grammar.
    pub(super) refused: u64,
    pub(super) silence: Silence,
    pub(super) peak: PeakUse,
    pub(super) grown: Vec<Grown>,
}

impl Tally {
    /// Counts a check of this property.
    pub(super) fn count(&mut self, property: Property) {
        self.checks[property as usize] += 1;
    }

    /// Records that a check of this property failed. Only the first failure of a case is kept.
    pub(super) fn fail(&mut self, property: Property, case: &str, what: String, reproduce: Option<Value>) {
        if !self.has(property, case) {
            self.failures.push((property, Failure { case: case.to_owned(), what, reproduce }));
        }
    }

    /// Whether a failure of this property is recorded for the case.
    pub(super) fn has(&self, property: Property, case: &str) -> bool {
        self.failures.iter().any(|(of, failure)| *of == property && failure.case == case)
    }

    /// Adds the results of another case.
    pub(super) fn merge(&mut self, other: Self) {
        for (sum, more) in self.checks.iter_mut().zip(other.checks) {
            *sum += more;
        }
        self.failures.extend(other.failures);
        self.bytes += other.bytes;
        self.refused += other.refused;
        self.silence.waits.merge(&other.silence.waits);
        self.silence.text = self.silence.text.max(other.silence.text);
        self.silence.arguments = self.silence.arguments.max(other.silence.arguments);
        self.peak.merge(&other.peak);
        self.grown.extend(other.grown);
    }

    /// Makes one finding for each property.
    pub(super) fn findings(mut self, limits: &ParserLimits) -> Vec<Finding> {
        let failures = std::mem::take(&mut self.failures);
        let finding = |property: Property| {
            let of_it = failures.iter().filter(|(of, _)| *of == property);
            let failures: Vec<Failure> = of_it.map(|(_, failure)| failure.clone()).collect();
            let (summary, figures) = self.figures(property, limits);
            let checks = self.checks[property as usize];
            Finding { property, passed: failures.is_empty(), checks, summary, figures, failures }
        };
        Property::ALL.into_iter().map(finding).collect()
    }

    fn figures(&self, property: Property, limits: &ParserLimits) -> (String, Value) {
        let checks = self.checks[property as usize];
        match property {
            Property::Items => (format!("{checks} cases"), Value::Null),
            Property::Conservation => {
                (format!("{checks} turns, {} bytes", self.bytes), json!({ "bytes": self.bytes }))
            }
            Property::Splits => (format!("{checks} chunkings"), Value::Null),
            Property::Truncation => (format!("{checks} turns cut off"), Value::Null),
            Property::ArgumentPrefix => {
                (format!("{checks} calls looked at where they were cut"), Value::Null)
            }
            Property::LostQuote => (format!("{checks} calls broken off inside a string"), Value::Null),
            Property::NothingLost => (format!("{checks} turns changed"), Value::Null),
            Property::Grammar => {
                let refused = self.refused;
                let summary = if checks == 0 && refused == 0 {
                    "no template: forced and strict calls will be refused".to_owned()
                } else {
                    format!("{checks} turns that grammars allow, {refused} requests refused")
                };
                (summary, json!({ "refused": refused }))
            }
            Property::Silence => self.silences(),
            Property::Growth => self.growth(),
            Property::Limits => self.limits(limits),
        }
    }

    fn silences(&self) -> (String, Value) {
        let Silence { waits, text, arguments } = self.silence;
        let text = text.max(waits.text);
        let bar = MAX_SILENT_DELTAS;
        let summary = format!(
            "of {bar} deltas: text {text}, string arguments {arguments}; allowed: arguments before the name {}, \
             text that began as a call {}, other arguments {}",
            waits.before_name, waits.no_call, waits.arguments
        );
        let figures = json!({
            "bar": bar, "text": text, "string_arguments": arguments, "before_name": waits.before_name,
            "began_as_a_call": waits.no_call, "any_argument": waits.arguments,
        });
        (summary, figures)
    }

    fn growth(&self) -> (String, Value) {
        let worst = self.grown.iter().map(Grown::ratio).fold(0.0, f64::max);
        let mut summary = if self.grown.is_empty() {
            "not measured: no case has a string or a turn that can be repeated".to_owned()
        } else {
            format!("64k to 256 deltas: {worst:.2}-fold at most, {} is allowed", GROWTH)
        };
        for Grown { case, what, fuel } in &self.grown {
            let _ = write!(summary, "\n{what}, fuel per delta at 256, 1k, 4k, 16k, 64k: {fuel:?} ({case})");
        }
        let rows: Vec<Value> = self
            .grown
            .iter()
            .map(|grown| json!({ "case": grown.case, "what": grown.what, "fuel_per_delta": grown.fuel, "ratio": grown.ratio() }))
            .collect();
        (summary, json!({ "bar": GROWTH, "sizes": SIZES, "rows": rows }))
    }

    fn limits(&self, limits: &ParserLimits) -> (String, Value) {
        let limited = beside(&self.peak, limits);
        let words: Vec<String> =
            limited.iter().map(|of| format!("{} {} of {}", of.what, of.used, of.limit)).collect();
        let figures = limited
            .iter()
            .map(|of| (of.what.replace(' ', "_"), json!({ "used": of.used, "limit": of.limit })));
        (words.join(", "), figures.collect::<serde_json::Map<_, _>>().into())
    }
}
