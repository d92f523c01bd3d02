//! Ops over held bytes: routes, items, trim, tool calls, token counts.

use super::*;
use crate::TurnFailure;

fn items(setup: impl Into<Setup>, steps: impl IntoIterator<Item = Step>, pieces: &[&str]) -> Vec<FoldedItem> {
    let (items, end, turn) = run(scripted(setup, steps), pieces, FinishReason::Stop);
    assert_eq!(turn.fault(), None);
    assert_eq!(end, TurnEnd::Completed);
    items
}

#[test]
fn runs_take_the_oldest_bytes_and_the_rest_stays_held() {
    let steps = [
        Step::Ops(vec![bytes(Route::Reasoning, 3), bytes(Route::Drop, 1)]),
        Step::Hold,
        Step::Ops(vec![bytes(Route::Content, 4)]),
        Step::Pass,
    ];
    assert_eq!(items(settings(), steps, &["abc|de", "fg", "h", "i"]), [reasoning("abc"), message("defghi")]);
}

#[test]
fn pass_follows_a_drop_and_an_until_marker_too() {
    let steps = [
        Step::Ops(vec![bytes(Route::Drop, 1)]),
        Step::Pass,
        Step::Ops(vec![bytes(Route::Drop, 3), Op::UntilMarker(Route::Reasoning)]),
        Step::Pass,
    ];
    assert_eq!(items(settings(), steps, &["a", "b", "<r>", "c", "d", "<r>"]), [reasoning("cd<r>")]);
}

#[test]
fn until_marker_spares_the_parser_text_before_markers() {
    let steps = [
        Step::Ops(vec![bytes(Route::Content, 1), Op::UntilMarker(Route::Content)]),
        Step::Ops(vec![bytes(Route::Drop, 3), Op::Close]),
        Step::Ops(vec![bytes(Route::Reasoning, 1)]),
    ];
    assert_eq!(items(settings(), steps, &["a", "b", "c", "d<r>e"]), [message("abcd"), reasoning("e")]);
}

#[test]
fn until_byte_spares_the_parser_text_before_its_bytes() {
    let until = |route, stops: &'static str| Op::UntilByte(Until { route, bytes: stops.into() });
    let steps = || {
        [
            Step::Ops(vec![bytes(Route::Content, 1), until(Route::Content, ";:")]),
            Step::Ops(vec![bytes(Route::Drop, 1), until(Route::Reasoning, "}")]),
            Step::Ops(vec![bytes(Route::Reasoning, 1)]),
            Step::Ops(vec![bytes(Route::Drop, 3), until(Route::Content, "}")]),
            Step::Ops(vec![bytes(Route::Drop, 3)]),
        ]
    };
    let expected = [message("abcdé"), reasoning("é:f}"), message("gh")];
    assert_eq!(items(settings(), steps(), &["a", "b", "cdé:", "é:", "f", "}", "<c>g", "h<r>"]), expected);
    assert_eq!(items(settings(), steps(), &["a", "bcdé:", "é:f", "}<c>gh<r>"]), expected);
}

#[test]
fn hold_until_spares_marker_byte_or_length_bound_text() {
    let rule = HoldUntil { ends: [b':', b';', 0, 0], at_most: 4 };
    let hold = || Op::HoldUntil(rule);
    let steps = || {
        [
            Step::Ops(vec![bytes(Route::Content, 1), hold()]),
            // "bc:"
            Step::Ops(vec![bytes(Route::Content, 3), hold()]),
            // "defg"
            Step::Ops(vec![bytes(Route::Drop, 4), hold()]),
            // "é", before a marker
            Step::Ops(vec![bytes(Route::Content, 2)]),
            // The marker.
            Step::Ops(vec![bytes(Route::Drop, 3), hold()]),
            // "x", at the end
            Step::Ops(vec![bytes(Route::Reasoning, 1)]),
        ]
    };
    let expected = [message("abc:é"), reasoning("x")];
    assert_eq!(items(settings(), steps(), &["a", "b", "c:", "de", "f", "g", "é<r>", "x"]), expected);
    let mut always = settings();
    always.asks_always = true;
    let asked =
        [Step::Ops(vec![bytes(Route::Content, 1), hold()]), Step::Ops(vec![bytes(Route::Content, 1)])];
    assert_eq!(items(always, asked, &["a", "b"]), [message("ab")]);
}

#[test]
fn held_text_is_asked_about_where_the_prompt_ends() {
    let steps = [
        Step::HoldUntil(HoldUntil { ends: [0; 4], at_most: 512 }),
        Step::Ops(vec![bytes(Route::Drop, 4)]),
        Step::Ops(vec![bytes(Route::Content, 1)]),
    ];
    let mut turn = scripted(settings(), steps);
    let mut out = TurnEvents::default();
    let _ = turn.replay(&[text("<r>"), text("p")], &mut out);
    let _ = turn.step(&[text("a")], &mut out);
    let _ = turn.finish(FinishReason::Stop, None, &mut out);
    assert_eq!(fold(out.drain()).unwrap(), [message("a")]);
}

