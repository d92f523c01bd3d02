//! What a chat template does, learnt at load from conversations that are tried with it. No template
//! is known by name.
//!
//! Invariant: a probe holds no control token's literal, so its text shows what the template does
//! with a request's. Called by `render`.

use super::{ChatFormat, Rendered, TurnOpening, join};
use crate::content::Content;
use crate::conversation::{ChatMessage, Conversation, Role};
use crate::segments::{Segment, text_of};
use crate::template_changes::TemplateChanges;
use crate::variables::{self, ArgumentsForm, Probe};

impl ChatFormat {
    /// A conversation without tools as the template writes it, without the turn to generate; empty
    /// if the template takes none.
    pub fn plain_conversation(&self) -> String {
        let text = |role| ChatMessage::text(role, "q z");
        let turns = vec![text(Role::User), text(Role::Assistant)];
        let with_system = [vec![text(Role::System)], turns.clone()].concat();
        let shown = |messages| {
            let conversation = Conversation { messages, tools: Vec::new() };
            let Rendered { before, .. } = self.run_probed(&conversation, &[])?;
            Some(text_of(&before))
        };
        shown(with_system).or_else(|| shown(turns)).unwrap_or_default()
    }

    /// Learns from plain conversations what the template does: whether it joins calls' arguments to
    /// text, in which form it takes messages' content, and which changes of conversations it needs.
    /// The error is a reason.
    pub(super) fn probe(&mut self) -> Result<(), String> {
        let probes = variables::probes();
        let accepted =
            |format: &Self| probes.iter().filter(|probe| format.run_probe(probe).is_some()).count();
        let with_objects = accepted(self);
        self.forms.call_arguments.form = ArgumentsForm::Text;
        if with_objects == probes.len() || accepted(self) <= with_objects {
            self.forms.call_arguments.form = ArgumentsForm::Objects;
        }
        self.detect_contents()?;
        self.changes = self.detect_changes();
        if !self.shows_call_without_text() {
            self.forms.empty_is_none = true;
            self.forms.empty_is_none = self.shows_call_without_text();
        }
        if !self.shows_broken_arguments() {
            self.forms.call_arguments.only_objects = true;
            self.forms.call_arguments.only_objects = self.shows_broken_arguments();
        }
        self.shows_tools = self.detect_tools();
        self.efforts = self.detect_efforts();
        self.report_growth();
        if !probes.iter().all(|probe| self.is_as_reference(probe)) {
            tracing::warn!(
                "the chat template yields other token ids than the reference tokenisation of its text"
            );
        }
        Ok(())
    }

    fn detect_changes(&self) -> TemplateChanges {
        let changes = TemplateChanges::detect(|conversation| {
            self.run_probe(&(conversation.clone(), Vec::new())).map(|segments| text_of(&segments))
        });
        if !changes.is_empty() {
            tracing::info!(
                fit = ?changes,
                "the chat template doesn't take everything as clients send it: it is told otherwise"
            );
        }
        changes
    }

    /// Whether the template shows a call that has no text beside it.
    fn shows_call_without_text(&self) -> bool {
        let mut conversation = variables::calling(r#"{"zq1": "zq2"}"#);
        let calling = &mut conversation.messages[1];
        (calling.content, calling.reasoning) = (Content::default(), None);
        let shown = self.run_probe(&(conversation, Vec::new()));
        shown.is_some_and(|segments| text_of(&segments).contains("zq2"))
    }

    /// Whether the template shows arguments that are no JSON object.
    fn shows_broken_arguments(&self) -> bool {
        let shown = self.run_probe(&(variables::calling(r#"{"zq1": "zq2"#), Vec::new()));
        let text = shown.map(|segments| text_of(&segments)).unwrap_or_default();
        ["zq1", "zq2"].iter().all(|word| text.contains(word))
    }

    /// Whether the template shows a tool. One that raises isn't silent, so it counts as one that
    /// does.
    fn detect_tools(&self) -> bool {
        let shows = |messages| {
            let conversation = Conversation { messages, tools: vec![variables::tool("zq_tool")] };
            let shown = self.run_probe(&(conversation, Vec::new()));
            shown.is_none_or(|segments| text_of(&segments).contains("zq_tool"))
        };
        let [system, user] = [Role::System, Role::User].map(|role| ChatMessage::text(role, "q z"));
        shows(vec![user.clone()]) || shows(vec![system, user])
    }

    pub(super) fn run_probe(&self, (conversation, arguments): &Probe) -> Option<Vec<Segment<'_>>> {
        let Rendered { mut before, turn, .. } = self.run_probed(conversation, arguments)?;
        join(&mut before, turn);
        Some(before)
    }

    /// The prompt of a probe; `None` if the template refuses it, or all probes took their time.
    pub(super) fn run_probed(
        &self,
        conversation: &Conversation,
        arguments: &[(String, serde_json::Value)],
    ) -> Option<Rendered<'_>> {
        self.run(conversation, arguments, TurnOpening::NewTurn, Some(&self.probe_time)).ok()
    }

    /// Whether the probe, which spells no control token, gets the ids that the tokenizer gives for
    /// its text as a whole.
    fn is_as_reference(&self, probe: &Probe) -> bool {
        let Some(segments) = self.run_probe(probe) else { return true };
        let text = text_of(&segments);
        self.tokenizer.encode_segments(&segments) == self.tokenizer.encode_with_added(&text)
    }
}
