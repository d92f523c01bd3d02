//! One answer under way: a generation, driven through a protocol's machine.
//!
//! A streaming answer has one task, which writes the log. The task ends with the turn, when its
//! log's policy says that the last reader's leaving ends it, when a reader takes nothing for too
//! long, or when the server stops. At most the policy's queue of appends waits in the log; then the
//! task waits, the engine's queue fills, and the engine pauses this sequence alone.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use store::{Chunk, End};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::answer::figures::AnswerFigures;
use crate::answer::framed_check::FramedCheck;
use crate::answer::keeper::{Keeper, Kept};
use crate::answer::log::{LogWriter, Signal};
use crate::answer::tap::TapWriter;
use crate::traces::AnswerSpan;
use api::StreamCheck;
use api::agent::{AnswerEventRef, AnswerStream, CompactionEvent};
use api::event_buffer::EventBuffer;
use api::frames::Frames;
use api::machine::{Machine, StoredAnswer};
use api::seal::Seal;
use model::observe::ModelMetrics;
use model::record::line::{Delivery, Line};
use model::{AnswerContext, EndedTurn, ReasoningStop};
use turn::{TurnEnd, TurnFailure};

mod background;
mod record;
mod replay;
mod signals;

pub use replay::{Replay, ReplayError};
use signals::{aborted, cancelled, shutting_down};

/// An answer that is being generated.
pub struct Answer {
    figures: AnswerFigures,
    id: String,
    began: Instant,
    stream: AnswerStream,
    machine: Box<dyn Machine>,
    check: Option<FramedCheck>,
    first_event_sent: bool,
    /// Why the answer must end, when it must. Each is polled only when it is woken, since polling
    /// takes a lock that all answers share.
    aborting: FuturesUnordered<BoxFuture<'static, TurnFailure>>,
    /// Cancelled when the answer is to end as soon as it may.
    steered: Option<CancellationToken>,
    keeper: Option<Box<dyn Keeper>>,
    /// Number of items that are kept before the end; none if no more are kept.
    kept_items: Option<usize>,
    context: AnswerContext,
    /// Makes events comparable, if the answer is recorded or replayed.
    seal: Option<Seal>,
    /// Writer of the answer's trace, if it has one.
    tap: Option<Box<TapWriter>>,
    /// Whether the client steers.
    is_steered: bool,
    /// How the choice ended that ended last.
    ended: TurnEnd,
    span: Option<AnswerSpan>,
}

/// The answer isn't wanted any more: no reader is left, or one takes nothing.
struct Abandoned;

/// What happens to a reader that takes nothing.
struct SlowReader {
    patience: Duration,
    too_slow: Option<CancellationToken>,
}

impl Answer {
    /// An answer that `stream` generates and `machine` tells, for the request `id` that came at
    /// `began`. `model` counts it. If `check` is given, the stream is checked; when
    /// `aborting` is cancelled, the answer fails.
    pub fn new(
        model: Arc<ModelMetrics>,
        id: String,
        began: Instant,
        mut stream: AnswerStream,
        mut machine: Box<dyn Machine>,
        check: Option<StreamCheck>,
        aborting: &CancellationToken,
    ) -> Self {
        machine.accepted(&id, stream.prompt_tokens());
        let frames = Frames::new(machine.has_done());
        Self {
            id,
            began,
            stream,
            machine,
            check: check.map(|check| FramedCheck::new(check, frames)),
            first_event_sent: false,
            aborting: FuturesUnordered::from_iter([aborted(aborting, shutting_down)]),
            steered: None,
            keeper: None,
            kept_items: None,
            context: AnswerContext::default(),
            seal: None,
            tap: None,
            is_steered: false,
            ended: TurnEnd::Cancelled,
            span: None,
            figures: AnswerFigures::begin(model),
        }
    }

    /// Tells the time by the clock of this context, which is the machine's, too, and is recorded if
    /// the context is. `seal` is the machine's.
    #[must_use]
    pub fn in_context(self, context: AnswerContext, seal: &Seal) -> Self {
        Self { context, seal: Some(seal.clone()), ..self }
    }

