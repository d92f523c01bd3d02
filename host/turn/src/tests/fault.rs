//! Parsers that fail or break the contract: no text is lost, every item is closed, nothing panics.

use super::*;
use crate::stop::{StopPatterns, StopStrings};

/// Applies the ops to `held`, which is followed by `<r>`, more text and the marker that ends the
/// turn.
fn broken(policy: FaultPolicy, held: &str, ops: Vec<Op>) -> (Vec<FoldedItem>, TurnEnd, String) {
    let settings = TurnSettings { fault_policy: policy, ..settings() };
    let (items, end, turn) =
        run(scripted(settings, [Step::Ops(ops)]), &[held, "<r>", "z", "<end>"], FinishReason::Stop);
    let reason = turn.fault().map(|fault| fault.reason.to_string()).unwrap_or_default();
    (items, end, reason)
}

fn assert_refused(held: &str, ops: Vec<Op>, reason: &str) {
    let (items, end, told) = broken(FaultPolicy::Continue, held, ops);
    assert!(told.contains(reason), "{told}");
    assert_eq!((items, end), (vec![message(&format!("{held}<r>z"))], TurnEnd::Completed), "{reason}");
}

#[test]
fn ops_breaking_the_contract_fault_and_text_goes_out() {
    assert_refused("ab", vec![bytes(Route::Content, 3)], "routed 3 bytes while 2 were held");
    assert_refused("é", vec![bytes(Route::Drop, 1)], "inside a character");
    assert_refused("ab", vec![bytes(Route::Arguments, 1)], "no tool call was open");
    assert_refused("ab", vec![Op::DerivedArguments("{".into())], "no tool call was open");
    assert_refused("ab", vec![Op::UntilMarker(Route::Content)], "an until while 2 bytes were held");
    for stops in ["", "é", "0123456789abcdefg"] {
        let until = Until { route: Route::Content, bytes: stops.into() };
        assert_refused("a", vec![bytes(Route::Content, 1), Op::UntilByte(until)], "until-byte names no byte");
    }
    for (ends, at_most) in [([b':', 0xc3, 0, 0], 1), ([0; 4], 0), ([0; 4], 513)] {
        let hold = Op::HoldUntil(HoldUntil { ends, at_most });
        assert_refused("a", vec![hold], "hold-until names a byte that isn't ASCII");
    }
    assert_refused("ab", vec![call("")], "without a name");
    assert_refused("ab", vec![call("news")], "neither declared");
    assert_refused(&"a".repeat(4097), vec![], "held more than 4096 bytes");
}

#[test]
fn name_shown_as_text_or_used_before_names_no_tool() {
    let shown = vec![bytes(Route::Content, 4), call("news")];
    assert_eq!(broken(FaultPolicy::Continue, "news", shown).0, [message("news<r>z")]);
    let twice = vec![bytes(Route::Drop, 4), call("news"), Op::Close, call("news")];
    let (items, _, reason) = broken(FaultPolicy::Continue, "newsx", twice);
    assert_eq!(items, [tool_call(1, "news", ""), message("x<r>z")]);
    assert!(reason.contains("neither declared"), "{reason}");
}

#[test]
fn pass_before_any_run_is_a_fault() {
    let (items, end, turn) = run(scripted(settings(), [Step::Pass]), &["a", "b"], FinishReason::Stop);
    assert_eq!((items, end), (vec![message("ab")], TurnEnd::Completed));
    assert!(turn.fault().unwrap().reason.contains("pass before any run"));
}

#[test]
fn after_a_fault_the_rest_goes_on_in_what_is_open() {
    let ops = vec![bytes(Route::Reasoning, 1), bytes(Route::Drop, 9)];
    assert_eq!(broken(FaultPolicy::Continue, "ab", ops).0, [reasoning("ab<r>z")]);
    let ops = vec![Op::Message("final".into()), bytes(Route::Drop, 9)];
    assert_eq!(broken(FaultPolicy::Continue, "ab", ops).0, [phased(Phase::Final, "ab<r>z")]);
}

#[test]
fn a_fault_inside_a_call_fails_the_turn() {
    for policy in [FaultPolicy::Continue, FaultPolicy::Fail] {
        let (items, end, _) = broken(policy, "ab", fails_in_a_call());
        assert_eq!(items, [incomplete(tool_call(1, "weather", "a"))]);
        assert_eq!(failure_code(&end), "server_error");
    }
}

