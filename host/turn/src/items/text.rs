//! Text of messages and reasoning: opens their items, trims, and holds white space back that may be
//! an item's end.

use super::{Items, OpenItem, OpenKind, write};
use crate::delta::{DeltaToken, split_tokens};
use crate::event::{Phase, TurnEvent};
use crate::events::TurnEvents;
use crate::prose::{Prose, ProseKind, trim_end, trim_start};
use crate::step_error::StepError;

impl Items {
    /// Appends text to the open item, or to a new one if the open one is of another kind.
    pub(super) fn prose(
        &mut self,
        kind: OpenKind,
        text: &str,
        tokens: &mut Vec<DeltaToken>,
        out: &mut TurnEvents,
    ) -> Result<(), StepError> {
        if text.is_empty() {
            return Ok(());
        }
        if self.kind() != kind {
            self.interrupt(out)?;
            let kind = if kind == OpenKind::Reasoning {
                ProseKind::Reasoning
            } else {
                ProseKind::Message(Phase::default())
            };
            self.open = Some(OpenItem::Prose(Prose::new(kind)));
        }
        let Some(OpenItem::Prose(prose)) = &mut self.open else { return Ok(()) };
        let trim = if prose.kind == ProseKind::Reasoning { self.trim.reasoning } else { self.trim.content };
        let text = if trim && !prose.begun { trim_start(text, tokens) } else { text };
        let body = if trim { trim_end(text) } else { text };
        prose.begun |= !body.is_empty();
        if !self.visible || text.is_empty() {
            return Ok(());
        }
        let mut behind = if tokens.is_empty() { Vec::new() } else { split_tokens(tokens, body.len()) };
        if !body.is_empty() {
            self.write_text(body, tokens, out);
        }
        if body.len() < text.len() {
            self.white.append_tokens(&mut behind);
            self.hold_white_space(&text[body.len()..], out);
        }
        Ok(())
    }

    /// Holds white space back until text follows it; the oldest is written where it exceeds the
    /// bound.
    fn hold_white_space(&mut self, white: &str, out: &mut TurnEvents) {
        self.white.text.push_str(white);
        if self.white.len() > self.white_bytes {
            let excess = self.white.floor_char_boundary(self.white.len() - self.white_bytes);
            let kept = self.white.split_off(excess);
            self.write_text("", &mut Vec::new(), out);
            self.white = kept;
        }
    }

    /// Writes the white space held back, and after it `body` with its `tokens`.
    fn write_text(&mut self, body: &str, tokens: &mut Vec<DeltaToken>, out: &mut TurnEvents) {
        if let Some(OpenItem::Prose(prose)) = &mut self.open
            && !prose.announced
        {
            prose.announced = true;
            out.push(TurnEvent::Open(prose.head()));
        }
        write(true, out, |out| {
            if !self.white.is_empty() {
                out.append(std::mem::take(&mut self.white));
            }
            if !tokens.is_empty() {
                out.append_tokens(tokens);
            }
            out.text.push_str(body);
        });
    }
}
