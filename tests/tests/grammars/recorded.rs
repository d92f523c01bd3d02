//! Recorded turns that call nothing stay possible beside plain tools: an envelope holds calls, and no text.

use std::fs;
use std::path::Path;

use grammar::{CallForm, Demand, ToolChoice};
use serde_json::Value;

use super::FORMATS;
use super::oracle::{Format, Markers};
use super::requests::{of, tool};

const PLUGINS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../plugins");

/// A recorded turn beside the envelope of its tools.
struct Turn {
    /// Whether the envelope allows it.
    is_allowed: bool,
    /// Whether the envelope allows it where its markers are spelt by other tokens.
    is_allowed_spelt: bool,
    /// Whether a marker stands in it.
    has_marker: bool,
}

/// Tries a recorded turn; none where the turn calls, or its format has no envelope.
fn tried(format: &Format, case: &Value) -> Option<Turn> {
    let texts = |list: &Value| -> Option<Vec<String>> {
        list.as_array()?.iter().map(|text| Some(text.as_str()?.to_owned())).collect()
    };
    let tools = texts(&case["tools"]).filter(|tools| !tools.is_empty())?;
    let is_text = |item: &Value| item["type"] == "message" || item["type"] == "reasoning";
    let expected = &case["expect"];
    let calls_nothing = expected["items"].as_array()?.iter().all(is_text);
    if expected["end"] != "completed" || !calls_nothing || case.get("options").is_some() {
        return None;
    }
    let tools = tools.iter().map(|name| tool(name, "{}")).collect();
    let request = Demand { call_form: CallForm::Envelope, ..of(tools, ToolChoice::Auto) };
    let lark = format.grammar(&request, Markers::Tokens).ok().flatten()?;
    let walker = format.walker(&lark, Markers::Tokens).expect("a grammar");
    let walker = walker.opened(case["generation_prompt"].as_str().unwrap_or_default())?;
    let text = texts(&case["chunks"])?.concat();
    let descriptor = format.descriptor();
    // Sampling ends at a stop, which is no part of the answer.
    let stops = descriptor.stops.iter().map(|stop| descriptor.markers[*stop as usize].as_str());
    let end = stops.filter_map(|stop| text.find(stop)).min().unwrap_or(text.len());
    let allows = |is_markup| walker.accepts(&[(is_markup, text[..end].to_owned())]).is_some();
    Some(Turn {
        is_allowed: allows(true),
        is_allowed_spelt: allows(false),
        has_marker: descriptor.markers.iter().any(|marker| text[..end].contains(marker)),
    })
}

/// What a marker's token begins is a call, or nothing that the envelope allows; text is free.
#[test]
fn recorded_turns_without_a_call_stay_possible() {
    let (mut turns, mut allowed) = (0, 0);
    for (name, format) in FORMATS {
        let Ok(cases) = fs::read_dir(Path::new(PLUGINS).join(name).join("cases")) else { continue };
        for file in cases.map(|file| file.expect("a file").path()) {
            let case = fs::read_to_string(&file).expect("a case");
            let case: Value = serde_json::from_str(&case).expect("JSON");
            let Some(turn) = tried(format, &case) else { continue };
            turns += 1;
            allowed += usize::from(turn.is_allowed);
            // Harmony has a header before each text, and its parser reads texts without one.
            if *name != "harmony" {
                assert!(turn.is_allowed || turn.has_marker, "{}", file.display());
                assert!(turn.is_allowed_spelt, "{}, in other tokens", file.display());
            }
        }
    }
    assert!(turns > 100 && allowed > 40, "{allowed} of {turns} turns");
}
