//! Outputs that a model wrote, played to the parser. A template shows history; this shows what a
//! model writes.

use model::TemplateFiles;
use parser_kit::case::{Case, CaseItem};
use parsers::conformance::{ParserSource, Recording, play_case};
use serde_json::{Value, json};

use crate::conversation::TOOLS;
use crate::probes::{Declared, Probe, parameters};
use crate::report::RecordedReport;
use crate::writer::Writer;

/// What a model wrote.
#[derive(Debug, Clone)]
pub struct Recorded {
    /// Name in the report.
    pub name: String,
    /// What was recorded of it.
    pub output: RecordedOutput,
}

/// What was recorded of an output.
#[derive(Debug, Clone)]
pub enum RecordedOutput {
    /// A case. If it has no `expect`, the parser has to leave no markup in texts.
    Case(Value),
    /// The text alone, and tools that were declared, as cases have them; by default those of the
    /// probes.
    Text(String, Option<Value>),
}

/// What a text may not hold once it was parsed.
pub(crate) struct Markup {
    literals: Vec<String>,
    /// What the generation prompt writes of a turn.
    opening: String,
}

impl Markup {
    /// Markers of the parser, tokens of the model, and what the template writes before the
    /// name of `call`.
    pub(crate) fn new(writer: &Writer, call: &Probe, files: &TemplateFiles, markers: &[String]) -> Self {
        let mut literals = markers.to_vec();
        literals.extend(files.tokens.iter().map(ToString::to_string));
        literals.extend(writer.before_call(call));
        literals.retain(|literal| literal.trim().chars().count() > 2);
        Self { literals, opening: writer.template.opening().unwrap_or_default() }
    }

    /// Plays an output.
    pub(crate) fn report(
        &self,
        recorded: &Recorded,
        source: &dyn ParserSource,
        options: &[(String, String)],
    ) -> Result<RecordedReport, String> {
        let case = self.case(&recorded.output, options);
        let of_file = |error: String| format!("{}: {error}", recorded.name);
        let text = case.to_string();
        let recording = Recording::parse(&recorded.name, &text, source).map_err(of_file)?;
        let outcome = play_case(&recording);
        let items = outcome.items.clone().unwrap_or_default();
        let mut why = outcome.why();
        let parsed = Case::parse(&text).map_err(of_file)?;
        if parsed.expect.is_some() {
            let expected: Vec<CaseItem> = parsed.expected().into_iter().map(CaseItem::from).collect();
            // A recorded turn may have been broken off, which its items say.
            why.retain(|_| outcome.fault.is_some());
            if items != expected {
                why.push("the items aren't the expected ones".to_owned());
            }
        } else {
            why.extend(items.iter().filter_map(|item| self.left_in(item)));
        }
        let items = items.iter().map(|item| serde_json::to_value(item).unwrap_or_default()).collect();
        Ok(RecordedReport { name: recorded.name.clone(), items, why })
    }

    fn case(&self, output: &RecordedOutput, options: &[(String, String)]) -> Value {
        let options = || -> Value {
            let options = options.iter().map(|(key, value)| (key.clone(), Value::from(value.as_str())));
            Value::Object(options.collect())
        };
        match output {
            RecordedOutput::Case(case) if case["options"].is_object() => case.clone(),
            RecordedOutput::Case(case) => {
                let mut case = case.clone();
                case["options"] = options();
                case
            }
            RecordedOutput::Text(text, tools) => {
                let of_probes = || {
                    let parameters = parameters(Declared::All);
                    TOOLS.iter().map(|name| json!({ "name": name, "parameters": parameters })).collect()
                };
                json!({
                    "tools": tools.clone().unwrap_or_else(of_probes), "options": options(),
                    "generation_prompt": self.opening, "chunks": [text],
                })
            }
        }
    }

    /// What is wrong with an item's text, if markup was left in it.
    fn left_in(&self, item: &CaseItem) -> Option<String> {
        let (kind, text) = match item {
            CaseItem::Reasoning { text, .. } => ("reasoning", text),
            CaseItem::Message { text, .. } => ("the text", text),
            CaseItem::ToolCall { .. } => return None,
        };
        let found = self.literals.iter().filter_map(|literal| Some((text.find(literal.as_str())?, literal)));
        let (_, literal) = found.min_by_key(|(at, literal)| (*at, usize::MAX - literal.len()))?;
        Some(format!("{kind} holds the markup {literal}"))
    }
}
