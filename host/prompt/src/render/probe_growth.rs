//! How a template behaves when a conversation grows, learnt at load and logged for the operator:
//! how its work grows, and whether a new message changes what was written before it. Called by
//! `probe`.

use super::ChatFormat;
use crate::conversation::{ChatMessage, Conversation, Role};
use crate::segments::Segment;
use crate::variables::{self, TemplateVariables};

/// Messages of the shorter conversation whose steps are counted.
const MESSAGES: usize = 64;
/// Steps of a conversation twice as long, in relation to the shorter one's, from which on they grow
/// faster than in proportion.
const QUADRATIC: u64 = 3;

impl ChatFormat {
    /// Logs what long conversations cost beyond their length.
    pub(super) fn report_growth(&self) {
        if self.is_quadratic() {
            tracing::warn!(
                "the chat template's work grows with the square of the number of messages: long conversations may reach --template-time"
            );
        }
        let changing = self.changed_by_appending();
        if !changing.is_empty() {
            tracing::info!(
                "the chat template rewrites earlier messages when a message follows {}: their tokens are computed again",
                changing.join(" or ")
            );
        }
    }

    /// Whether the template's work grows with the square of the number of messages.
    pub fn is_quadratic(&self) -> bool {
        let steps = self.steps(MESSAGES).zip(self.steps(2 * MESSAGES));
        steps.is_some_and(|(short, long)| long > QUADRATIC * short)
    }

    /// Steps of the template for a conversation of this many messages; `None` if it takes none.
    fn steps(&self, messages: usize) -> Option<u64> {
        let text = |index: usize| {
            ChatMessage::text(if index.is_multiple_of(2) { Role::User } else { Role::Assistant }, "q z")
        };
        let messages = (0..=messages).map(text).collect();
        let conversation = Conversation { messages, tools: Vec::new() };
        let variables = TemplateVariables::new(&conversation, &[], self.forms, false).ok()?;
        let output =
            self.output(&conversation, &variables, &variables.messages, true, Some(&self.probe_time));
        output.ok().map(|output| output.steps)
    }

    /// Kinds of messages whose tokens change when another message follows them.
    pub fn changed_by_appending(&self) -> Vec<&'static str> {
        let text = |role| ChatMessage::text(role, "q z");
        let [user, answer] = [Role::User, Role::Assistant].map(text);
        let reasoning = ChatMessage { reasoning: Some("q z".to_owned()), ..answer.clone() };
        let Conversation { messages: calls, tools } = variables::calling(r#"{"q": "z"}"#);
        let is_stable = |earlier: &[ChatMessage], next: &ChatMessage| {
            let written = |messages: Vec<ChatMessage>| {
                let conversation =
                    self.changes.apply(&Conversation { messages, tools: tools.clone() }).into_owned();
                let variables = TemplateVariables::new(&conversation, &[], self.forms, false).ok()?;
                let (messages, time) = (&variables.messages, Some(&self.probe_time));
                let output = self.output(&conversation, &variables, messages, false, time).ok()?;
                Some(self.control_tokens.segments(&output.text))
            };
            let (before, after) =
                (written(earlier.to_vec()), written([earlier, std::slice::from_ref(next)].concat()));
            before.zip(after).is_none_or(|(before, after)| begins_with(&after, &before))
        };
        [
            ("an answer", is_stable(&[user.clone(), answer.clone()], &user)),
            ("reasoning", is_stable(&[user.clone(), reasoning], &user)),
            ("a call and its result", is_stable(&calls, &answer)),
            ("an answer after calls", is_stable(&[calls, vec![answer]].concat(), &user)),
        ]
        .into_iter()
        .filter_map(|(kind, is_stable)| (!is_stable).then_some(kind))
        .collect()
    }
}

/// Whether `whole` begins with `start`, whose last text may go on in it.
fn begins_with(whole: &[Segment<'_>], start: &[Segment<'_>]) -> bool {
    let Some((last, earlier)) = start.split_last() else { return true };
    let goes_on = |found: &Segment<'_>| match (found, last) {
        (Segment::Text(found), Segment::Text(text)) => found.starts_with(text.as_str()),
        _ => found == last,
    };
    whole.starts_with(earlier) && whole.get(earlier.len()).is_some_and(goes_on)
}
