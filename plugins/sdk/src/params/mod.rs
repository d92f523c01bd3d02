//! Calls whose parameters are written one by one as text, each typed by the tool's JSON schema (Qwen3-Coder, GLM):
//! [`Schemas`] has each parameter's types, [`CallReader`] reads a call from its first parameter on, [`ArgumentsWriter`] writes the JSON.
//! [`Calls`] joins them for the whole stream.
//!
//! Invariant: the arguments written so far are a prefix of the call's final JSON, whatever the model writes. A value that is a string
//! goes out as it comes; one that may be something else waits until that is excluded, or for its end.
//!
//! A value is tried as each type that the schema allows, in this order: null, integer, number, boolean, object, array, string.
//! See [`coerce`](fn@coerce).

mod arguments;
mod blocks;
mod call_reader;
mod calls;
mod coerce;
mod doubt;
mod mark;
mod schema;
mod schemas;
mod tag;
mod types;

pub use arguments::ArgumentsWriter;
pub use blocks::{Blocks, Format, Message, Part};
pub use call_reader::CallReader;
pub use calls::Calls;
pub use coerce::{Coerced, coerce};
pub use doubt::Doubt;
pub use mark::{Key, Mark, Progress, Reading, Style, unquoted};
pub use schema::Schema;
pub use schemas::Schemas;
pub use tag::{Tag, Tagged};
pub use types::Types;
