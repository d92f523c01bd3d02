//! Prompts that leave a turn inside its reasoning, or behind it, found by trying the parser's
//! markers: for gateways that tell the state and not the prompt.

use contract::FinishReason;
use turn::{ItemHead, TurnEvent};

use super::{Form, Reader};

/// What the prompt leaves open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Opening {
    /// The model's reasoning.
    Reasoning,
    /// Its answer.
    Answer,
}

/// A prompt for each opening, where there is one.
pub(super) struct Openings {
    reasoning: Option<String>,
    answer: Option<String>,
}

impl Openings {
    pub(super) fn of(reader: &Reader) -> Self {
        let descriptor = reader.plugin().descriptor();
        let markers = || [""].into_iter().chain(descriptor.markers.iter().map(String::as_str));
        let reasoning =
            markers().find(|prompt| first(reader, prompt) == Some(Opening::Reasoning)).map(str::to_owned);
        let end = descriptor.reasoning_end.as_deref().unwrap_or_default();
        let closed = format!("{}{end}", reasoning.as_deref().unwrap_or_default());
        let answer = ["", &closed, end].into_iter();
        let answer = answer.map(str::to_owned).find(|prompt| first(reader, prompt) == Some(Opening::Answer));
        Self { reasoning, answer }
    }

    pub(super) fn get(&self, opening: Opening) -> Option<&str> {
        match opening {
            Opening::Reasoning => self.reasoning.as_deref(),
            Opening::Answer => self.answer.as_deref(),
        }
    }
}

/// What text behind this prompt is.
fn first(reader: &Reader, prompt: &str) -> Option<Opening> {
    let request = reader.request([]);
    let settings = reader.settings(&request);
    let mut stream = reader.start(Form::Text, &request, prompt, settings).ok()?;
    let opened = |events: &[TurnEvent]| {
        events.iter().find_map(|event| match event {
            TurnEvent::Open(ItemHead::Reasoning) => Some(Opening::Reasoning),
            TurnEvent::Open(ItemHead::Message { .. }) => Some(Opening::Answer),
            _ => None,
        })
    };
    let pushed = opened(stream.push("x", &[], None).ok()?);
    let (last, _) = stream.finish(FinishReason::Length, None);
    let finished = opened(last);
    pushed.or(finished).filter(|_| stream.turn().fault().is_none())
}
