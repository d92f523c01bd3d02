//! An open message or reasoning item, and the white space at the ends of its text. `items` owns it.

use super::delta::DeltaToken;
use super::event::ItemHead;
use crate::parser::contract::{Phase, Route};

/// An open message or reasoning item.
#[derive(Debug, Clone, Copy)]
pub(super) struct Prose {
    pub(super) kind: ProseKind,
    /// It has visible text, perhaps in the prompt.
    pub(super) begun: bool,
    /// The client knows of it.
    pub(super) announced: bool,
}

/// What it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ProseKind {
    Reasoning,
    Message(Phase),
}

impl Prose {
    pub(super) fn new(kind: ProseKind) -> Self {
        Self { kind, begun: false, announced: false }
    }

    pub(super) fn head(self) -> ItemHead {
        match self.kind {
            ProseKind::Reasoning => ItemHead::Reasoning,
            ProseKind::Message(phase) => ItemHead::Message { phase },
        }
    }

    /// Whether `text` is more of what the client knows of, with nothing at its end to wait.
    #[inline]
    pub(super) fn goes_on(self, route: Route, text: &str) -> bool {
        let own = match self.kind {
            ProseKind::Reasoning => Route::Reasoning,
            ProseKind::Message(_) => Route::Content,
        };
        self.announced && route == own && ends_visibly(text)
    }
}

/// Takes white space off the front, and the tokens that are nothing else.
pub(super) fn trim_start<'a>(text: &'a str, tokens: &mut Vec<DeltaToken>) -> &'a str {
    let trimmed = text.trim_start();
    let white = text.len() - trimmed.len();
    if white > 0 {
        tokens.retain(|token| token.at + token.logprobs.chosen.bytes.len() > white);
        for token in tokens {
            token.at = token.at.saturating_sub(white);
        }
    }
    trimmed
}

/// Takes white space off the end.
pub(super) fn trim_end(text: &str) -> &str {
    if ends_visibly(text) { text } else { text.trim_end() }
}

/// Whether the last character is a visible one, as most are. Those beyond ASCII aren't looked at.
#[inline]
fn ends_visibly(text: &str) -> bool {
    text.as_bytes().last().is_some_and(u8::is_ascii_graphic)
}
