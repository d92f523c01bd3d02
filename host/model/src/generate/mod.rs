//! One turn, from the engine's steps to its events.
//!
//! Invariant: `next` returns the end exactly once, and by then every item is closed, whatever has
//! failed.

mod reasoning_cut;
mod reports;

use std::sync::Arc;
use std::time::Instant;

use engine::{Finish, Generation, StepOutput, SubmitError, Token};
use futures_util::future::BoxFuture;

pub(super) use self::reasoning_cut::{CutRule, ReasoningCut};
use self::reports::{report_dropped, report_fault, report_malformed};
use super::answer_context::{AnswerContext, GenerationNumber};
use super::echo::{Echo, PendingEcho};
use super::failure;
use super::raw::{RawStep, RawTokens, RawTurn};
use super::text::StreamText;
use super::trace::{TracedTokens, TurnTrace};
use super::traced_prompt::TracedPrompt;
use crate::observe::{FinishedReason, TurnMeter};
use contract::{FinishReason, Request};
use parsers::trace::CallLog;
use parsers::{FailedParser, Plugin};
use turn::{
    Binding, Flow, TokenLogprobs, TokenText, Turn, TurnEnd, TurnEvents, TurnFailure, TurnSettings, Usage,
};

/// End of a turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EndedTurn {
    /// How the turn ended.
    pub end: TurnEnd,
    /// Number of tokens of the turn.
    pub usage: Usage,
}

/// Values from which a stream's parser is made, once the first token comes.
pub(super) struct ParserStart {
    pub(super) plugin: Arc<Plugin>,
    pub(super) binding: Arc<Binding>,
    pub(super) request: Request,
    pub(super) settings: TurnSettings,
    /// The part of the turn that the prompt has written, which is replayed to the parser.
    pub(super) opening: Vec<(Option<u32>, String)>,
    /// Where the parser's calls are recorded, if the turn is traced.
    pub(super) calls: Option<CallLog>,
}

impl ParserStart {
    /// Makes the parser and replays the opening to it. A parser that can't be made is treated as
    /// one that failed.
    pub(super) fn open(self, out: &mut TurnEvents) -> (Turn, Flow) {
        let parser = self.plugin.start(&self.request).unwrap_or_else(|fault| Box::new(FailedParser(fault)));
        let parser = match &self.calls {
            Some(calls) => calls.of(parser),
            None => parser,
        };
        let mut turn = Turn::new(&self.binding, parser, self.settings);
        let pieces: Vec<_> = self.opening.iter().map(|(id, text)| TokenText::new(*id, text)).collect();
        let flow = turn.replay(&pieces, out);
        (turn, flow)
    }
}

/// State of the turn: before and after its first token, and at the end.
enum State {
    Waiting(Box<ParserStart>),
    Running(Box<Turn>),
    Ended,
}

/// A running turn. Dropping it cancels the generation.
pub struct TurnStream {
    /// Label of the model, for logs and metrics.
    model: Arc<str>,
    /// Counts for metrics; none for a turn that is only parsed again.
    meter: Option<TurnMeter>,
    generation: Generation,
    text: StreamText,
    state: State,
    /// The stop string that ended the turn, if one did.
    stop_string: Option<String>,
    usage: Usage,
    /// Raw tokens of the turn, if the job asks for them.
    tokens: Option<RawTokens>,
    /// The prompt, if it is to be shown, until the first step.
    pending_echo: Option<PendingEcho>,
    /// The prompt to show, until it is taken.
    echo: Option<Echo>,
    /// The token that ended the turn, if its log-probabilities are known.
    stop_token: Option<TokenLogprobs>,
    /// The answer that the turn belongs to, and the turn's number in it.
    context: (AnswerContext, GenerationNumber),
    /// The turn's trace, if its answer has one.
    trace: Option<Box<TurnTrace>>,
    /// The parser's fault, for the trace.
    fault: Option<String>,
    /// What ends the reasoning before its time, where it can be ended.
    cut: Option<Box<ReasoningCut>>,
    /// The cut under way.
    cutting: Option<BoxFuture<'static, Option<Generation>>>,
    /// Number of tokens behind the budget of reasoning that were left out, for a cut, if that is to come.
    left_out: Option<usize>,
}

impl TurnStream {
    pub(super) fn new(
        model: Arc<str>,
        generation: Generation,
        text: StreamText,
        parser: ParserStart,
        input_tokens: u32,
        tokens: Option<RawTokens>,
        context: (AnswerContext, GenerationNumber),
    ) -> Self {
        Self {
            model,
            meter: None,
            generation,
            text,
            stop_string: None,
            usage: Usage { input_tokens, ..Usage::default() },
            tokens,
            pending_echo: None,
            echo: None,
            stop_token: None,
            context,
            trace: None,
            fault: None,
            cut: None,
            cutting: None,
            left_out: None,
            state: State::Waiting(Box::new(parser)),
        }
    }

