//! Where the bytes of a turn went: each is told once and in order.

use super::*;
use crate::Routed;
use crate::oracle::tagged_with;
use contract::Trim;

const DRAFT: &str = "<c>weather:{\"a\": 1}</c>";

fn showing() -> TurnSettings {
    TurnSettings { shows_routes: true, ..settings() }
}

/// Routes of a turn of the format of `tags` that is cut into pieces of `size` bytes.
fn routes(output: &str, size: usize) -> Vec<(Route, String)> {
    let mut turn = tagged_with(2, false, true, showing());
    let _ = turn.replay(&[text("<r>")], &mut TurnEvents::default());
    routes_of(turn, output.as_bytes().chunks(size).map(|piece| str::from_utf8(piece).unwrap()))
}

/// Routes of a turn that gets these pieces, those of equal neighbours as one.
fn routes_of<'a>(mut turn: Turn, pieces: impl IntoIterator<Item = &'a str>) -> Vec<(Route, String)> {
    let mut out = TurnEvents::default();
    for piece in pieces {
        let _ = turn.step(&[token(piece)], &mut out);
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
fn markup_that_was_dropped_before_a_call_inside_reasoning_is_told_with_it() {
    let pieces = ["So ", "[c]weather:", "{}", "[/c]", "[/r]", "Hi."];
    let steps = || {
        [
            vec![bytes(Route::Reasoning, 3)],
            vec![bytes(Route::Drop, 11)],
            vec![call("weather"), bytes(Route::Arguments, 2)],
            vec![bytes(Route::Drop, 4), Op::Close],
            vec![bytes(Route::Reasoning, 4), Op::Close],
            vec![bytes(Route::Content, 3)],
        ]
        .map(Step::Ops)
    };
    let told = routes_of(scripted(showing(), steps()), pieces);
    let draft = "So [c]weather:{}[/c][/r]".to_owned();
    assert_eq!(told, [(Route::Reasoning, draft), (Route::Content, "Hi.".to_owned())]);
    let told = routes_of(scripted(showing(), steps()), pieces[..2].iter().copied());
    assert_eq!(told, [(Route::Reasoning, "So ".to_owned()), (Route::Drop, "[c]weather:".to_owned())]);
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
