//! Damaged and hostile components: loading any file ends with an error of one line, or the parser
//! serves a stream that is well-formed, within its limits.

use std::borrow::Cow;
use std::cell::Cell;
use std::time::{Duration, Instant};

use contract::{FinishReason, Request};
use parsers::ParserLimits;
use parsers::{Plugin, PluginSource, Runtime};
use proptest::prelude::*;
use proptest::sample::Index;
use proptest::test_runner::TestRunner;
use turn::{Binding, TokenText, Turn, TurnEnd, TurnEvents, TurnSettings, counted_call_ids, fold};

use crate::guests::{NAMES, guest};

const SHIPPED: &[u8] = include_bytes!("../../../plugins/qwen3.wasm");

/// Deltas of the stream: text with markers of both kinds of component.
const OUTPUT: [&str; 8] = [
    "hello",
    "<x>",
    "é",
    "<think>Hm.</think>",
    "<tool_call>",
    "{\"name\": \"add\", \"argu",
    "ments\": {}}",
    "</tool_call>",
];

fn runtime() -> Runtime {
    Runtime::new(&ParserLimits::default()).expect("wasmtime works here")
}

/// Loads `bytes` and, if they load, plays a stream to its end; true if they loaded.
fn exercise(runtime: &Runtime, bytes: Vec<u8>) -> bool {
    let begin = Instant::now();
    let source = PluginSource::Bytes { name: "mutant".to_owned(), bytes: Cow::Owned(bytes) };
    let plugin = match runtime.load(&source, &[]) {
        Ok(plugin) => plugin,
        Err(error) => {
            let line = error.to_string();
            assert!(!line.contains('\n') && line.len() < 2000, "{line}");
            return false;
        }
    };
    serve(&plugin);
    assert!(begin.elapsed() < Duration::from_secs(10), "{:?}", begin.elapsed());
    true
}

/// Plays a stream of this plugin, which must be well-formed, and must blame the plugin if it fails.
fn serve(plugin: &Plugin) {
    let request = Request::default();
    let Ok(binding) = Binding::by_text(plugin.descriptor()) else { return };
    let settings = TurnSettings::of(&request, counted_call_ids());
    let Ok(parser) = plugin.start(&request) else { return };
    let (mut turn, mut events) = (Turn::new(&binding, parser, settings), TurnEvents::default());
    for text in OUTPUT {
        let _ = turn.step(&[TokenText::new(None, text)], &mut events);
    }
    let end = turn.finish(FinishReason::Stop, None, &mut events);
    fold(events).expect("a well-formed stream");
    if let TurnEnd::Failed(failure) = end {
        assert!(failure.code == "model_error" || turn.fault().is_some(), "{failure:?}");
    }
}

#[test]
fn guests_stream_well_formed_or_fail_in_one_line() {
    let runtime = runtime();
    let loaded = NAMES.into_iter().filter(|name| exercise(&runtime, guest(name))).count();
    assert!(loaded > 20, "{loaded}");
}

/// Change at a place in the file.
#[derive(Debug, Clone)]
enum Mutation {
    Set(u8),
    Flip(u8),
    Remove(usize),
    Insert(Vec<u8>),
    Cut,
}

fn mutations() -> impl Strategy<Value = Vec<(Index, Mutation)>> {
    let mutation = prop_oneof![
        4 => any::<u8>().prop_map(Mutation::Set),
        4 => (0..8u8).prop_map(Mutation::Flip),
        1 => (1..9usize).prop_map(Mutation::Remove),
        1 => prop::collection::vec(any::<u8>(), 1..9).prop_map(Mutation::Insert),
        1 => Just(Mutation::Cut),
    ];
    prop::collection::vec((any::<Index>(), mutation), 1..4)
}

fn mutated(mut bytes: Vec<u8>, mutations: Vec<(Index, Mutation)>) -> Vec<u8> {
    for (at, mutation) in mutations {
        if bytes.is_empty() {
            break;
        }
        let at = at.index(bytes.len());
        match mutation {
            Mutation::Set(byte) => bytes[at] = byte,
            Mutation::Flip(bit) => bytes[at] ^= 1 << bit,
            Mutation::Remove(count) => drop(bytes.drain(at..bytes.len().min(at + count))),
            Mutation::Insert(new) => drop(bytes.splice(at..at, new)),
            Mutation::Cut => bytes.truncate(at),
        }
    }
    bytes
}

/// Most rounds until a damaged component loads. About one in twenty does.
const ROUNDS: usize = 10;

/// Plays damaged components, a part of the usual number of cases, since each is compiled. Some must
/// be refused, and some must load: until one has, there is another round.
fn play_damaged(part: u32, damaged: impl Strategy<Value = Vec<u8>>) {
    let usual = ProptestConfig::default();
    let config = ProptestConfig { cases: usual.cases / part, failure_persistence: None, ..usual };
    let runtime = runtime();
    let (loaded, refused) = (Cell::new(0), Cell::new(0));
    for _ in 0..ROUNDS {
        // A runner that has had its cases runs no more.
        let outcome = TestRunner::new(config.clone()).run(&damaged, |bytes| {
            let count = if exercise(&runtime, bytes) { &loaded } else { &refused };
            count.set(count.get() + 1);
            Ok(())
        });
        outcome.unwrap_or_else(|error| panic!("{error}"));
        if loaded.get() > 0 {
            break;
        }
    }
    let (loaded, refused): (u32, u32) = (loaded.get(), refused.get());
    assert!(loaded > 0 && refused > 0, "{loaded} load, {refused} are refused");
}

#[test]
fn damaged_guest_errs_or_serves_a_well_formed_stream() {
    let guests = prop::sample::select(&NAMES[..]);
    play_damaged(2, (guests, mutations()).prop_map(|(name, mutations)| mutated(guest(name), mutations)));
}

#[test]
fn damaged_shipped_parser_errs_or_serves_well_formed() {
    play_damaged(8, mutations().prop_map(|mutations| mutated(SHIPPED.to_vec(), mutations)));
}
