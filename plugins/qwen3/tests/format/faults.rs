//! Malformed calls of which many variants are tested; single ones are recorded turns in `cases/`.

use crate::turns::{items, tools, turn};
use parser_kit::Item;
use parser_sdk::FinishReason::Stop;

#[test]
fn arguments_that_are_not_json_are_passed_on_verbatim() {
    for arguments in ["{\"a\": 1,}", "{'a': True}", "{\"a\": }", "{\"a\": [1, 2)]}"] {
        let first = format!("<tool_call>{{\"name\": \"add\", \"arguments\": {arguments}}}</tool_call>");
        assert_eq!(turn(&first), [Item::call("add", arguments)]);
        let last = format!("<tool_call>{{\"arguments\": {arguments}, \"name\": \"add\"}}</tool_call>");
        assert_eq!(turn(&last), [Item::call("add", arguments)]);
    }
}

#[test]
fn arguments_that_are_no_object_break_the_call() {
    for (arguments, shown) in [
        ("42", "42"),
        ("[1, 2]", "[1, 2]"),
        ("false", "false"),
        ("truth", "truth"),
        ("\"foo\"", "foo"),
        ("\"[1]\"", "[1]"),
    ] {
        let first = format!("<tool_call>{{\"name\": \"add\", \"arguments\": {arguments}}}</tool_call>After.");
        let items = [Item::call("add", shown).incomplete(), Item::message("After.")];
        assert_eq!(turn(&first), items);
        let last = format!("<tool_call>{{\"arguments\": {arguments}, \"name\": \"add\"}}</tool_call>After.");
        assert_eq!(turn(&last), items);
    }
    let string = "<tool_call>{\"name\": \"add\", \"arguments\": \"{\\\"a\\\": 1}\"}</tool_call>";
    assert_eq!(turn(string), [Item::call("add", "{\"a\": 1}")]);
}

#[test]
fn a_name_longer_than_any_is_no_name() {
    let block = format!("<tool_call>{{\"name\": \"{}\"}}</tool_call>", "x".repeat(300));
    assert_eq!(items(&tools(), "", &block, Stop), [Item::message(block)]);
}
