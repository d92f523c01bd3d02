//! What Dynamo's own tests have their parsers read, read with ours of these formats: any pieces give
//! the same, and both read the same but where it is said. Most of these texts are broken on purpose;
//! `docs/conformance.md` says how the projects differ there.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use dynamo_parsers_v2::{Tool, UnifiedParser, UnifiedParserOutput, create_unified_parser_for_family};
use gateway_tests::{CUTS, Seen, literals, package};
use serde_json::json;
use sluice_dynamo::{DynamoParser, Reader};

use super::seen::{end, feed, seen};

/// Their family, the marker by which its texts are known, our parser, and how many texts both read
/// alike.
const FAMILIES: &[(&str, &str, &str, (usize, usize))] = &[
    ("qwen3", "<function=", "qwen3-coder", (46, 79)),
    ("glm47", "<arg_key>", "glm", (14, 29)),
    ("kimi_k2", "<|tool_call_begin|>", "kimi-k2", (31, 55)),
    ("kimi_k3", "<|open|>", "kimi-k3", (18, 46)),
    ("deepseek_v4", "<｜DSML｜tool_calls>", "deepseek-v4", (10, 14)),
    ("gemma4", "<|tool_call>", "gemma4", (57, 73)),
];

/// Files of their package whose texts are outputs.
const FILES: &[&str] = &[
    "src/unified/mod.rs",
    "src/unified/deepseek_v4.rs",
    "src/unified/gemma4.rs",
    "src/unified/glm47.rs",
    "src/unified/kimi_k2.rs",
    "src/unified/kimi_k3.rs",
    "src/unified/qwen3.rs",
    "src/tool_calling/dsml.rs",
    "src/tool_calling/gemma4.rs",
    "src/tool_calling/glm47.rs",
    "src/tool_calling/kimi_k2.rs",
    "src/tool_calling/qwen3_coder.rs",
    "tests/blank_tool_turn.rs",
    "tests/gemma4_native_recovery.rs",
    "tests/kimi_native_progress.rs",
    "tests/nemotron_unified.rs",
    "tests/response_prefill_progress.rs",
    "tests/xml_schema_coercion.rs",
];

fn tools() -> Vec<Tool> {
    let parameters = json!({"type": "object", "properties": {
        "city": {"type": "string"}, "location": {"type": "string"}, "cmd": {"type": "string"},
        "n": {"type": "integer"}, "x": {"type": "string"}
    }});
    let tool = |name: &str| Tool {
        name: name.to_owned(),
        description: None,
        parameters: parameters.clone(),
        strict: None,
    };
    ["get_weather", "get_time", "run", "search", "f", "g", "add"].map(tool).to_vec()
}

/// What both say of a text: white space around prose aside, arguments by their value, and without
/// calls that aren't whole, which Dynamo's assembly leaves out.
fn said(seen: Vec<Seen>) -> Vec<(String, String)> {
    let said = seen.into_iter().filter_map(|seen| match seen {
        Seen::Reasoning(text) => Some(("reasoning".to_owned(), text.trim().to_owned())),
        Seen::Text(text) => Some(("text".to_owned(), text.trim().to_owned())),
        Seen::Call { name, arguments, complete: true } => {
            let value = serde_json::from_str::<serde_json::Value>(&arguments);
            Some((name, value.map_or(arguments, |value| value.to_string())))
        }
        Seen::Call { complete: false, .. } => None,
    });
    said.filter(|(_, text)| !text.is_empty()).collect()
}

fn read(parser: &mut dyn UnifiedParser, text: &str, seed: u64) -> Vec<Seen> {
    let mut output = UnifiedParserOutput::default();
    feed(parser, text, seed, &mut output);
    end(parser, false, &mut output);
    seen(&output.events)
}

#[test]
fn any_pieces_of_their_texts_give_the_same() {
    let package = package("dynamo-parsers-v2");
    let files: Vec<PathBuf> = FILES.iter().map(|file| package.join(file)).collect();
    let Some(found) = files.iter().map(|file| literals(file)).collect::<Option<Vec<_>>>() else { return };
    let texts: BTreeSet<String> = found.into_iter().flatten().map(|(_, text)| text).collect();
    let mut alike = BTreeMap::new();
    for (family, marker, parser, _) in FAMILIES {
        let reader = Arc::new(Reader::load(parser).expect("a shipped parser"));
        let texts: Vec<&String> =
            texts.iter().filter(|text| text.contains(marker) && text.len() > marker.len()).collect();
        let same = texts.iter().filter(|text| {
            let ours = |seed| read(&mut DynamoParser::new(Arc::clone(&reader), &tools()), text, seed);
            let whole = ours(0);
            for seed in 1..CUTS {
                assert_eq!(ours(seed), whole, "{parser}: {text:?} cut by {seed}");
            }
            let mut theirs = create_unified_parser_for_family(family, &tools()).expect("their family");
            let (ours, theirs) = (said(whole), said(read(&mut *theirs, text, 0)));
            if ours != theirs && std::env::var_os("SHOW_DIFFERENCES").is_some() {
                println!("{parser}: {text:?}\n  ours   {ours:?}\n  theirs {theirs:?}");
            }
            ours == theirs
        });
        alike.insert(*family, (same.count(), texts.len()));
    }
    let expected: BTreeMap<_, _> = FAMILIES.iter().map(|(family, _, _, alike)| (*family, *alike)).collect();
    assert_eq!(alike, expected, "alike, of how many; SHOW_DIFFERENCES=1 shows the others");
}
