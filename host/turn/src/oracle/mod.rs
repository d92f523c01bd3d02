//! Oracles of the turn room's property tests and of the fuzz targets: what must hold for any stream
//! and any parser.
//!
//! They panic where it doesn't hold. Not part of the library: compiled for tests, and for the fuzz
//! targets by the feature `oracles`.

mod feed;
mod format;
mod markers;
mod random;
mod tags;

use std::sync::{Arc, Mutex};

use seeded::SplitMix64;

use super::{DraftCalls, FaultPolicy, FoldedItem, ItemHead, ItemStatus, TokenText, Turn, TurnSettings};
use feed::{cut, driven, tokenized};
pub(super) use format::{binding, bytes, call, failure_code, ids, literals, settings};
use random::{ArbitraryParser, ConformingParser};
use tags::Tags;

pub use format::LITERALS;
pub use markers::check_markers;

/// Fragments of hostile streams.
pub const FRAGMENTS: [&str; 28] = [
    "<r>", "</r>", "<c>", "</c>", "</c>!", "<end>", "<", "</", "<c", "r>", "!", ">", " ", "\n", "é", "😀",
    "\u{2003}", "a", "v:", "e:", "u:", "\\", "\"", "\\u00", "e9", "weather:", ":", "{}",
];

/// How a turn is cut: sizes of pieces in bytes and of steps in pieces, each used over and over.
/// None is empty.
#[derive(Debug, Clone, Copy)]
pub struct Cuts<'a> {
    /// Sizes of the generation prompt's pieces, in bytes.
    pub prompt: &'a [usize],
    /// Sizes of the output's pieces, in bytes.
    pub text: &'a [usize],
    /// Sizes of the steps, in pieces.
    pub steps: &'a [usize],
}

/// Checks that any cutting, any grouping, and markers by id or by text give the same items, and so
/// do the four styles of answering: 0 in runs, 1 with `pass`, 2 with `until-marker`, 3 with
/// `until-byte`.
pub fn check_cuts(prompt: &str, text: &str, cuts: Cuts<'_>, style: u8, trim: bool) {
    // The line break decides what the prompt leaves undecided, so that the output begins with a
    // whole token.
    let prompt = &format!("{prompt}\n");
    let whole = |text| [TokenText::new(None, text)];
    let (items, end, _) = driven(tagged(0, false, trim), &whole(prompt), &whole(text), &[1]);
    let by_text = (cut(prompt, cuts.prompt), cut(text, cuts.text));
    let tokens = |text, sizes| tokenized(text, &LITERALS, |index| ids(LITERALS[index]), sizes);
    let by_id = (tokens(prompt, cuts.prompt), tokens(text, cuts.text));
    for (has_ids, (prompt, text)) in [(false, by_text), (true, by_id)] {
        let settings = TurnSettings { shows_routes: has_ids, ..settings() };
        let turn = tagged_with(style, has_ids, trim, settings);
        let (got, got_end, turn) = driven(turn, &prompt, &text, cuts.steps);
        assert_eq!((got, got_end), (items.clone(), end.clone()), "markers by id: {has_ids}");
        assert_eq!(turn.fault(), None);
    }
}

/// Checks that all text that a parser within the contract doesn't drop comes out once and in order.
pub fn check_conforming(text: &str, cuts: Cuts<'_>, seed: u64) {
    let expected = Arc::new(Mutex::new(String::new()));
    let parser = ConformingParser::new(seed, expected.clone());
    // What a draft drops is reasoning after all.
    let settings = TurnSettings { drafts: DraftCalls::AtOnce, ..settings() };
    let turn: Turn = Turn::new(&binding(false, false), Box::new(parser), settings);
    let (items, _, turn) = driven(turn, &[], &cut(text, cuts.text), cuts.steps);
    assert_eq!(turn.fault(), None);
    let visible: String = items.into_iter().map(|item| item.text).collect();
    assert_eq!(visible, *expected.lock().expect("nothing panics with it"));
}

/// Checks that the turn is well-formed whatever a parser answers, that a server error is the
/// parser's fault, and that telling the bytes' routes changes nothing.
pub fn check_arbitrary(prompt: &str, text: &str, cuts: Cuts<'_>, seed: u64, trim: bool, policy: FaultPolicy) {
    let driven = |shows_routes| {
        let settings = TurnSettings { fault_policy: policy, held_bytes: 16, shows_routes, ..settings() };
        let parser = Box::new(ArbitraryParser(SplitMix64::new(seed)));
        let turn: Turn = Turn::new(&binding(false, trim), parser, settings);
        driven(turn, &cut(prompt, cuts.prompt), &cut(text, cuts.text), cuts.steps)
    };
    let (items, end, turn) = driven(false);
    let (told, told_end, _) = driven(true);
    assert_eq!((told, told_end), (items.clone(), end.clone()), "with routes");
    let failed = failure_code(&end);
    assert!(failed != "server_error" || turn.fault().is_some());
    let whole = |item: &FoldedItem| item.status == ItemStatus::Completed;
    let is_call = |item: &FoldedItem| matches!(item.head, ItemHead::ToolCall { .. });
    assert!(!failed.is_empty() || items.iter().all(|item| whole(item) || is_call(item)), "{items:?}");
}

/// A turn of the format of `tags`, whose parser routes alike however the stream is cut; `style` as
/// in [`check_cuts`].
pub(super) fn tagged(style: u8, by_id: bool, trim: bool) -> Turn {
    tagged_with(style, by_id, trim, settings())
}

/// As [`tagged`], with these settings.
pub(super) fn tagged_with(style: u8, by_id: bool, trim: bool, settings: TurnSettings) -> Turn {
    Turn::new(&binding(by_id, trim), Box::new(Tags::new(style)), settings)
}
