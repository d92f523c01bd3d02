//! How often a parser is asked in a small call: each time costs more than a hundred bytes that the
//! host routes by itself.

use std::path::Path;

use parsers::ParserLimits;
use parsers::Runtime;
use tests::formats::FORMATS;
use tests::sandbox::{SHIPPED, Sandbox, source};

/// How often the parser of tables is asked.
const TABLES: [(&str, usize); 2] = [("phi4-mini", 6), ("seed-oss", 11)];

#[test]
fn small_calls_ask_as_rarely_as_they_did() {
    let runtime = Runtime::new(&ParserLimits::default()).expect("a sandbox");
    let asked = FORMATS.iter().map(|format| {
        let sandbox = Sandbox::new(&runtime, format, source(format.name, Path::new(SHIPPED)));
        (format.name, sandbox.asked())
    });
    let recorded = registry::FORMATS.iter().map(|format| (format.name, format.profile.asked)).chain(TABLES);
    let recorded: Vec<_> = recorded.collect();
    assert_eq!(asked.collect::<Vec<_>>(), recorded, "fewer is better: then the profile says so");
}
