//! How often a parser is asked in a small call: each time costs more than a hundred bytes that the
//! host routes by itself.

use std::path::Path;

use parsers::ParserLimits;
use parsers::Runtime;
use tests::formats::FORMATS;
use tests::sandbox::{SHIPPED, Sandbox, source};

/// How often each parser is asked in a call of about thirty-five deltas, the prose behind it
/// included.
const ASKED: [(&str, usize); 19] = [
    ("qwen3", 6),
    ("qwen3-coder", 10),
    ("glm", 8),
    ("kimi-k2", 8),
    ("harmony", 10),
    ("mistral", 7),
    ("minimax-m2", 10),
    ("minimax-m3", 13),
    ("gemma4", 7),
    ("pythonic", 8),
    ("apertus", 7),
    ("deepseek-v4", 10),
    ("kimi-k3", 10),
    ("muse", 14),
    ("deepseek-v3", 8),
    ("llama3", 8),
    ("hunyuan", 7),
    ("phi4-mini", 8),
    ("seed-oss", 12),
];

#[test]
fn small_calls_ask_as_rarely_as_they_did() {
    let runtime = Runtime::new(&ParserLimits::default()).expect("a sandbox");
    let asked = FORMATS.iter().map(|format| {
        let sandbox = Sandbox::new(&runtime, format, source(format.name, Path::new(SHIPPED)));
        (format.name, sandbox.asked())
    });
    assert_eq!(asked.collect::<Vec<_>>(), ASKED, "fewer is better: then this list says so");
}
