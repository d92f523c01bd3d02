//! Reader of a Responses request: checks the body, makes the job, and keeps what the answer
//! repeats. What of it is refused or ignored, the tables of fields say.

use super::compaction;
use super::configuration::ConfigurationUpdates;
use super::continuation::{Continuation, wants_obfuscation};
use super::fields::{self, Shape};
use super::input_items::Input;
use super::machine::{EventOptions, ResponsesMachine};
use super::resource::{Echo, Resource};
use super::{echo, hosted, input, tools};
use crate::agent::{Compaction, Hosted, HostedTools, Occasion, summary_job};
use crate::error::ApiError;
use crate::ids::{Clock, Ids};
use crate::json::{JsonObject, OneOf, Typed, Value};
use crate::options;
use crate::request::{ApiRequest, CountRequest, Defaults, UNCOUNTED};
use crate::tools::{TOOL_CHOICE, ToolBounds, ToolChoiceField, choice};
use crate::warnings::Warnings;
use grammar::Demand;
use model::{Beginning, ClientSession, Job, Truncation};
use prompt::Conversation;

/// A request whose body was read and checked.
#[derive(Debug)]
pub struct ResponsesRequest {
    /// The model asked for.
    pub model: String,
    /// Whether the answer is a stream.
    pub stream: bool,
    /// What to generate: prompt, tools and sampling.
    pub job: Job,
    /// Tools that the server runs during the answer.
    pub hosted: Option<Hosted>,
    /// Compaction of the conversation before the answer, or in its place.
    pub compaction: Option<Compaction>,
    /// A line for each field or value that was ignored.
    pub warnings: Vec<String>,
    echo: Echo,
    options: EventOptions,
}

impl ResponsesRequest {
    /// The machine that answers this request. `now` is read here and when the answer is complete.
    pub fn machine(&self, ids: Ids, now: &Clock) -> ResponsesMachine {
        ResponsesMachine::new(Resource::new(self.echo.clone()), self.options.clone(), ids, now)
    }
}

/// Reads and checks a request's body.
pub(crate) fn parse(
    body: &JsonObject<'_>,
    continuation: &Continuation,
    defaults: &Defaults,
) -> Result<ResponsesRequest, ApiError> {
    let mut warnings = Warnings::of_fields(body, fields::TABLES)?;
    if body.get(fields::STORE)? == Some(true) && !continuation.store {
        warnings.add("store ignored: this server stores nothing, send the whole input with each request");
    }
    check_agents(body)?;
    let input = Input::new(body, continuation.whole.as_ref())?;

    let max_calls = body.get(fields::MAX_TOOL_CALLS)?;
    // Before `hosted::request::read`: this checks the bounds of the list `tools`, which both read.
    let mut declared = tools::declared(body, input, ToolBounds::new(defaults), &mut warnings)?;
    let servers = (&defaults.mcp, defaults.limits.tools);
    let (hosted, shown) = hosted::request::read(body, input, max_calls, servers, &mut warnings)?;
    let choice = declared.flat_choice(choice(body)?);
    let mut hosted = hosted.and_then(|hosted| hosted::request::choose(hosted, &choice));
    let is_callable = |hosted: &Hosted| hosted.tools.iter().any(HostedTools::may_be_called);
    let others = hosted.as_ref().is_some_and(is_callable);
    let is_forced = hosted.as_ref().is_some_and(|hosted| hosted.forced.is_some());
    let choice = if is_forced { ToolChoiceField::Required } else { choice };
    let tool_choice = declared.client_tools.choose(&choice, others, body.at(TOOL_CHOICE))?;
    if let Some(search) = declared.take_search(&choice) {
        let hosted = hosted.get_or_insert_with(|| Hosted { max_calls, ..Hosted::default() });
        hosted.search = Some(search);
    }
    declared.shown.extend(shown);
    let updates = ConfigurationUpdates::read(input, &defaults.limits)?;
    let format = echo::format(body, &defaults.limits)?;
    let format = updates.format.unwrap_or(format);
    let mut echo = echo::read(body, continuation, std::mem::take(&mut declared.shown), &format, defaults)?;
    echo.reasoning.effort = updates.effort.or(echo.reasoning.effort);
    let compaction = compaction::asked(body, input, defaults)?;
    let include = Include::read(body, &echo)?;
    let typed = declared.typed_calls();
    let job = Job {
        conversation: Conversation {
            messages: input::messages(body, input, defaults, continuation, &mut warnings)?,
            tools: declared.client_tools.declarations,
        },
        beginning: Beginning::default(),
        demand: Demand {
            tools: declared.client_tools.tools,
            tool_choice,
            parallel_tool_calls: echo.parallel_tool_calls,
            response_schema: format.schema(),
            ..Demand::default()
        },
        template_arguments: template_arguments(body, &echo, defaults)?,
        reasoning_budget: budget(body)?,
        may_cut_reasoning: true,
        sampling: options::sampling(body, echo.max_output_tokens, &defaults.limits)?,
        logprobs: include.logprobs.then_some(echo.top_logprobs),
        max_output_tokens: echo.max_output_tokens,
        truncation: if echo.truncation == "auto" { Truncation::Auto } else { Truncation::Disabled },
        raw: raw_messages(body, input)?,
        cache_key: body.get(fields::CACHE_KEY)?.map(str::to_owned),
        session: echo
            .conversation
            .as_ref()
            .map(|conversation| ClientSession::named(conversation.id.as_bytes())),
        priority: body.get(fields::PRIORITY)?.unwrap_or(0),
        ..Job::default()
    };
    let options = EventOptions {
        reasoning_events: echo::dialect(&echo.reasoning, defaults),
        seal: defaults.seal.clone(),
        encrypted_reasoning: include.encrypted_reasoning,
        namespaces: declared.namespaces,
        typed,
        obfuscate: wants_obfuscation(body)?,
    };
    let (model, stream) = (echo.model.clone(), body.get(fields::STREAM)?.unwrap_or(false));
    let warnings = warnings.into_lines();
    Ok(ResponsesRequest { model, stream, job, hosted, compaction, warnings, echo, options })
}

