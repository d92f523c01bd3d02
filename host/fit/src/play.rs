//! Plays a turn that a template wrote to a parser, and compares the items with the probe.

use jinja::{Origin, Text};
use parser_kit::case::{CaseItem, CaseStatus, Piece, by_marker};
use parsers::conformance::{ParserSource, Recording, play_case};
use serde_json::{Value, json};

use crate::conversation::TOOLS;
use crate::cut::Cut;
use crate::probes::{Declared, Probe, Spacing, parameters};
use crate::report::Difference;

/// Sizes of chunks in characters.
const SIZES: [usize; 3] = [1, 3, 7];

/// The parser that is compared, with its options and markers.
pub(crate) struct Played<'a> {
    pub(crate) source: &'a dyn ParserSource,
    pub(crate) options: &'a [(String, String)],
    pub(crate) markers: &'a [String],
}

impl Played<'_> {
    /// How the parser's items differ from the probe, by id or by text, in any of the chunkings.
    pub(crate) fn difference(&self, probe: &Probe, cut: &Cut) -> Result<Option<Difference>, String> {
        let modes = if probe.only_by_id { &["id"][..] } else { &["id", "text"] };
        for mode in modes {
            for size in SIZES {
                let case = self.case(probe, cut, mode, size);
                let recording = Recording::parse(&probe.name, &case.to_string(), self.source)?;
                let outcome = play_case(&recording);
                let items = outcome.items.clone().unwrap_or_default();
                if outcome.fault.is_none() && Self::are_same(probe, &items) {
                    continue;
                }
                let got = items.iter().map(|item| serde_json::to_value(item).unwrap_or_default()).collect();
                let played = format!("by {mode}, {size} characters at a time");
                let rendering = cut.output.as_str().to_owned();
                return Ok(Some(Difference { rendering, played, got, why: outcome.why(), case }));
            }
        }
        Ok(None)
    }

    /// The turn as a case.
    pub(crate) fn case(&self, probe: &Probe, cut: &Cut, mode: &str, size: usize) -> Value {
        let output = self.output(&cut.output, probe.spacing);
        let chunks = if mode == "id" { by_id(&output, size) } else { by_text(&output, size) };
        let declared = if probe.is_nullable() { Declared::Nullable } else { Declared::All };
        let parameters = parameters(declared);
        let tools: Vec<Value> =
            TOOLS.iter().map(|name| json!({ "name": name, "parameters": parameters })).collect();
        let options: serde_json::Map<String, Value> =
            self.options.iter().map(|(key, value)| (key.clone(), value.as_str().into())).collect();
        json!({
            "about": format!("{}, as the chat template writes it", probe.name),
            "tools": tools, "options": options, "generation_prompt": cut.opening,
            "chunks": chunks, "markers": mode, "finish": "stop",
            "expect": { "items": expected(probe), "end": "completed" },
        })
    }

    /// The output with the markers that the template wrote, and with this white space between them.
    fn output(&self, output: &Text, spacing: Spacing) -> Vec<Piece> {
        let mut all: Vec<Piece> = Vec::new();
        for (origin, run) in output.runs() {
            let split = match origin {
                Origin::Template => by_marker(run, self.markers),
                Origin::Request | Origin::RequestPart(_) => vec![Piece::Text(run.to_owned())],
            };
            for piece in split {
                if spacing == Spacing::LineEnds && all.last().is_some_and(|last| last.touches(&piece)) {
                    all.push(Piece::Text("\n".to_owned()));
                }
                all.push(piece);
            }
        }
        if matches!(spacing, Spacing::LeftOut | Spacing::Doubled) {
            for at in (1..all.len().saturating_sub(1)).rev() {
                match &all[at - 1..=at + 1] {
                    [Piece::Marker(..), Piece::Text(text), Piece::Marker(..)] if text.trim().is_empty() => {}
                    _ => continue,
                }
                if spacing == Spacing::LeftOut {
                    all.remove(at);
                } else {
                    all.insert(at, all[at].clone());
                }
            }
        }
        all
    }

    /// Whether the items are the probe: names and texts exact, arguments equal as JSON values.
    pub(crate) fn are_same(probe: &Probe, items: &[CaseItem]) -> bool {
        let expected = expected(probe);
        let equal = |(item, expected): (&CaseItem, &Value)| match item {
            CaseItem::Reasoning { text, status } => {
                *status == CaseStatus::Completed
                    && expected["type"] == "reasoning"
                    && expected["text"] == text.as_str()
            }
            CaseItem::Message { text, status, .. } => {
                *status == CaseStatus::Completed
                    && expected["type"] == "message"
                    && expected["text"] == text.as_str()
            }
            CaseItem::ToolCall { name, arguments, status, .. } => {
                let value = |text: &str| serde_json::from_str::<Value>(text).ok();
                let wanted = expected["arguments"].as_str().and_then(value);
                *status == CaseStatus::Completed
                    && expected["name"] == name.as_str()
                    && wanted.is_some()
                    && value(arguments) == wanted
            }
        };
        items.len() == expected.len() && items.iter().zip(&expected).all(equal)
    }
}

/// Items of a probe as a case spells them.
fn expected(probe: &Probe) -> Vec<Value> {
    let reasoning = probe.reasoning.map(|text| json!({ "type": "reasoning", "text": text }));
    let text = probe.text.map(|text| json!({ "type": "message", "text": text }));
    let calls = probe.calls.iter().map(
        |(name, arguments)| json!({ "type": "tool_call", "name": name, "arguments": arguments.to_string() }),
    );
    reasoning.into_iter().chain(text).chain(calls).collect()
}

/// Chunks in which markers are tokens.
fn by_id(output: &[Piece], size: usize) -> Vec<Value> {
    let mut chunks = Vec::new();
    for piece in output {
        match piece {
            Piece::Marker(_, literal) => chunks.push(json!({ "text": literal, "ids": [] })),
            Piece::Text(text) => chunks.extend(pieces(text, size)),
        }
    }
    chunks
}

/// Chunks in which markers are text.
fn by_text(output: &[Piece], size: usize) -> Vec<Value> {
    let text = |piece: &Piece| match piece {
        Piece::Marker(_, text) | Piece::Text(text) => text.clone(),
    };
    pieces(&output.iter().map(text).collect::<String>(), size)
}

/// The text in chunks of `size` characters.
fn pieces(text: &str, size: usize) -> Vec<Value> {
    let characters: Vec<char> = text.chars().collect();
    characters.chunks(size).map(|chunk| chunk.iter().collect::<String>().into()).collect()
}
