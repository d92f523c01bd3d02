//! Every case of every shipped parser where the request forbids calls: its items without the calls, and no failure because of them.

use std::path::Path;

use parser_sdk::testing::case::{CaseItem, End, case_files};

use super::super::{Measures, Outcome, Sandboxed, convert, play_case};
use super::Recording;
use crate::limits::ParserLimits;
use crate::parser::PluginSource;
use crate::parser::contract::FinishReason;
use crate::turn::{Flow, Turn, TurnEvents, TurnSettings, fold};

/// Items, end, and number of dropped calls of a recorded turn that may call no tools.
fn forbidden(recording: &Recording) -> (Vec<CaseItem>, End, u32) {
    let Recording { subject, request, prompt, tape, cuts, finish, .. } = recording;
    let settings = TurnSettings { may_call: false, ..subject.settings(request, tape.mode()) };
    let mut turn = Turn::new(settings, subject.start(request).expect("it starts"));
    let mut events = TurnEvents::default();
    let _ = turn.replay(&prompt.pieces(0..prompt.len()), &mut events);
    let mut steps = tape.groups(cuts).into_iter();
    let over = steps.any(|step| turn.step(&tape.pieces(step), &mut events) == Flow::Stop);
    let reason = if over { FinishReason::Stop } else { *finish };
    let end = turn.finish(reason, None, &mut events);
    let items = fold(events).expect("a well-formed turn").into_iter().map(convert::item).collect();
    (items, convert::end(&end), turn.dropped_calls())
}

#[test]
fn forbidden_calls_are_dropped_and_the_rest_of_the_turn_is_what_it_is_with_them() {
    let plugins = Path::new(env!("CARGO_MANIFEST_DIR")).join("../plugins");
    let is_call = |item: &CaseItem| matches!(item, CaseItem::ToolCall { .. });
    let (mut dropped, mut kept) = (0, 0);
    for entry in plugins.read_dir().expect("the parsers") {
        let path = entry.expect("an entry").path();
        let cases = path.with_extension("").join("cases");
        if path.extension().is_none_or(|extension| extension != "wasm") || !cases.is_dir() {
            continue;
        }
        let limits = ParserLimits::default();
        let parser =
            Sandboxed::new(PluginSource::File(path), &limits, None, Measures::Nothing).expect("a parser");
        for file in case_files(&cases).expect("cases") {
            let recording = Recording::load(&file, &parser).expect("a case");
            let allowed: Outcome = play_case(&recording);
            let mut items = allowed.items.clone().expect("a well-formed turn");
            let calls = items.len();
            items.retain(|item| !is_call(item));
            let (found, end, count) = forbidden(&recording);
            assert_eq!(found, items, "{}", file.display());
            assert_eq!(usize::try_from(count), Ok(calls - items.len()), "{}", file.display());
            let expected =
                if recording.finish == FinishReason::Stop { End::Completed } else { allowed.end() };
            assert_eq!(end, expected, "{}", file.display());
            (dropped, kept) = (dropped + count, kept + items.len());
        }
    }
    assert!(dropped > 300 && kept > 300, "{dropped} calls dropped, {kept} items kept");
}
