//! Has the machine tell what a step brought, and how a choice ended.

use super::Answer;
use api::agent::{AnswerEventRef, CompactionEvent};
use api::event_buffer::EventBuffer;
use model::EndedTurn;
use turn::{TurnEnd, TurnFailure};

impl Answer {
    /// Has the machine tell the events of a choice's last step, and its end.
    pub(crate) fn take(&mut self, choice: usize, ended: Option<EndedTurn>, buffer: &mut EventBuffer) {
        self.context.came();
        self.machine.choose(choice);
        if let Some(step) = self.stream.next_raw(choice) {
            self.machine.tokens(&step);
        }
        if let Some(echo) = self.stream.take_echo(choice) {
            self.machine.echo(&echo, buffer);
        }
        if let Some(ended) = self.emit(ended, buffer) {
            for raw in self.stream.take_raw(choice) {
                self.machine.raw(raw);
            }
            if let Some(stop) = self.stream.stop_string(choice) {
                self.machine.stopped_by(stop);
            }
            if let Some(token) = self.stream.stop_token(choice) {
                self.machine.stopped_at(token);
            }
            self.machine.end(&ended.end, ended.usage, buffer);
            self.report_end(&ended);
        } else {
            self.machine.tokens_over(buffer);
        }
    }

    /// Has the machine tell the events of the last step. A steered answer ends before the first
    /// event from which on it may leave all out. Calls of the server's tools are told in any case,
    /// since they run already. Returns how the choice ended, if it did.
    fn emit(&mut self, ended: Option<EndedTurn>, buffer: &mut EventBuffer) -> Option<EndedTurn> {
        let is_steered = self.is_steered
            && ended.as_ref().is_none_or(|ended| ended.end.is_own() || ended.end.is_steered());
        let mut events = self.stream.events();
        loop {
            let mut rest = events.clone();
            let Some(event) = events.next() else { return ended };
            if is_steered
                && self.machine.may_stop()
                && !rest.any(|event| matches!(event, AnswerEventRef::Server(_)))
            {
                break;
            }
            let is_announcement = matches!(event, AnswerEventRef::Compaction(CompactionEvent::Begun));
            if !self.first_event_sent && !is_announcement {
                self.first_event_sent = true;
                self.figures.first_event(self.began.elapsed());
            }
            match event {
                AnswerEventRef::Turn(event) => self.machine.turn(event, buffer),
                AnswerEventRef::Server(event) => self.machine.server(event, buffer),
                AnswerEventRef::Compaction(event) => self.machine.compaction(event, buffer),
            }
        }
        drop(events);
        match ended {
            Some(EndedTurn { usage, .. }) => {
                Some(EndedTurn { end: TurnEnd::Failed(TurnFailure::steered()), usage })
            }
            None => self.stream.abort(TurnFailure::steered()).1,
        }
    }

    /// Updates the counters and writes the log line of a turn that has ended.
    fn report_end(&mut self, ended: &EndedTurn) {
        self.figures.end(self.began.elapsed());
        if let Some(span) = &mut self.span {
            span.choice_ended(&ended.end, ended.usage);
        }
        self.record_choice(ended);
        let (input, output) = (ended.usage.input_tokens, ended.usage.output_tokens);
        let end = match &ended.end {
            TurnEnd::Completed => "completed",
            TurnEnd::MaxOutputTokens => "max_output_tokens",
            TurnEnd::Cancelled => "cancelled",
            TurnEnd::Failed(failure) => failure.code,
        };
        let (model, ms) = (self.figures.model(), self.age_ms());
        tracing::info!(id = %self.id, model, end, input, output, ms, "turn ended");
    }
}