    /// Begins the turn's trace, if its answer has one: the prompt is then there.
    pub(super) fn traced(mut self, prompt: Option<TracedPrompt>) -> Self {
        let (context, number) = &self.context;
        let traced = context.trace().cloned().zip(prompt);
        let trace = traced.map(|(trace, prompt)| Box::new(TurnTrace::new(trace, number.0, prompt)));
        if let State::Waiting(parser) = &mut self.state {
            parser.calls = trace.as_ref().map(|trace| trace.calls.clone());
        }
        Self { trace, ..self }
    }

    /// Counts for metrics what the turn takes.
    pub(super) fn metered(self, meter: TurnMeter) -> Self {
        Self { meter: Some(meter), ..self }
    }

    /// Has `cut` end the reasoning, if somebody asks for that while it runs or its budget is spent.
    pub(super) fn with_cut(self, cut: Option<ReasoningCut>) -> Self {
        Self { cut: cut.map(Box::new), ..self }
    }

    /// Sets the prompt to show before the answer.
    pub(super) fn with_echo(self, pending_echo: Option<PendingEcho>) -> Self {
        Self { pending_echo, ..self }
    }

    /// Waits until the engine has accepted the request. The first token may come later.
    pub(super) async fn started(&mut self) -> Result<(), SubmitError> {
        self.generation.started().await
    }

