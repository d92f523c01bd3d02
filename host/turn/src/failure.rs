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

/// A call whose arguments can't be used.
#[derive(Clone, Copy)]
pub(super) struct BrokenCall<'a> {
    pub(super) name: &'a str,
    /// Whether they are something else than a JSON object.
    pub(super) is_foreign: bool,
}

/// Failure of a turn with a call that nobody can run: the code makes agents retry. `call` is
/// `None` if the call broke off before its name.
pub(super) fn broken_call(call: Option<BrokenCall<'_>>) -> TurnFailure {
    let what = match call {
        Some(BrokenCall { name, is_foreign }) => {
            let are = if is_foreign { "no JSON object" } else { "incomplete" };
            format!("a call of {:?}: its arguments are {are}", quoted(name))
        }
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