/// Steps of a call whose arguments begin with `{` and are followed by `until-json` from there on;
/// the next marker closes it.
fn followed() -> [Step; 3] {
    let rest = JsonRest { route: Route::Arguments, depth: 1, in_string: InString::No };
    [
        Step::Ops(vec![
            bytes(Route::Drop, 1),
            call("weather"),
            bytes(Route::Arguments, 1),
            Op::UntilJson(rest),
        ]),
        Step::Pass,
        Step::Ops(vec![Op::Close, bytes(Route::Drop, 4)]),
    ]
}

#[test]
fn until_json_spares_all_of_a_value_but_last_bracket() {
    let arguments = r#"{"a": ["}]\"<r>", {}], "b<c>": 1}"#;
    let expected = [tool_call(1, "weather", arguments)];
    assert_eq!(items(settings(), followed(), &["@{", &arguments[1..], "</r>"]), expected);
    let single: Vec<String> = arguments[1..].chars().map(String::from).collect();
    let pieces: Vec<&str> =
        ["@{"].into_iter().chain(single.iter().map(String::as_str)).chain(["</r>"]).collect();
    assert_eq!(items(settings(), followed(), &pieces), expected);
}

#[test]
fn a_marker_outside_of_strings_ends_until_json() {
    let [open, _, close] = followed();
    assert_eq!(
        items(settings(), [open, close], &["@{", "\"a\": 1", "</r>"]),
        [tool_call(1, "weather", "{\"a\": 1")]
    );
}

#[test]
fn call_left_in_a_string_is_incomplete_however_closed() {
    let [open, _, _] = followed();
    let close = Step::Ops(vec![Op::Close, bytes(Route::Drop, 5)]);
    for (arguments, whole) in [("\"a", false), ("\"a\"", true)] {
        let turn = scripted(settings(), [open.clone(), close.clone()]);
        let (items, end, turn) = run(turn, &["@{", arguments, "<end>"], FinishReason::Stop);
        assert_eq!(turn.fault(), None);
        let call = tool_call(1, "weather", &format!("{{{arguments}"));
        assert_eq!(items, [if whole { call } else { incomplete(call) }]);
        assert_eq!(matches!(end, TurnEnd::Failed(_)), !whole, "{end:?}");
    }
}

#[test]
fn content_and_reasoning_close_each_other() {
    let run = |route| bytes(route, 1);
    let steps = [Step::Ops(vec![
        run(Route::Content),
        run(Route::Reasoning),
        run(Route::Content),
        run(Route::Content),
        Op::Close,
        Op::Close,
        run(Route::Content),
    ])];
    let expected = [message("a"), reasoning("b"), message("cd"), message("e")];
    assert_eq!(items(settings(), steps, &["abcde"]), expected);
}

#[test]
fn message_begins_with_its_first_byte_and_not_without() {
    let steps = [Step::Ops(vec![
        bytes(Route::Content, 1),
        Op::Message("commentary".into()),
        Op::Message("final".into()),
        bytes(Route::Content, 1),
        Op::Message("commentary".into()),
        bytes(Route::Reasoning, 1),
        bytes(Route::Content, 1),
    ])];
    let expected = [message("a"), phased(Phase::Final, "b"), reasoning("c"), message("d")];
    assert_eq!(items(settings(), steps, &["abcd"]), expected);
}

#[test]
fn white_space_around_an_item_is_dropped_if_asked_for() {
    let steps = || {
        [
            Step::Ops(vec![bytes(Route::Reasoning, 1)]),
            Step::Pass,
            Step::Pass,
            Step::Pass,
            Step::Ops(vec![bytes(Route::Content, 2), Op::Close]),
            Step::Ops(vec![bytes(Route::Content, 6)]),
        ]
    };
    let pieces = &["\n", " a", " \n", "\u{2003}b \n", "\n\n", " c  d "];
    let trimmed = [reasoning("a \n\u{2003}b"), message("c  d")];
    assert_eq!(items(trimming(), steps(), pieces), trimmed);
    let kept = [reasoning("\n a \n\u{2003}b \n"), message("\n\n"), message(" c  d ")];
    assert_eq!(items(settings(), steps(), pieces), kept);
}

#[test]
fn white_space_waits_until_more_of_the_item_comes() {
    let mut turn = scripted(trimming(), [Step::Ops(vec![bytes(Route::Content, 2)]), Step::Pass]);
    let mut out = TurnEvents::default();
    let _ = turn.step(&[text("a ")], &mut out);
    assert_eq!(out[1..], [TurnEvent::Text("a".into())]);
    out.clear();
    let _ = turn.step(&[text("b")], &mut out);
    assert_eq!(out[..], [TurnEvent::Text(" b".into())]);
}

