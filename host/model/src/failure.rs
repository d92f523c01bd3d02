//! Failures of answers that an engine ended with an error, as clients see them. `generate` makes
//! them.

use engine::{GenerationError, MaskError, PlayedMismatch};

use super::text::StreamText;
use turn::TurnFailure;

/// Characters of a replayed output that a message quotes.
const QUOTED: usize = 40;

/// The failure of an answer whose engine failed.
pub(super) fn of_engine() -> TurnFailure {
    TurnFailure {
        code: "server_error",
        message: "The engine failed while it generated this answer; try again.".to_owned(),
    }
}

/// The failure of an answer whose request is at fault, or the replay file; `None`: the engine
/// failed. `text` is that of the answer.
pub(super) fn of(error: &GenerationError, text: &StreamText) -> Option<TurnFailure> {
    match error {
        GenerationError::Mask(error) => of_mask(error),
        GenerationError::Mismatch(mismatch) => Some(of_replay(mismatch, text)),
        _ => None,
    }
}

/// The failure of an answer whose schema or grammar can't be satisfied, or exceeded a limit. It is
/// the request's fault, so sending it again fails again.
fn of_mask(error: &MaskError) -> Option<TurnFailure> {
    let simpler = "Send a simpler one: fewer alternatives and optional properties at one place, shorter patterns and repetitions.";
    let (code, what, remedy) = match error {
        MaskError::TooComplex(bound) => {
            (TurnFailure::CONSTRAINT_TOO_COMPLEX, format!("grew too complex to follow ({bound})"), simpler)
        }
        MaskError::TooSlow { tokens, .. } => {
            (TurnFailure::CONSTRAINT_TOO_SLOW, format!("took too long to follow, at token {tokens}"), simpler)
        }
        MaskError::Unsatisfiable => (
            TurnFailure::CONSTRAINT_UNSATISFIABLE,
            "allows no text here".to_owned(),
            "It has references that lead to nothing but themselves, or conditions that exclude each other.",
        ),
        MaskError::NoMemory => return Some(no_grammar_memory()),
        MaskError::Refused(_) | MaskError::Failed(_) | MaskError::Panicked(_) => return None,
    };
    let message = format!("The schema or grammar that this answer has to satisfy {what}. {remedy}");
    Some(TurnFailure { code, message })
}

/// The failure of an answer whose grammar gave way to others: sent again, it finds memory.
fn no_grammar_memory() -> TurnFailure {
    TurnFailure {
        code: "rate_limit_exceeded",
        message: "The schemas and grammars of all answers take more memory than the server has for them. Please try again in 1s."
            .to_owned(),
    }
}

/// The failure of a replayed answer that isn't what the request demands. The same request fails
/// again, whichever side is wrong.
fn of_replay(
    PlayedMismatch { before, token, is_complete }: &PlayedMismatch,
    text: &StreamText,
) -> TurnFailure {
    let written = text.of(before);
    let place = format!("token {} (byte {}), behind {:?}", before.len(), written.len(), last(&written));
    let what = match token {
        Some(id) if *is_complete => {
            format!("goes on with {:?} where it is complete, at {place}", text.of(&[*id]))
        }
        Some(id) => format!("has {:?}, which isn't allowed there, at {place}", text.of(&[*id])),
        None => format!("ends before it is complete, at {place}"),
    };
    TurnFailure {
        code: TurnFailure::REPLAY_MISMATCH,
        message: format!(
            "The replayed output isn't what the request demands of its answer: it {what}. Change the replay file's rule, or the request."
        ),
    }
}

/// The end of a text, of at most [`QUOTED`] characters.
fn last(text: &str) -> &str {
    text.char_indices().nth_back(QUOTED - 1).map_or(text, |(at, _)| &text[at..])
}
