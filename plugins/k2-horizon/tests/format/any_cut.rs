//! Properties of the format, which the kit has for every format with parameters as text; here is
//! how this one spells them, with types and without. Calls that are JSON have those of JSON.

use crate::fragments::{FRAGMENTS, PROMPTS};
use k2_horizon_parser::K2Horizon;
use parser_kit::{ParameterFormat, Streams, check_turns_between, request_with_custom};

/// Spells parameters without types, in streams without JSON.
fn check(parameter: fn(&str, &str, bool) -> String) {
    let fragments: Vec<_> =
        FRAGMENTS.iter().copied().filter(|fragment| !fragment.contains(['{', '}'])).collect();
    let format = ParameterFormat {
        prompts: PROMPTS,
        fragments: &fragments,
        ends: &["<|ifm|im_end|>"],
        reasoning: ["<ifm|think_fast>", "</ifm|think>"],
        parameter,
        call: |name, parameters| block(&format!("{name}\n{parameters}")),
        string: &[
            "<ifm|tool_calls>",
            "<ifm|tool_call>",
            "get_weather",
            "<ifm|arg_key>",
            "city",
            "</ifm|arg_key>",
            "<ifm|arg_value>",
        ],
    };
    format.check::<K2Horizon>();
}

/// A block with one call.
fn block(call: &str) -> String {
    format!("<ifm|tool_calls>\n<ifm|tool_call>{call}</ifm|tool_call>\n</ifm|tool_calls>")
}

#[test]
fn turns_come_back_as_they_were_however_they_are_cut() {
    check(|key, value, _| {
        format!("<ifm|arg_key>{key}</ifm|arg_key>\n<ifm|arg_value>{value}</ifm|arg_value>\n")
    });
}

#[test]
fn turns_with_types_come_back_as_they_were_however_they_are_cut() {
    check(|key, value, is_string| {
        let kind = format!("<ifm|arg_type>{}</ifm|arg_type>", if is_string { "string" } else { "any" });
        format!("<ifm|arg_key>{key}</ifm|arg_key>\n{kind}\n<ifm|arg_value>{value}</ifm|arg_value>\n")
    });
}

#[test]
fn any_cut_of_any_stream_with_json_gives_the_same_items() {
    let requests = [request_with_custom(&["add"], "patch")];
    Streams::of(&requests, PROMPTS, FRAGMENTS, &["<|ifm|im_end|>"]).check::<K2Horizon>();
}

#[test]
fn a_turn_with_json_comes_back_as_it_was() {
    let request = request_with_custom(&["add"], "patch");
    check_turns_between::<K2Horizon>(["<ifm|think>", "</ifm|think>"], &request, |_, arguments| {
        block(&format!("{{\"name\": \"add\", \"arguments\": {arguments}}}"))
    });
}
