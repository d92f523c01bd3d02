//! What was inferred of a model's output format.
//!
//! Invariant: nothing here comes from the template's source, only from what it wrote for probes.

use serde::Serialize;

use super::align::first_tag;

/// How sure a part of the format is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Confidence {
    /// It is nowhere shown: an option says it, or it is usual.
    Assumed,
    /// A probe shows it.
    Seen,
    /// It was inferred from some probes, and others were predicted with it.
    Proved,
}

impl Confidence {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Assumed => "assumed",
            Self::Seen => "seen",
            Self::Proved => "proved",
        }
    }
}

/// A part of the format, and how sure it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Inferred<T> {
    /// The part.
    #[serde(flatten)]
    pub value: T,
    /// How sure it is.
    pub confidence: Confidence,
}

/// Two delimiters.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Delimiters {
    /// Text before; may be empty.
    pub open: String,
    /// Text behind; may be empty.
    pub close: String,
}

/// A part of a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum FormatPart {
    /// Text.
    Literal(String),
    /// The tool's name.
    Name,
    /// The call's id.
    Id,
    /// A number that counts calls.
    Counter,
    /// The arguments.
    Arguments,
}

/// How arguments are written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase", tag = "as")]
pub enum Arguments {
    /// A JSON object.
    Json,
    /// A parameter at a time.
    Tagged {
        /// Text before a key.
        key: String,
        /// Text between key and value, the one of strings first; types may have others.
        middles: Vec<String>,
        /// Text behind a value, the one of strings first.
        ends: Vec<String>,
        /// Text between two parameters.
        separator: String,
    },
    /// Python's keywords: `NAME(key="value", …)`.
    Keywords,
}

/// How calls are written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DerivedCalls {
    /// Around all calls.
    pub section: Delimiters,
    /// A call.
    pub unit: Vec<FormatPart>,
    /// Between calls; none if a turn has one call only.
    pub separator: Option<String>,
    /// The arguments.
    pub arguments: Arguments,
}

/// A model's output format.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DerivedFormat {
    /// The header of the model's message, which the generation prompt writes.
    pub anchor: String,
    /// What generation prompts write behind the header, each shown by a probe.
    pub openings: Vec<String>,
    /// Around reasoning; none if no turn shows any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<Inferred<Delimiters>>,
    /// Around the text.
    pub content: Inferred<Delimiters>,
    /// The calls.
    pub calls: Inferred<DerivedCalls>,
    /// What ends the turn.
    pub ends: Vec<String>,
}

impl DerivedFormat {
    /// Literals by which templates of this format are known: those of calls, without white space.
    pub(super) fn literals(&self) -> Vec<String> {
        let calls = &self.calls.value;
        let unit = calls.unit.iter().filter_map(|part| match part {
            FormatPart::Literal(text) => Some(text.as_str()),
            _ => None,
        });
        let all = [calls.section.open.as_str()].into_iter().chain(unit).chain([calls.section.close.as_str()]);
        let tags = all.filter_map(|text| first_tag(text).or(Some(text).filter(|text| text.contains('='))));
        let mut literals: Vec<String> = tags.map(|tag| tag.trim().to_owned()).collect();
        if literals.is_empty() {
            literals.push(calls.section.open.trim().to_owned());
        }
        literals.dedup();
        literals
    }
}
