//! Markers that come as tokens inside a string of a call's JSON.

use super::*;
use crate::TurnFailure;

#[test]
fn token_marker_ends_a_string_that_until_json_follows() {
    let output = ["{", "\"a\": \"x}", "<r>", "after"];
    let played = |token_markers: &[u32], steps: Vec<Step>| {
        let settings = TurnSettings { token_markers: token_markers.into(), ..settings() };
        let setup = Setup { binding: binding(true, false), settings };
        let (mut turn, mut out) = (scripted(setup, steps), TurnEvents::default());
        for piece in output {
            let _ = turn.step(&[TokenText::new(ids(piece).or(Some(1)), piece)], &mut out);
        }
        let end = turn.finish(FinishReason::Stop, None, &mut out);
        (fold(out).unwrap(), end)
    };
    let rest = JsonRest { route: Route::Arguments, depth: 1, in_string: InString::No };
    let open = Step::Ops(vec![call("weather"), bytes(Route::Arguments, 1), Op::UntilJson(rest)]);
    // The marker's step closes the call as if it were whole; the host knows better.
    let close = Step::Ops(vec![Op::Close, bytes(Route::Drop, 3), Op::UntilMarker(Route::Content)]);
    let (items, end) = played(&[0], vec![open.clone(), close]);
    assert_eq!(items, [incomplete(tool_call(1, "weather", "{\"a\": \"x}")), message("after")]);
    assert!(matches!(end, TurnEnd::Failed(TurnFailure { code: "model_error", .. })), "{end:?}");
    let (items, _) = played(&[], vec![open]);
    assert_eq!(items, [incomplete(tool_call(1, "weather", "{\"a\": \"x}<r>after"))]);
}

#[test]
fn token_marker_is_text_where_its_string_goes_on() {
    let arguments = |later: &[&str]| {
        let settings = TurnSettings { token_markers: [0, 1].into(), reads_on: true, ..settings() };
        let setup = Setup { binding: binding(true, false), settings };
        let rest = JsonRest { route: Route::Arguments, depth: 1, in_string: InString::No };
        let steps = [
            Step::Ops(vec![call("weather"), bytes(Route::Arguments, 1), Op::UntilJson(rest)]),
            Step::Ops(vec![Op::Close, bytes(Route::Drop, 3), Op::UntilMarker(Route::Content)]),
        ];
        let (mut turn, mut out) = (scripted(setup, steps), TurnEvents::default());
        for piece in ["{", "\"a\": \"x", "<r>"].iter().chain(later) {
            let _ = turn.step(&[TokenText::new(ids(piece).or(Some(1)), piece)], &mut out);
        }
        let _ = turn.finish(FinishReason::Stop, None, &mut out);
        fold(out).unwrap().remove(0).text
    };
    let goes_on: [&[&str]; 5] =
        [&["y\\", "n"], &["\\\""], &["y\"", " ", ","], &["\":"], &["y", "</r>", "\\u00e9"]];
    for later in goes_on {
        assert_eq!(arguments(later), format!("{{\"a\": \"x<r>{}", later.concat()), "{later:?}");
    }
    let (short, long) = ("y".repeat(128), "y".repeat(129));
    assert_eq!(arguments(&[&short, "\\n"]), "{\"a\": \"x");
    let ends: [&[&str]; 8] =
        [&[], &["y"], &["\n"], &["y\"", "z"], &["y\\", "z"], &["<end>"], &["\"", "<end>"], &[&long, "\\n"]];
    for later in ends {
        assert_eq!(arguments(later), "{\"a\": \"x", "{later:?}");
    }
    assert_eq!(arguments(&[&short[..126], "\\n"]), format!("{{\"a\": \"x<r>{}\\n", &short[..126]));
}

#[test]
fn call_closed_inside_a_json_string_is_incomplete() {
    for (arguments, complete) in
        [("{\"a\": \"x", false), ("{\"a\": \"x\\\"}", false), ("{\"a\": \"x\"", true)]
    {
        let size = u32::try_from(arguments.len()).unwrap();
        let ops = vec![call("weather"), bytes(Route::Arguments, size), Op::Close];
        let (items, ..) = run(scripted(settings(), [Step::Ops(ops)]), &[arguments], FinishReason::Stop);
        let item = tool_call(1, "weather", arguments);
        assert_eq!(items, [if complete { item } else { incomplete(item) }]);
    }
}
