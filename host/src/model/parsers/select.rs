//! Choice of `--parser auto` among the plugins. A pure function of descriptors and model files.
//!
//! A plugin claims a model by naming its `model_type` or architecture. A type alone doesn't decide: models of many formats are `llama`.
//! The model's own chat template does: it shows the model how to write, so it has the right parser's markers. Where several parsers claim
//! a model (Qwen3 and Qwen3-Coder are both `qwen3_moe`), markers that all of them declare make no difference and are left out. The others
//! decide, in this order:
//! 1. the parser with more of its own markers in the template;
//! 2. the parser with fewer of them missing in the template;
//! 3. the parser with more of them among the tokenizer's added tokens.
//!
//! For a model that no parser claims, the same order decides among the parsers that the template points to. It points to a parser by
//! the markers of calls and reasoning: those that neither end a turn nor stand in a conversation without tools.
//!
//! There is no guess beyond that. A tie between claimants is an error, and so is a template that points to another parser than those
//! that claim the model. A model that no parser claims and whose template points to none, or to several alike, gets none.

use std::cmp::Reverse;
use std::collections::HashSet;
use std::fmt::Write as _;

use crate::parser::contract::Descriptor;

/// Facts from a model's files that decide the choice.
pub(super) struct Evidence<'a> {
    /// The model's `model_type` and architectures.
    pub(super) types: &'a [String],
    /// Source of the chat templates.
    pub(super) template: &'a str,
    /// A conversation without tools as the template writes it; empty if it takes none.
    pub(super) plain: &'a str,
    /// Literals of the tokenizer's added tokens.
    pub(super) tokens: &'a HashSet<String>,
}

/// A plugin to choose from, under the name that `--parser` takes.
#[derive(Debug, Clone, Copy)]
pub(super) struct ParserCandidate<'a> {
    pub(super) name: &'a str,
    pub(super) descriptor: &'a Descriptor,
}

/// The choice and its reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Selected {
    /// Index among the candidates.
    pub(super) index: usize,
    /// Reason for the choice, in one line.
    pub(super) why: String,
    /// Whether the model's files have none of this parser's markers.
    pub(super) doubtful: bool,
}

/// Error of a choice that isn't possible.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SelectError {
    /// The chat template points to another parser than the one that claims the model.
    #[error(
        "{claimant} claims {model}, but the chat template has the markers of {other} ({markers}): choose with --parser {other} or \
         --parser {claimant}"
    )]
    Contradiction {
        /// Types of the model, for people.
        model: String,
        /// The parser that claims the model.
        claimant: String,
        /// The parser to which the template points.
        other: String,
        /// Its markers in the template.
        markers: String,
    },
    /// Several parsers claim the model, and no rule prefers one of them.
    #[error(
        "several parsers claim {model}, and its chat template fits them alike: {claims}; choose one: {commands}"
    )]
    Tie {
        /// Types of the model, for people.
        model: String,
        /// The claimants and their counts of markers.
        claims: String,
        /// Switches that choose one of them.
        commands: String,
    },
}

/// Chooses among the candidates that claim the model; `None` if there are none.
///
/// # Errors
/// The template points to another candidate, or several claim the model and are equal by all rules.
pub(super) fn select(
    model: &Evidence,
    candidates: &[ParserCandidate],
) -> Result<Option<Selected>, SelectError> {
    let claims = |&index: &usize| claims(model, candidates[index].descriptor);
    let (claimants, others): (Vec<usize>, Vec<usize>) = (0..candidates.len()).partition(claims);
    check_claims(model, candidates, &claimants, &others)?;
    match claimants[..] {
        [] => Ok(None),
        [index] => Ok(Some(sole(model, index, &candidates[index]))),
        _ => weigh(model, candidates, &claimants).map(Some),
    }
}

/// Chooses the candidate to which the template of a model that nobody claims points. The error is the reason why it is none.
pub(super) fn select_unclaimed(model: &Evidence, candidates: &[ParserCandidate]) -> Result<Selected, String> {
    let all: Vec<usize> = (0..candidates.len()).collect();
    let best = most_pointed(model, candidates, &all);
    match &best[..] {
        [] => Err(format!(
            "no parser claims {}, and its chat template has no parser's markers of calls or reasoning",
            describe(model)
        )),
        [weight] => {
            let why = format!(
                "the chat template points to it: no parser claims {}, and of its markers the template has {}",
                describe(model),
                weight.in_template.join(" ")
            );
            Ok(Selected { index: weight.index, why, doubtful: false })
        }
        [weight, ..] => Err(format!(
            "no parser claims {}, and its chat template points to {} alike by {}",
            describe(model),
            best.iter().map(|weight| weight.name).collect::<Vec<_>>().join(" and "),
            weight.in_template.join(" ")
        )),
    }
}

/// Checks that the template points to no other parser than the claimants. One that declares no markers can't be contradicted.
fn check_claims(
    model: &Evidence,
    candidates: &[ParserCandidate],
    claimants: &[usize],
    others: &[usize],
) -> Result<(), SelectError> {
    if claimants.iter().any(|&index| candidates[index].descriptor.markers.is_empty()) {
        return Ok(());
    }
    let most = |indices: &[usize]| most_pointed(model, candidates, indices).into_iter().next();
    let (Some(&claimant), Some(other)) = (claimants.first(), most(others)) else { return Ok(()) };
    let claimed = most(claimants);
    if claimed.as_ref().is_some_and(|claimed| claimed.in_template.len() >= other.in_template.len()) {
        return Ok(());
    }
    Err(SelectError::Contradiction {
        model: describe(model),
        claimant: claimed.map_or(candidates[claimant].name, |claimed| claimed.name).to_owned(),
        other: other.name.to_owned(),
        markers: other.in_template.join(" "),
    })
}

