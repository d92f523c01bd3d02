//! What the façade for embedders makes of an output, and how items compare.

use contract::{FinishReason, Request};
use turn::{FoldedItem, ItemHead, ItemStatus, TurnEvents, fold};

use super::tokens::{Token, Tokens};
use reader::{Reader, Tokenizer};

/// What a reader of events sees: prose that nothing separates is one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Seen {
    /// Reasoning.
    Reasoning(String),
    /// Text for the user.
    Text(String),
    /// A call.
    Call {
        /// Name of the tool.
        name: String,
        /// The arguments, to the byte.
        arguments: String,
        /// Whether it is whole.
        complete: bool,
    },
}

/// Appends what is seen, and joins prose.
pub fn push(seen: &mut Vec<Seen>, next: Seen) {
    match (seen.last_mut(), next) {
        (_, Seen::Reasoning(text) | Seen::Text(text)) if text.is_empty() => {}
        (Some(Seen::Reasoning(last)), Seen::Reasoning(text)) | (Some(Seen::Text(last)), Seen::Text(text)) => {
            last.push_str(&text);
        }
        (_, next) => seen.push(next),
    }
}

/// Reads an output with the façade, whole: by its tokens, or as text.
///
/// # Panics
/// It can't be read.
pub fn read(
    reader: &Reader,
    request: &Request,
    opening: &str,
    output: &[Token],
    tokens: Option<&Tokens>,
    reason: FinishReason,
) -> Vec<Seen> {
    let token_id = |literal: &str| tokens?.token_id(literal);
    let bound = reader.plugin().bind(token_id).expect("markers");
    let mut stream = bound.start(request, opening).expect("a stream");
    let mut events = TurnEvents::default();
    if tokens.is_some() {
        for token in output {
            let pushed = stream.push(&token.text, &[token.id], None).expect("one token");
            events.extend(pushed.iter().cloned());
        }
    } else {
        let text: String = output.iter().map(|token| &*token.text).collect();
        events.extend(stream.push(&text, &[], None).expect("text").iter().cloned());
    }
    let (last, _) = stream.finish(reason, None);
    events.extend(last.iter().cloned());
    assert_eq!(stream.turn().fault(), None);
    let mut seen = Vec::new();
    for item in fold(events).expect("well-formed events") {
        push(&mut seen, item.into());
    }
    seen
}

impl From<FoldedItem> for Seen {
    fn from(item: FoldedItem) -> Self {
        match item.head {
            ItemHead::Reasoning => Self::Reasoning(item.text),
            ItemHead::Message { .. } => Self::Text(item.text),
            ItemHead::ToolCall { name, .. } => {
                Self::Call { name, arguments: item.text, complete: item.status == ItemStatus::Completed }
            }
        }
    }
}
