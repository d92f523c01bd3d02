//! Failures of turns as clients see them: no addresses, paths or prompt text. `stream` and `items`
//! choose between them.

use super::event::TurnFailure;

/// Maximum number of characters of a parser's own words, or of a tool's name, that a message
/// quotes.
const QUOTED: usize = 200;

/// Failure of a turn whose parser failed; `what` says at which place.
pub(super) fn parser(name: &str, what: &str) -> TurnFailure {
    server(format!("The server's output parser {name} failed {what}. Send the request again."))
}

/// Failure of a turn whose bytes were lost or settled twice.
pub(super) fn unbalanced() -> TurnFailure {
    server("The server lost or doubled a part of this answer. Send the request again.".to_owned())
}

/// Failure of a turn with a call that nobody can run: the code makes agents retry. `call` is its
/// name, and whether its arguments are something else than a JSON object; `None` if the call broke
/// off before its name.
pub(super) fn broken_call(call: Option<(&str, bool)>) -> TurnFailure {
    let what = match call.map(|(name, is_foreign)| (quoted(name), is_foreign)) {
        Some((name, false)) => format!("a call of {name:?}: its arguments are incomplete"),
        Some((name, true)) => format!("a call of {name:?}: its arguments are no JSON object"),
        None => String::from("a call before the tool's name"),
    };
    TurnFailure {
        code: "model_error",
        message: format!("The model broke off {what}. Send the request again."),
    }
}

fn server(message: String) -> TurnFailure {
    TurnFailure { code: "server_error", message }
}

/// The first line of `words`, cut to the length that a message may quote.
pub(super) fn quoted(words: &str) -> String {
    words.lines().next().unwrap_or_default().chars().take(QUOTED).collect()
}
