//! What is known of a response from its answer, and what that says of the rest.

use api::responses::fold::Fold;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::support;

/// What users say in these programs.
const USERS: [&str; 3] = ["2+2?", "long", "endless"];

/// What is known of an owner's response that can be read.
pub(super) struct Known {
    /// Its object at its end.
    pub(super) response: Value,
    /// The texts of its input, with all that it continues, and of its output.
    pub(super) texts: Vec<String>,
    pub(super) background: bool,
}

impl Known {
    /// What a compaction keeps of the texts.
    pub(super) fn users(&self) -> Vec<String> {
        self.texts.iter().filter(|text| USERS.contains(&text.as_str())).cloned().collect()
    }
}

pub(super) fn id_of(response: &Value) -> String {
    response["id"].as_str().expect("an id").to_owned()
}

pub(super) fn output_texts(response: &Value) -> Vec<String> {
    support::texts(&json!({ "data": response["output"] }))
}

pub(super) fn without_padding(mut event: Value) -> Value {
    event.as_object_mut().expect("an object").remove("obfuscation");
    event
}

/// The response that events add up to; each must fit to those before it.
pub(super) fn folded(events: &[Value]) -> Result<Value, TestCaseError> {
    let mut fold = Fold::default();
    for event in events {
        fold.add(event).map_err(TestCaseError::fail)?;
    }
    Ok(fold.whole())
}

/// Checks that the model was shown these texts, in this order.
pub(super) fn check_prompt(response: &Value, texts: &[String]) -> Result<(), TestCaseError> {
    let prompt = response["input_messages"][0]["message"].as_str().unwrap_or_default();
    let mut rest = prompt;
    for text in texts {
        let text = text.trim();
        let at = rest.find(text);
        prop_assert!(at.is_some(), "{} isn't at its place in: {}", text, prompt);
        rest = &rest[at.unwrap_or_default() + text.len()..];
    }
    Ok(())
}
