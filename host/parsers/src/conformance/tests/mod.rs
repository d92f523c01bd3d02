//! Tests that each property fails when it is broken: with a toy parser that has them all, and with
//! one bad habit at a time.

mod forgotten;
mod found;
mod shipped;
mod toy;

use super::{Property, Recording, Report, test};
use toy::{Habit, Native};

/// A case in the toy's format with reasoning, a message and a call, which can show every property.
const TURN: &str = r#"{
  "tools": ["get"],
  "chunks": ["<think>I think about it.</th", "ink>Here is the answer.", "<call>get:{\"city\": \"Springfield\"}</call><end>"],
  "expect": {
    "items": [
      {"type": "reasoning", "text": "I think about it."},
      {"type": "message", "text": "Here is the answer."},
      {"type": "tool_call", "name": "get", "arguments": "{\"city\": \"Springfield\"}"}
    ],
    "end": "completed"
  }
}"#;

/// Runs the tests over `case` with a parser that has this habit.
fn report(habit: Habit, case: &str) -> Report {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("case.json");
    std::fs::write(&file, case).unwrap();
    test(&[file], &Native(habit), 1).unwrap()
}

/// Properties that fail with this habit.
fn failing(habit: Habit, case: &str) -> Vec<Property> {
    let findings = report(habit, case).findings;
    findings.iter().filter(|finding| !finding.passed).map(|finding| finding.property).collect()
}

/// The case file that a failure of this property prints.
fn reproduced(habit: Habit, property: Property) -> serde_json::Value {
    let findings = report(habit, TURN).findings;
    let finding = findings.iter().find(|finding| finding.property == property).unwrap();
    finding.failures[0].reproduce.clone().unwrap()
}

fn recording(habit: Habit, case: &serde_json::Value) -> Recording {
    Recording::parse("case", &case.to_string(), &Native(habit)).unwrap()
}
