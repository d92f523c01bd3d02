//! A turn's events as those of `dynamo-parsers-v2`.

use dynamo_parsers_v2::unified::MessagePhase;
use dynamo_parsers_v2::{ToolCallDelta, UnifiedParserEvent, UnifiedParserOutput};
use turn::{ItemHead, ItemStatus, Phase, TurnEvent};

/// The item that is open.
#[derive(Debug, Clone, Copy, Default)]
enum Open {
    #[default]
    Nothing,
    Reasoning,
    Message {
        /// Whether its beginning was told.
        is_told: bool,
    },
    Call,
}

/// What is known of a stream's items.
#[derive(Debug)]
pub(crate) struct Items {
    open: Open,
    /// Id that the model wrote for each call that began; empty if it wrote none.
    pub(crate) own_ids: Vec<String>,
    /// Whether messages that have a phase are told.
    pub(crate) keeps_phases: bool,
}

impl Items {
    pub(crate) fn new(keeps_phases: bool) -> Self {
        Self { open: Open::Nothing, own_ids: Vec::new(), keeps_phases }
    }

    /// Hands on events.
    pub(crate) fn hand_on(&mut self, events: &[TurnEvent], output: &mut UnifiedParserOutput) {
        for event in events {
            match event {
                TurnEvent::Open(head) => self.open(head, output),
                TurnEvent::Text(text) => self.text(text, output),
                TurnEvent::Close(status) => self.close(*status, output),
                _ => {}
            }
        }
    }

    fn open(&mut self, head: &ItemHead, output: &mut UnifiedParserOutput) {
        self.open = match head {
            ItemHead::Reasoning => Open::Reasoning,
            ItemHead::Message { phase } => {
                let phase = phase_of(*phase).filter(|_| self.keeps_phases);
                output.events.extend(phase.map(UnifiedParserEvent::MessageStart));
                Open::Message { is_told: phase.is_some() }
            }
            ItemHead::ToolCall { name, call_id, .. } => {
                self.own_ids.push(call_id.clone());
                output.push_call(ToolCallDelta { name: Some(name.clone()), ..self.call() });
                Open::Call
            }
        };
    }

    fn text(&self, text: &str, output: &mut UnifiedParserOutput) {
        match self.open {
            Open::Reasoning => output.push_reasoning(text),
            Open::Message { .. } | Open::Nothing => output.push_text(text),
            Open::Call => output.push_call(ToolCallDelta { arguments: text.to_owned(), ..self.call() }),
        }
    }

    fn close(&mut self, status: ItemStatus, output: &mut UnifiedParserOutput) {
        let complete = status == ItemStatus::Completed;
        match std::mem::take(&mut self.open) {
            Open::Call if complete => output.push_call(ToolCallDelta { complete, ..self.call() }),
            Open::Message { is_told: true } if complete => output.events.push(UnifiedParserEvent::MessageEnd),
            _ => {}
        }
    }

    /// An update of the last call that says nothing.
    fn call(&self) -> ToolCallDelta {
        ToolCallDelta {
            tool_index: self.own_ids.len().saturating_sub(1),
            name: None,
            arguments: String::new(),
            complete: false,
        }
    }
}

fn phase_of(phase: Phase) -> Option<MessagePhase> {
    match phase {
        Phase::Unspecified => None,
        Phase::Commentary => Some(MessagePhase::Commentary),
        Phase::Final => Some(MessagePhase::FinalAnswer),
    }
}
