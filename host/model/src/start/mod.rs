//! Starts the turns of a job: makes the prompts, the engine's requests, and a parser for each
//! choice.
//!
//! Runs on a blocking thread (`served`). All choices of a job have the same parser, even if another
//! is loaded meanwhile.

mod processors;
mod recorded;

use std::sync::Arc;

use engine::{GenerationRequest, RouteKey, SamplingParams};

use self::processors::check_grammar_ends;
use super::affinity::{AffinityInput, PromptBeginning};
use super::answer_context::{AnswerContext, GenerationNumber};
use super::choices::Choices;
use super::constraint::AnswerConstraint;
use super::echo::PendingEcho;
use super::error::StartError;
use super::generate::{CutRule, ReasoningCut, TurnStream};
use super::job::{Beginning, Job, RawPrompt, Truncation};
use super::parsers::{ParserBinding, ParserRequest};
use super::raw::RawTokens;
use super::served::Served;
use super::text::StreamText;
use super::traced_prompt::TracedPrompt;
use crate::observe::TurnMeter;
use crate::observe::metrics::TRUNCATED_MESSAGES;
use accounts::{Caller, Principal};
use prompt::{
    Author, ChatFormat, ChatMessage, Conversation, Prompt, RenderError, Role, TurnOpening, approximate_bytes,
    drop_oldest, spell_history_call_ids,
};
use turn::{StopPatterns, StopStrings};

/// A prompt, ready to be submitted.
#[derive(Clone)]
struct PreparedPrompt {
    prompt: Prompt,
    /// Conversation by which a script chooses its answer.
    conversation: Conversation,
    /// Affinity of the prompt's beginning.
    affinity: RouteKey,
    /// Text of the prompt, if the client wrote all of it.
    written: Option<String>,
}

/// A job with its parser and its prompts.
struct PreparedJob {
    job: Job,
    parser: Arc<ParserBinding>,
    prompts: Vec<PreparedPrompt>,
    /// Ids of the conversation's calls, if the parser may give a call the model's own.
    call_ids: Vec<String>,
}

/// Values that all choices of a job share.
struct ChoiceStart<'a> {
    job: &'a Job,
    parser: &'a ParserBinding,
    request: ParserRequest,
    stop: StopPatterns,
    principal: &'a Principal,
    context: &'a AnswerContext,
    constraint: Arc<AnswerConstraint>,
    call_ids: Vec<String>,
}

impl Served {
    /// Starts the first choice of the job's first prompt.
    pub(super) fn turn(
        self: &Arc<Self>,
        job: Job,
        caller: &Caller,
        context: &AnswerContext,
    ) -> Result<TurnStream, StartError> {
        let PreparedJob { job, parser, prompts, call_ids } = self.read(job, &caller.principal, context)?;
        let start = self.choice_start(&job, &parser, &prompts, call_ids, (caller, context))?;
        let prompt = prompts.into_iter().next().ok_or(StartError::Internal)?;
        self.begin(&start, 0, prompt)
    }

    /// Starts all choices of the job.
    pub(super) fn choices(
        self: &Arc<Self>,
        job: Job,
        caller: &Caller,
        context: &AnswerContext,
    ) -> Result<Choices, StartError> {
        let PreparedJob { job, parser, prompts, call_ids } = self.read(job, &caller.principal, context)?;
        let per_prompt = job.sampling.n.unwrap_or(1).max(1);
        let start = self.choice_start(&job, &parser, &prompts, call_ids, (caller, context))?;
        let mut turns = Vec::new();
        for (index, prompt) in (0..).zip(prompts) {
            for choice in 0..per_prompt {
                turns.push(self.begin(&start, index * per_prompt + choice, prompt.clone())?);
            }
        }
        Ok(Choices::new(turns, per_prompt as usize))
    }

    /// Makes the token ids of the job's first prompt.
    pub(super) fn ids(&self, job: Job) -> Result<Vec<u32>, StartError> {
        let PreparedJob { prompts, .. } = self.read(job, &Principal::default(), &AnswerContext::default())?;
        Ok(prompts.into_iter().next().ok_or(StartError::Internal)?.prompt.ids)
    }