    /// Raw tokens since the last call, if the job asked for them.
    pub fn next_raw(&mut self) -> Option<RawStep<'_>> {
        self.tokens.as_mut().map(RawTokens::next_step)
    }

    /// Takes the prompt, once, if the job asked for it. It is there with the first events.
    pub fn take_echo(&mut self) -> Option<Echo> {
        self.echo.take()
    }

    /// Takes the turn's raw tokens, if the job asked for them. They are complete after the end.
    pub fn take_raw(&mut self) -> Option<RawTurn> {
        self.tokens.take().map(RawTokens::finish)
    }

    /// Number of tokens in the prompt.
    pub fn prompt_tokens(&self) -> u32 {
        self.usage.input_tokens
    }

    /// The token that ended the turn, with its log-probabilities, if the job asked for them and the
    /// engine told them.
    pub fn stop_token(&self) -> Option<&TokenLogprobs> {
        self.stop_token.as_ref()
    }

    /// The stop string that ended the turn, if one did.
    pub fn stop_string(&self) -> Option<&str> {
        self.stop_string.as_deref()
    }

    /// Waits for the engine's next step and appends its events; returns the end with the last ones.
    /// Cancel safe: no step is lost if the future is dropped before it is ready.
    pub async fn next(&mut self, out: &mut TurnEvents) -> Option<EndedTurn> {
        if self.cutting.is_some() && !self.cut().await {
            return Some(self.abort(failure::of_engine(), out));
        }
        let Some(step) = self.generation.next().await else {
            tracing::error!("the engine ended a generation without saying so");
            return Some(self.abort(failure::of_engine(), out));
        };
        let ended = self.step(step, out);
        match &ended {
            Some(ended) => self.meter_end(&ended.end),
            None => self.look_for_cut(),
        }
        ended
    }

    /// Waits for the cut of the reasoning that is under way, if one is. Returns false if it failed and
    /// the turn can't go on without it.
    async fn cut(&mut self) -> bool {
        let Some(cutting) = &mut self.cutting else { return true };
        let cut = cutting.await;
        self.cutting = None;
        let is_needed = self.left_out.take().is_some();
        match cut {
            Some(generation) => self.generation = generation,
            None if is_needed => return false,
            None => {}
        }
        true
    }

    /// Says whether the turn reasons, and begins to cut that if somebody has asked for it, or its
    /// budget is spent.
    #[inline]
    fn look_for_cut(&mut self) {
        let State::Running(turn) = &self.state else { return };
        let can_be_asked = self.cut.as_ref().is_some_and(|cut| cut.may_be_asked());
        let is_asked = self.context.0.reasoning().look(turn.is_reasoning(), can_be_asked);
        let Some(cut) = &mut self.cut else { return };
        if (is_asked || cut.is_due(turn)) && self.text.is_whole() {
            self.cutting = Some(cut.begin(self.context.clone(), self.left_out.unwrap_or(0)));
        }
    }

    fn meter_end(&mut self, end: &TurnEnd) {
        if let Some(meter) = &mut self.meter {
            meter.end(FinishedReason::of(end));
        }
    }

    /// Ends the turn as failed, as its caller decides; open items are closed.
    pub fn abort(&mut self, failure: TurnFailure, out: &mut TurnEvents) -> EndedTurn {
        let before = out.len();
        let mut ended = self.finish(FinishReason::Cancelled, None, out);
        ended.end = TurnEnd::Failed(failure);
        self.meter_end(&ended.end);
        if let Some(trace) = &mut self.trace {
            trace.end(&ended.end, ended.usage, self.fault.as_deref(), &out[before..]);
        }
        ended
    }

    fn step(&mut self, step: StepOutput, out: &mut TurnEvents) -> Option<EndedTurn> {
        let Some(mut trace) = self.trace.take_if(|trace| trace.is_kept()) else {
            return self.apply(step, out);
        };
        let (began, before) = (Instant::now(), out.len());
        let tokens = TracedTokens::of(&step, &self.text);
        let ended = self.apply(step, out);
        trace.step(tokens, &out[before..], began.elapsed());
        if let Some(ended) = &ended {
            trace.end(&ended.end, ended.usage, self.fault.as_deref(), &[]);
        }
        self.trace = Some(trace);
        ended
    }

    fn apply(&mut self, step: StepOutput, out: &mut TurnEvents) -> Option<EndedTurn> {
        if let Some(meter) = &mut self.meter {
            meter.step(&step);
        }
        if let Some(cut) = &mut self.cut {
            cut.step(&step);
        }
        if let Some(pending) = self.pending_echo.take() {
            self.echo = Some(self.text.echo(pending, step.prompt_tokens));
        }
        self.usage.cached_tokens = count(step.cached_tokens);
        let began = self.meter.as_ref().and_then(TurnMeter::parsing_begins);
        let flow = self.take(&step.tokens, out);
        if let (State::Running(turn), Some(meter)) = (&self.state, &mut self.meter) {
            meter.parsed(began, turn.parser_calls());
        }
        if flow == Flow::Stop {
            return Some(self.finish(FinishReason::Stop, None, out));
        }
        if self.left_out.is_some() {
            return None;
        }
        self.usage.output_tokens += count(step.untold_tokens);
        match step.finish? {
            Finish::Stop(id) => {
                self.usage.output_tokens += 1;
                self.stop_token = step.stop_logprobs.map(|told| self.text.logprobs(id, &told));
                if let Some(tokens) = &mut self.tokens {
                    tokens.ending(id);
                }
                Some(self.finish(FinishReason::Stop, Some(id), out))
            }
            Finish::Length => Some(self.finish(FinishReason::Length, None, out)),
            Finish::Error(error) => {
                let failure = failure::of(&error, &self.text).unwrap_or_else(|| {
                    tracing::error!(error = error.kind(), "the engine failed");
                    failure::of_engine()
                });
                Some(self.abort(failure, out))
            }
            Finish::Refused(error) => {
                tracing::error!(%error, "the engine refused a generation that it had taken on");
                Some(self.abort(failure::of_engine(), out))
            }
        }
    }

    /// Counts the tokens and appends their events. Tokens behind an early end, or a spent budget of
    /// reasoning, are no part of the turn, so where one may come they are taken one by one.
    fn take(&mut self, tokens: &[Token], out: &mut TurnEvents) -> Flow {
        let mut flow = self.begin(out);
        let State::Running(turn) = &mut self.state else { return flow };
        let counts = self.cut.as_ref().is_some_and(|cut| cut.counts_tokens());
        let size = if counts || turn.may_end_early() { 1 } else { tokens.len().max(1) };
        let mut left = tokens.len();
        for tokens in tokens.chunks(size) {
            if flow == Flow::Stop {
                break;
            }
            let is_due = self.cut.as_ref().is_some_and(|cut| cut.is_due(turn));
            if counts && is_due && self.text.is_whole() {
                self.left_out = Some(left);
                break;
            }
            left -= tokens.len();
            self.usage.output_tokens += count(tokens.len());
            if let Some(raw) = &mut self.tokens {
                raw.step(tokens);
            }
            if let Some(cut) = &mut self.cut {
                cut.told(tokens);
            }
            flow = turn.step(&self.text.pieces(tokens), out);
        }
        flow
    }

    /// Makes the parser and replays the opening, if that hasn't happened yet.
    fn begin(&mut self, out: &mut TurnEvents) -> Flow {
        let start = match std::mem::replace(&mut self.state, State::Ended) {
            State::Waiting(start) => *start,
            begun => {
                self.state = begun;
                return Flow::Continue;
            }
        };
        let (turn, flow) = start.open(out);
        self.state = State::Running(Box::new(turn));
        flow
    }

    fn finish(&mut self, reason: FinishReason, ended_by: Option<u32>, out: &mut TurnEvents) -> EndedTurn {
        let _ = self.begin(out);
        let State::Running(mut turn) = std::mem::replace(&mut self.state, State::Ended) else {
            return EndedTurn { end: TurnEnd::Cancelled, usage: self.usage };
        };
        if let Some(tail) = self.text.tail() {
            let _ = turn.step(&[tail], out);
        }
        let ending = ended_by.map(|id| self.text.ending(id));
        let end = turn.finish(reason, ending, out);
        self.stop_string = turn.stop_string().map(str::to_owned);
        if !turn.bytes().are_balanced() {
            tracing::error!(model = %self.model, bytes = ?turn.bytes(), "a turn's bytes don't balance");
        }
        if let Some(fault) = turn.fault() {
            report_fault(&self.model, fault);
            let (context, number) = &self.context;
            context.record_fault(*number, fault);
            self.fault = Some(fault.in_full());
        }
        report_malformed(&self.model, turn.malformed_calls());
        report_dropped(&self.model, turn.dropped_calls());
        self.usage.reasoning_tokens = turn.tokens().reasoning;
        let _ = self.context.0.reasoning().look(false, false);
        EndedTurn { end, usage: self.usage }
    }
}

fn count(tokens: usize) -> u32 {
    u32::try_from(tokens).unwrap_or(u32::MAX)
}
