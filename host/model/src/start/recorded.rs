//! Starts of turns that are recorded, and of turns that a record plays: their prompts are the
//! recorded ones, and so are their tokens, up to where a fork goes on by itself.

use engine::{Generation, GenerationRequest, StepOutput};

use super::{ChoiceStart, PreparedJob, PreparedPrompt, most_tokens};
use crate::affinity::{AffinityInput, PromptBeginning};
use crate::answer_context::{AnswerContext, GenerationNumber};
use crate::error::StartError;
use crate::job::{Beginning, Job};
use crate::record::line::{PromptLine, SamplingLine, ToolLineOf};
use crate::record::{self, Playback, RecordedInput};
use crate::served::Served;
use accounts::Principal;
use contract::ToolKind;
use prompt::{AuthorRun, Conversation, Prompt, Role};
use turn::AllowedCalls;

impl Served {
    /// The job with its recorded prompts; `first` is the number of its first generation.
    pub(super) fn read_recorded(
        &self,
        mut job: Job,
        principal: &Principal,
        playback: &Playback,
        GenerationNumber(first): GenerationNumber,
    ) -> Result<PreparedJob, StartError> {
        if let Beginning::Raw(prompts) = &job.beginning {
            let per_prompt = job.sampling.n.unwrap_or(1).max(1);
            let recorded = (first..).step_by(per_prompt as usize).zip(prompts);
            let prompt = |(number, prompt)| -> Result<PreparedPrompt, StartError> {
                let recorded = recorded_prompt(playback, number)?;
                Ok(PreparedPrompt { prompt: recorded, ..self.raw(&job, prompt, principal)? })
            };
            let prompts = recorded.map(prompt).collect::<Result<_, _>>()?;
            let parser = self.parsers.without_parser();
            return Ok(PreparedJob { job, parser, prompts, call_ids: Vec::new() });
        }
        let parser = self.parsers.current();
        let call_ids = parser.ids_beside(&job.conversation);
        let prompt = recorded_prompt(playback, first)?;
        let beginning = PromptBeginning::Ids(&prompt.ids);
        let affinity = AffinityInput { name: job.chain_name(), beginning }.affinity(principal);
        let conversation = std::mem::take(&mut job.conversation);
        let prompts = vec![PreparedPrompt { prompt, conversation, affinity, written: None }];
        Ok(PreparedJob { job, parser, prompts, call_ids })
    }

    /// The tokens of a generation: the engine's, which are recorded if the answer is; or those of a
    /// record, up to where the engine goes on.
    pub(super) fn generation(
        &self,
        context: &AnswerContext,
        number: GenerationNumber,
        mut request: GenerationRequest,
        conversation: &Conversation,
    ) -> Result<Generation, StartError> {
        let (mut first, mut forks) = (Vec::new(), false);
        if let Some(playback) = context.playback() {
            let Some(tokens) = playback.forks_after() else {
                return Ok(record::played(playback.clone(), number.0));
            };
            (first, forks) = (first_steps(playback, tokens), true);
            begin(&mut request, &first)?;
        }
        let generation = if request.max_tokens == 0 && request.prompt_logprobs.is_none() {
            Generation::nothing()
        } else {
            self.source.submit(request, conversation)?
        };
        Ok(if forks { record::resumed(first, generation) } else { context.recording(generation, number, 0) })
    }

    /// Records a generation, if its answer is recorded.
    pub(super) fn record_prompt(
        start: &ChoiceStart<'_>,
        number: GenerationNumber,
        request: &GenerationRequest,
        (opening, authors): (&[(Option<u32>, String)], &[AuthorRun]),
        conversation: &Conversation,
    ) {
        let Some(recorder) = start.context.recorder() else { return };
        let ChoiceStart { job, request: told, .. } = start;
        let results = conversation.messages.iter().filter(|message| message.role == Role::Tool).count();
        let tool = |tool: &contract::Tool| ToolLineOf {
            name: tool.name.clone(),
            custom: tool.kind == ToolKind::Custom,
            schema: tool.schema.clone(),
        };
        let calls = match told.calls {
            AllowedCalls::None => "none",
            AllowedCalls::One => "one",
            AllowedCalls::Any => "any",
        };
        recorder.prompt(PromptLine {
            ms: recorder.tick(),
            generation: number.0,
            tokens: u32::try_from(request.prompt.len()).unwrap_or(u32::MAX),
            ids: Some(request.prompt.clone()),
            authors: authors.iter().map(|(author, tokens)| (author.word().to_owned(), *tokens)).collect(),
            opening: opening.to_vec(),
            tool_results: results,
            tools: told.request.tools.iter().map(tool).collect(),
            options: told.request.options.clone(),
            calls: calls.to_owned(),
            stop: job.stop.clone(),
            include_stop: job.sampling.include_stop,
            min_tokens: job.sampling.min_tokens,
            raw: job.is_raw(),
            max_tokens: Some(most_tokens(job)).filter(|most| *most < usize::MAX),
            stop_ids: request.stop_ids.to_vec(),
            constrained: request.mask.is_some() || request.constraint.is_some(),
            sampling: sampling(request),
        });
    }
}

/// The recorded prompt of a generation.
fn recorded_prompt(playback: &Playback, number: u32) -> Result<Prompt, StartError> {
    let recorded = playback.prompt(number).ok_or(StartError::Internal)?;
    let ids = recorded.ids.clone().ok_or(StartError::Internal)?;
    Ok(Prompt { ids, generation_prompt: recorded.opening.clone(), authors: recorded.author_runs() })
}

/// The recorded steps up to this number of tokens, without their ends.
fn first_steps(playback: &Playback, tokens: usize) -> Vec<StepOutput> {
    let (mut steps, mut left) = (Vec::new(), tokens);
    while left > 0
        && let Some(RecordedInput::Step(line)) =
            playback.take(|input| matches!(input, RecordedInput::Step(_)))
    {
        let Some(mut step) = line.into_step() else { break };
        step.tokens.truncate(left);
        left -= step.tokens.len();
        (step.finish, step.stop_logprobs) = (None, None);
        steps.push(step);
    }
    steps
}

/// Has a request go on behind these steps.
fn begin(request: &mut GenerationRequest, steps: &[StepOutput]) -> Result<(), StartError> {
    request.begun = steps.iter().flat_map(|step| &step.tokens).map(|token| token.id).collect();
    request.max_tokens = request.max_tokens.saturating_sub(request.begun.len());
    let Some(mask) = &mut request.mask else { return Ok(()) };
    for id in &request.begun {
        mask.advance(*id).map_err(|error| {
            tracing::error!(%error, "the recorded tokens break the constraint");
            StartError::Internal
        })?;
    }
    Ok(())
}

fn sampling(request: &GenerationRequest) -> SamplingLine {
    let (sampling, processors) = (&request.sampling, &request.processors);
    SamplingLine {
        temperature: sampling.temperature.into(),
        top_p: sampling.top_p.into(),
        top_k: sampling.top_k,
        min_p: sampling.min_p.into(),
        seed: sampling.seed,
        presence_penalty: processors.presence.into(),
        frequency_penalty: processors.frequency.into(),
        repetition_penalty: processors.repetition.into(),
    }
}
