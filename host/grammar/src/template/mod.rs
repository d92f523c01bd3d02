//! A template that has been read and checked.

pub(crate) mod check;
mod directives;
mod read;
#[cfg(test)]
mod tests;
mod words;

use std::collections::BTreeMap;

pub(crate) use directives::{Directives, InputEnd, Tokens};
pub(crate) use words::{Word, around_holes, grouped, written};

/// A format's template. [`GrammarTemplate::parse`] checks it; [`GrammarTemplate::compose`] fills it
/// for a request.
#[derive(Debug, Clone)]
pub struct GrammarTemplate {
    /// Literals of the parser's markers.
    pub(crate) literals: Vec<String>,
    /// Bodies of the rules, by name.
    pub(crate) rules: BTreeMap<String, Vec<Word>>,
    pub(crate) directives: Directives,
}

/// Why a text is no template: one line with the place.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct TemplateError(String);

/// What a turn consists of behind its reasoning, by what the request demands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Shape {
    /// Calls, at once.
    Forced,
    /// Text, and perhaps calls.
    Free,
    /// An answer by a schema or a grammar.
    Answer,
    /// Such an answer, or calls.
    Either,
}

impl Shape {
    pub(crate) const ALL: [Self; 4] = [Self::Forced, Self::Free, Self::Answer, Self::Either];

    /// Name of the rule.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Forced => "forced",
            Self::Free => "free",
            Self::Answer => "answer",
            Self::Either => "either",
        }
    }

    /// Whether calls may be made.
    pub(crate) fn has_calls(self) -> bool {
        self != Self::Answer
    }

    /// Whether there is an answer by a schema or a grammar.
    pub(crate) fn has_answer(self) -> bool {
        matches!(self, Self::Answer | Self::Either)
    }
}

impl GrammarTemplate {
    /// The template of the rest of a turn whose reasoning is over: without what comes before calls and
    /// text.
    #[must_use]
    pub fn behind_reasoning(mut self) -> Self {
        self.rules.remove("before");
        self
    }

    /// Body of a rule, if the template has the rule.
    pub(crate) fn rule(&self, name: &str) -> Option<&[Word]> {
        self.rules.get(name).map(Vec::as_slice)
    }

    /// Whether the rule `name` has the hole `hole`.
    pub(crate) fn has(&self, name: &str, hole: &str) -> bool {
        self.rule(name).is_some_and(|words| words.iter().any(|word| word.is_name(hole)))
    }

    /// Whether the format spells JSON in a notation of its own.
    pub(crate) fn has_notation(&self) -> bool {
        check::NOTATION.iter().any(|name| self.rules.contains_key(*name))
    }
}

impl GrammarTemplate {
    /// The rules that the template alone refers to.
    pub(crate) fn own_rules(&self) -> impl Iterator<Item = (&str, &[Word])> {
        let own = self.rules.iter().filter(|(name, _)| !check::is_role(name));
        own.map(|(name, words)| (name.as_str(), words.as_slice()))
    }

    /// Whether `name` is a rule or a text of the template's own.
    pub(crate) fn is_own(&self, name: &str) -> bool {
        (self.rules.contains_key(name) && !check::is_role(name))
            || (self.directives.texts.contains_key(name) && name != "text")
    }
}
