//! Clearing: of a conversation that has become long the oldest results of tools, or thoughts, are
//! left out before it is answered. Who asks for it, and who is told, is a protocol's part.

use std::collections::HashSet;

use model::{Job, Model, StartError, Truncation};
use prompt::{ChatMessage, RenderError, Role};

/// What the model sees in place of a result.
const CLEARED: &str = "[This result was left out to save room.]";

/// What is left out, and when.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Clearing {
    /// Results of tools, the oldest first.
    Results(ClearedResults),
    /// Thoughts of all turns but the last `keep` that have some.
    Thoughts {
        /// Number of turns.
        keep: usize,
    },
}

/// Which results are left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClearedResults {
    /// When.
    pub trigger: Trigger,
    /// Number of the newest results that stay.
    pub keep: usize,
    /// Nothing is left out where it would save fewer tokens than this.
    pub at_least: usize,
    /// Names of tools whose results stay.
    pub excluded: Vec<String>,
    /// Whose arguments are left out, too.
    pub arguments: ToolInputs,
}

/// When results are left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trigger {
    /// The prompt has more tokens.
    Tokens(usize),
    /// There are more results.
    Results(usize),
}

/// Arguments of calls whose results are left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToolInputs {
    /// They stay.
    Kept,
    /// They are left out.
    Cleared,
    /// Those of the tools with these names are left out.
    ClearedOf(Vec<String>),
}

/// What was left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cleared {
    /// Whether it was thoughts, and not results.
    pub thoughts: bool,
    /// Number of results, or of turns with thoughts.
    pub number: usize,
    /// Tokens of the prompt that it had.
    pub tokens: usize,
}

/// Leaves out of the conversation of `job` what applies of `all`, one after the other. Returns what
/// was left out.
///
/// # Errors
/// The prompt can't be made.
pub async fn clear(model: &Model, job: &mut Job, all: &[Clearing]) -> Result<Vec<Cleared>, StartError> {
    let mut cleared = Vec::new();
    for clearing in all {
        let mut messages = job.conversation.messages.clone();
        let number = clearing.apply(&mut messages);
        if number == 0 {
            continue;
        }
        let before = tokens(model, job).await?;
        if !clearing.is_due(before) {
            continue;
        }
        let whole = std::mem::replace(&mut job.conversation.messages, messages);
        let after = tokens(model, job).await?;
        let tokens = before.zip(after).map(|(before, after)| before.saturating_sub(after));
        // Of a prompt that was too long to be counted, enough is left out.
        if tokens.is_none_or(|tokens| tokens >= clearing.at_least()) {
            let thoughts = matches!(clearing, Clearing::Thoughts { .. });
            cleared.push(Cleared { thoughts, number, tokens: tokens.unwrap_or_default() });
        } else {
            job.conversation.messages = whole;
        }
    }
    Ok(cleared)
}

/// Tokens of the prompt; none if there are too many to count.
async fn tokens(model: &Model, job: &Job) -> Result<Option<usize>, StartError> {
    let whole = Job { truncation: Truncation::Disabled, ..job.clone() };
    match model.count_prompt(whole).await {
        Ok(tokens) => Ok(Some(tokens)),
        Err(StartError::Prompt(RenderError::TooLong(_))) => Ok(None),
        Err(error) => Err(error),
    }
}

impl Clearing {
    /// Whether it applies to a prompt of so many tokens; none: too many to count.
    fn is_due(&self, tokens: Option<usize>) -> bool {
        match self {
            Self::Results(ClearedResults { trigger: Trigger::Tokens(most), .. }) => {
                tokens.is_none_or(|tokens| tokens > *most)
            }
            // `apply` counts results.
            Self::Results(_) | Self::Thoughts { .. } => true,
        }
    }

    /// Tokens that it must save.
    fn at_least(&self) -> usize {
        match self {
            Self::Results(results) => results.at_least,
            Self::Thoughts { .. } => 0,
        }
    }

    /// Leaves it out of `messages`. Returns the number of results or turns.
    fn apply(&self, messages: &mut [ChatMessage]) -> usize {
        match self {
            Self::Results(results) => results.apply(messages),
            Self::Thoughts { keep } => clear_thoughts(messages, *keep),
        }
    }
}

