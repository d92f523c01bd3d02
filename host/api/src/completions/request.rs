//! Reader of a completions request: prompts as text or token ids, one or several. Control tokens in
//! the text are encoded as control tokens, since their author writes the whole prompt.
//! (`/v1/chat/completions` is where text of users belongs.)

use super::fields;
use super::logprobs::TokenNames;
use super::machine::{CompletionMachine, OutputOptions};
use crate::error::ApiError;
use crate::ids::{Clock, Ids};
use crate::json::{JsonObject, List, Path, Text, Value};
use crate::options;
use crate::request::{ApiRequest, Defaults};
use crate::structured_outputs::{self, StructuredOutput};
use crate::warnings::Warnings;
use grammar::{Demand, ToolChoice};
use model::{Beginning, Job, RawPrompt, SamplingRequest};

/// Default of `max_tokens`, as `OpenAI` has it.
const DEFAULT_TOKENS: u32 = 16;

/// Reads a request's body and makes the machine that answers it, as the transport needs them.
pub(crate) fn read(
    body: &JsonObject<'_>,
    defaults: &Defaults,
    mut ids: Ids,
    now: &Clock,
) -> Result<ApiRequest, ApiError> {
    let warnings = Warnings::of_fields(body, fields::TABLES)?;
    let prompts = prompts(body, defaults.limits.prompts, defaults)?;
    let n = options::choices(body, prompts.len(), &defaults.limits)?;
    refuse_unsupported(body, n)?;
    let stream_options = options::StreamOptions::read(body)?;
    let asked = OutputOptions {
        choices: n as usize * prompts.len(),
        logprobs: match (body.value(fields::LOGPROBS), body.get(fields::TOKEN_NAMES)?) {
            (None, _) => None,
            (Some(_), Some(true)) => Some(TokenNames::Ids),
            (Some(_), _) => Some(TokenNames::Texts),
        },
        token_ids: body.get(fields::RETURN_TOKEN_IDS)?.unwrap_or(false),
        include_usage: stream_options.include_usage,
    };
    let model = body.require(fields::MODEL)?.to_owned();
    let machine = CompletionMachine::new(ids.next("cmpl-"), now.now(), model, asked);
    Ok(ApiRequest {
        stream: body.get(fields::STREAM)?.unwrap_or(false),
        job: job(body, defaults, n, prompts)?,
        hosted: None,
        clearing: Vec::new(),
        compaction: None,
        warnings: warnings.into_lines(),
        machine: Box::new(machine),
    })
}

fn job(body: &JsonObject<'_>, defaults: &Defaults, n: u32, prompts: Vec<RawPrompt>) -> Result<Job, ApiError> {
    let (response_schema, response_grammar) =
        StructuredOutput::forms(structured_outputs::read(body, &defaults.limits)?);
    let max_output_tokens = Some(body.get(fields::MAX_TOKENS)?.unwrap_or(DEFAULT_TOKENS));
    Ok(Job {
        beginning: Beginning::Raw(prompts),
        demand: Demand {
            tool_choice: ToolChoice::None,
            parallel_tool_calls: true,
            response_schema,
            response_grammar,
            ..Demand::default()
        },
        reasoning_budget: body.get(fields::THINKING_BUDGET)?,
        sampling: SamplingRequest {
            n: Some(n),
            ..options::sampling(body, max_output_tokens, &defaults.limits)?
        },
        logprobs: options::alternatives(body, fields::LOGPROBS, &defaults.limits)?,
        echo: body.get(fields::ECHO)?.unwrap_or(false),
        raw: body.get(fields::RETURN_TOKEN_IDS)?.unwrap_or(false),
        max_output_tokens,
        stop: options::stop(body, &defaults.limits)?,
        cache_salt: options::cache_salt(body, &defaults.limits)?,
        priority: body.get(fields::PRIORITY)?.unwrap_or(0),
        ..Job::default()
    })
}

fn refuse_unsupported(body: &JsonObject<'_>, n: u32) -> Result<(), ApiError> {
    if body.get(fields::BEST_OF)?.is_some_and(|best_of| best_of != n) {
        return Err(body
            .at(fields::BEST_OF)
            .unsupported("choosing the best of several is not supported: send n"));
    }
    Ok(())
}

/// `prompt`: a text, token ids, or a list of at most `max` of either.
pub(crate) fn prompts(
    body: &JsonObject<'_>,
    max: usize,
    defaults: &Defaults,
) -> Result<Vec<RawPrompt>, ApiError> {
    let path = body.at(fields::PROMPT);
    let special = body.get(fields::ADD_SPECIAL_TOKENS)?.unwrap_or(true);
    let text = |text: Text<'_>| RawPrompt::Text { text: text.get().to_owned(), special };
    let tokens = |ids: List<'_>| {
        if ids.elements.is_empty() {
            return Err(ids.path.invalid("there is no token in it"));
        }
        defaults.check_tokens(ids).map(RawPrompt::Tokens)
    };
    let list = match body.require(fields::PROMPT)? {
        Value::String(one) => return Ok(vec![text(one)]),
        Value::List(list) => List::new(list, path),
        other => return Err(path.expected("a string, token ids, or a list of either", other)),
    };
    if list.elements.is_empty() {
        return Err(path.invalid("there is no prompt in it"));
    }
    if list.iter().all(|(_, value)| matches!(value, Value::Number(_))) {
        return Ok(vec![tokens(list)?]);
    }
    list.check_len(max, "prompts")?;
    let prompt = |(path, value): (Path<'_>, Value<'_>)| match value {
        Value::String(one) => Ok(text(one)),
        Value::List(ids) => tokens(List::new(ids, path)),
        other => Err(path.expected("a string or token ids", other)),
    };
    list.iter().map(prompt).collect()
}
