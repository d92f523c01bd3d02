//! A recorded generation, parsed again: by the parser that the model has now, without an engine and
//! without its prompt.

use std::sync::Arc;

use engine::{Generation, StepOutput};
use futures_util::FutureExt as _;

use super::generation::resumed;
use super::line::{Line, PromptLine};
use super::reader::Record;
use crate::answer_context::{AnswerContext, GenerationNumber};
use crate::generate::TurnStream;
use crate::parsers::{ParserBinding, ParserRequest};
use crate::served::Served;
use crate::text::StreamText;
use crate::traced_prompt::TracedPrompt;
use contract::{Request, ToolKind};
use turn::{
    AllowedCalls, FoldError, FoldedItem, StopPatterns, StopStrings, TurnEnd, TurnEvents, TurnFailure,
    counted_call_ids, fold, values,
};

/// A generation that was parsed again.
#[derive(Debug, Clone)]
pub struct Reparsed {
    /// Its items, or what is wrong with its events.
    pub items: Result<Vec<FoldedItem>, FoldError>,
    /// How the turn ended.
    pub end: TurnEnd,
    /// Tokens and their text, step by step, with the one that ended the turn.
    pub steps: Vec<Vec<(u32, String)>>,
}

impl Served {
    /// Parses a recorded generation again, by the parser that the model has now.
    pub(crate) fn reparse(&self, record: &Record, prompt: &PromptLine) -> Reparsed {
        let parser = if prompt.raw { self.parsers.without_parser() } else { self.parsers.current() };
        let steps = record.steps(prompt.generation).collect();
        self.parse_steps(&parser, prompt, steps, AnswerContext::default())
    }

    /// Parses all generations of a record again by `parser`, in a context with a trace.
    pub(crate) fn trace_record(&self, record: &Record, parser: &ParserBinding, context: &AnswerContext) {
        for prompt in record.prompts.values() {
            let steps = record.steps(prompt.generation).collect();
            self.parse_steps(parser, prompt, steps, context.clone());
        }
    }

    /// Parses steps as those of a turn that begins as `prompt` says.
    pub(crate) fn parse_steps(
        &self,
        parser: &ParserBinding,
        prompt: &PromptLine,
        steps: Vec<StepOutput>,
        context: AnswerContext,
    ) -> Reparsed {
        let ids = prompt.ids.as_deref().unwrap_or_default();
        let text = || StreamText::new(Arc::clone(&self.tokenizer), Arc::clone(&parser.marker_ids), ids);
        let written = written(&mut text(), &steps);
        let told = told(prompt, parser.turns().markers().tokens(), parser.options().to_vec());
        let held = self.limits.parser.held_bytes;
        let ids = counted_call_ids();
        let traced = context.trace().map(|_| self.traced_record(prompt));
        let mut start = parser.start(&told, prompt.opening.clone(), self.fault_policy, held, ids);
        start.settings.stop = StopStrings::new(StopPatterns::new(&prompt.stop))
            .with_stop_shown(prompt.include_stop)
            .with_min_tokens(prompt.min_tokens);
        let generation = resumed(steps, Generation::nothing());
        let context = (context, GenerationNumber(prompt.generation));
        let label = Arc::clone(&self.label);
        let turn =
            TurnStream::new(label, generation, text(), start, prompt.tokens, None, context).traced(traced);
        let (events, end) = run(turn, written.len());
        Reparsed { items: fold(events), end, steps: written }
    }

    /// The prompt as a trace has it: with its text, if it is recorded.
    fn traced_record(&self, prompt: &PromptLine) -> TracedPrompt {
        let traced = TracedPrompt::new(prompt.generation, prompt.tokens, &prompt.opening);
        match &prompt.ids {
            Some(ids) => traced.with_text(&self.tokenizer, ids, &prompt.author_runs()),
            None => traced,
        }
    }
}

impl Record {
    /// The steps of a generation.
    fn steps(&self, generation: u32) -> impl Iterator<Item = StepOutput> + '_ {
        self.lines.iter().filter_map(move |line| match line {
            Line::Step(step) if step.generation == generation => step.clone().into_step(),
            _ => None,
        })
    }
}

/// Takes so many steps, none of which has to be waited for. A turn that has not ended then was cut
/// off. The events of a step are taken before the next one, which would else add its text to them.
fn run(mut turn: TurnStream, steps: usize) -> (Vec<turn::TurnEvent>, TurnEnd) {
    let (mut all, mut events) = (Vec::new(), TurnEvents::default());
    for _ in 0..steps {
        let ended = turn.next(&mut events).now_or_never().flatten();
        all.extend(events.drain());
        if let Some(ended) = ended {
            return (all, ended.end);
        }
    }
    let ended = turn.abort(TurnFailure::withdrawn(), &mut events);
    all.extend(events.drain());
    (all, ended.end)
}

fn told(prompt: &PromptLine, token_markers: Vec<u32>, options: Vec<(String, String)>) -> ParserRequest {
    let tools = prompt.tools.iter().map(|tool| {
        let kind = if tool.custom { ToolKind::Custom } else { ToolKind::Function };
        values::tool(&tool.name, kind, &tool.schema)
    });
    let calls = match &*prompt.calls {
        "none" => AllowedCalls::None,
        "one" => AllowedCalls::One,
        _ => AllowedCalls::Any,
    };
    ParserRequest { request: Request { tools: tools.collect(), token_markers, options }, calls }
}

fn written(text: &mut StreamText, steps: &[StepOutput]) -> Vec<Vec<(u32, String)>> {
    let step = |step: &StepOutput| {
        let pieces = text.pieces(&step.tokens);
        let mut written: Vec<_> =
            pieces.iter().filter_map(|piece| Some((piece.id?, piece.text.to_owned()))).collect();
        if let Some(engine::Finish::Stop(id)) = step.finish {
            written.push((id, text.ending(id).text.to_owned()));
        }
        written
    };
    steps.iter().map(step).collect()
}
