//! GGUF files (llama.cpp's, versions 2 and 3) as model directories in Hugging Face's layout: small
//! files ([`Gguf::file`]) as that layout would have them, and for each tensor of that layout, where
//! the file has it ([`TensorNames`]).
//!
//! Invariant: nothing in a file is trusted. Numbers, lengths and offsets are checked against the
//! bytes that are left before they are used, no memory is allocated for what a file only claims,
//! and what is wrong is an error of one line. Knows no engine, no tokenizer library and no file
//! system; the engine's loader maps files and calls this.
#![doc = include_str!("../DESIGN.md")]

mod config;
mod cursor;
mod error;
mod files;
mod header;
mod keys;
mod model;
mod names;
mod tensor_type;
mod tokenizer;
mod value;

pub use error::GgufError;
pub use header::{MAGIC, TensorInfo};
pub use model::{FilePart, Gguf, MOST_PARTS, part_count};
pub use names::{RowOrder, Source, TensorNames};

pub use tensor_type::TensorType;
pub use tokenizer::KIMI_PATTERN;
