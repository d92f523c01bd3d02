//! Calls inside reasoning: drafts, and calls that count.

use super::*;
use crate::TurnFailure;
use crate::oracle::tagged;

const DRAFT: &str = "<c>weather:{\"a\": 1}</c>";

/// Items and end of a turn that writes `output` in pieces of `size` bytes.
fn turn(output: &str, size: usize, reason: FinishReason) -> (Vec<FoldedItem>, TurnEnd, TokenCounts) {
    let pieces: Vec<String> =
        output.as_bytes().chunks(size).map(|piece| String::from_utf8_lossy(piece).into_owned()).collect();
    let mut out = TurnEvents::default();
    let mut turn = tagged(2, false, true);
    for piece in &pieces {
        let _ = turn.step(&[token(piece)], &mut out);
    }
    let end = turn.finish(reason, None, &mut out);
    (fold(out).expect("well-formed events"), end, turn.tokens())
}

/// The items, which are the same however the stream is cut.
fn items(output: &str, reason: FinishReason) -> Vec<FoldedItem> {
    let (whole, ..) = turn(output, usize::MAX, reason);
    for size in [1, 2, 3, 7] {
        let (items, ..) = turn(output, size, reason);
        assert_eq!(ids_aside(items), ids_aside(whole.clone()), "in pieces of {size}");
    }
    whole
}

/// The items with equal call ids: a draft takes one, too.
fn ids_aside(mut items: Vec<FoldedItem>) -> Vec<FoldedItem> {
    for item in &mut items {
        if let ItemHead::ToolCall { call_id, .. } = &mut item.head {
            call_id.clear();
        }
    }
    items
}

#[test]
fn draft_is_reasoning_to_the_byte_and_real_call_runs() {
    let output = format!("<r>Maybe {DRAFT} no.\n {DRAFT}?</r>\n<c>weather:{{}}</c>");
    let expected = [reasoning(&format!("Maybe {DRAFT} no.\n {DRAFT}?")), tool_call(0, "weather", "{}")];
    assert_eq!(ids_aside(items(&output, FinishReason::Stop)), ids_aside(expected.into()));
    let answered = format!("<r>So {DRAFT}</r>No.");
    assert_eq!(items(&answered, FinishReason::Stop), [reasoning(&format!("So {DRAFT}")), message("No.")]);
}

#[test]
fn call_counts_if_the_turn_ends_in_or_with_reasoning() {
    let call = tool_call(1, "weather", "{\"a\": 1}");
    let inside = format!("<r>So {DRAFT} and");
    for reason in [FinishReason::Stop, FinishReason::Length] {
        assert_eq!(
            items(&inside, reason),
            [reasoning("So"), call.clone(), reasoning("and")].map(|item| {
                if reason == FinishReason::Length && item == reasoning("and") {
                    incomplete(item)
                } else {
                    item
                }
            })
        );
    }
    let with_it = format!("<r>So {DRAFT}</r>\n<end>");
    assert_eq!(items(&with_it, FinishReason::Stop), [reasoning("So"), call]);
    let cut_off = format!("<r>So {DRAFT}</r>\n");
    assert_eq!(items(&cut_off, FinishReason::Length), [reasoning(&format!("So {DRAFT}"))]);
}

#[test]
fn call_followed_by_content_counts_inside_reasoning() {
    let steps = [
        Step::Ops(vec![bytes(Route::Reasoning, 2)]),
        Step::Ops(vec![call("weather"), bytes(Route::Arguments, 2), Op::Close]),
        Step::Ops(vec![bytes(Route::Content, 2)]),
    ];
    let (items, end, _) = run(scripted(settings(), steps), &["so", "{}", "hi"], FinishReason::Stop);
    assert_eq!(items, [reasoning("so"), tool_call(1, "weather", "{}"), message("hi")]);
    assert_eq!(end, TurnEnd::Completed);
}