/// Ops over `ab` of which the last is a fault inside a call.
fn fails_in_a_call() -> Vec<Op> {
    vec![call("weather"), bytes(Route::Arguments, 1), bytes(Route::Drop, 9)]
}

#[test]
fn continue_in_calls_shows_cut_call_then_content() {
    let (items, end, _) = broken(FaultPolicy::ContinueInCalls, "ab", fails_in_a_call());
    assert_eq!(items, [incomplete(tool_call(1, "weather", "a")), message("b<r>z")]);
    let TurnEnd::Failed(failure) = end else { panic!("{end:?}") };
    assert_eq!(failure.code, "server_error");
    assert!(
        failure.message.contains("parser test failed inside a call of \"weather\""),
        "{}",
        failure.message
    );
}

#[test]
fn continue_in_calls_ends_at_limits_and_bans_as_ever() {
    let policy = || TurnSettings { fault_policy: FaultPolicy::ContinueInCalls, ..settings() };
    let turn = scripted(policy(), [Step::Ops(fails_in_a_call())]);
    let (items, end, _) = run(turn, &["ab"], FinishReason::Length);
    assert_eq!(items, [incomplete(tool_call(1, "weather", "a")), incomplete(message("b"))]);
    assert_eq!(end, TurnEnd::MaxOutputTokens);
    let forbidden = TurnSettings { calls: AllowedCalls::None, ..policy() };
    let (items, end, _) =
        run(scripted(forbidden, [Step::Ops(fails_in_a_call())]), &["ab"], FinishReason::Stop);
    assert_eq!((items, end), (vec![message("b")], TurnEnd::Completed));
}

#[test]
fn prompt_begun_call_fails_the_turn_though_unshown() {
    let settings = TurnSettings { fault_policy: FaultPolicy::ContinueInCalls, ..settings() };
    let mut turn = scripted(settings, [Step::Ops(fails_in_a_call())]);
    let mut out = TurnEvents::default();
    assert_eq!(turn.replay(&[text("ab")], &mut out), Flow::Continue);
    assert_eq!(turn.step(&[text("c")], &mut out), Flow::Continue);
    let end = turn.finish(FinishReason::Stop, None, &mut out);
    assert_eq!((fold(out).unwrap(), failure_code(&end)), (vec![message("c")], "server_error"));
}

#[test]
fn stop_string_behind_a_cut_call_does_not_complete() {
    let stop = StopStrings::new(StopPatterns::new(&literals(&["z"])));
    let settings = TurnSettings { fault_policy: FaultPolicy::ContinueInCalls, stop, ..settings() };
    let mut turn = scripted(settings, [Step::Ops(fails_in_a_call())]);
    let mut out = TurnEvents::default();
    assert_eq!(turn.step(&[token("ab")], &mut out), Flow::Continue);
    assert_eq!(turn.step(&[token("xz")], &mut out), Flow::Stop);
    let end = turn.finish(FinishReason::Stop, None, &mut out);
    assert_eq!(fold(out).unwrap(), [incomplete(tool_call(1, "weather", "a")), message("bx")]);
    assert_eq!(failure_code(&end), "server_error");
}

#[test]
fn with_policy_fail_any_fault_fails_the_turn() {
    let (items, end, _) =
        broken(FaultPolicy::Fail, "ab", vec![bytes(Route::Content, 1), bytes(Route::Drop, 9)]);
    assert_eq!(items, [incomplete(message("a"))]);
    assert_eq!(failure_code(&end), "server_error");
}

#[test]
fn failed_turn_stops_at_once_and_stays_so() {
    let mut turn = scripted(TurnSettings { fault_policy: FaultPolicy::Fail, ..settings() }, [Step::Pass]);
    let mut out = TurnEvents::default();
    assert_eq!(turn.step(&[text("a<r>b")], &mut out), Flow::Stop);
    assert_eq!(turn.step(&[text("c<end>")], &mut out), Flow::Stop);
    let end = turn.finish(FinishReason::Cancelled, None, &mut out);
    assert_eq!((failure_code(&end), out.to_vec()), ("server_error", vec![]));
}

#[test]
fn parser_giving_up_is_reported_and_never_quoted() {
    let settings = TurnSettings { fault_policy: FaultPolicy::Fail, ..settings() };
    let steps = [Step::Fault(format!("secret{}\nmore", "x".repeat(500)))];
    let (_, end, turn) = run(scripted(settings, steps), &["a"], FinishReason::Stop);
    let fault = turn.fault().unwrap();
    let reason = "it gave up with a message of 511 bytes";
    assert_eq!((&*fault.parser, &*fault.reason, fault.words.len()), ("test", reason, 200));
    let TurnEnd::Failed(failure) = end else { panic!("{end:?}") };
    assert!(failure.message.contains("test") && !failure.message.contains("secret"), "{}", failure.message);
}

