//! Where the bytes of a turn went: each is told once and in order.

use super::*;
use crate::Routed;
use crate::oracle::tagged_with;
use contract::Trim;

const DRAFT: &str = "<c>weather:{\"a\": 1}</c>";

/// Routes of a turn that is cut into pieces of `size` bytes, those of equal neighbours as one.
fn routes(output: &str, size: usize) -> Vec<(Route, String)> {
    let (mut turn, mut out) = (
        tagged_with(2, false, true, TurnSettings { shows_routes: true, ..settings() }),
        TurnEvents::default(),
    );
    let _ = turn.replay(&[text("<r>")], &mut out);
    for piece in output.as_bytes().chunks(size) {
        let _ = turn.step(&[token(str::from_utf8(piece).unwrap())], &mut out);
    }
    let _ = turn.finish(FinishReason::Stop, None, &mut out);
    let mut routes: Vec<(Route, String)> = Vec::new();
    for event in out.iter() {
        let TurnEvent::Routed(Routed { route, text }) = event else { continue };
        match routes.last_mut() {
            Some((last, whole)) if last == route => whole.push_str(text),
            _ => routes.push((*route, text.clone())),
        }
    }
    routes
}

fn check(output: &str, expected: &[(Route, &str)]) {
    for size in [1, 2, 3, 7, usize::MAX] {
        let routes = routes(output, size);
        let routes: Vec<_> = routes.iter().map(|(route, text)| (*route, &**text)).collect();
        assert_eq!(routes, expected, "{output:?} in pieces of {size}");
    }
}

#[test]
fn white_space_that_is_trimmed_belongs_to_its_item() {
    check(
        " So. </r>\n Hi.",
        &[(Route::Reasoning, " So. "), (Route::Drop, "</r>"), (Route::Content, "\n Hi.")],
    );
}

#[test]
fn a_call_inside_reasoning_is_told_as_what_it_turned_out_to_be() {
    let draft = format!("So {DRAFT} no.");
    check(
        &format!("{draft}</r>Hi."),
        &[(Route::Reasoning, &draft), (Route::Drop, "</r>"), (Route::Content, "Hi.")],
    );
    check(
        &format!("So {DRAFT}"),
        &[
            (Route::Reasoning, "So "),
            (Route::Drop, "<c>weather:"),
            (Route::Arguments, "{\"a\": 1}"),
            (Route::Drop, "</c>"),
        ],
    );
}

#[test]
fn what_follows_the_end_of_the_turn_comes_last() {
    check(
        "</r>Hi.<end>more<r>",
        &[(Route::Drop, "</r>"), (Route::Content, "Hi."), (Route::Drop, "<end>more<r>")],
    );
}

#[test]
fn white_space_is_left_out_as_the_settings_say() {
    for (trim, expected) in [(None, "Hi."), (Some(Trim::default()), " Hi. \n")] {
        let settings = TurnSettings { trim, ..settings() };
        let (mut turn, mut out) = (tagged_with(2, false, true, settings), TurnEvents::default());
        let _ = turn.step(&[text(" Hi. \n")], &mut out);
        let _ = turn.finish(FinishReason::Stop, None, &mut out);
        assert_eq!(fold(out).unwrap(), [message(expected)]);
    }
}