    /// Takes the job's parser and makes its prompts.
    fn read(
        &self,
        mut job: Job,
        principal: &Principal,
        context: &AnswerContext,
    ) -> Result<PreparedJob, StartError> {
        if let Some(playback) = context.playback() {
            return self.read_recorded(job, principal, playback, context.upcoming_generation());
        }
        if let Beginning::Raw(prompts) = &job.beginning {
            let prompts =
                prompts.iter().map(|prompt| self.raw(&job, prompt, principal)).collect::<Result<_, _>>()?;
            let parser = self.parsers.without_parser();
            return Ok(PreparedJob { job, parser, prompts, call_ids: Vec::new() });
        }
        // The parser is taken only here, since it may be swapped: all choices of this answer have
        // this one.
        let parser = self.parsers.current();
        // The affinity is computed before messages are dropped, so that it stays the same when the
        // conversation grows.
        let beginning = PromptBeginning::Conversation(&job.conversation);
        let affinity = AffinityInput { name: job.chain_name(), beginning }.affinity(principal);
        // Before the prompt spells them as the model knows them.
        let call_ids = parser.ids_beside(&job.conversation);
        let prompt = self.prompt(&mut job, &parser, context.is_observed())?;
        let conversation = std::mem::take(&mut job.conversation);
        Ok(PreparedJob {
            job,
            parser,
            prompts: vec![PreparedPrompt { prompt, conversation, affinity, written: None }],
            call_ids,
        })
    }

