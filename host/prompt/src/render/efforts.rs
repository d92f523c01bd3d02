//! Efforts of reasoning: the arguments that a template gets for one, and what it makes of them,
//! learnt at load. Called by `render`.

use super::ChatFormat;
use crate::conversation::{ChatMessage, Conversation, Role};
use crate::segments::text_of;

/// Efforts that requests may name, least first.
pub const EFFORTS: [&str; 7] = ["none", "minimal", "low", "medium", "high", "xhigh", "max"];

/// Efforts of models whose template writes any word as it is, such as Harmony's: it doesn't say
/// which of them the model knows.
const USUAL: [&str; 3] = ["low", "medium", "high"];
/// Word that is no effort.
const UNKNOWN: &str = "qzq";

/// Arguments of the chat template for a request with this effort.
pub fn effort_arguments(effort: &str) -> Vec<(String, serde_json::Value)> {
    let thinking = (effort == "none").then(|| ("enable_thinking".to_owned(), false.into()));
    thinking.into_iter().chain([("reasoning_effort".to_owned(), effort.into())]).collect()
}

/// Prompts of one short conversation, by effort.
#[derive(Debug, Default)]
pub struct EffortPrompts {
    /// Prompt without an effort, if the template takes that.
    pub unset: Option<String>,
    /// Efforts that the template takes, least first, with the prompts.
    pub taken: Vec<(&'static str, String)>,
}

impl ChatFormat {
    /// What the template makes of efforts of reasoning.
    pub fn efforts(&self) -> &EffortPrompts {
        &self.efforts
    }

    pub(super) fn detect_efforts(&self) -> EffortPrompts {
        let prompt = |arguments| {
            let conversation =
                Conversation { messages: vec![ChatMessage::text(Role::User, "q z")], tools: Vec::new() };
            Some(text_of(&self.run_probe(&(conversation, arguments))?))
        };
        let written = prompt(effort_arguments(UNKNOWN)).filter(|prompt| prompt.contains(UNKNOWN));
        let is_known = |effort, prompt: &String| {
            let as_written = written.as_ref().map(|written| written.replace(UNKNOWN, effort));
            USUAL.contains(&effort) || as_written.as_ref() != Some(prompt)
        };
        let taken = EFFORTS.into_iter().filter_map(|effort| {
            let prompt = prompt(effort_arguments(effort))?;
            is_known(effort, &prompt).then_some((effort, prompt))
        });
        EffortPrompts { unset: prompt(Vec::new()), taken: taken.collect() }
    }
}
