//! Calls whose parameters are written one by one as text (Qwen3-Coder, GLM): [`CallReader`] reads a
//! call from its first parameter on, [`ArgumentsWriter`] routes the values, which the host types
//! and writes. [`Calls`] joins them for the whole stream.

mod arguments;
mod attributes;
mod blocks;
mod call_reader;
mod calls;
mod doubt;
mod mark;
mod tag;

pub use arguments::ArgumentsWriter;
pub use blocks::{BlockFormat, Blocks, Message, Part};
pub use call_reader::CallReader;
pub use calls::Calls;
pub use doubt::Doubt;
pub use mark::{CallMark, CallProgress, Key, Style, unquoted};
pub use tag::{Tag, Tagged};
