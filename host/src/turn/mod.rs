//! Turns: finds markers in the text, applies the parser's ops to the held bytes, and makes ordered items. Knows no protocol and no engine.
//!
//! Path of a token: [`Turn::step`] → `markers` (text or marker?) → `stream` (asks the parser) → `router` (ops over `held` bytes)
//! → `ledger` (`dropped` markup, `tokens` counted) → `items` and `call` (open, fill, close) → [`TurnEvent`] → [`StopStrings`]. If
//! the parser has given the route of text in advance, `stream` passes the text straight to the `ledger`.

mod call;
mod delta;
mod driver;
mod dropped;
mod escape;
mod event;
mod events;
mod failure;
mod flow;
mod fold;
mod held;
mod illegal;
mod items;
mod ledger;
mod markers;
mod one_call;
mod open_json;
#[cfg(any(test, feature = "oracles"))]
#[doc(hidden)]
pub mod oracle;
mod prose;
mod router;
mod settings;
mod stop;
mod stream;
mod tokens;
mod until;

#[cfg(test)]
mod tests;

pub use delta::{Delta, DeltaToken, TokenLogprob, TokenLogprobs};
pub use driver::Turn;
pub use event::{ItemHead, ItemStatus, TurnEnd, TurnEvent, TurnFailure, Usage};
pub use events::TurnEvents;
pub use flow::Flow;
pub use fold::{FoldError, Item, fold};
pub(crate) use illegal::Illegal;
pub use markers::{MarkerError, MarkerTable, TokenText};
pub use one_call::OneCall;
pub use settings::{CallIds, FaultPolicy, TurnSettings, random_call_id};
pub use stop::{StopPatterns, StopStrings};
pub use stream::ByteCounts;
pub use tokens::TokenCounts;
pub(crate) use until::Until;
