//! Replay of the generation prompt: its bytes are discarded, and the output begins in what it
//! leaves open.

use super::*;

fn replayed(mut turn: Turn, prompt: &[&str], pieces: &[&str]) -> (Vec<FoldedItem>, TurnEnd) {
    let prompt: Vec<TokenText<'_>> = prompt.iter().map(|piece| text(piece)).collect();
    let mut out = TurnEvents::default();
    let _ = turn.replay(&prompt, &mut out);
    for piece in pieces {
        let _ = turn.step(&[text(piece)], &mut out);
    }
    let end = turn.finish(FinishReason::Stop, None, &mut out);
    assert_eq!(turn.fault(), None);
    (fold(out).unwrap(), end)
}

fn items(steps: impl IntoIterator<Item = Step>, prompt: &[&str], pieces: &[&str]) -> Vec<FoldedItem> {
    let (items, end) = replayed(scripted(trimming(), steps), prompt, pieces);
    assert_eq!(end, TurnEnd::Completed);
    items
}

#[test]
fn items_closed_in_the_prompt_are_gone_and_open_go_on() {
    let steps = [
        Step::Ops(vec![
            bytes(Route::Reasoning, 1),
            Op::Close,
            call("weather"),
            bytes(Route::Arguments, 2),
            Op::Close,
            Op::Message("final".into()),
        ]),
        Step::Ops(vec![bytes(Route::Content, 1)]),
    ];
    assert_eq!(items(steps, &["a{}"], &["b"]), [phased(Phase::Final, "b")]);
}

#[test]
fn reasoning_opened_by_prompt_begins_with_the_output() {
    let steps = || [Step::Ops(vec![bytes(Route::Drop, 3), Op::UntilMarker(Route::Reasoning)])];
    assert_eq!(items(steps(), &["<r>", "\n"], &["\n", "a"]), [reasoning("a")]);
    assert_eq!(items(steps(), &["<r>", "\n"], &["\n"]), []);
    assert_eq!(items(steps(), &["<r>", "Well,"], &[" a"]), [reasoning(" a")]);
}

#[test]
fn call_forced_by_the_prompt_opens_before_the_output() {
    let steps = || [Step::Ops(vec![bytes(Route::Drop, 4), call("news"), Op::UntilMarker(Route::Arguments)])];
    assert_eq!(items(steps(), &["news"], &["{}"]), [tool_call(1, "news", "{}")]);
    let (items, end) = replayed(scripted(settings(), steps()), &["news"], &[]);
    assert_eq!(items, [incomplete(tool_call(1, "news", ""))]);
    assert_eq!(failure_code(&end), "model_error");
}

#[test]
fn prompt_bytes_routed_during_output_are_discarded() {
    let late = |ops| [Step::Hold, Step::Ops(ops)];
    let shown = items(late(vec![bytes(Route::Content, 4)]), &["ab"], &["cd"]);
    assert_eq!(shown, [message("cd")]);
    let closed = vec![bytes(Route::Content, 2), Op::Close, bytes(Route::Content, 2)];
    assert_eq!(items(late(closed), &["ab"], &["cd"]), [message("cd")]);
    let call = vec![bytes(Route::Drop, 1), call("weather"), bytes(Route::Arguments, 3), Op::Close];
    assert_eq!(items(late(call), &["a{"], &["}}"]), [tool_call(1, "weather", "}}")]);
}

#[test]
fn marker_may_begin_in_the_prompt_and_end_in_output() {
    let steps = [Step::Ops(vec![bytes(Route::Content, 1)]), Step::Ops(vec![bytes(Route::Content, 3)])];
    assert_eq!(items(steps, &["a<"], &["r", ">"]), [message("r>")]);
}

#[test]
fn the_prompts_tokens_are_not_counted() {
    let mut turn = scripted(settings(), [Step::Ops(vec![bytes(Route::Content, 1)]), Step::Pass]);
    let mut out = TurnEvents::default();
    let _ = turn.replay(&[token("a")], &mut out);
    let _ = turn.step(&[token("b"), text("c")], &mut out);
    let _ = turn.finish(FinishReason::Stop, None, &mut out);
    assert_eq!(turn.tokens(), TokenCounts { content: 1, ..TokenCounts::default() });
}

#[test]
fn calls_of_the_prompt_count_for_nothing() {
    for arguments in ["{}", "{1", "[1]"] {
        for calls in [crate::AllowedCalls::None, crate::AllowedCalls::Any] {
            let run = |route, text: &str| bytes(route, u32::try_from(text.len()).unwrap());
            let call = [call("weather"), run(Route::Arguments, arguments), Op::Close];
            let steps = [Step::Ops(call.into()), Step::Ops(vec![run(Route::Content, "Hi")])];
            let mut turn = scripted(TurnSettings { calls, ..settings() }, steps);
            let mut out = TurnEvents::default();
            let _ = turn.replay(&[text(arguments)], &mut out);
            let _ = turn.step(&[text("Hi")], &mut out);
            assert_eq!(turn.finish(FinishReason::Stop, None, &mut out), TurnEnd::Completed, "{arguments}");
            assert_eq!((turn.dropped_calls(), turn.malformed_calls()), (0, 0), "{arguments}");
            assert_eq!(fold(out).unwrap(), [message("Hi")]);
        }
    }
}