/// The candidates to which the template points most, all of them if they are equal by all rules.
fn most_pointed<'a>(
    model: &Evidence,
    candidates: &[ParserCandidate<'a>],
    indices: &[usize],
) -> Vec<Weight<'a>> {
    let weight = |&index: &usize| {
        let Descriptor { markers, stops, .. } = candidates[index].descriptor;
        let points = |(index, marker): &(u32, &String)| {
            !stops.contains(index) && !model.plain.contains(marker.as_str())
        };
        let own: Vec<_> = (0..).zip(markers).filter(points).map(|(_, marker)| marker.as_str()).collect();
        Weight::of(model, index, &candidates[index], &own)
    };
    let mut weights: Vec<_> = indices.iter().map(weight).collect();
    weights.retain(|weight| !weight.in_template.is_empty());
    weights.sort_by_key(|weight| (weight.order(), weight.name));
    let best = weights.first().map(Weight::order);
    weights.retain(|weight| Some(weight.order()) == best);
    weights
}

/// Reason why a candidate wasn't chosen, in one line. `chosen` is the name of the choice.
pub(super) fn why_not(model: &Evidence, descriptor: &Descriptor, chosen: &str) -> String {
    if claims(model, descriptor) {
        return format!("{chosen} fits the chat template better");
    }
    format!("it claims {}, not {}", claimed(descriptor), describe(model))
}

/// Whether a parser claims the model.
pub(super) fn claims(model: &Evidence, descriptor: &Descriptor) -> bool {
    descriptor.models.iter().any(|name| model.types.contains(name))
}

fn sole(model: &Evidence, index: usize, candidate: &ParserCandidate) -> Selected {
    let markers = &candidate.descriptor.markers;
    let known = |marker: &String| model.template.contains(marker.as_str()) || model.tokens.contains(marker);
    let doubtful = !markers.is_empty() && !markers.iter().any(known);
    let mut why = format!("it claims {}", describe(model));
    if doubtful {
        why += ", though none of its markers is in the chat template or among the added tokens";
    }
    Selected { index, why, doubtful }
}

/// Counts of a claimant's markers, by which claimants are compared.
struct Weight<'a> {
    index: usize,
    name: &'a str,
    own: usize,
    in_template: Vec<&'a str>,
    tokens: usize,
}

impl<'a> Weight<'a> {
    fn of(model: &Evidence, index: usize, candidate: &ParserCandidate<'a>, own: &[&'a str]) -> Self {
        let in_template: Vec<_> =
            own.iter().copied().filter(|marker| model.template.contains(marker)).collect();
        let tokens = own.iter().filter(|marker| model.tokens.contains(**marker)).count();
        Self { index, name: candidate.name, own: own.len(), in_template, tokens }
    }

    fn order(&self) -> Reverse<(usize, Reverse<usize>, usize)> {
        let has = self.in_template.len();
        Reverse((has, Reverse(self.own - has), self.tokens))
    }

    fn describe(&self) -> String {
        let mut line = format!(
            "{} ({} of its {} own markers in the template, {} among the added tokens",
            self.name,
            self.in_template.len(),
            self.own,
            self.tokens
        );
        if let Some(marker) = self.in_template.first() {
            let _ = write!(line, ", e.g. {marker}");
        }
        line + ")"
    }
}

fn weigh(
    model: &Evidence,
    candidates: &[ParserCandidate],
    claimants: &[usize],
) -> Result<Selected, SelectError> {
    let shared = |marker: &String| {
        claimants.iter().all(|&index| candidates[index].descriptor.markers.contains(marker))
    };
    let weight = |&index: &usize| {
        let markers = candidates[index].descriptor.markers.iter();
        let own: Vec<_> = markers.filter(|marker| !shared(marker)).map(String::as_str).collect();
        Weight::of(model, index, &candidates[index], &own)
    };
    let mut weights: Vec<_> = claimants.iter().map(weight).collect();
    weights.sort_by_key(|weight| (weight.order(), weight.name));
    let claims = weights.iter().map(Weight::describe).collect::<Vec<_>>().join(", ");
    let best = weights.iter().filter(|weight| weight.order() == weights[0].order());
    let best: Vec<_> = best.map(|weight| weight.name).collect();
    if let [name] = best[..] {
        let why = format!("several parsers claim {}: {claims}; so {name}", describe(model));
        return Ok(Selected { index: weights[0].index, why, doubtful: false });
    }
    let commands = best.iter().map(|name| format!("--parser {name}")).collect::<Vec<_>>().join(" or ");
    Err(SelectError::Tie { model: describe(model), claims, commands })
}

/// Describes the model's types, as in `model_type qwen3 (Qwen3ForCausalLM)`.
fn describe(model: &Evidence) -> String {
    match model.types {
        [] => "a model without model_type".to_owned(),
        [model_type] => format!("model_type {model_type}"),
        [model_type, architectures @ ..] => format!("model_type {model_type} ({})", architectures.join(", ")),
    }
}

/// The first few models that a descriptor claims.
fn claimed(descriptor: &Descriptor) -> String {
    let models = &descriptor.models;
    if models.is_empty() {
        return "no model".to_owned();
    }
    let more = if models.len() > 8 { ", …" } else { "" };
    models.iter().take(8).map(String::as_str).collect::<Vec<_>>().join(", ") + more
}

#[cfg(test)]
mod tests;