#[test]
fn white_space_beyond_the_bound_is_not_trimmed() {
    let settings = || Setup { settings: TurnSettings { held_bytes: 10, ..settings() }, ..trimming() };
    let (whole, cut) = ("a".to_owned() + &" ".repeat(25), [&["a"][..], &[" "; 25][..]].concat());
    let steps = || [Step::Ops(vec![bytes(Route::Content, 1), Op::UntilMarker(Route::Content)])];
    let expected = [message(&("a".to_owned() + &" ".repeat(15)))];
    assert_eq!(items(settings(), steps(), &cut), expected);
    assert_eq!(items(settings(), steps(), &["a", &whole[1..]]), expected);
}

#[test]
fn arguments_are_verbatim_escaped_decoded_or_derived() {
    let steps = [
        Step::Ops(vec![
            call("weather"),
            Op::DerivedArguments("{\"k\": \"".into()),
            bytes(Route::ArgumentsEscaped, 3),
        ]),
        Step::Ops(vec![bytes(Route::ArgumentsUnescaped, 3)]),
        Step::Pass,
        Step::Ops(vec![Op::DerivedArguments("\"".into()), bytes(Route::Arguments, 1), Op::Close]),
    ];
    let expected = r#"{"k": "a\"bx é"}"#;
    assert_eq!(
        items(settings(), steps, &["a\"b", r"x \", r"u00e9", "}"]),
        [tool_call(1, "weather", expected)]
    );
}

#[test]
fn an_escape_that_another_route_cuts_off_is_kept() {
    let steps = [Step::Ops(vec![
        call("weather"),
        bytes(Route::ArgumentsUnescaped, 2),
        bytes(Route::Arguments, 1),
        bytes(Route::ArgumentsUnescaped, 1),
        Op::Close,
    ])];
    assert_eq!(items(settings(), steps, &[r"{\b\"]), [tool_call(1, "weather", r"{\b\")]);
}

#[test]
fn call_ended_by_something_else_fails_the_turn() {
    let steps = [Step::Ops(vec![call("weather"), bytes(Route::Arguments, 1), bytes(Route::Content, 1)])];
    let (items, end, turn) = run(scripted(settings(), steps), &["ab"], FinishReason::Stop);
    assert_eq!(items, [incomplete(tool_call(1, "weather", "a")), message("b")]);
    assert!(matches!(end, TurnEnd::Failed(TurnFailure { code: "model_error", .. })), "{end:?}");
    assert_eq!(turn.fault(), None, "the model's fault, not the parser's");
}

#[test]
fn undeclared_name_may_cross_dropped_and_held_bytes() {
    let head = |before: u32| {
        [Step::Ops(vec![
            bytes(Route::Content, 1),
            bytes(Route::Drop, before),
            call("news"),
            bytes(Route::Drop, 6 - before),
            bytes(Route::Arguments, 2),
            Op::Close,
        ])]
    };
    for before in 0..=6 {
        assert_eq!(
            items(settings(), head(before), &["x<news>{}"]),
            [message("x"), tool_call(1, "news", "{}")]
        );
    }
}

#[test]
fn each_token_counts_where_its_first_byte_goes() {
    let steps = [
        Step::Ops(vec![bytes(Route::Reasoning, 2)]),
        Step::Ops(vec![bytes(Route::Drop, 4), Op::UntilMarker(Route::Content)]),
        Step::Ops(vec![bytes(Route::Drop, 3), call("weather"), Op::UntilMarker(Route::Arguments)]),
    ];
    let mut turn = scripted(settings(), steps);
    let mut out = TurnEvents::default();
    let _ = turn.step(&["a", "b", "</r>", "c", "", "é", "<c>", "{", "}"].map(token), &mut out);
    let _ = turn.finish(FinishReason::Length, None, &mut out);
    assert_eq!(turn.fault(), None);
    assert_eq!(turn.tokens(), TokenCounts { reasoning: 2, content: 3, arguments: 2, dropped: 2 });
}

#[test]
fn stop_marker_ends_the_turn_and_the_rest_is_left() {
    let steps = [Step::Ops(vec![bytes(Route::Content, 1)]), Step::Ops(vec![bytes(Route::Drop, 5)])];
    let mut turn = scripted(settings(), steps);
    let mut out = TurnEvents::default();
    assert_eq!(turn.step(&[text("a"), text("<end>"), text("b"), text("<end>")], &mut out), Flow::Stop);
    assert_eq!(turn.finish(FinishReason::Stop, None, &mut out), TurnEnd::Completed);
    assert_eq!(fold(out).unwrap(), [message("a")]);
}

#[test]
fn until_json_goes_on_behind_a_backslash() {
    let rest = JsonRest { route: Route::Arguments, depth: 1, in_string: InString::AfterBackslash };
    let steps = [
        Step::Ops(vec![call("weather"), bytes(Route::Arguments, 8), Op::UntilJson(rest)]),
        Step::Ops(vec![bytes(Route::Arguments, 1), Op::Close, Op::UntilMarker(Route::Content)]),
    ];
    let expected = [tool_call(1, "weather", r#"{"a": "\""}"#), message("after")];
    assert_eq!(items(settings(), steps, &[r#"{"a": "\"#, r#"""}"#, "after"]), expected);
}
