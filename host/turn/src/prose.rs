//! An open message or reasoning item, and the white space at the ends of its text. `items` owns it.

use super::event::DeltaToken;
use super::event::{ItemHead, Phase};
use contract::Route;

/// An open message or reasoning item.
#[derive(Debug, Clone, Copy)]
pub(super) struct Prose {
    pub(super) kind: ProseKind,
    /// Whether it has text that isn't trimmed, perhaps in the prompt.
    pub(super) begun: bool,
    /// Whether its `Open` event was written.
    pub(super) announced: bool,
}

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

    /// Whether `text` continues the announced item, with no white space at its end to hold back.
    #[inline]
    pub(super) fn continues(self, route: Route, text: &str) -> bool {
        let own = match self.kind {
            ProseKind::Reasoning => Route::Reasoning,
            ProseKind::Message(_) => Route::Content,
        };
        self.announced && route == own && ends_visibly(text)
    }
}

/// Trims white space at the front of `text`, removes the tokens that lie in it, and moves the
/// others' offsets.
pub(super) fn trim_start<'a>(text: &'a str, tokens: &mut Vec<DeltaToken>) -> &'a str {
    let trimmed = text.trim_start();
    let white = text.len() - trimmed.len();
    if white > 0 {
        tokens.retain(|token| token.offset + token.logprobs.chosen.bytes.len() > white);
        for token in tokens {
            token.offset = token.offset.saturating_sub(white);
        }
    }
    trimmed
}

pub(super) fn trim_end(text: &str) -> &str {
    if ends_visibly(text) { text } else { text.trim_end() }
}

/// Whether the last character is visible, as most are. False for all characters beyond ASCII, which
/// aren't looked at.
#[inline]
fn ends_visibly(text: &str) -> bool {
    text.as_bytes().last().is_some_and(u8::is_ascii_graphic)
}
