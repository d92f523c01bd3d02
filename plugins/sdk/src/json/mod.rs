//! JSON as it arrives, byte by byte: [`Scanner`] finds the members of an object, [`Unescape`] decodes the inside of a string,
//! [`Call`] routes a call that is one JSON object.
//!
//! All do constant work per byte, keep no text but a short string, and can be cut anywhere.

mod call;
mod scanner;
mod unescape;

pub use call::{Call, Progress};
pub use scanner::{Event, Scanner};
pub use unescape::{Unescape, unescape};
