//! Prompts: model directories, templates, tokenizers, detokenizers.

#![allow(clippy::unwrap_used, reason = "a test may panic, its functions too")]

mod arguments;
mod authors;
mod calling;
mod common;
mod content;
mod detokenizer;
mod efforts;
mod files;
mod gguf;
mod goldens;
mod growth;
mod pieces;
mod segments;
mod template;
mod tiktoken;
mod tokenizer;
mod turns;
