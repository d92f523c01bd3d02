//! Choice of `--parser auto` among the plugins. A pure function of descriptors and model files.
//!
//! A plugin claims a model by naming its `model_type` or architecture. A type alone doesn't decide:
//! models of many formats are `llama`. The model's own chat template does: it shows the model how
//! to write, so it has the right parser's markers. Where several parsers claim a model (Qwen3 and
//! Qwen3-Coder are both `qwen3_moe`), markers that all of them declare make no difference and are
//! left out. The others decide, in this order:
//! 1. the parser with more of its own markers in the template;
//! 2. the parser with fewer of them missing in the template;
//! 3. the parser with more of them among the tokenizer's added tokens.
//!
//! Where the template writes calls, the loader then tries the parsers on a turn with a call as the
//! template writes it (`trial.rs`): a claimant has to read it, and of a model that no parser claims
//! the parser is the one that does. Markers say only which parsers are likely, in which order.
//!
//! Where the template writes no calls, its source has to do: for a model that no parser claims the
//! same order decides among the parsers that it points to by markers of calls and reasoning, which
//! neither end a turn nor stand in a conversation without tools.
//!
//! There is no guess beyond that. A tie between claimants is an error, and so is a template that
//! fits another parser than those that claim the model. A model that no parser claims and whose
//! template fits none, or several alike, gets none.

use std::collections::HashSet;

use contract::Descriptor;
use prompt::CallingTurn;

mod reader;
mod weight;
pub(super) use reader::{misread, misread_reasoning, select_instead, select_reader, to_try, with_doubt};
use weight::Weight;

/// Facts from a model's files that decide the choice.
pub(super) struct Evidence<'a> {
    /// The model's `model_type` and architectures.
    pub(super) types: &'a [String],
    /// Source of the chat templates.
    pub(super) template: &'a str,
    /// A conversation without tools as the template writes it; empty if it takes none.
    pub(super) plain: &'a str,
    /// Turns with a call as the template writes them; none if it writes no calls.
    pub(super) turns: &'a [CallingTurn],
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
    /// Whether the template shows none of this parser's format.
    pub(super) doubtful: bool,
}

/// Error of a choice that isn't possible.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SelectError {
    /// The chat template fits another parser than the one that claims the model.
    #[error(
        "{claimant} claims {model}, but the chat template {sign}: choose with --parser {other} or --parser {claimant}"
    )]
    Contradiction {
        /// Types of the model, for people.
        model: String,
        /// The parser that claims the model.
        claimant: String,
        /// The parser that the template fits.
        other: String,
        /// What in the template shows that.
        sign: String,
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
    if model.turns.is_empty() {
        check_claims(model, candidates, &claimants, &others)?;
    }
    match claimants[..] {
        [] => Ok(None),
        [index] => Ok(Some(sole(model, index, &candidates[index]))),
        _ => weigh(model, candidates, &claimants).map(Some),
    }
}

/// Chooses the candidate to which the template of a model that nobody claims points. The error is
/// the reason why it is none.
pub(super) fn select_unclaimed(model: &Evidence, candidates: &[ParserCandidate]) -> Result<Selected, String> {
    let all: Vec<usize> = (0..candidates.len()).collect();
    let groups = pointed(model, candidates, &all);
    let best = groups.first().map(Vec::as_slice).unwrap_or_default();
    let why = |sign: &str| format!("no parser claims {}, and its chat template {sign}", describe(model));
    match best {
        [] => Err(why("has no parser's markers of calls or reasoning")),
        [weight] => {
            let others = || (0..candidates.len()).filter(|&index| index != weight.index);
            let is_shared = |marker: &&str| {
                others().any(|index| candidates[index].descriptor.markers.iter().any(|other| other == marker))
            };
            let doubtful = weight.in_template.iter().all(is_shared);
            let mut why = format!(
                "the chat template points to it: no parser claims {}, and of its markers the template has {}",
                describe(model),
                weight.in_template.join(" ")
            );
            if doubtful {
                why += ", which other parsers have, too; the template writes no call that could tell";
            }
            Ok(Selected { index: weight.index, why, doubtful })
        }
        [weight, ..] => {
            let names: Vec<_> = best.iter().map(|weight| weight.name).collect();
            Err(why(&format!("points to {} alike by {}", names.join(" and "), weight.in_template.join(" "))))
        }
    }
}

/// Checks that the template points to no other parser than the claimants. One that declares no
/// markers can't be contradicted.
fn check_claims(
    model: &Evidence,
    candidates: &[ParserCandidate],
    claimants: &[usize],
    others: &[usize],
) -> Result<(), SelectError> {
    if claimants.iter().any(|&index| candidates[index].descriptor.markers.is_empty()) {
        return Ok(());
    }
    let most = |indices: &[usize]| pointed(model, candidates, indices).into_iter().flatten().next();
    let (Some(&claimant), Some(other)) = (claimants.first(), most(others)) else { return Ok(()) };
    let claimed = most(claimants);
    if claimed.as_ref().is_some_and(|claimed| claimed.in_template.len() >= other.in_template.len()) {
        return Ok(());
    }
    Err(SelectError::Contradiction {
        model: describe(model),
        claimant: claimed.map_or(candidates[claimant].name, |claimed| claimed.name).to_owned(),
        other: other.name.to_owned(),
        sign: format!("has the markers of {} ({})", other.name, other.in_template.join(" ")),
    })
}

/// The candidates to which the template points, the most likely first, those that are equal by all
/// rules in one group.
fn pointed<'a>(
    model: &Evidence,
    candidates: &[ParserCandidate<'a>],
    indices: &[usize],
) -> Vec<Vec<Weight<'a>>> {
    let has_turns = !model.turns.is_empty();
    let weight = |&index: &usize| {
        let Descriptor { markers, stops, .. } = candidates[index].descriptor;
        let points = |(index, marker): &(u32, &String)| {
            has_turns || (!stops.contains(index) && !model.plain.contains(marker.as_str()))
        };
        let own: Vec<_> = (0..).zip(markers).filter(points).map(|(_, marker)| marker.as_str()).collect();
        Weight::of(model, index, &candidates[index], &own)
    };
    let mut weights: Vec<_> = indices.iter().map(weight).collect();
    weights.retain(|weight| !weight.in_template.is_empty() || weight.in_turns > 0);
    weights.sort_by_key(|weight| (weight.order(), weight.name));
    let mut groups: Vec<Vec<Weight>> = Vec::new();
    for weight in weights {
        match groups.last_mut() {
            Some(group) if group[0].order() == weight.order() => group.push(weight),
            _ => groups.push(vec![weight]),
        }
    }
    groups
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
    let doubtful = is_doubtful(model, candidate.descriptor);
    let mut why = format!("it claims {}", describe(model));
    if doubtful {
        why += ", though the chat template has none of its markers";
    }
    Selected { index, why, doubtful }
}

/// Whether the template writes none of a parser's markers. The tokenizer's tokens don't count: a
/// family's models all have them.
fn is_doubtful(model: &Evidence, Descriptor { markers, .. }: &Descriptor) -> bool {
    let shows =
        |marker: &String| model.template.contains(marker.as_str()) || model.plain.contains(marker.as_str());
    !markers.is_empty() && !markers.iter().any(shows)
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
        let index = weights[0].index;
        return Ok(Selected { index, why, doubtful: is_doubtful(model, candidates[index].descriptor) });
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