/// Refuses agents that the server would run: their calls and results, which the client waits for, are
/// not there.
fn check_agents(body: &JsonObject<'_>) -> Result<(), ApiError> {
    let Some(agents) = body.get(fields::MULTI_AGENT)? else { return Ok(()) };
    if agents.get(fields::MULTI_AGENT_ENABLED)? != Some(true) {
        return Ok(());
    }
    let what =
        "the server runs no agents beside an answer: leave it out, and run them as answers of their own";
    Err(agents.at(fields::MULTI_AGENT_ENABLED).unsupported(what).with_code("unsupported_parameter"))
}

/// Whether the answer has the raw text of its turns. The prompt of a request with sealed reasoning
/// would show that in the clear.
fn raw_messages(body: &JsonObject<'_>, input: Input<'_>) -> Result<bool, ApiError> {
    let asked = body.get(fields::RAW_MESSAGES)?.unwrap_or(false);
    let text = |item: Value<'_>, field| item.field(field).and_then(Value::as_str).map(str::to_owned);
    let is_sealed = |item: Value<'_>| {
        text(item, fields::TYPE).as_deref() == Some("reasoning")
            && text(item, fields::SEALED).is_some_and(|sealed| !sealed.is_empty())
    };
    if asked && input.items().any(|(_, item)| is_sealed(item)) {
        let what = "the input has sealed reasoning (`encrypted_content`), which is shown to nobody: leave one of the two out";
        return Err(body.at(fields::RAW_MESSAGES).invalid(what).with_code("invalid_value"));
    }
    Ok(asked)
}

/// Optional parts of the answer that `include` asks for.
#[derive(Debug, Clone, Copy)]
struct Include {
    encrypted_reasoning: bool,
    /// Also true if `top_logprobs` is above 0.
    logprobs: bool,
}

impl Include {
    fn read(body: &JsonObject<'_>, echo: &Echo) -> Result<Self, ApiError> {
        let mut names = Vec::new();
        for (path, value) in body.list(fields::INCLUDE)?.iter() {
            names.push(OneOf::read(value, &Shape::OneOf(fields::INCLUDED), path)?);
        }
        let logprobs = names.contains(&fields::WITH_LOGPROBS) || echo.top_logprobs > 0;
        Ok(Self { encrypted_reasoning: names.contains(&fields::WITH_SEALED_REASONING), logprobs })
    }
}

/// Most tokens of reasoning, by the field of vLLM or that of `reasoning`.
fn budget(body: &JsonObject<'_>) -> Result<Option<u32>, ApiError> {
    let of_reasoning = |reasoning: JsonObject<'_>| reasoning.get(fields::REASONING_BUDGET);
    let other = body.get(fields::REASONING)?.map_or(Ok(None), of_reasoning)?;
    Ok(body.get(fields::THINKING_BUDGET)?.or(other))
}

/// Arguments of the template: `chat_template_kwargs`, effort and verbosity. Templates ignore those
/// that they don't know.
fn template_arguments(
    body: &JsonObject<'_>,
    echo: &Echo,
    defaults: &Defaults,
) -> Result<Vec<(String, serde_json::Value)>, ApiError> {
    let mut arguments =
        options::template_arguments(body, echo.reasoning.effort.as_deref(), &defaults.template_arguments)?;
    options::add_verbosity(&mut arguments, echo.text.verbosity.as_deref());
    options::add_budget(&mut arguments, budget(body)?);
    Ok(arguments)
}

/// Reads a request that continues nothing and isn't stored, and makes the machine that answers it,
/// as the transport needs them.
pub fn read(
    body: &JsonObject<'_>,
    defaults: &Defaults,
    ids: Ids,
    now: &Clock,
) -> Result<ApiRequest, ApiError> {
    read_continuing(body, &Continuation::default(), defaults, ids, now)
}

/// Reads a request with what it continues, and makes the machine that answers it.
pub fn read_continuing(
    body: &JsonObject<'_>,
    continuation: &Continuation,
    defaults: &Defaults,
    ids: Ids,
    now: &Clock,
) -> Result<ApiRequest, ApiError> {
    let request = parse(body, continuation, defaults)?;
    let mut machine = request.machine(ids, now);
    if let Some(queued) = &continuation.queued {
        machine.resume(queued.clone());
    }
    let ResponsesRequest { stream, job, hosted, compaction, warnings, .. } = request;
    Ok(ApiRequest {
        stream,
        job,
        hosted,
        clearing: Vec::new(),
        compaction,
        warnings,
        machine: Box::new(machine),
    })
}

/// Reads a body of `input_tokens`: a request's, with what it continues, of which nothing is
/// generated.
pub fn count(
    body: &JsonObject<'_>,
    continuation: &Continuation,
    defaults: &Defaults,
) -> Result<CountRequest, ApiError> {
    let ResponsesRequest { model, job, hosted, compaction, mut warnings, .. } =
        parse(body, continuation, defaults)?;
    let job = match compaction {
        Some(Compaction { occasion: Occasion::Asked, prompt }) => summary_job(job, &prompt),
        _ => job,
    };
    if hosted.is_some_and(|hosted| !hosted.tools.is_empty()) {
        warnings.push(UNCOUNTED.to_owned());
    }
    Ok(CountRequest { model, job, clearing: None, warnings })
}
