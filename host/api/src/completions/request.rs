//! Reader of a completions request: prompts as text or token ids, one or several. Control tokens in the text are encoded as control
//! tokens, since their author writes the whole prompt. (`/v1/chat/completions` is where text of users belongs.)

use super::super::error::ApiError;
use super::super::ids::{Clock, Ids};
use super::super::json::{List, Object, Path, Text, Value};
use super::super::options;
use super::super::request::{ApiRequest, Defaults};
use super::super::structured_outputs::{self, StructuredOutput};
use super::super::warnings::Warnings;
use super::fields;
use super::logprobs::TokenNames;
use super::machine::{CompletionMachine, OutputOptions};
use grammar::{Demand, ToolChoice};
use model::prompt::Conversation;
use model::{Beginning, Job, RawPrompt, SamplingRequest, Truncation};

/// Default of `max_tokens`, as `OpenAI` has it.
const MAX_TOKENS: u32 = 16;

/// Reads a request's body and makes the machine that answers it, as the transport needs them.
pub(crate) fn read(
    body: &Object<'_>,
    defaults: &Defaults,
    mut ids: Ids,
    now: Clock,
) -> Result<ApiRequest, ApiError> {
    let mut warnings = Warnings::of_fields(body, fields::TABLES);
    let prompts = prompts(body, defaults.limits.prompts, defaults)?;
    let n = options::choices(body, prompts.len(), &defaults.limits)?;
    refuse_unsupported(body, n)?;
    let stream_options = options::StreamOptions::read(body, &mut warnings)?;
    let asked = OutputOptions {
        choices: n as usize * prompts.len(),
        logprobs: match (body.get("logprobs"), body.boolean("return_tokens_as_token_ids")?) {
            (None, _) => None,
            (Some(_), Some(true)) => Some(TokenNames::Ids),
            (Some(_), _) => Some(TokenNames::Texts),
        },
        token_ids: body.boolean("return_token_ids")?.unwrap_or(false),
        include_usage: stream_options.include_usage,
    };
    let model = body.required_string("model")?.to_owned();
    let machine = CompletionMachine::new(ids.next("cmpl-"), now(), model, asked);
    Ok(ApiRequest {
        stream: body.boolean("stream")?.unwrap_or(false),
        job: job(body, defaults, n, prompts)?,
        hosted: None,
        compaction: None,
        warnings: warnings.into_lines(),
        machine: Box::new(machine),
    })
}

fn job(body: &Object<'_>, defaults: &Defaults, n: u32, prompts: Vec<RawPrompt>) -> Result<Job, ApiError> {
    let (response_schema, response_grammar) =
        StructuredOutput::forms(structured_outputs::read(body, &defaults.limits)?);
    let max_output_tokens = Some(body.count("max_tokens", 0)?.unwrap_or(MAX_TOKENS));
    Ok(Job {
        conversation: Conversation::default(),
        beginning: Beginning::Raw(prompts),
        demand: Demand {
            tool_choice: ToolChoice::None,
            parallel_tool_calls: true,
            response_schema,
            response_grammar,
            ..Demand::default()
        },
        template_arguments: Vec::new(),
        sampling: SamplingRequest {
            n: Some(n),
            ..options::sampling(body, max_output_tokens, &defaults.limits)?
        },
        logprobs: options::alternatives(body, "logprobs", &defaults.limits)?,
        echo: body.boolean("echo")?.unwrap_or(false),
        truncation: Truncation::Disabled,
        raw: body.boolean("return_token_ids")?.unwrap_or(false),
        max_output_tokens,
        stop: options::stop(body, &defaults.limits)?,
        cache_key: None,
        cache_salt: options::cache_salt(body, &defaults.limits)?,
        priority: options::priority(body)?,
    })
}

fn refuse_unsupported(body: &Object<'_>, n: u32) -> Result<(), ApiError> {
    if body.integer("best_of", 1..=i64::from(u32::MAX))?.is_some_and(|best_of| best_of != i64::from(n)) {
        return Err(body.at("best_of").unsupported("choosing the best of several is not there: send n"));
    }
    if body.string("suffix")?.is_some_and(|suffix| !suffix.is_empty()) {
        return Err(body.at("suffix").unsupported("text after the gap is not there: send the prompt only"));
    }
    Ok(())
}

/// `prompt`: a text, token ids, or a list of at most `max` of either.
pub(crate) fn prompts(
    body: &Object<'_>,
    max: usize,
    defaults: &Defaults,
) -> Result<Vec<RawPrompt>, ApiError> {
    let path = body.at("prompt");
    let special = body.boolean("add_special_tokens")?.unwrap_or(true);
    let text = |text: Text<'_>| RawPrompt::Text { text: text.get().to_owned(), special };
    let tokens = |ids: List<'_>, path: Path<'_>| {
        if ids.is_empty() {
            return Err(path.invalid("there is no token in it"));
        }
        defaults.check_tokens(ids, path).map(RawPrompt::Tokens)
    };
    let list = match body.get("prompt") {
        None => return Err(path.missing("a string, token ids, or a list of either")),
        Some(Value::String(one)) => return Ok(vec![text(one)]),
        Some(Value::List(list)) => list,
        Some(other) => return Err(path.expected("a string, token ids, or a list of either", other)),
    };
    if list.is_empty() {
        return Err(path.invalid("there is no prompt in it"));
    }
    if list.iter().all(|value| matches!(value, Value::Number(_))) {
        return Ok(vec![tokens(list, path)?]);
    }
    if list.is_longer_than(max) {
        return Err(path.invalid(format_args!("at most {max} prompts, got {}", list.len())));
    }
    let prompt = |(index, value): (usize, Value<'_>)| match value {
        Value::String(one) => Ok(text(one)),
        Value::List(ids) => tokens(ids, path.element(index)),
        other => Err(path.element(index).expected("a string or token ids", other)),
    };
    list.iter().enumerate().map(prompt).collect()
}