    /// Has `span` tell of the answer.
    pub(crate) fn spanned_by(&mut self, span: Option<AnswerSpan>) {
        self.span = span;
    }

    /// Leaves out the check of the stream, for an answer whose first events were sent by another.
    pub(crate) fn uncheck(&mut self) {
        self.check = None;
    }

    /// Ends the answer as cancelled when `withdrawn` is cancelled.
    pub(crate) fn withdrawn_by(&mut self, withdrawn: &CancellationToken) {
        self.aborting.push(aborted(withdrawn, TurnFailure::withdrawn));
    }

    /// Ends the answer's reasoning, while it is under way.
    pub(crate) fn reasoning(&self) -> &ReasoningStop {
        self.context.reasoning()
    }

    /// Ends the answer as steered once `steered` is cancelled, as soon as the machine may stop.
    pub(crate) fn steered_by(&mut self, steered: &CancellationToken) {
        self.steered = Some(steered.clone());
    }

    /// Has `keeper` keep the answer's end before anybody is told of it. An answer that isn't wanted
    /// any more is kept as cancelled.
    pub(crate) fn kept_by(&mut self, keeper: Box<dyn Keeper>) {
        self.keeper = Some(keeper);
        self.kept_items = Some(0);
    }

    /// The answer as it is stored before it begins; none in protocols whose answers aren't stored.
    pub fn record(&mut self) -> Option<StoredAnswer> {
        self.machine.record()
    }

    /// A framer for a reader of this answer's events.
    pub fn frames(&self) -> Frames {
        Frames::new(self.machine.has_done())
    }

    /// Generates the answer in one piece, with the same machine; its events are discarded. Returns
    /// HTTP status and JSON text.
    pub async fn whole(mut self) -> (u16, String) {
        self.record_delivery(Delivery::Whole);
        let mut buffer = EventBuffer::discarding();
        self.machine.begin(&mut buffer);
        while !self.advance(&mut buffer).await {
            self.trace_events(0, None);
        }
        self.keep(None, &mut buffer).await;
        let (status, body) = self.machine.body();
        self.record_body(&body);
        (status, body)
    }

    /// Writes the answer into `log`, to its end or until it isn't wanted. `too_slow` is cancelled
    /// when a reader that the log waits for takes nothing for `patience`.
    pub async fn run(mut self, log: LogWriter, patience: Duration, too_slow: Option<CancellationToken>) {
        self.record_delivery(Delivery::Streamed);
        let slow = SlowReader { patience, too_slow };
        if self.drive(&log, &slow).await.is_err() {
            let ms = self.age_ms();
            tracing::info!(id = %self.id, ms, "the client left; generation cancelled");
            let mut buffer = self.unread_buffer();
            self.withdraw(TurnFailure::withdrawn(), &mut buffer);
            self.keep(None, &mut buffer).await;
            self.record_events(&buffer);
        }
        self.record_end();
    }

    /// Has the answer's end kept, with the `last` events of one that is stored while it runs. Where
    /// that fails, the answer fails.
    async fn keep(&mut self, last: Option<Chunk>, buffer: &mut EventBuffer) -> Kept {
        let Some(keeper) = self.keeper.take() else { return Kept::ByOthers };
        let record = self.machine.record();
        let Some(StoredAnswer { status: Some(status), object, output, .. }) = record else {
            return Kept::ByOthers;
        };
        let kept = keeper.keep(End { status, result: object, output, last }).await;
        if matches!(kept, Kept::Late | Kept::Not) {
            self.context.record_moment(Line::Unstored);
            self.machine.not_stored(buffer);
        }
        kept
    }

    /// Has the items kept that were finished since the last call, before their events are sent: they
    /// outlive the process. A failure ends no answer: the answer's end tells whether it is kept.
    async fn keep_finished(&mut self) {
        let (Some(keeper), Some(first)) = (&self.keeper, self.kept_items) else { return };
        let items = self.machine.finished(first);
        if items.is_empty() {
            return;
        }
        let kept = first + items.len();
        self.kept_items = keeper.keep_items(first, items).await.then_some(kept);
    }

    /// Ends an answer that nobody wants any more, if it hasn't ended.
    fn withdraw(&mut self, failure: TurnFailure, buffer: &mut EventBuffer) {
        if self.keeper.is_some() && !self.stream.is_over() {
            self.abort(failure, buffer);
        }
    }

