//! How a turn ends, and in which state that leaves its last item.

use super::*;
use contract::ToolCall;

fn ended(ops: Vec<Op>, pieces: &[&str], reason: FinishReason) -> (Vec<FoldedItem>, TurnEnd) {
    let (items, end, turn) = run(scripted(settings(), [Step::Ops(ops)]), pieces, reason);
    assert_eq!(turn.fault(), None);
    (items, end)
}

#[test]
fn open_message_is_whole_at_stop_and_cut_otherwise() {
    let end = |reason| ended(vec![bytes(Route::Content, 1)], &["a"], reason);
    assert_eq!(end(FinishReason::Stop), (vec![message("a")], TurnEnd::Completed));
    assert_eq!(end(FinishReason::Length), (vec![incomplete(message("a"))], TurnEnd::MaxOutputTokens));
    assert_eq!(end(FinishReason::Cancelled), (vec![incomplete(message("a"))], TurnEnd::Cancelled));
}

#[test]
fn a_closed_item_stays_whole_at_length() {
    let (items, end) = ended(vec![bytes(Route::Content, 1), Op::Close], &["a"], FinishReason::Length);
    assert_eq!((items, end), (vec![message("a")], TurnEnd::MaxOutputTokens));
}

#[test]
fn open_call_with_complete_json_is_whole_at_any_end() {
    let end = |arguments: &str, reason| {
        let length = u32::try_from(arguments.len()).unwrap();
        ended(vec![call("weather"), bytes(Route::Arguments, length)], &[arguments], reason)
    };
    let (items, ended) = end(r#"{"a":"}"}"#, FinishReason::Stop);
    assert_eq!((items, ended), (vec![tool_call(1, "weather", r#"{"a":"}"}"#)], TurnEnd::Completed));
    let (items, ended) = end(r#"{"a":"}"#, FinishReason::Stop);
    assert_eq!(items, [incomplete(tool_call(1, "weather", r#"{"a":"}"#))]);
    let TurnEnd::Failed(failure) = ended else { panic!("{ended:?}") };
    assert_eq!(failure.code, "model_error");
    assert!(failure.message.contains("weather"), "{}", failure.message);
    let (items, ended) = end("{}", FinishReason::Length);
    assert_eq!((items, ended), (vec![tool_call(1, "weather", "{}")], TurnEnd::MaxOutputTokens));
    let (items, ended) = end("{", FinishReason::Length);
    assert_eq!((items, ended), (vec![incomplete(tool_call(1, "weather", "{"))], TurnEnd::MaxOutputTokens));
}

#[test]
fn closed_call_without_json_stays_and_is_counted() {
    let named = |arguments: &str, payload| {
        let open = Op::ToolCall(ToolCall::new("weather", payload));
        let length = u32::try_from(arguments.len()).unwrap();
        let steps = [Step::Ops(vec![open, bytes(Route::Arguments, length), Op::Close])];
        let (items, end, turn) = run(scripted(settings(), steps), &[arguments], FinishReason::Stop);
        assert_eq!((items.len(), end), (1, TurnEnd::Completed), "{arguments}");
        turn.malformed_calls()
    };
    for arguments in ["{city: Oslo}", "{\"a\":1", "{} {}"] {
        assert_eq!(named(arguments, Payload::Json), 1, "{arguments}");
        assert_eq!(named(arguments, Payload::Text), 0, "{arguments}");
    }
    for arguments in ["{}", " {} ", " ", "null"] {
        assert_eq!(named(arguments, Payload::Json), 0, "{arguments}");
    }
}

#[test]
fn call_without_object_is_incomplete_however_closed() {
    for arguments in ["[1]", " 42", "\"foo\"", "false", "foo"] {
        let length = u32::try_from(arguments.len()).unwrap();
        for close in [None, Some(Op::Close)] {
            let ops = [call("weather"), bytes(Route::Arguments, length)].into_iter().chain(close);
            let steps = [Step::Ops(ops.collect())];
            let (items, end, _) = run(scripted(settings(), steps), &[arguments], FinishReason::Stop);
            assert_eq!(items, [incomplete(tool_call(1, "weather", arguments))]);
            let TurnEnd::Failed(failure) = end else { panic!("{end:?}") };
            assert!(failure.message.contains("no JSON object"), "{}", failure.message);
        }
    }
}

#[test]
fn a_text_payload_is_whole_only_if_the_parser_says_so() {
    let open = |close: bool| {
        let python = Op::ToolCall(ToolCall::new("weather", Payload::Text));
        let close = close.then_some(Op::Close);
        ended(
            [python, bytes(Route::Arguments, 1)].into_iter().chain(close).collect(),
            &["1"],
            FinishReason::Stop,
        )
    };
    assert_eq!(open(true).1, TurnEnd::Completed);
    assert_eq!(failure_code(&open(false).1), "model_error");
}

#[test]
fn the_parser_may_close_a_call_in_its_last_step() {
    let steps = [Step::Ops(vec![call("weather"), bytes(Route::Arguments, 2)]), Step::Ops(vec![Op::Close])];
    let (items, end, _) = run(scripted(settings(), steps), &["{a"], FinishReason::Stop);
    assert_eq!((items, end), (vec![tool_call(1, "weather", "{a")], TurnEnd::Completed));
}

#[test]
fn bytes_held_to_the_end_go_out_as_content() {
    let steps = [Step::Ops(vec![call("weather"), bytes(Route::Arguments, 2)])];
    let (items, end, _) = run(scripted(settings(), steps), &["{}<", "b"], FinishReason::Stop);
    assert_eq!((items, end), (vec![tool_call(1, "weather", "{}"), message("<b")], TurnEnd::Completed));
}

#[test]
fn the_parser_sees_the_marker_that_ended_the_turn() {
    for ended_by in [TokenText::new(Some(105), ""), text("<end>")] {
        let setup = Setup { binding: binding(true, false), settings: settings() };
        let steps =
            [Step::Hold, Step::Ops(vec![bytes(Route::Reasoning, 1), bytes(Route::Drop, 5), Op::Close])];
        let mut turn = scripted(setup, steps);
        let mut out = TurnEvents::default();
        let _ = turn.step(&[text("a")], &mut out);
        assert_eq!(turn.finish(FinishReason::Stop, Some(ended_by), &mut out), TurnEnd::Completed);
        assert_eq!(fold(out).unwrap(), [reasoning("a")]);
        assert_eq!(turn.fault(), None);
    }
}

#[test]
fn ending_token_that_is_no_marker_is_not_text() {
    let mut turn = scripted(settings(), []);
    let mut out = TurnEvents::default();
    let end = turn.finish(FinishReason::Stop, Some(TokenText::new(Some(7), "</s>")), &mut out);
    assert_eq!((end, out.to_vec()), (TurnEnd::Completed, vec![]));
}

#[test]
fn half_a_marker_at_the_end_is_text() {
    let steps = [Step::Ops(vec![bytes(Route::Content, 1)]), Step::Pass];
    let (items, ..) = run(scripted(settings(), steps), &["a<e"], FinishReason::Stop);
    assert_eq!(items, [message("a<e")]);
}

#[test]
fn call_broken_off_before_its_name_fails_at_stop() {
    let ended = |reason| ended(vec![bytes(Route::Drop, 6), Op::BrokenCall], &["{\"name"], reason);
    let (items, end) = ended(FinishReason::Stop);
    assert_eq!(items, []);
    let TurnEnd::Failed(failure) = end else { panic!("{end:?}") };
    assert_eq!(failure.code, "model_error");
    assert!(failure.message.contains("before the tool's name"), "{}", failure.message);
    assert_eq!(ended(FinishReason::Length), (vec![], TurnEnd::MaxOutputTokens));
    assert_eq!(ended(FinishReason::Cancelled), (vec![], TurnEnd::Cancelled));
}

/// Parser that notes how much it is asked about at once.
struct Measured(std::sync::Arc<std::sync::Mutex<Vec<usize>>>);

impl StreamParser for Measured {
    fn text(&mut self, chunk: &str) -> Result<Step, Fault> {
        self.0.lock().unwrap().push(chunk.len());
        let all = u32::try_from(chunk.len()).unwrap();
        Ok(Step::Ops(vec![bytes(Route::Content, all)]))
    }
    fn marker(&mut self, _: u32) -> Result<Step, Fault> {
        Ok(Step::Hold)
    }
    fn finish(&mut self, _: FinishReason) -> Result<Step, Fault> {
        Ok(Step::Hold)
    }
}

#[test]
fn parser_is_asked_about_1_kib_at_most_per_call() {
    for pieces in [vec!["é".repeat(600_000)], vec!["ab".to_owned(); 100_000]] {
        let sizes = Arc::new(std::sync::Mutex::new(Vec::new()));
        let (mut turn, mut out) = (
            Turn::new(&binding(false, false), Box::new(Measured(Arc::clone(&sizes))), settings()),
            TurnEvents::default(),
        );
        let tokens: Vec<_> = pieces.iter().map(|piece| token(piece)).collect();
        let _ = turn.step(&tokens, &mut out);
        let _ = turn.finish(FinishReason::Stop, None, &mut out);
        assert_eq!(turn.fault(), None);
        assert_eq!(fold(out).unwrap(), [message(&pieces.concat())]);
        let sizes = sizes.lock().unwrap();
        assert!(sizes.iter().all(|size| *size <= 1 << 10), "{sizes:?}");
        assert!(sizes.len() <= pieces.concat().len() / 512, "{} calls", sizes.len());
    }
}

#[test]
fn forbidden_calls_show_nothing_and_end_no_turn() {
    let broken = |out: &str, ops: Vec<Op>, reason| {
        let forbidding = TurnSettings { calls: AllowedCalls::None, ..settings() };
        let steps = [Step::Ops(vec![bytes(Route::Content, 2)]), Step::Ops(ops)];
        let (items, end, turn) = run(scripted(forbidding, steps), &["Hi", out], reason);
        assert_eq!(turn.fault(), None);
        (items, end, turn.dropped_calls(), turn.malformed_calls())
    };
    let (stop, length) = (FinishReason::Stop, FinishReason::Length);
    let called =
        |close: Option<Op>| [call("weather"), bytes(Route::Arguments, 2)].into_iter().chain(close).collect();
    let items = vec![message("Hi")];
    assert_eq!(broken("{}", called(Some(Op::Close)), stop), (items.clone(), TurnEnd::Completed, 1, 0));
    assert_eq!(broken("{x", called(None), stop), (items.clone(), TurnEnd::Completed, 1, 0));
    assert_eq!(broken("{x", called(Some(Op::Close)), stop), (items.clone(), TurnEnd::Completed, 1, 0));
    assert_eq!(broken("{x", called(None), length), (items.clone(), TurnEnd::MaxOutputTokens, 1, 0));
    let no_name = vec![bytes(Route::Drop, 2), Op::BrokenCall];
    assert_eq!(broken("<c", no_name, stop), (items, TurnEnd::Completed, 0, 0));
}
