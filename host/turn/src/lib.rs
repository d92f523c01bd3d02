//! Turns: finds markers in the text, applies the parser's ops to the held bytes, and makes ordered
//! items. Knows no protocol and no engine.
//!
//! Path of a token: [`Turn::step`] → `markers` (text or marker?) → `stream` (asks the parser) →
//! `router` (ops over held bytes) → `ledger` (dropped markup, `tokens` counted) → `items` and
//! `call` (open, fill, close) → `early_end` → [`TurnEvent`]. If the parser has given the route of
//! text in advance, `stream` passes the text straight to the `ledger`.

mod binding;
mod call;
mod call_ids;
mod draft;
mod driver;
mod early_end;
mod event;
mod events;
mod failure;
mod fold;
mod items;
mod ledger;
mod markers;
mod one_call;
mod open_json;
#[cfg(any(test, feature = "oracles"))]
#[doc(hidden)]
pub mod oracle;
mod preset;
mod prose;
mod router;
mod settings;
mod step_error;
mod stop;
mod stream;
mod tokens;
pub mod values;

#[cfg(test)]
mod tests;

pub use binding::Binding;
pub use call_ids::{CallIds, NewCall, counted_call_ids, spell_call_id};
pub use driver::Turn;
pub use event::{
    Delta, DeltaToken, Flow, ItemHead, ItemStatus, Phase, Routed, TokenLogprob, TokenLogprobs, TurnEnd,
    TurnEvent, TurnFailure, Usage,
};
pub use events::TurnEvents;
pub use fold::{FoldError, FoldedItem, fold};
pub use markers::{MarkerError, MarkerTable, TokenText};
pub use preset::{HoldRule, PresetRoute};
pub use settings::{AllowedCalls, DraftCalls, FaultPolicy, TurnSettings};
pub use step_error::StepError;
pub use stop::{StopPatterns, StopStrings};
pub use stream::{ASKED_BYTES, ByteCounts, asked_parts};
pub use tokens::TokenCounts;
