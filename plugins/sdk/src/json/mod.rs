//! JSON read as it arrives, byte by byte: [`Scanner`] finds the members of an object, [`Call`]
//! routes a call that is one JSON object, [`ArgumentsText`] routes arguments that stand alone,
//! [`Object`] routes arguments that end without a marker, [`JsonCalls`] routes all between the
//! markers of calls; [`Bare`] decides whether an object without markup is a call.
//!
//! Each does constant work per byte, keeps no text but one short string, and accepts text cut at
//! any byte.

mod arguments_text;
mod bare;
mod call;
mod calls;
mod fence;
mod input;
mod keys;
mod object;
mod quoted;
mod scanner;

pub use arguments_text::ArgumentsText;
pub use bare::{Bare, Name, Verdict};
pub use call::{Call, Progress};
pub use calls::JsonCalls;
pub use contract::json_text::{escape, unescape, white};
pub use fence::surplus;
pub use object::Object;
pub use scanner::{Event, Scanner};