#[test]
fn trap_is_a_fault_and_the_parser_is_not_called_again() {
    let trap = Fault::new("test", "trapped");
    let parser = Scripted([Err(trap.clone()), Ok(Step::Ops(vec![call("weather")]))].into());
    let (items, end, turn) = run(
        Turn::new(&binding(false, false), Box::new(parser), settings()),
        &["a", "<r>", "b"],
        FinishReason::Stop,
    );
    assert_eq!((items, end), (vec![message("a<r>b")], TurnEnd::Completed));
    assert_eq!(turn.fault(), Some(&trap));
}

#[test]
fn text_for_a_call_that_has_ended_is_a_fault() {
    let ops = vec![bytes(Route::Drop, 1), call("weather"), Op::UntilMarker(Route::Arguments), Op::Close];
    let (items, end, turn) = run(scripted(settings(), [Step::Ops(ops)]), &["a", "b"], FinishReason::Stop);
    assert_eq!((items, end), (vec![tool_call(1, "weather", ""), message("b")], TurnEnd::Completed));
    assert!(turn.fault().unwrap().reason.contains("no tool call was open"));
}

#[test]
fn derived_text_is_bounded_by_the_calls_dropped_bytes() {
    let derive = |derived: usize, after: Vec<Op>| {
        let ops = vec![bytes(Route::Drop, 1), call("weather"), Op::DerivedArguments("x".repeat(derived))];
        broken(FaultPolicy::Continue, "abcde", [ops, after].concat()).2
    };
    let drop = || vec![bytes(Route::Drop, 4), Op::Close];
    let show = || vec![bytes(Route::Arguments, 4), Op::Close];
    assert_eq!(derive(256 + 5 * 8, drop()), "");
    assert!(derive(256 + 5 * 8 + 1, drop()).contains("derived"));
    assert_eq!(derive(256 + 8, show()), "");
    assert!(derive(256 + 8 + 1, show()).contains("derived"));
    assert!(derive(256 + 8 + 1, vec![bytes(Route::Content, 4)]).contains("derived"));
}

#[test]
fn the_search_for_undeclared_names_is_bounded() {
    let settings = TurnSettings { held_bytes: 1 << 20, ..settings() };
    let held = "a".repeat(1 << 20);
    // The parser is asked about 1 KiB at a time.
    let steps = [vec![Step::Hold; 1023], vec![Step::Ops(vec![call("a"); 20])]].concat();
    let (items, end, turn) = run(scripted(settings, steps), &[&held], FinishReason::Stop);
    assert!(turn.fault().unwrap().reason.contains("undeclared"));
    assert_eq!(items.len(), 5);
    assert_eq!(failure_code(&end), "server_error");
}

#[test]
fn parser_holding_for_ever_is_asked_rarely_and_ended() {
    let hold = Step::HoldUntil(HoldUntil { ends: [0; 4], at_most: 512 });
    let steps = [vec![hold; 9], vec![Step::Fault("asked too often".into())]].concat();
    let (settings, pieces) = (settings(), vec!["seven b"; 1000]);
    assert_eq!(settings.held_bytes, 4096);
    let (items, end, turn) = run(scripted(settings, steps), &pieces, FinishReason::Stop);
    assert_eq!((items, end), (vec![message(&pieces.concat())], TurnEnd::Completed));
    assert_eq!(turn.fault().map(|fault| &*fault.reason), Some("it held more than 4096 bytes"));
}

#[test]
fn what_nobody_has_after_a_fault_is_counted() {
    let unread = |policy| {
        let settings = TurnSettings { fault_policy: policy, ..settings() };
        let ops = vec![bytes(Route::Content, 1), bytes(Route::Drop, 1), bytes(Route::Content, 9)];
        let parser = scripted(settings, [Step::Ops(ops)]);
        run(parser, &["abcd<r>z<end>more"], FinishReason::Stop).2.unread_bytes()
    };
    assert_eq!(unread(FaultPolicy::Fail), "cd<r>z<end>more".len() as u64);
    assert_eq!(unread(FaultPolicy::Continue), 0);
}