impl ClearedResults {
    fn apply(&self, messages: &mut [ChatMessage]) -> usize {
        let results = messages.iter().filter(|message| message.role == Role::Tool).count();
        if matches!(self.trigger, Trigger::Results(most) if results <= most) {
            return 0;
        }
        let (mut number, mut without_arguments) = (0, HashSet::new());
        let old = messages.iter_mut().filter(|message| message.role == Role::Tool);
        for message in old.take(results.saturating_sub(self.keep)) {
            let name = message.name.as_deref().unwrap_or_default();
            if self.excluded.iter().any(|excluded| excluded == name) || message.content.joined() == CLEARED {
                continue;
            }
            if self.arguments.are_cleared_of(name) {
                without_arguments.extend(message.tool_call_id.clone());
            }
            message.content = CLEARED.into();
            number += 1;
        }
        for call in messages.iter_mut().flat_map(|message| &mut message.tool_calls) {
            if without_arguments.contains(&call.id) {
                "{}".clone_into(&mut call.arguments);
            }
        }
        number
    }
}

impl ToolInputs {
    fn are_cleared_of(&self, name: &str) -> bool {
        match self {
            Self::Kept => false,
            Self::Cleared => true,
            Self::ClearedOf(names) => names.iter().any(|cleared| cleared == name),
        }
    }
}

/// Leaves out the thoughts of all turns but the last `keep` that have some; a turn begins with a
/// user's message.
fn clear_thoughts(messages: &mut [ChatMessage], keep: usize) -> usize {
    let turns = messages.chunk_by_mut(|_, next| next.role != Role::User);
    let mut thinking: Vec<&mut [ChatMessage]> =
        turns.filter(|turn| turn.iter().any(|message| message.reasoning.is_some())).collect();
    let old = thinking.len().saturating_sub(keep);
    for message in thinking[..old].iter_mut().flat_map(|turn| turn.iter_mut()) {
        message.reasoning = None;
    }
    old
}

#[cfg(test)]
mod tests {
    use prompt::HistoryCall;

    use super::*;

    fn call(id: &str, name: &str) -> [ChatMessage; 2] {
        let call =
            HistoryCall { id: id.to_owned(), name: name.to_owned(), arguments: r#"{"a":1}"#.to_owned() };
        let asked = ChatMessage { tool_calls: vec![call], ..ChatMessage::text(Role::Assistant, "") };
        let result = ChatMessage {
            tool_call_id: Some(id.to_owned()),
            name: Some(name.to_owned()),
            ..ChatMessage::text(Role::Tool, "result")
        };
        [asked, result]
    }

    fn cleared(results: &ClearedResults) -> (usize, String) {
        let mut messages: Vec<ChatMessage> = [("a", "f"), ("b", "g"), ("c", "f"), ("d", "f")]
            .into_iter()
            .flat_map(|(id, name)| call(id, name))
            .collect();
        let number = results.apply(&mut messages);
        let told = messages.chunks(2).map(|pair| {
            let arguments = if pair[0].tool_calls[0].arguments == "{}" { "-" } else { "a" };
            let result = if pair[1].content.joined() == CLEARED { "-" } else { "r" };
            format!("{arguments}{result}")
        });
        let told: Vec<String> = told.collect();
        (number, told.join(" "))
    }

    #[test]
    fn the_oldest_results_go_and_those_of_excluded_tools_stay() {
        let all = ClearedResults {
            trigger: Trigger::Results(3),
            keep: 1,
            at_least: 0,
            excluded: Vec::new(),
            arguments: ToolInputs::Kept,
        };
        assert_eq!(cleared(&all), (3, "a- a- a- ar".to_owned()));
        let excluded =
            ClearedResults { excluded: vec!["g".to_owned()], arguments: ToolInputs::Cleared, ..all.clone() };
        assert_eq!(cleared(&excluded), (2, "-- ar -- ar".to_owned()));
        let named = ClearedResults { arguments: ToolInputs::ClearedOf(vec!["g".to_owned()]), ..all.clone() };
        assert_eq!(cleared(&named), (3, "a- -- a- ar".to_owned()));
        assert_eq!(cleared(&ClearedResults { trigger: Trigger::Results(4), ..all.clone() }).0, 0);
        assert_eq!(cleared(&ClearedResults { keep: 9, ..all }).0, 0);
    }

    #[test]
    fn thoughts_of_the_last_turns_stay() {
        let thought =
            || ChatMessage { reasoning: Some("t".to_owned()), ..ChatMessage::text(Role::Assistant, "") };
        let user = || ChatMessage::text(Role::User, "q");
        for (keep, expected) in
            [(0, [false, false, false]), (1, [false, false, true]), (2, [true, true, true])]
        {
            let mut messages = vec![
                user(),
                thought(),
                thought(),
                user(),
                ChatMessage::text(Role::Assistant, ""),
                user(),
                thought(),
            ];
            assert_eq!(clear_thoughts(&mut messages, keep), 2 - keep);
            let left = [1, 2, 6].map(|index: usize| messages[index].reasoning.is_some());
            assert_eq!(left, expected, "{keep}");
        }
    }
}
