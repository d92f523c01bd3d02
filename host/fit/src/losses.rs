//! What a chat template loses of recorded items: the model doesn't see it in its next turn.

use std::path::PathBuf;

use parser_kit::case::{Case, CaseItem, CaseStatus};
use serde_json::{Value, json};

use crate::conversation::{Context, Turn};
use crate::report::CaseReport;
use crate::template::{ARGUMENTS, declaration};
use crate::writer::Writer;

/// The complete items of a case.
#[derive(Default)]
struct Items {
    reasoning: Vec<String>,
    texts: Vec<String>,
    calls: Vec<(String, Value)>,
}

/// Checks that the template shows the items of each of these cases; those without a complete item
/// have nothing to show.
pub(crate) fn losses(writer: &Writer, files: &[PathBuf]) -> Result<Vec<CaseReport>, String> {
    let mut reports = Vec::new();
    for file in files {
        let case = Case::load(file)?;
        let schema = |text: &str| serde_json::from_str(text).unwrap_or_else(|_| json!({}));
        let tools = case.request().tools;
        let tools: Vec<Value> =
            tools.iter().map(|tool| declaration(&tool.name, &schema(&tool.schema))).collect();
        let items = Items::of(case.expected().into_iter().map(CaseItem::from));
        if !items.is_empty() {
            let name = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            let (lost, raised) = lost(writer, &items, &tools);
            reports.push(CaseReport { case: name, lost, raised });
        }
    }
    Ok(reports)
}

/// What is lost where least is lost; if the template raises everywhere, its message.
fn lost(writer: &Writer, items: &Items, tools: &[Value]) -> (Vec<String>, Option<String>) {
    let (reasoning, text) = (items.reasoning.join("\n"), items.texts.join("\n"));
    let turn = Turn {
        reasoning: Some(reasoning.as_str()).filter(|words| !words.is_empty()),
        text: Some(text.as_str()).filter(|words| !words.is_empty()),
        calls: items.calls.iter().map(|(name, arguments)| (name.as_str(), arguments)).collect(),
    };
    let (mut least, mut raised): (Option<Vec<String>>, _) = (None, None);
    for context in [Context::Last, Context::Results, Context::After] {
        for argument in ARGUMENTS {
            match writer.template.with(&turn, tools, context, &writer.carrier, argument) {
                Err(message) => raised = Some(message),
                Ok(whole) => {
                    // The declarations may hold a call's name, and what stands before the turn is
                    // no part of it.
                    let behind = whole.as_str().rsplit_once("zquser").map_or("", |(_, behind)| behind);
                    let lost = items.lost(behind);
                    if least.as_ref().is_none_or(|least| lost.len() < least.len()) {
                        least = Some(lost);
                    }
                }
            }
        }
    }
    let raised = raised.filter(|_| least.is_none());
    (least.unwrap_or_default(), raised)
}

impl Items {
    fn of(items: impl Iterator<Item = CaseItem>) -> Self {
        let mut sorted = Self::default();
        for item in items {
            match item {
                CaseItem::Reasoning { text, status: CaseStatus::Completed } => sorted.reasoning.push(text),
                CaseItem::Message { text, status: CaseStatus::Completed, .. } => sorted.texts.push(text),
                CaseItem::ToolCall { name, arguments, status: CaseStatus::Completed, .. } => {
                    // The text of a custom tool, which templates get as the server gives it.
                    let arguments =
                        serde_json::from_str(&arguments).unwrap_or_else(|_| json!({ "input": arguments }));
                    sorted.calls.push((name, arguments));
                }
                _ => {}
            }
        }
        sorted
    }

    fn is_empty(&self) -> bool {
        self.reasoning.is_empty() && self.texts.is_empty() && self.calls.is_empty()
    }

    /// The items, and arguments of calls, that don't stand in the text.
    fn lost(&self, text: &str) -> Vec<String> {
        let is_lost = |words: &&String| !is_shown(words.trim(), text);
        let mut lost = Vec::new();
        lost.extend(self.reasoning.iter().find(is_lost).map(|_| "reasoning".to_owned()));
        lost.extend(self.texts.iter().find(is_lost).map(|_| "text".to_owned()));
        for (name, arguments) in &self.calls {
            if is_shown(name, text) {
                let keys = arguments.as_object().into_iter().flatten();
                let gone = keys.filter(|(key, value)| {
                    !is_shown(key, text) || value.as_str().is_some_and(|value| !is_shown(value, text))
                });
                lost.extend(gone.map(|(key, _)| format!("argument {key} of {name}")));
            } else {
                lost.push(format!("call of {name}"));
            }
        }
        lost
    }
}

/// Whether a string stands in the text as it is or as JSON, with other characters than ASCII
/// escaped or not.
pub(crate) fn is_shown(string: &str, text: &str) -> bool {
    let json = serde_json::Value::from(string).to_string();
    let inner = &json[1..json.len() - 1];
    let escape = |c: char| if c.is_ascii() { c.to_string() } else { utf16(c) };
    let ascii: String = inner.chars().map(escape).collect();
    [string, inner, &ascii].iter().any(|spelt| text.contains(spelt))
}

fn utf16(c: char) -> String {
    let units = c.encode_utf16(&mut [0; 2]).to_vec();
    units.iter().fold(String::new(), |text, unit| text + &format!("\\u{unit:04x}"))
}
