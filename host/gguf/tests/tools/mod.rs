//! Makes GGUF files for tests. Other packages' tests include this folder, and use parts of it.
#![allow(dead_code, clippy::unwrap_used, clippy::cast_possible_truncation, reason = "tools of tests")]

pub(crate) mod convert;
pub(crate) mod keys;
pub(crate) mod tokens;
pub(crate) mod writer;
