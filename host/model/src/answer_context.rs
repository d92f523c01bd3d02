//! What the turns of one answer share: the seed of its random values, its clock, and its record.
//!
//! Invariant: what an answer's clients are sent follows from the request, from the tokens and the
//! other inputs that come while it is generated, and from what is in here.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use contract::Fault;
use engine::Generation;
use system::id_seed::Purpose;
use system::{Clock, IdSeed};
use turn::{CallIds, TurnEnd, TurnFailure};

use crate::reasoning_stop::ReasoningStop;
use crate::record::line::{FailureLine, FaultLine, Line, Moment};
use crate::record::{self, Playback, RecordedInput, Recorder};
use crate::trace::AnswerTrace;

/// What the turns of one answer share. Cheap to clone; clones are the same answer's.
#[derive(Debug, Clone)]
pub struct AnswerContext(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    seed: IdSeed,
    clock: Clock,
    /// Number of generations so far.
    generations: AtomicU32,
    inputs: Inputs,
    trace: Option<AnswerTrace>,
    is_probe: bool,
    reasoning: ReasoningStop,
}

/// Where an answer's inputs come from, and go to.
#[derive(Debug)]
enum Inputs {
    /// From engines and tools.
    Live,
    /// From there, and each is recorded.
    Recorded(Recorder),
    /// From a record.
    Played(Playback),
}

/// Number of a generation in its answer, from 0 on: turns come one after the other, and the choices
/// of a turn in their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GenerationNumber(pub u32);

impl AnswerContext {
    /// The context of an answer whose random values follow from `seed`.
    pub fn new(seed: IdSeed, clock: Clock) -> Self {
        Self::of(seed, clock, Inputs::Live, None, false)
    }

    /// The context of an answer that another server wants to see whether this one answers.
    pub fn of_probe(seed: IdSeed, clock: Clock) -> Self {
        Self::of(seed, clock, Inputs::Live, None, true)
    }

    /// The context of an answer that is recorded, if there is a recorder, and traced, if there is a
    /// trace.
    pub fn observed(
        seed: IdSeed,
        clock: Clock,
        recorder: Option<Recorder>,
        trace: Option<AnswerTrace>,
    ) -> Self {
        Self::of(seed, clock, recorder.map_or(Inputs::Live, Inputs::Recorded), trace, false)
    }

    /// The context of a recorded answer that is played back.
    pub fn played(seed: IdSeed, playback: Playback) -> Self {
        Self::of(seed, playback.clock().clone(), Inputs::Played(playback), None, false)
    }

    fn of(seed: IdSeed, clock: Clock, inputs: Inputs, trace: Option<AnswerTrace>, is_probe: bool) -> Self {
        let (generations, reasoning) = (AtomicU32::new(0), ReasoningStop::default());
        Self(Arc::new(Shared { seed, clock, generations, inputs, trace, is_probe, reasoning }))
    }

    /// Whether nobody asked for the answer: it is in no record and trace, and in one metric, that of
    /// probes.
    pub fn is_probe(&self) -> bool {
        self.0.is_probe
    }

    /// Ends the reasoning of the answer's turn.
    pub fn reasoning(&self) -> &ReasoningStop {
        &self.0.reasoning
    }

    /// The answer's trace, if it has one.
    pub fn trace(&self) -> Option<&AnswerTrace> {
        self.0.trace.as_ref()
    }

    /// Whether somebody looks into the answer: it has a trace, or is recorded.
    pub fn is_observed(&self) -> bool {
        self.trace().is_some() || self.recorder().is_some()
    }

    /// The answer's recorder, if it is recorded.
    pub fn recorder(&self) -> Option<&Recorder> {
        match &self.0.inputs {
            Inputs::Recorded(recorder) => Some(recorder),
            Inputs::Live | Inputs::Played(_) => None,
        }
    }

    /// The playback, if the answer is played back.
    pub fn playback(&self) -> Option<&Playback> {
        match &self.0.inputs {
            Inputs::Played(playback) => Some(playback),
            Inputs::Live | Inputs::Recorded(_) => None,
        }
    }

    /// Called when the answer has got an input: its clock shows the time of that input. Inputs that
    /// are recorded or played back have moved the clock already.
    pub fn came(&self) {
        if matches!(self.0.inputs, Inputs::Live) {
            self.0.clock.tick();
        }
    }

