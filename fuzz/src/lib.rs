//! Decodes a fuzzer's bytes for the oracles of the unit tests. Each target of `fuzz_targets/` calls
//! one function of this crate.
//!
//! The bytes are a head of choices and a body. If the body is text, a byte below 0x80 stands for
//! itself and every other byte for a difficult fragment ([`spell`]), so the fuzzer finds markup
//! without spelling it, and any file is a valid input.

pub mod formats;
#[path = "../../host/gguf/tests/tools/check.rs"]
mod gguf_check;
mod stream;
mod turn;

pub use stream::{HEAD, Stream, spell};
pub use turn::{markers, turn};

/// Reads the body as the files of a GGUF model.
pub fn gguf(data: &[u8]) {
    gguf_check::check_cut(data);
}

/// Scans the body in chunks of the head's two sizes.
pub fn json_scanner(data: &[u8]) {
    let Some((head, body)) = data.split_first_chunk::<2>() else { return };
    let sizes = head.map(|byte| usize::from(byte % 16) + 1);
    parser_kit::check_scan(&body[..body.len().min(LONGEST)], &sizes);
}

/// Maximum number of bytes of a body that are used: the oracles play a stream some thirty times,
/// and texts that break a parser are short.
const LONGEST: usize = 512;
