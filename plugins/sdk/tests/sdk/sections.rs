//! The worked example of the guide for authors: a format with a marker before each call, one before
//! its arguments and none behind them, and without a grammar.

use parser_kit::{Item, Streams, check_long_arguments, check_turns_between, play, request};
use parser_sdk::sections::{Format, Mark, Sections};
use parser_sdk::{Descriptor, FinishReason, Request};

/// `[TOOL_CALLS]NAME[ARGS]{…}`, and reasoning in `[THINK]`.
#[derive(Debug)]
struct Brackets;

impl Format for Brackets {
    const MARKS: &'static [(&'static str, Mark)] = &[
        ("[THINK]", Mark::Think),
        ("[/THINK]", Mark::ThinkEnd),
        ("[TOOL_CALLS]", Mark::Call),
        ("[ARGS]", Mark::Separator),
        ("</s>", Mark::TurnEnd),
    ];

    fn describe() -> Descriptor {
        Descriptor { name: "brackets".into(), version: "0.1.0".into(), ..Descriptor::default() }
    }
}

type Parsed = Sections<Brackets>;

fn tools() -> Request {
    request(&["add", "get_weather"])
}

fn call(arguments: &str) -> String {
    format!("[TOOL_CALLS]add[ARGS]{arguments}")
}

#[test]
fn call_ends_with_its_object_and_prose_follows() {
    let output = "Hi.[TOOL_CALLS]add[ARGS]{\"a\": \"}\"}[TOOL_CALLS]add[ARGS]{} Done.</s>";
    let items = play::<Parsed>(&tools(), "", [output], FinishReason::Stop);
    let expected = [
        Item::message("Hi."),
        Item::call("add", "{\"a\": \"}\"}"),
        Item::call("add", "{}"),
        Item::message("Done."),
    ];
    assert_eq!(items, expected);
}

#[test]
fn a_turn_of_items_comes_back_as_it_was() {
    check_turns_between::<Parsed>(["[THINK]", "[/THINK]"], &tools(), |_, arguments| call(arguments));
    check_long_arguments::<Parsed>(&tools(), "", call);
}

#[test]
fn any_cut_of_any_stream_gives_the_same_items() {
    let fragments = &[
        "[THINK]",
        "[/THINK]",
        "[TOOL_CALLS]",
        "[ARGS]",
        "</s>",
        "[TOOL_CALLS]add[ARGS]",
        "{\"a\": ",
        "{",
        "}",
        "\"",
        "\\",
        "add",
        "get_weather",
        "[",
        " ",
        "\n",
        "prose, ",
        "é",
        "`",
        "1",
    ];
    let requests = &[tools()];
    Streams { requests, prompts: &[""], fragments, count: 1_000, longest: 30, ends: &["</s>"] }
        .check::<Parsed>();
}
