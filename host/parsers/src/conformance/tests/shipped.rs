//! Every case of every shipped parser under a server's settings that cases don't have: calls that
//! the request forbids, and markers that are tokens inside strings.

use std::path::Path;

use parser_kit::Item;
use parser_kit::case::{CaseEnd, CaseItem, case_files};

use super::Recording;
use crate::ParserLimits;
use crate::PluginSource;
use crate::conformance::tape::Tape;
use crate::conformance::{Measures, Sandboxed, play_case};
use contract::FinishReason;
use turn::{Flow, Turn, TurnEvents, TurnSettings, fold};

/// Calls `test` with each case of the shipped parsers whose file has one of these words in its
/// name.
fn each_case(words: &[&str], mut test: impl FnMut(&str, Recording)) {
    let plugins = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../plugins");
    for entry in plugins.read_dir().expect("the parsers") {
        let path = entry.expect("an entry").path();
        let cases = path.with_extension("").join("cases");
        if path.extension().is_none_or(|extension| extension != "wasm") || !cases.is_dir() {
            continue;
        }
        let source = PluginSource::File(path);
        let parser = Sandboxed::new(source, &ParserLimits::default(), None, Measures::Nothing, |_, _| Ok(()))
            .expect("a parser");
        for file in case_files(&cases).expect("cases") {
            let recording = Recording::load(&file, &parser).expect("a case");
            if words.iter().any(|word| file.to_string_lossy().contains(word)) {
                test(&file.display().to_string(), recording);
            }
        }
    }
}

/// Plays `tape` in steps that are split at `cuts`, with settings that `change` makes. Returns the
/// items, the end, and the number of calls that were dropped.
fn played(
    recording: &Recording,
    tape: &Tape,
    cuts: &[usize],
    change: impl FnOnce(&mut TurnSettings),
) -> (Vec<CaseItem>, CaseEnd, u32) {
    let Recording { subject, request, prompt, finish, .. } = recording;
    let mut settings = subject.settings(request);
    change(&mut settings);
    let mut turn =
        Turn::new(subject.binding(tape.mode()), subject.start(request).expect("it starts"), settings);
    let mut events = TurnEvents::default();
    let _ = turn.replay(&prompt.pieces(0..prompt.len()), &mut events);
    let mut steps = tape.groups(cuts).into_iter();
    let over = steps.any(|step| turn.step(&tape.pieces(step), &mut events) == Flow::Stop);
    let reason = if over { FinishReason::Stop } else { *finish };
    let end = turn.finish(reason, None, &mut events);
    assert_eq!(turn.fault(), None);
    let items =
        fold(events).expect("a well-formed turn").into_iter().map(|item| Item::from(item).into()).collect();
    (items, CaseEnd::of(&end), turn.dropped_calls())
}

#[test]
fn forbidden_calls_are_dropped_and_the_rest_stays() {
    let (mut dropped, mut kept) = (0, 0);
    each_case(&[""], |file, recording| {
        let allowed = play_case(&recording);
        let mut items = allowed.items.clone().expect("a well-formed turn");
        let all = items.len();
        items.retain(|item| !matches!(item, CaseItem::ToolCall { .. }));
        let forbid = |settings: &mut TurnSettings| settings.calls = turn::AllowedCalls::None;
        let (found, end, count) = played(&recording, &recording.tape, &recording.cuts, forbid);
        assert_eq!(found, items, "{file}");
        assert_eq!(usize::try_from(count), Ok(all - items.len()), "{file}");
        let expected =
            if recording.finish == FinishReason::Stop { CaseEnd::Completed } else { allowed.end() };
        assert_eq!(end, expected, "{file}");
        (dropped, kept) = (dropped + count, kept + items.len());
    });
    assert!(dropped > 300 && kept > 300, "{dropped} calls dropped, {kept} items kept");
}

/// Plays the case with markers as tokens, in whole and cut at every 1, 2, 3 and 7 characters: it
/// gives the items that it expects.
fn reads_on(file: &str, recording: &Recording) {
    let recording = recording.by_tokens();
    let tape = &recording.tape;
    for size in [usize::MAX, 1, 2, 3, 7] {
        let cuts = if size == usize::MAX { Vec::new() } else { tape.avoid_mixed_groups(tape.every(size)) };
        let (items, ..) = played(&recording, tape, &cuts, |settings| settings.reads_on = true);
        assert_eq!(items, recording.expected, "{file} in pieces of {size}");
    }
}

#[test]
fn token_marker_is_text_only_if_its_string_goes_on() {
    let (mut content, mut lost) = (0, 0);
    let words =
        ["inside_a_string_is_text.", "inside_strings_are_text", "inside_a_string_are_text", "lost_quote"];
    each_case(&words, |file, recording| {
        if file.contains("lost_quote") {
            lost += 1;
        } else {
            content += 1;
        }
        reads_on(file, &recording);
    });
    assert!(content >= 8 && lost >= 6, "{content} {lost}");
}
