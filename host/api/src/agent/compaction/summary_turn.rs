//! The turn in which the model writes a summary. Its text is gathered here and reaches no client as
//! it is.
//!
//! Invariant: whatever comes of the turn, `Begun` is told first and `Ended` last, so there is
//! exactly one compaction.

use crate::agent::event::{AnswerEvent, CompactionEvent};
use model::{EndedTurn, TurnStream};
use turn::{ItemHead, Phase, TurnEnd, TurnEvent, TurnEvents, TurnFailure, Usage};

/// Message of the failure of a turn that left no summary.
const NO_SUMMARY: &str = "The model wrote no summary of the conversation; try again.";

/// A summary that is being written. Dropping it cancels the turn.
pub(in crate::agent) struct SummaryTurn {
    turn: Box<TurnStream>,
    raw: TurnEvents,
    text: String,
    /// Whether the open item belongs to the summary. Reasoning, preambles and attempts to call
    /// tools don't.
    in_summary: bool,
    has_begun: bool,
}

/// What came of the turn.
pub(in crate::agent) struct Summary {
    /// The whole summary; else how the answer ends. Half a summary is none: what it had not come to
    /// would be lost without a trace.
    pub(in crate::agent) text: Result<String, TurnEnd>,
    pub(in crate::agent) usage: Usage,
}

impl SummaryTurn {
    pub(in crate::agent) fn new(turn: TurnStream) -> Self {
        Self {
            turn: Box::new(turn),
            raw: TurnEvents::default(),
            text: String::new(),
            in_summary: false,
            has_begun: false,
        }
    }

    /// Waits for the next step; returns what came of the turn with the last one. Cancel-safe.
    pub(in crate::agent) async fn next(&mut self, out: &mut Vec<AnswerEvent>) -> Option<Summary> {
        if self.begin(out) {
            return None;
        }
        let ended = self.turn.next(&mut self.raw).await;
        self.take(out);
        ended.map(|ended| self.end(ended, out))
    }

    /// Ends the turn as failed.
    pub(in crate::agent) fn abort(&mut self, failure: TurnFailure, out: &mut Vec<AnswerEvent>) -> Usage {
        self.begin(out);
        let ended = self.turn.abort(failure, &mut self.raw);
        self.take(out);
        self.end(ended, out).usage
    }

    /// Says that the turn begins, once. Returns whether it said so.
    fn begin(&mut self, out: &mut Vec<AnswerEvent>) -> bool {
        let is_first = !std::mem::replace(&mut self.has_begun, true);
        if is_first {
            out.push(AnswerEvent::Compaction(CompactionEvent::Begun));
        }
        is_first
    }

    fn take(&mut self, out: &mut Vec<AnswerEvent>) {
        let mut sampled = false;
        for event in self.raw.drain() {
            match event {
                TurnEvent::Open(ItemHead::Message { phase }) if phase != Phase::Commentary => {
                    self.in_summary = true;
                    if !self.text.is_empty() {
                        self.text.push_str("\n\n");
                    }
                }
                TurnEvent::Open(_) | TurnEvent::Close(_) => self.in_summary = false,
                TurnEvent::Text(delta) if self.in_summary => {
                    self.text.push_str(&delta);
                    sampled = true;
                }
                _ => {}
            }
        }
        if sampled {
            out.push(AnswerEvent::Compaction(CompactionEvent::Sampled));
        }
    }

    fn end(&mut self, ended: EndedTurn, out: &mut Vec<AnswerEvent>) -> Summary {
        let text = match ended.end {
            TurnEnd::Completed if self.text.trim().is_empty() => {
                let failure = TurnFailure { code: "model_error", message: NO_SUMMARY.to_owned() };
                Err(TurnEnd::Failed(failure))
            }
            TurnEnd::Completed => Ok(std::mem::take(&mut self.text)),
            end => Err(end),
        };
        let summary = text.as_ref().ok().cloned();
        out.push(AnswerEvent::Compaction(CompactionEvent::Ended { summary }));
        Summary { text, usage: ended.usage }
    }
}
