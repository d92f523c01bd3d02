//! The head of an answer's record, from the request's reading to its model: what is not recorded has
//! a seed and a clock, too.

use std::time::Instant;

use crate::accept::app::App;
use crate::accept::body::CheckedBody;
use crate::accept::caller::Caller;
use crate::server_metrics::PROBES;
use accounts::Principal;
use api::Protocol;
use api::ids::{Clock, IdSeed, Ids};
use api::recorded::continuation_line;
use api::responses::Continuation;
use model::record::line::{FORMAT, Line, ModelLine, RecordHead};
use model::trace::AnswerTrace;
use model::{AnswerContext, Model};

/// An answer's seed and clock, and what is recorded of its request.
pub(crate) struct RecordDraft {
    seed: IdSeed,
    clock: Clock,
    /// When the request came.
    began: Instant,
    /// `None`: the server records nothing.
    head: Option<Box<RecordHead>>,
}

impl RecordDraft {
    /// The draft of a request that is about to be read.
    pub(crate) fn new(
        app: &App,
        caller: &Caller,
        protocol: Protocol,
        body: &CheckedBody,
        continuation: &Continuation,
    ) -> Self {
        let (seed, clock) = (IdSeed::random(), Clock::system());
        let head = app.records.as_ref().map(|records| {
            let whole = !records.redacts();
            let mut continuation_line = continuation_line(continuation);
            continuation_line.input = continuation_line.input.filter(|_| whole);
            Box::new(RecordHead {
                format: FORMAT,
                sluice: env!("CARGO_PKG_VERSION").to_owned(),
                protocol: protocol.word().to_owned(),
                compacts: false,
                prompt_only: continuation.prompt_only,
                body: whole.then(|| String::from_utf8_lossy(body.text()).into_owned()),
                continuation: continuation_line,
                owner: Some(caller.principal.name().to_owned()).filter(|name| name != Principal::LOCAL),
                request_id: caller.id.clone(),
                id_seed: seed.to_hex(),
                clock: clock.millis(),
                model: ModelLine::default(),
                switches: records.switches().to_vec(),
            })
        });
        Self { seed, clock, began: caller.began, head }
    }

    /// The draft of a request that only compacts its conversation.
    pub(crate) fn of_compaction(mut self) -> Self {
        if let Some(head) = &mut self.head {
            head.compacts = true;
        }
        self
    }

    /// Sources of the answer's ids and times.
    pub(crate) fn ids_and_clock(&self) -> (Ids, Clock) {
        (Ids::seeded(self.seed), self.clock.clone())
    }

    /// `model` for an answer that another server wants only to see that there is one. Anybody may
    /// say so of a small request, so each is counted.
    pub(crate) fn begin_probe(self, model: Model) -> Model {
        metrics::counter!(PROBES.name(), "model_name" => model.label()).increment(1);
        model.for_answer(AnswerContext::of_probe(self.seed, self.clock))
    }

    /// `model` for this answer, whose record begins, if it is recorded.
    pub(crate) fn begin(self, app: &App, model: Model) -> Model {
        let Self { seed, clock, began, head } = self;
        let recorder = app.records.as_ref().zip(head).and_then(|(records, head)| {
            records.begin(&clock, || Line::Head(Box::new(RecordHead { model: model.record_line(), ..*head })))
        });
        let trace = app.taps.as_ref().map(|_| AnswerTrace::new(began));
        model.for_answer(AnswerContext::observed(seed, clock, recorder, trace))
    }
}