    fn choice_start<'a>(
        &self,
        job: &'a Job,
        parser: &'a ParserBinding,
        prompts: &[PreparedPrompt],
        call_ids: Vec<String>,
        (caller, context): (&'a Caller, &'a AnswerContext),
    ) -> Result<ChoiceStart<'a>, StartError> {
        // Prompts that don't fit are refused before work is done for a constraint.
        let most = most_tokens(job);
        prompts.iter().try_for_each(|prepared| self.source.check_length(prepared.prompt.ids.len(), most))?;
        // Only raw prompts may be several, and they have no opening.
        let opening = prompts.first().map_or(&[][..], |first| &first.prompt.generation_prompt);
        let request = parser.request(job);
        let constraint = match context.playback() {
            // What was constrained when it was recorded needn't be again.
            Some(playback) if playback.forks_after().is_none() => AnswerConstraint::Free,
            _ => self.constraint(job, parser, &request, opening, caller)?,
        };
        let (stop, constraint) = (StopPatterns::new(&job.stop), Arc::new(constraint));
        let principal = &caller.principal;
        Ok(ChoiceStart { job, parser, request, stop, principal, context, constraint, call_ids })
    }

    /// Makes the prompt of the job's conversation. Call ids in the history are rewritten to the
    /// pattern that the model knows. `observed`: somebody wants to know who wrote what.
    fn prompt(&self, job: &mut Job, parser: &ParserBinding, observed: bool) -> Result<Prompt, StartError> {
        if let Some(pattern) = &parser.descriptor().history_call_ids {
            spell_history_call_ids(&mut job.conversation, pattern);
        }
        let opening = match job.beginning {
            Beginning::ContinueLast => TurnOpening::ContinueLast,
            Beginning::Answer | Beginning::Raw(_) => TurnOpening::NewTurn,
        };
        Ok(self.render_to_fit(job, opening, observed)?)
    }

    /// Renders the prompt of a job. Drops the oldest messages if the job allows it and the prompt
    /// leaves no room for an answer.
    fn render_to_fit(
        &self,
        job: &mut Job,
        opening: TurnOpening,
        observed: bool,
    ) -> Result<Prompt, RenderError> {
        let render = if observed { ChatFormat::render_with_authors } else { ChatFormat::render };
        let room = self.room(job.max_output_tokens);
        let mut parts = 1;
        loop {
            let prompt = render(&self.format, &job.conversation, &job.template_arguments, opening);
            let excess = match (&prompt, job.truncation) {
                (_, Truncation::Disabled) => return prompt,
                (Ok(prompt), _) if prompt.ids.len() > room => {
                    let (bytes, tokens) = (approximate_bytes(&job.conversation), prompt.ids.len());
                    bytes.saturating_mul(tokens - room).div_ceil(tokens)
                }
                (Err(RenderError::TooLong(error)), _) => error.bytes.saturating_sub(error.read),
                _ => return prompt,
            };
            let is_kept = job.truncation == Truncation::BeforeLast;
            let kept = if is_kept { job.conversation.messages.pop() } else { None };
            let dropped = drop_oldest(&mut job.conversation, excess, parts);
            job.conversation.messages.extend(kept);
            if dropped == 0 {
                return prompt;
            }
            metrics::counter!(TRUNCATED_MESSAGES.name(), "model_name" => Arc::clone(&self.label))
                .increment(dropped as u64);
            // Each round drops at least twice as many parts, so a wrong estimate costs few rounds.
            parts *= 2;
        }
    }

    /// Most tokens of a prompt that leave room for the answer: as many tokens as it asks for, at
    /// most half of the context; an eighth of the context if it doesn't say.
    fn room(&self, answer: Option<u32>) -> usize {
        let context = self.source.info().context;
        let answer = answer.map_or(context / 8, |answer| (answer as usize).min(context / 2));
        context - answer.max(1)
    }

    /// Makes a raw prompt. A script sees its text as the message of a user.
    fn raw(
        &self,
        job: &Job,
        prompt: &RawPrompt,
        principal: &Principal,
    ) -> Result<PreparedPrompt, StartError> {
        let (ids, text) = match prompt {
            RawPrompt::Text { text, special } => (self.encode(text, *special)?, text.clone()),
            RawPrompt::Tokens(ids) => {
                self.check_ids(ids)?;
                (ids.clone(), self.tokenizer.decode(ids).map_err(StartError::tokenize)?)
            }
        };
        let messages = vec![ChatMessage::text(Role::User, text.clone())];
        let conversation = Conversation { messages, tools: Vec::new() };
        let beginning = PromptBeginning::Ids(&ids);
        let affinity = AffinityInput { name: job.chain_name(), beginning }.affinity(principal);
        let authors = vec![(Author::Client, u32::try_from(ids.len()).unwrap_or(u32::MAX))];
        let prompt = Prompt { ids, generation_prompt: Vec::new(), authors };
        Ok(PreparedPrompt { prompt, conversation, affinity, written: Some(text) })
    }

    /// Starts one choice; `choice` is its index in the job.
    fn begin(
        self: &Arc<Self>,
        start: &ChoiceStart<'_>,
        choice: u32,
        PreparedPrompt { prompt, conversation, affinity, written }: PreparedPrompt,
    ) -> Result<TurnStream, StartError> {
        let ChoiceStart { job, parser, request: told, stop, call_ids, context, .. } = start;
        let number = context.next_generation();
        let input_tokens = u32::try_from(prompt.ids.len()).unwrap_or(u32::MAX);
        let markers = Arc::clone(&parser.marker_ids);
        let text = StreamText::new(Arc::clone(&self.tokenizer), markers, &prompt.ids);
        let tokens = job.raw.then(|| RawTokens::new(Arc::clone(&self.tokenizer), &prompt.ids));
        let ids = if job.logprobs.is_some() { prompt.ids.clone() } else { Vec::new() };
        let echo = written.filter(|_| job.echo).map(|text| PendingEcho { text, ids });
        let of_prompt = choice % job.sampling.n.unwrap_or(1).max(1);
        let traced = context.trace().map(|_| self.traced_prompt(number, input_tokens, &prompt, of_prompt));
        let opens_turn = conversation.messages.last().is_some_and(|message| message.role == Role::User);
        let request = GenerationRequest {
            affinity,
            opens_turn,
            ..self.generation_request(start, choice, number, prompt.ids)?
        };
        let cut = self.reasoning_cut(start, &request)?;
        Self::record_prompt(
            start,
            number,
            &request,
            (&prompt.generation_prompt, &prompt.authors),
            &conversation,
        );
        let plugin = Arc::clone(&parser.plugin);
        let meter =
            TurnMeter::new(self.metrics_of(context), plugin, job.trace.clone(), input_tokens, of_prompt == 0);
        let generation = self.generation(context, number, request, &conversation)?;
        let stop = StopStrings::new(stop.clone())
            .with_stop_shown(job.sampling.include_stop)
            .with_min_tokens(job.sampling.min_tokens);
        let held = self.limits.parser.held_bytes;
        let own_ids = context.call_ids(number).besides(call_ids.iter().cloned());
        let mut start = parser.start(told, prompt.generation_prompt, self.fault_policy, held, own_ids);
        start.settings.stop = stop;
        let label = Arc::clone(&self.label);
        let context = ((*context).clone(), number);
        Ok(TurnStream::new(label, generation, text, start, input_tokens, tokens, context)
            .traced(traced)
            .with_cut(cut)
            .with_echo(echo)
            .metered(meter))
    }

    /// The prompt of a choice, as its trace has it; only the first of its choices repeats its text.
    fn traced_prompt(
        &self,
        GenerationNumber(number): GenerationNumber,
        tokens: u32,
        prompt: &Prompt,
        choice: u32,
    ) -> TracedPrompt {
        let traced = TracedPrompt::new(number, tokens, &prompt.generation_prompt);
        match choice {
            0 => traced.with_text(&self.tokenizer, &prompt.ids, &prompt.authors),
            later => traced.with_text_of(number.saturating_sub(later)),
        }
    }

    /// What can end the turn's reasoning while it runs, where its client may ask for that or it has a
    /// budget that nothing else keeps, a model writes the turn, and the parser knows the end of
    /// reasoning.
    fn reasoning_cut(
        self: &Arc<Self>,
        start: &ChoiceStart<'_>,
        request: &GenerationRequest,
    ) -> Result<Option<ReasoningCut>, StartError> {
        let ChoiceStart { job, parser, constraint, context, .. } = start;
        let is_kept = self.engine_keeps_budgets || constraint.keeps_budget();
        let (on_request, budget) = (job.may_cut_reasoning, job.reasoning_budget.filter(|_| !is_kept));
        let writes = self.source.generates() && context.playback().is_none() && !job.is_raw();
        let is_cut = writes && (on_request || budget.is_some());
        let Some(pieces) = parser.reasoning_end.as_ref().filter(|_| is_cut) else { return Ok(None) };
        let Ok(behind) = constraint.behind_reasoning(job, parser) else { return Ok(None) };
        let ids = |(id, text): &(Option<u32>, String)| match id {
            Some(id) => Ok(vec![*id]),
            None => self.tokenizer.encode_text(text),
        };
        let end = pieces.iter().map(ids).collect::<Result<Vec<_>, _>>().map_err(StartError::tokenize)?;
        let rule = CutRule { on_request, budget, end: end.concat().into(), behind };
        let constraint = Arc::clone(constraint);
        Ok(Some(ReasoningCut::new(Arc::clone(self), request.without_mask(), constraint, rule)))
    }

    fn generation_request(
        &self,
        start: &ChoiceStart<'_>,
        choice: u32,
        number: GenerationNumber,
        prompt: Vec<u32>,
    ) -> Result<GenerationRequest, StartError> {
        let ChoiceStart { job, parser, principal, context, .. } = start;
        let (asked, own) = (&job.sampling, &self.defaults);
        let sampling = SamplingParams {
            temperature: asked.temperature.or(own.temperature).unwrap_or(1.0),
            top_p: asked.top_p.or(own.top_p).unwrap_or(1.0),
            top_k: asked.top_k.or(own.top_k).unwrap_or(0),
            min_p: asked.min_p.or(own.min_p).unwrap_or(0.0),
            seed: asked
                .seed
                .map_or_else(|| context.sampling_seed(number), |seed| seed.wrapping_add(choice.into())),
        };
        let max_tokens = most_tokens(job);
        let room = self.source.info().context.saturating_sub(prompt.len());
        let mask = start.constraint.mask(max_tokens.min(room));
        let constraint = start.constraint.source();
        if mask.is_some() || constraint.is_some() {
            check_grammar_ends(asked)?;
        }
        let own_stops = if asked.ignore_eos { &[][..] } else { &parser.stop_ids[..] };
        let stop_ids: Arc<[u32]> = own_stops.iter().chain(&asked.stop_token_ids).copied().collect();
        Ok(GenerationRequest {
            max_tokens,
            // A single token has none before it that could tell its probability.
            prompt_logprobs: job.logprobs.filter(|_| job.echo && prompt.len() > 1),
            prompt,
            begun: Vec::new(),
            sampling,
            processors: self.processors(job, &stop_ids)?,
            stop_ids,
            top_logprobs: job.logprobs,
            ignore_eos: asked.ignore_eos,
            mask,
            constraint,
            reasoning_budget: job.reasoning_budget.filter(|_| self.engine_keeps_budgets),
            affinity: RouteKey::Beginning(0),
            priority: job.priority,
            opens_turn: false,
            principal: principal.number(),
            cache_salt: job
                .cache_salt
                .as_deref()
                .map_or_else(|| principal.cache_salt(), |text| principal.cache_salt_with(text)),
            queue: self.limits.stream_queue,
            traceparent: job.trace.as_ref().map(|trace| trace.context().to_string().into()),
        })
    }
}

/// Most generated tokens of the job.
fn most_tokens(job: &Job) -> usize {
    job.max_output_tokens.map_or(usize::MAX, |most| most as usize)
}
