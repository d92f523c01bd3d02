//! The middle of the server: markers in the text, parser ops over held bytes, ordered items out. Knows no protocol and no engine.

mod event;

pub use event::{ItemHead, ItemStatus, TurnEnd, TurnEvent, TurnFailure, Usage};
