//! The middle of the server: markers in the text, parser ops over held bytes, ordered items out. Knows no protocol and no engine.
//!
//! A token's way: [`Turn::step`] → `markers` (text or marker?) → `stream` (asks the parser) → `router` (ops over `held` bytes,
//! `dropped` markup, `tokens` counted) → `items` and `call` (open, fill, close) → [`TurnEvent`] → [`StopStrings`].

mod call;
mod driver;
mod dropped;
mod escape;
mod event;
mod fold;
mod held;
mod illegal;
mod items;
mod markers;
mod router;
mod settings;
mod stop;
mod stream;
mod tokens;

#[cfg(test)]
mod tests;

pub use driver::{Flow, Turn};
pub use event::{ItemHead, ItemStatus, TurnEnd, TurnEvent, TurnFailure, Usage};
pub use fold::{FoldError, Item, fold};
pub use markers::{MarkerError, MarkerTable, Piece};
pub use settings::{CallIds, FaultPolicy, TurnSettings, random_call_id};
pub use stop::StopStrings;
pub use tokens::TokenCounts;
