//! Parsers that fail: the call in which they do fails, the text comes back, and all else goes on.

use std::sync::Arc;

use dynamo_parsers_v2::{UnifiedParser, UnifiedParserExt, UnifiedParserOutput};
use gateway_tests::{FAILING, guest};
use sluice_dynamo::{DynamoParser, Reader};

fn parser(name: &str) -> DynamoParser {
    DynamoParser::new(Arc::new(Reader::load(&guest(name)).expect("a component")), &[])
}

#[test]
fn a_parser_that_fails_gives_its_text_back() {
    for name in FAILING {
        let mut failing = parser(name);
        let mut output = UnifiedParserOutput::default();
        let error = failing.parse_into("abc", &mut output).expect_err(name);
        assert!(error.to_string().contains("failed"), "{name}: {error}");
        assert!(output.is_empty(), "{name}: {output:?}");
        failing.parse_into("d", &mut output).expect_err("it failed before");
        failing.finish().expect_err("it failed before");
        assert_eq!(failing.reset(), "abc", "{name}");
    }
    let mut healthy = parser("healthy");
    assert_eq!(healthy.parse_complete("abc").expect("text").len(), 1);
}

#[test]
fn a_parser_that_cant_start_refuses_the_request() {
    let error =
        parser("loop_in_start").parse_into("abc", &mut UnifiedParserOutput::default()).expect_err("it loops");
    assert!(error.to_string().contains("refuses"), "{error}");
}

#[test]
fn what_is_no_parser_isnt_loaded() {
    for name in [
        "core_module",
        "imports",
        "wrong_version",
        "wrong_types",
        "loop_in_describe",
        "marker_twice",
        "needs_unknown",
    ] {
        let error = Reader::load(&guest(name)).err().unwrap_or_else(|| panic!("{name} was loaded"));
        assert!(!error.to_string().contains('\n'), "{name}: {error}");
    }
}
