//! How often a parser is asked in a small call: each time costs more than a hundred bytes that the host routes by itself.

use std::path::Path;

use host::limits::ParserLimits;
use host::parser::Runtime;
use tests::formats::FORMATS;
use tests::sandbox::{SHIPPED, Sandbox, source};

/// Most calls of the parser in a call of about thirty-five deltas, the prose behind it included.
const MOST: usize = 15;

#[test]
fn small_calls_ask_rarely() {
    let runtime = Runtime::new(&ParserLimits::default()).expect("a sandbox");
    let asked = FORMATS.iter().map(|format| {
        let sandbox = Sandbox::new(&runtime, format, source(format.name, Path::new(SHIPPED)));
        (format.name, format.warm_up().len(), sandbox.asked())
    });
    let asked: Vec<_> = asked.collect();
    let often: Vec<_> = asked.iter().filter(|(.., asked)| *asked > MOST).collect();
    assert!(often.is_empty(), "{often:?} of {asked:?}");
}