    /// Records an input: `line` makes its line, of the milliseconds since the request.
    pub fn record(&self, line: impl FnOnce(u64) -> Line) {
        let (recorder, trace) = (self.recorder(), self.trace());
        if recorder.is_none() && trace.is_none() {
            return;
        }
        let line = line(recorder.map_or(0, Recorder::tick));
        if let Some(trace) = trace {
            trace.input(&line);
        }
        if let Some(recorder) = recorder {
            recorder.line(&line);
        }
    }

    /// Records an input that is only a moment.
    pub fn record_moment(&self, line: fn(Moment) -> Line) {
        self.record(|ms| line(Moment { ms }));
    }

    /// Records that the answer was ended from outside.
    pub fn record_cancel(&self, failure: &TurnFailure) {
        self.record(|ms| Line::Cancel(failure_line(ms, failure)));
    }

    /// The failure of a turn that couldn't be started: the one that `make` makes, which is recorded,
    /// or the recorded one.
    pub fn refusal(&self, make: impl FnOnce() -> TurnFailure) -> TurnFailure {
        if let Some(playback) = self.playback()
            && let Some(RecordedInput::Refused(line)) =
                playback.take(|input| matches!(input, RecordedInput::Refused(_)))
        {
            return line.into_failure();
        }
        let failure = make();
        self.record(|ms| Line::Refused(failure_line(ms, &failure)));
        failure
    }

    /// Takes the record back, of a request that is refused.
    pub fn discard_record(&self) {
        if let Some(recorder) = self.recorder() {
            recorder.discard();
        }
    }

    /// Records how the whole answer ended.
    pub fn record_end(&self, end: &TurnEnd) {
        if let Some(recorder) = self.recorder() {
            recorder.end(end);
        }
    }

    /// A generation whose steps are recorded, if the answer is.
    pub(crate) fn recording(
        &self,
        generation: Generation,
        GenerationNumber(number): GenerationNumber,
        dropped: usize,
    ) -> Generation {
        match self.recorder() {
            Some(recorder) => record::recorded(generation, number, dropped, recorder.clone()),
            None => generation,
        }
    }

    /// Records the fault of a generation's parser.
    pub(crate) fn record_fault(&self, GenerationNumber(generation): GenerationNumber, fault: &Fault) {
        let Some(recorder) = self.recorder() else { return };
        let (parser, reason) = (fault.parser.to_string(), fault.in_full());
        recorder.line(&Line::Fault(FaultLine { generation, parser, reason }));
        recorder.has_fault();
    }

    /// Seed of the answer's random values.
    pub fn seed(&self) -> IdSeed {
        self.0.seed
    }

    /// The answer's clock.
    pub fn clock(&self) -> &Clock {
        &self.0.clock
    }

    /// Number of the generation that begins now.
    pub(crate) fn next_generation(&self) -> GenerationNumber {
        GenerationNumber(self.0.generations.fetch_add(1, Ordering::Relaxed))
    }

    /// Number of the generation that begins next.
    pub(crate) fn upcoming_generation(&self) -> GenerationNumber {
        GenerationNumber(self.0.generations.load(Ordering::Relaxed))
    }

    /// Seed of a generation's sampler, where the request gives none.
    pub(crate) fn sampling_seed(&self, GenerationNumber(generation): GenerationNumber) -> u64 {
        self.0.seed.number(Purpose::Sampling, generation)
    }

    /// Ids of the calls of a generation.
    pub(crate) fn call_ids(&self, GenerationNumber(generation): GenerationNumber) -> CallIds {
        let (seed, mut calls) = (self.0.seed, 0);
        CallIds::new(move |_| {
            calls += 1;
            format!("call_{}", seed.id::<12>(Purpose::Calls, generation, calls))
        })
    }
}

fn failure_line(ms: u64, failure: &TurnFailure) -> FailureLine {
    FailureLine { ms, code: failure.code.to_owned(), message: failure.message.clone() }
}

impl Default for AnswerContext {
    /// A new answer, which begins now.
    fn default() -> Self {
        Self::new(IdSeed::random(), Clock::system())
    }
}