    /// Ends the answer from outside.
    fn abort(&mut self, failure: TurnFailure, buffer: &mut EventBuffer) {
        self.context.record_cancel(&failure);
        let (choice, ended) = self.stream.abort(failure);
        self.take(choice, ended, buffer);
    }

    async fn drive(&mut self, log: &LogWriter, slow: &SlowReader) -> Result<(), Abandoned> {
        let mut buffer = EventBuffer::new();
        self.machine.begin(&mut buffer);
        self.write(&mut buffer, false, log, slow).await?;
        loop {
            let over = tokio::select! {
                // Signals come first: an answer that never waits would not notice that no reader is
                // left.
                biased;
                signal = log.signal() => match signal {
                    Signal::NoReader => return Err(Abandoned),
                    Signal::HeartbeatDue => {
                        self.heartbeat(&mut buffer);
                        false
                    }
                },
                over = self.advance(&mut buffer) => over,
            };
            if over {
                self.keep(None, &mut buffer).await;
            } else {
                self.keep_finished().await;
            }
            self.write(&mut buffer, over, log, slow).await?;
            if over {
                return Ok(());
            }
        }
    }

    /// Writes the events into the log as soon as there is room. A reader that takes nothing for too
    /// long ends the answer.
    async fn write(
        &mut self,
        buffer: &mut EventBuffer,
        over: bool,
        log: &LogWriter,
        slow: &SlowReader,
    ) -> Result<(), Abandoned> {
        self.check(buffer, over);
        self.record_events(buffer);
        let (count, ready) = (buffer.len(), self.tap.is_some().then(Instant::now));
        if !buffer.is_empty() && !log.has_room() && timeout(slow.patience, log.room()).await.is_err() {
            self.figures.slow_reader();
            if let Some(too_slow) = &slow.too_slow {
                too_slow.cancel();
            }
            return Err(Abandoned);
        }
        if over {
            log.finish(buffer);
        } else if !buffer.is_empty() {
            log.append(buffer);
        }
        self.trace_events(count, ready.map(|ready| ready.elapsed()));
        Ok(())
    }

    /// Waits for the next events of any choice and has the machine tell them. Returns whether the
    /// answer is complete. Cancel-safe.
    async fn advance(&mut self, buffer: &mut EventBuffer) -> bool {
        self.look_for_steering();
        let is_steered = self.is_steered;
        let may_stop = is_steered && self.machine.may_stop();
        let (choice, ended) = tokio::select! {
            biased;
            Some(failure) = self.aborting.next() => {
                self.abort(failure, buffer);
                return self.stream.is_over();
            }
            () = std::future::ready(()), if may_stop => self.stream.abort(TurnFailure::steered()),
            () = cancelled(self.steered.as_ref()), if !is_steered => return false,
            next = self.stream.next() => next,
        };
        self.take(choice, ended, buffer);
        self.stream.is_over()
    }

    /// Notes that the client steers, if it does by now.
    fn look_for_steering(&mut self) {
        if !self.is_steered && self.steered.as_ref().is_some_and(CancellationToken::is_cancelled) {
            self.is_steered = true;
            self.context.record_moment(Line::Steer);
        }
    }

    fn heartbeat(&mut self, buffer: &mut EventBuffer) {
        self.context.record_moment(Line::Heartbeat);
        self.context.came();
        self.machine.heartbeat(buffer);
    }

    /// Checks events that are about to be written against the event grammar, if that is switched
    /// on. A stream is reported once.
    fn check(&mut self, events: &EventBuffer, over: bool) {
        let Some(check) = &mut self.check else { return };
        if let Err(violation) = check.feed(events, over) {
            self.check = None;
            self.figures.violation();
            let model = self.figures.model();
            tracing::error!(id = %self.id, model, violation, "this stream breaks the event grammar");
        }
    }

    /// Has the machine tell the events of a choice's last step, and its end.
    fn take(&mut self, choice: usize, ended: Option<EndedTurn>, buffer: &mut EventBuffer) {
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

    fn age_ms(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX)
    }
}
