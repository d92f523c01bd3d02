//! Parsers of Sluice behind the trait `Parser` of `smg-symphony`: a component in its sandbox reads
//! a model's output, in any program that reads with that crate. Every byte of the output is in
//! exactly one event.

mod events;
mod hidden;
mod parser;
mod pending;
mod reading;

pub use parser::SymphonyParser;
pub use reader::{Reader, ReaderError, Tokenizer};
