//! JSON as it arrives, byte by byte: [`Scanner`] finds the members of an object, [`Unescape`] decodes the inside of a string,
//! [`Call`] routes a call that is one JSON object, [`Body`] arguments that stand alone, [`Object`] those that end by themselves, [`Calls`]
//! what stands between the markers of calls; [`Bare`] decides whether an object without markup is a call.
//!
//! All do constant work per byte, keep no text but a short string, and can be cut anywhere.

mod bare;
mod body;
mod call;
mod calls;
mod fence;
mod input;
mod keys;
mod object;
mod quoted;
mod scanner;
mod unescape;

pub use bare::{Bare, Name, Verdict};
pub use body::Body;
pub use call::{Call, Progress};
pub use calls::Calls;
pub use object::Object;
pub use scanner::{Event, Scanner};
pub use unescape::{Unescape, unescape};

/// A whole JSON text as a value. All of a component that reads one calls this, so that it holds one such reader.
///
/// # Errors
/// It is no JSON: what is wrong, and where.
pub fn value(text: &str) -> serde_json::Result<serde_json::Value> {
    serde_json::from_str(text)
}
