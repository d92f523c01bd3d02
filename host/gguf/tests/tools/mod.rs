//! Makes GGUF files for tests. Other packages' tests include this folder, and use parts of it.
#![allow(dead_code, clippy::unwrap_used, reason = "tools of tests, which use parts of them")]
#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "sizes of tiny models"
)]

pub(crate) mod convert;
pub(crate) mod delta;
mod experts;
pub(crate) mod gemma4;
pub(crate) mod keys;
pub(crate) mod rope;
pub(crate) mod small;
pub(crate) mod tokens;
pub(crate) mod writer;