#[test]
fn nothing_of_a_draft_is_shown_before_it_is_decided() {
    let (mut turn, mut out) = (tagged(2, false, true), TurnEvents::default());
    let _ = turn.step(&[text("<r>Maybe.")], &mut out);
    out.clear();
    for piece in ["<c>weather:", "{}", "</c>", "Or not.", "</r>"] {
        let _ = turn.step(&[text(piece)], &mut out);
        assert_eq!(out[..], [], "after {piece:?}");
    }
    let _ = turn.step(&[text("No")], &mut out);
    let shown = "<c>weather:{}</c>Or not.";
    assert!(
        matches!(&out[..], [TurnEvent::Text(text), TurnEvent::Close(_), ..] if text.text == shown),
        "{out:?}"
    );
}

#[test]
fn broken_drafts_fail_no_turn_but_broken_calls_do() {
    let (items, end, _) = turn("<r>So <c>weather:5</c></r>Hi.", 3, FinishReason::Stop);
    assert_eq!((items, end), (vec![reasoning("So <c>weather:5</c>"), message("Hi.")], TurnEnd::Completed));
    let (items, end, _) = turn("<r>So <c>weather:5</c>", 3, FinishReason::Stop);
    assert_eq!(items, [reasoning("So"), incomplete(tool_call(1, "weather", "5"))]);
    assert!(matches!(end, TurnEnd::Failed(TurnFailure { code: "model_error", .. })), "{end:?}");
}

#[test]
fn tokens_of_a_draft_are_reasoning() {
    let count = |output: &str| turn(output, 1, FinishReason::Stop).2;
    let (plain, draft) = (count("<r>Maybe .</r>Hi"), count(&format!("<r>Maybe {DRAFT}.</r>Hi")));
    let length = |text: &str| u32::try_from(text.len()).expect("a short text");
    // The markup before the call is settled as such before anybody knows of a call.
    assert_eq!(draft.arguments, 0);
    assert_eq!(draft.reasoning + draft.dropped, plain.reasoning + plain.dropped + length(DRAFT));
    assert!(draft.reasoning >= plain.reasoning + length("{\"a\": 1}</c>"), "{draft:?} {plain:?}");
}

#[test]
fn calls_in_reasoning_count_at_once_if_so_configured() {
    let option = |value: &str| vec![("calls-in-reasoning".to_owned(), value.to_owned())];
    assert_eq!(DraftCalls::of(&option("at-once")), Ok(DraftCalls::AtOnce));
    assert_eq!(DraftCalls::of(&option("held")), Ok(DraftCalls::Held));
    assert_eq!(DraftCalls::of(&[]), Ok(DraftCalls::Held));
    assert_eq!(DraftCalls::of(&option("no")).unwrap_err(), "calls-in-reasoning=no: it is held or at-once");
    let steps = [
        Step::Ops(vec![bytes(Route::Reasoning, 2)]),
        Step::Ops(vec![call("weather"), bytes(Route::Arguments, 2), Op::Close]),
        Step::Ops(vec![bytes(Route::Reasoning, 2), Op::Close]),
        Step::Ops(vec![bytes(Route::Content, 2)]),
    ];
    let settings = TurnSettings { drafts: DraftCalls::AtOnce, ..settings() };
    let (items, ..) = run(scripted(settings, steps), &["so", "{}", "no", "hi"], FinishReason::Stop);
    assert_eq!(items, [reasoning("so"), tool_call(1, "weather", "{}"), reasoning("no"), message("hi")]);
}

#[test]
fn what_a_draft_may_hold_is_bounded() {
    let held = settings().held_bytes;
    let long = "x".repeat(held);
    let (items, end, _) =
        turn(&format!("<r>So <c>weather:{{\"a\": \"{long}\"}}</c></r>Hi."), 64, FinishReason::Stop);
    assert!(matches!(end, TurnEnd::Failed(TurnFailure { code: "server_error", .. })), "{end:?}");
    assert_eq!(items[0], reasoning("So"));
    assert_eq!(items[1].status, ItemStatus::Incomplete);
}
