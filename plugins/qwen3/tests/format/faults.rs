//! What models write instead of a call: nothing is lost, nothing leaks.

use crate::turns::{items, tools, turn};
use parser_sdk::FinishReason::{Length, Stop};
use parser_sdk::testing::Item;

#[test]
fn an_object_without_a_name_goes_out_as_content() {
    for block in [
        r#"<tool_call>{"arguments": {"a": 1}}</tool_call>"#,
        r#"<tool_call>{"name": 5, "arguments": {}}</tool_call>"#,
        r#"<tool_call>{"name": "", "arguments": {}}</tool_call>"#,
        "<tool_call>{}</tool_call>",
        "<tool_call>{'name': 'add'}</tool_call>",
        "<tool_call>{\"arguments\": {\"a\": </tool_call>",
    ] {
        assert_eq!(turn(block), [Item::message(block)]);
        let thinking = turn(&format!("<think>Hm.{block}"));
        assert_eq!(thinking, [Item::reasoning("Hm."), Item::message(block)]);
    }
}

#[test]
fn text_after_a_block_that_was_no_call_is_content_and_the_next_call_counts() {
    let got = turn("<tool_call>{}</tool_call> Oh.\n<tool_call>{\"name\": \"add\"}</tool_call>");
    assert_eq!(got, [Item::message("<tool_call>{}</tool_call> Oh."), Item::call("add", "{}")]);
}

#[test]
fn a_marker_that_is_only_mentioned_stays_where_it_stands() {
    let prose = "Write <tool_call> first, then </tool_call>; see?";
    assert_eq!(turn(prose), [Item::message(prose)]);
    let got = turn(&format!("<think>{prose}</think>Yes."));
    assert_eq!(got, [Item::reasoning(prose), Item::message("Yes.")]);
    let alone = turn("<think>Or <tool_call></think>Yes.");
    assert_eq!(alone, [Item::reasoning("Or <tool_call>"), Item::message("Yes.")]);
}

#[test]
fn a_stray_end_marker_is_dropped() {
    assert_eq!(turn("One.</tool_call> Two."), [Item::message("One. Two.")]);
    let twice = turn("<tool_call>{\"name\": \"add\"}</tool_call></tool_call>");
    assert_eq!(twice, [Item::call("add", "{}")]);
}

#[test]
fn braces_too_many_are_dropped_and_braces_too_few_do_not_matter() {
    let call = Item::call("add", r#"{"a": 1}"#);
    let many = turn("<tool_call>{\"name\": \"add\", \"arguments\": {\"a\": 1}}}}\n</tool_call>");
    assert_eq!(many, std::slice::from_ref(&call));
    let few = turn("<tool_call>{\"name\": \"add\", \"arguments\": {\"a\": 1}\n</tool_call>ok");
    assert_eq!(few, [call, Item::message("ok")]);
}

#[test]
fn arguments_that_are_not_json_are_passed_on_verbatim() {
    for arguments in ["{\"a\": 1,}", "{'a': True}", "[1, 2]", "{\"a\": }", "5", "truth", "{\"a\": [1, 2)]}"] {
        let first = format!("<tool_call>{{\"name\": \"add\", \"arguments\": {arguments}}}</tool_call>");
        assert_eq!(turn(&first), [Item::call("add", arguments)]);
        let last = format!("<tool_call>{{\"arguments\": {arguments}, \"name\": \"add\"}}</tool_call>");
        assert_eq!(turn(&last), [Item::call("add", arguments)]);
    }
}

#[test]
fn arguments_that_break_off_at_the_end_marker_are_the_models_word() {
    let got = turn("<tool_call>{\"name\": \"add\", \"arguments\": {\"a\": 1\n</tool_call>ok");
    assert_eq!(got, [Item::call("add", "{\"a\": 1\n"), Item::message("ok")]);
}

#[test]
fn a_call_that_begins_before_the_last_one_ended_ends_it() {
    let whole =
        turn("<tool_call>{\"name\": \"add\", \"arguments\": {}<tool_call>{\"name\": \"add\"}</tool_call>");
    assert_eq!(whole, [Item::call("add", "{}"), Item::call("add", "{}")]);
    let broken =
        turn("<tool_call>{\"name\": \"add\", \"arguments\": {<tool_call>{\"name\": \"add\"}</tool_call>");
    assert_eq!(broken, [Item::call("add", "{").incomplete(), Item::call("add", "{}")]);
}

#[test]
fn several_objects_in_one_block_are_several_calls() {
    let got = turn("<tool_call>{\"name\": \"add\"},\n{\"name\": \"get_weather\"}\n</tool_call>");
    assert_eq!(got, [Item::call("add", "{}"), Item::call("get_weather", "{}")]);
}

#[test]
fn prose_inside_a_block_after_its_call_is_content() {
    let got = turn("<tool_call>{\"name\": \"add\"}\nThat should do.</tool_call>");
    assert_eq!(got, [Item::call("add", "{}"), Item::message("That should do.")]);
}

#[test]
fn the_first_name_and_the_first_arguments_count() {
    let got = turn(
        r#"<tool_call>{"name": "add", "name": "x", "parameters": {}, "arguments": {"a": 1}}</tool_call>"#,
    );
    assert_eq!(got, [Item::call("add", "{}")]);
}

#[test]
fn a_call_cut_off_before_its_name_goes_out_as_content() {
    let cut = "<tool_call>\n{\"na";
    assert_eq!(items(&tools(), "", cut, Length), [Item::message(cut).incomplete()]);
    assert_eq!(turn(&format!("{cut}<|im_end|>")), [Item::message(cut)]);
}

#[test]
fn a_string_that_never_ends_is_an_incomplete_call_without_the_turns_end() {
    let got = turn("<tool_call>{\"name\": \"add\", \"arguments\": {\"a\": \"x\n</tool_call><|im_end|>");
    assert_eq!(got, [Item::call("add", "{\"a\": \"x\n</tool_call>").incomplete()]);
}

#[test]
fn a_name_longer_than_any_is_no_name() {
    let block = format!("<tool_call>{{\"name\": \"{}\"}}</tool_call>", "x".repeat(300));
    assert_eq!(items(&tools(), "", &block, Stop), [Item::message(block)]);
}
