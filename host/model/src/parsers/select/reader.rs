//! Choice by trial: which parser it is once it is known who reads a call as the chat template
//! writes it. Called by the loader.

use super::{Evidence, ParserCandidate, SelectError, Selected, claims, describe, pointed};
use net::printable::{Escaped, shortened};
use prompt::CallingTurn;

/// Most bytes of a template's text in a message.
const EXCERPT_BYTES: usize = 160;

/// Candidates to try on the template's turns, the likeliest first, those that are alike in one
/// group. `but` is left out.
pub(in crate::parsers) fn to_try(
    model: &Evidence,
    candidates: &[ParserCandidate],
    but: Option<usize>,
) -> Vec<Vec<usize>> {
    let others: Vec<usize> = (0..candidates.len()).filter(|&index| Some(index) != but).collect();
    let groups = pointed(model, candidates, &others);
    groups.iter().map(|group| group.iter().map(|weight| weight.index).collect()).collect()
}

/// Chooses for a model whose template writes calls: `read_by` are the candidates that read them
/// best.
///
/// # Errors
/// The reason why it is none of them.
pub(in crate::parsers) fn select_reader(
    model: &Evidence,
    candidates: &[ParserCandidate],
    read_by: &[usize],
) -> Result<Selected, String> {
    let why = |sign: &str| format!("no parser claims {}, and {sign}: {}", describe(model), excerpt(model));
    match read_by {
        [] => Err(why("none reads a call as its chat template writes it")),
        &[index] => Ok(Selected {
            index,
            why: why("it reads a call as the model's chat template writes it"),
            doubtful: false,
        }),
        [..] => {
            let names: Vec<_> = read_by.iter().map(|&index| candidates[index].name).collect();
            Err(why(&format!("{} read a call as its chat template writes it alike", names.join(" and "))))
        }
    }
}

/// Chooses for a model whose claimant `claimed` doesn't read a call as the template writes it:
/// `read_by` are the others that do.
///
/// # Errors
/// None of those that do claims the model.
pub(in crate::parsers) fn select_instead(
    model: &Evidence,
    candidates: &[ParserCandidate],
    claimed: &Selected,
    read_by: &[usize],
) -> Result<Selected, SelectError> {
    let read_call = "read a call as the chat template writes it";
    if let Some(&index) = read_by.iter().find(|&&index| claims(model, candidates[index].descriptor)) {
        let why =
            format!("of the parsers that claim {}, it can {read_call}: {}", describe(model), excerpt(model));
        return Ok(Selected { index, why, doubtful: false });
    }
    let Some(&other) = read_by.first() else {
        let why = format!("{}, though it doesn't {read_call}: {}", claimed.why, excerpt(model));
        return Ok(Selected { index: claimed.index, why, doubtful: true });
    };
    let other = candidates[other].name.to_owned();
    Err(SelectError::Contradiction {
        model: describe(model),
        claimant: candidates[claimed.index].name.to_owned(),
        sign: format!("writes calls as {other} reads them ({})", excerpt(model)),
        other,
    })
}

/// Adds to a choice that the parser reads `read` of the template's turns: a call, but perhaps not
/// with reasoning before it.
pub(in crate::parsers) fn with_doubt(model: &Evidence, chosen: Selected, read: usize) -> Selected {
    if read >= model.turns.len() {
        return Selected { doubtful: false, ..chosen };
    }
    let why = format!("{}, though {}", chosen.why, misread_reasoning(model));
    Selected { why, doubtful: true, ..chosen }
}

/// Says that a parser doesn't read a call as the template writes it, and which others do.
pub(in crate::parsers) fn misread(model: &Evidence, others: &[String]) -> String {
    let others = if others.is_empty() { String::new() } else { format!(", as {} can", others.join(" or ")) };
    format!("it doesn't read a call as the chat template writes it{others}: {}", excerpt(model))
}

/// Says that a parser reads a call, but not with reasoning before it.
pub(in crate::parsers) fn misread_reasoning(model: &Evidence) -> String {
    let turn = model.turns.last().map(in_one_line).unwrap_or_default();
    format!("it doesn't read a turn with reasoning: {turn}")
}

/// What the template writes for a call, in one line.
fn excerpt(model: &Evidence) -> String {
    model.turns.first().map(in_one_line).unwrap_or_default()
}

fn in_one_line(turn: &CallingTurn) -> String {
    let written = turn.written.trim().replace('\n', "\\n");
    shortened(Escaped(written).to_string(), EXCERPT_BYTES)
}
