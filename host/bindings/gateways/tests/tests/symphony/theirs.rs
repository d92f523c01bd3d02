//! The outputs that Symphony's own contract is checked over, read with our parsers of these formats:
//! its contract holds for ours, and both read the same but where it is said. Many of these texts are
//! broken on purpose: theirs shows a marker that belongs nowhere and drops what it can't read of a call,
//! ours the other way round, and theirs calls a call complete that was cut off.

use std::collections::BTreeMap;
use std::sync::Arc;

use gateway_tests::{CUTS, Seen, Tool, literals, package};
use serde_json::json;
use sluice_symphony::{Reader, SymphonyParser};
use symphony::formats::Table;
use symphony::{Declared, Engine, Event, Input, Parser};

use super::seen::{by_text, bytes, fed, seen, tools};

/// Constant of their outputs, their table, our parser, and how many of the outputs both read alike.
const FORMATS: &[(&str, &str, &str, (usize, usize))] = &[
    ("QWEN3_OUTPUTS", "qwen3", "qwen3", (49, 56)),
    ("QWEN3_TAGGED_OUTPUTS", "qwen3_tagged", "qwen3-coder", (3, 8)),
    ("GLM_OUTPUTS", "glm", "glm", (7, 8)),
    ("SEED_OUTPUTS", "seed_oss", "seed-oss", (4, 8)),
    ("HY4_OUTPUTS", "hy4", "hy4", (0, 6)),
    ("IQUEST_OUTPUTS", "iquest", "iquest", (0, 3)),
    ("KIMI_K3_OUTPUTS", "kimi_k3", "kimi-k3", (13, 20)),
    ("M3_OUTPUTS", "minimax_m3", "minimax-m3", (5, 17)),
    ("MISTRAL_OUTPUTS", "mistral_v13", "mistral", (8, 11)),
];

/// The tools that their outputs call.
fn declared() -> Vec<Tool> {
    let parameters = json!({"type": "object", "properties": {
        "city": {"type": "string"}, "days": {"type": "integer"}, "note": {"type": ["string", "null"]}
    }});
    let tool = |name: &str| Tool { name: name.to_owned(), parameters: parameters.clone() };
    ["get_weather", "f", "g", "search", "add"].map(tool).to_vec()
}

/// What both say of an output: white space around prose aside, which ours trim.
fn trimmed(seen: Vec<Seen>) -> Vec<Seen> {
    let trimmed = seen.into_iter().map(|seen| match seen {
        Seen::Reasoning(text) => Seen::Reasoning(text.trim().to_owned()),
        Seen::Text(text) => Seen::Text(text.trim().to_owned()),
        Seen::Call { .. } => seen,
    });
    trimmed
        .filter(|seen| !matches!(seen, Seen::Reasoning(text) | Seen::Text(text) if text.is_empty()))
        .collect()
}

fn read(parser: &mut dyn Parser, text: &str, seed: u64) -> Vec<Event> {
    let mut events = fed(parser, Input::Prompt { token_ids: &[], text: "" });
    events.extend(by_text(parser, text, seed, true));
    events
}

#[test]
fn their_contract_holds_over_their_outputs() {
    let Some(found) = literals(&package("smg-symphony").join("tests/contract.rs")) else { return };
    let declared = tools(&declared());
    let mut alike = BTreeMap::new();
    for (constant, table, parser, _) in FORMATS {
        let outputs: Vec<&str> =
            found.iter().filter(|(name, _)| name == constant).map(|(_, text)| &**text).collect();
        assert!(!outputs.is_empty(), "{constant} has outputs");
        let reader = Arc::new(Reader::load(parser).expect("a shipped parser"));
        let same = outputs.iter().filter(|text| {
            let ours = |seed| read(&mut SymphonyParser::new(Arc::clone(&reader), &declared), text, seed);
            let whole = seen(&ours(0));
            for seed in 0..CUTS {
                let events = ours(seed);
                assert_eq!(bytes(&events), **text, "{parser}: {text:?} cut by {seed}: {events:?}");
                assert_eq!(seen(&events), whole, "{parser}: {text:?} cut by {seed}: {events:?}");
            }
            let format = Table::named(table).expect("a table").format();
            let theirs = read(&mut Engine::new(format, Declared::of(&declared)), text, 0);
            let (ours, theirs) = (trimmed(whole), trimmed(seen_of_theirs(&theirs)));
            if ours != theirs && std::env::var_os("SHOW_DIFFERENCES").is_some() {
                println!("{parser}: {text:?}\n  ours   {ours:?}\n  theirs {theirs:?}");
            }
            ours == theirs
        });
        alike.insert(*constant, (same.count(), outputs.len()));
    }
    let expected: BTreeMap<_, _> =
        FORMATS.iter().map(|(constant, _, _, alike)| (*constant, *alike)).collect();
    assert_eq!(alike, expected, "alike, of how many; SHOW_DIFFERENCES=1 shows the others");
}

/// As [`seen`], of a parser that doesn't say of which call it couldn't read a part: that is content,
/// as Symphony's adapters show it.
fn seen_of_theirs(events: &[Event]) -> Vec<Seen> {
    let shown = events.iter().cloned().map(|event| match event {
        Event::Malformed { text, .. } => Event::Content(text),
        event => event,
    });
    seen(&shown.collect::<Vec<_>>())
}
