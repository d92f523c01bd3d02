//! A record as a script: each turn of its answer is a rule.

use std::path::Path;

use engine::{PlayedEnd, PlayedOutput};

use super::{Condition, Rule, Vocabulary};
use crate::record::Record;
use crate::record::line::{FinishLine, Line, PromptLine};

/// Reads a record's turns. A turn is played for conversations with as many tool results as its own
/// had, or for all if the record has no others. The error is a reason.
pub(super) fn rules(path: &Path, vocabulary: &Vocabulary<'_>) -> Result<Vec<Rule>, String> {
    let record = Record::load(path).map_err(|error| error.reason)?;
    let first = record.prompts.values().next().ok_or("it is a record without a turn")?;
    let is_alone = record.prompts.values().all(|prompt| prompt.tool_results == first.tool_results);
    let rule = |prompt: &PromptLine| {
        let output = output(&record, prompt.generation);
        if let Some(id) = output.tokens.iter().find(|id| **id as usize >= vocabulary.size) {
            return Err(format!("the model has no token {id}, only ids below {}", vocabulary.size));
        }
        let tool_results = (!is_alone).then_some(prompt.tool_results);
        Ok(Rule { when: Condition { tool_results, ..Condition::default() }, output })
    };
    record.prompts.values().map(rule).collect()
}

/// The tokens of a generation. The one that ended it is among them, since several may.
fn output(record: &Record, generation: u32) -> PlayedOutput {
    let (mut tokens, mut end) = (Vec::new(), PlayedEnd::Length);
    for line in &record.lines {
        let Line::Step(step) = line else { continue };
        if step.generation != generation {
            continue;
        }
        tokens.extend(&step.ids);
        match &step.finish {
            Some(FinishLine::Stop(id)) => {
                tokens.push(*id);
                end = PlayedEnd::Stop;
            }
            Some(FinishLine::Error(_) | FinishLine::Died) => end = PlayedEnd::Error,
            Some(FinishLine::Length) | None => {}
        }
    }
    PlayedOutput { tokens, tokens_per_step: 1, pace: None, end }
}
