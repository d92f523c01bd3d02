//! Parsers of Sluice behind the trait `UnifiedParser` of `dynamo-parsers-v2`: a component in its
//! sandbox reads a model's output, in any program that reads with that crate.
//!
//! [`register`] makes a parser that of a family, as the crate's own ones are; [`DynamoParser`] is
//! one stream's.

mod detokenizer;
mod events;
mod families;
mod fed;
mod parser;
mod reading;

pub use families::{NoRoom, register};
pub use parser::DynamoParser;
pub use reader::{Reader, ReaderError, Tokenizer};
