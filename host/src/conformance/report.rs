//! What a run found: counts while it goes on ([`Tally`]), and the [`Report`] that is printed or written as JSON.

use std::fmt::Write as _;

use serde::Serialize;
use serde_json::{Value, json};

use super::bars::{GROWTH, SILENCE, SIZES};
use super::ledger::{Marks, Waits};
use super::limits::beside;
use crate::limits::ParserLimits;

/// What every parser must keep.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Property {
    /// Each case comes to its items and its end.
    Items,
    /// Each byte is routed or dropped once.
    Conservation,
    /// The items don't depend on the chunking.
    Splits,
    /// Cut off anywhere, the turn closes well-formed.
    Truncation,
    /// Arguments shown are the beginning of those expected.
    ArgumentPrefix,
    /// Text and string arguments come out as they come in.
    Silence,
    /// The cost of a delta doesn't grow.
    Growth,
    /// Nothing is used beyond its limit.
    Limits,
}

impl Property {
    /// All of them, in the order of reports.
    pub const ALL: [Self; 8] = [
        Self::Items,
        Self::Conservation,
        Self::Splits,
        Self::Truncation,
        Self::ArgumentPrefix,
        Self::Silence,
        Self::Growth,
        Self::Limits,
    ];

    /// Its name, in words.
    pub fn name(self) -> &'static str {
        match self {
            Self::Items => "items",
            Self::Conservation => "conservation",
            Self::Splits => "split invariance",
            Self::Truncation => "truncation",
            Self::ArgumentPrefix => "argument prefix",
            Self::Silence => "silence",
            Self::Growth => "cost growth",
            Self::Limits => "limits",
        }
    }
}

/// A property that one case breaks.
#[derive(Debug, Clone, Serialize)]
pub struct Failure {
    /// The case.
    pub case: String,
    /// What is wrong, the first line by itself enough.
    pub what: String,
    /// The smallest chunking found that breaks it, as a case file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reproduce: Option<Value>,
}

/// What was found of one property.
#[derive(Debug, Clone, Serialize)]
pub struct Finding {
    /// The property.
    pub property: Property,
    /// Whether no check failed.
    pub passed: bool,
    /// How many checks there were; none means that no case could show it.
    pub checks: u64,
    /// The figures in words.
    pub summary: String,
    /// The figures.
    pub figures: Value,
    /// At most one for each case.
    pub failures: Vec<Failure>,
}

/// What a run found.
#[derive(Debug, Clone, Serialize)]
pub struct Report {
    /// The parser's name.
    pub parser: String,
    /// Its version.
    pub version: String,
    /// SHA-256 of its component.
    pub sha256: String,
    /// Cases played.
    pub cases: usize,
    /// What the random chunkings were made of.
    pub seed: u64,
    /// Whether every property holds.
    pub passed: bool,
    /// One for each property.
    pub findings: Vec<Finding>,
}

/// The cost of a delta as one case grows.
#[derive(Debug, Clone)]
pub(super) struct Grown {
    pub(super) case: String,
    pub(super) what: &'static str,
    /// Fuel per delta at each of the sizes.
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
    /// Inside stretched text, and inside stretched string arguments.
    pub(super) text: usize,
    pub(super) arguments: usize,
}

/// Counts of a run under way; those of several cases add up.
#[derive(Debug, Default)]
pub(super) struct Tally {
    checks: [u64; Property::ALL.len()],
    failures: Vec<(Property, Failure)>,
    pub(super) bytes: u64,
    pub(super) silence: Silence,
    pub(super) marks: Marks,
    pub(super) grown: Vec<Grown>,
}

impl Tally {
    /// One more check of this property.
    pub(super) fn count(&mut self, property: Property) {
        self.checks[property as usize] += 1;
    }

    /// A check of this property failed. The first failure of a case stands for the others.
    pub(super) fn fail(&mut self, property: Property, case: &str, what: String, reproduce: Option<Value>) {
        if !self.has(property, case) {
            self.failures.push((property, Failure { case: case.to_owned(), what, reproduce }));
        }
    }

    /// Whether the case has failed this property.
    pub(super) fn has(&self, property: Property, case: &str) -> bool {
        self.failures.iter().any(|(of, failure)| *of == property && failure.case == case)
    }

    /// Adds what another case came to.
    pub(super) fn merge(&mut self, other: Self) {
        for (sum, more) in self.checks.iter_mut().zip(other.checks) {
            *sum += more;
        }
        self.failures.extend(other.failures);
        self.bytes += other.bytes;
        self.silence.waits.merge(&other.silence.waits);
        self.silence.text = self.silence.text.max(other.silence.text);
        self.silence.arguments = self.silence.arguments.max(other.silence.arguments);
        self.marks.merge(&other.marks);
        self.grown.extend(other.grown);
    }

    /// One finding for each property.
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
            Property::Silence => self.silences(),
            Property::Growth => self.growth(),
            Property::Limits => self.limits(limits),
        }
    }

    fn silences(&self) -> (String, Value) {
        let Silence { waits, text, arguments } = self.silence;
        let text = text.max(waits.text);
        let bar = SILENCE;
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
        let limited = beside(&self.marks, limits);
        let words: Vec<String> =
            limited.iter().map(|of| format!("{} {} of {}", of.what, of.used, of.limit)).collect();
        let figures = limited
            .iter()
            .map(|of| (of.what.replace(' ', "_"), json!({ "used": of.used, "limit": of.limit })));
        (words.join(", "), figures.collect::<serde_json::Map<_, _>>().into())
    }
}
