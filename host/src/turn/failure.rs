//! What clients are told of a turn that failed: no addresses, paths or prompt text. `stream` says which.

use super::event::TurnFailure;

/// Characters of a parser's own words, or of a tool's name, that a message quotes.
const QUOTED: usize = 200;

/// The parser failed where `what` says.
pub(super) fn parser(name: &str, what: &str) -> TurnFailure {
    server(format!("The server's output parser {name} failed {what}. Send the request again."))
}

/// Bytes went missing, or went twice.
pub(super) fn unbalanced() -> TurnFailure {
    server("The server lost or doubled a part of this answer. Send the request again.".to_owned())
}

/// The model stopped, and left a call behind that nobody can run: agents are to retry.
pub(super) fn broken_call(name: Option<&str>) -> TurnFailure {
    let what = match name.map(quoted) {
        Some(name) => format!("a call of {name:?}: its arguments are incomplete"),
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

/// The first line of somebody else's words, cut to what a message may quote.
pub(super) fn quoted(words: &str) -> String {
    words.lines().next().unwrap_or_default().chars().take(QUOTED).collect()
}
