//! The form in which a template takes the content of each role's messages, learnt at load. Called
//! by `probe`.
//!
//! Invariant: a form is chosen because the template shows text in it. No template gets lists of
//! which it would leave parts out, or which it would write as Python or JSON spells them.

use super::ChatFormat;
use crate::content::Content;
use crate::content_forms::{ContentForm, ContentForms};
use crate::conversation::{ChatMessage, Conversation, Role};
use crate::segments::text_of;
use crate::variables;

/// Words of a probe's content, which a template has to show.
const WORDS: [&str; 2] = ["zq1", "zq2"];

/// What became of a content's words in a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Outcome {
    /// The template refused the conversation.
    Refused,
    /// It wrote the conversation without the words.
    Lost,
    /// It showed the words.
    Shown,
}

/// Outcomes of one conversation: with the words as a string, as two parts, and as one part.
type Outcomes = [Outcome; 3];

impl ChatFormat {
    /// Finds the form for each role. The error is a reason: the template writes conversations
    /// without the text of users.
    pub(super) fn detect_contents(&mut self) -> Result<(), String> {
        // Every form is tried as it is.
        let as_sent = ContentForm::AsSent;
        self.forms.contents =
            ContentForms { system: as_sent, user: as_sent, assistant: as_sent, tool: as_sent };
        let [system, user, assistant, tool] =
            [Role::System, Role::User, Role::Assistant, Role::Tool].map(|role| self.outcomes(role));
        if form(&user).is_none() && user.iter().flatten().any(|outcome| *outcome == Outcome::Lost) {
            return Err("it doesn't show the text of user messages".to_owned());
        }
        // A template that shows nothing of a role needs no form.
        let [system, user, assistant, tool] =
            [system, user, assistant, tool].map(|outcomes| form(&outcomes).unwrap_or_default());
        self.forms.contents = ContentForms { system, user, assistant, tool };
        Ok(())
    }

    fn outcomes(&self, role: Role) -> Vec<Outcomes> {
        let contents = [
            Content::from(WORDS.join(" ")),
            Content::from_iter(WORDS),
            Content::from_iter([WORDS.join(" ")]),
        ];
        let outcomes = |(conversation, at): (Conversation, usize)| {
            contents.each_ref().map(|content| self.outcome(&conversation, at, content))
        };
        conversations(role).into_iter().map(outcomes).collect()
    }

    /// The outcome of `content` in the message `at`. The other messages come in the form that goes
    /// better, as theirs aren't known yet.
    fn outcome(&self, conversation: &Conversation, at: usize, content: &Content) -> Outcome {
        let outcome = |others_are_lists: bool| {
            let mut conversation = conversation.clone();
            for (index, message) in conversation.messages.iter_mut().enumerate() {
                if index == at {
                    message.content = content.clone();
                } else if others_are_lists {
                    message.content = message.content.parts().collect();
                }
            }
            match self.run_probe(&(conversation, Vec::new())) {
                None => Outcome::Refused,
                Some(segments) if shows_words(&text_of(&segments)) => Outcome::Shown,
                Some(_) => Outcome::Lost,
            }
        };
        match outcome(false) {
            Outcome::Shown => Outcome::Shown,
            other => other.max(outcome(true)),
        }
    }
}

/// The form in which a template shows the most, the plainest first; `None` if it shows nothing in
/// any form.
fn form(outcomes: &[Outcomes]) -> Option<ContentForm> {
    let count = |form: &ContentForm| {
        let shows = |outcomes: &&Outcomes| {
            let [string, parts, one_part] = outcomes.map(|outcome| outcome == Outcome::Shown);
            match form {
                ContentForm::AsSent => string && parts,
                ContentForm::Text => string,
                ContentForm::Parts => parts,
                ContentForm::OnePart => one_part,
            }
        };
        outcomes.iter().filter(shows).count()
    };
    // The last of several maxima is taken.
    let forms = [ContentForm::OnePart, ContentForm::Parts, ContentForm::Text, ContentForm::AsSent];
    forms.into_iter().max_by_key(count).filter(|form| count(form) > 0)
}

/// Whether `text` has both words, and nothing of a part's spelling as Python or JSON before or
/// between them.
fn shows_words(text: &str) -> bool {
    let text = text.to_lowercase();
    let [first, second] = WORDS;
    let Some((before, rest)) = text.split_once(first) else { return false };
    let is_spelt = ["'text': '", "\"text\": \""].iter().any(|spelling| before.ends_with(spelling));
    !is_spelt && rest.split_once(second).is_some_and(|(between, _)| !between.contains("text"))
}

/// Conversations with a message of `role`, and the place of the message: alone and among others,
/// with tools and without, first and last, since templates treat these differently.
fn conversations(role: Role) -> Vec<(Conversation, usize)> {
    let text = |role| ChatMessage::text(role, "q z");
    let [system, user, answer] = [Role::System, Role::User, Role::Assistant].map(text);
    let turns = vec![user.clone(), answer.clone(), user.clone()];
    let Conversation { messages: mut calls, tools } = variables::calling(r#"{"q": "z"}"#);
    // Some templates take no text and no reasoning beside a call.
    calls[1] =
        ChatMessage { tool_calls: calls[1].tool_calls.clone(), ..ChatMessage::text(Role::Assistant, "") };
    let more = [calls.clone(), vec![answer.clone(), user.clone()]].concat();
    let plain = |messages: Vec<ChatMessage>, at| (Conversation { messages, tools: Vec::new() }, at);
    let with_tools = |messages: Vec<ChatMessage>, at| (Conversation { messages, tools: tools.clone() }, at);
    match role {
        Role::System | Role::Developer => {
            let messages = vec![system, user];
            vec![plain(messages.clone(), 0), with_tools(messages, 0)]
        }
        Role::User => vec![
            plain(vec![user.clone()], 0),
            with_tools(vec![user.clone()], 0),
            plain(vec![system, user], 1),
            plain(turns.clone(), 0),
            plain(turns, 2),
        ],
        Role::Assistant => {
            vec![plain(turns, 1), plain(vec![user, answer], 1), with_tools(calls, 1), with_tools(more, 3)]
        }
        Role::Tool => vec![with_tools(calls, 2), with_tools(more, 2)],
    }
}
