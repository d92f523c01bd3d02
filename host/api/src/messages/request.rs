//! Reader of a request for a message, or for the number of a prompt's tokens. What of it is refused
//! or ignored, the tables of fields say.

use super::blocks::Reader;
use super::context_edits::{self, ContextEdits};
use super::fields;
use super::hosted;
use super::machine::MessagesMachine;
use super::thread;
use super::tools::{Declared, WantedCalls};
use super::{input, tools};
use crate::agent::{Clearing, Compaction, Hosted};
use crate::error::ApiError;
use crate::format::{self, AnswerFormat, Naming};
use crate::ids::{Clock, Ids};
use crate::json::JsonObject;
use crate::options;
use crate::request::{ApiRequest, CountRequest, Defaults, UNCOUNTED};
use crate::seal::Seal;
use crate::tools::ToolBounds;
use crate::warnings::Warnings;
use grammar::Demand;
use model::{Beginning, Job};
use prompt::{ChatMessage, Conversation, Role};

/// A request whose body was read and checked.
#[derive(Debug)]
pub struct MessagesRequest {
    /// The model asked for.
    pub model: String,
    /// Whether the answer is a stream.
    pub stream: bool,
    /// What to generate: prompt, tools and sampling.
    pub job: Job,
    /// Tools that the server runs during the answer.
    pub hosted: Option<Hosted>,
    /// What is left out of the conversation before it is answered. `None`: the request doesn't say.
    pub clearing: Option<Vec<Clearing>>,
    /// Compaction of the conversation before the answer, or in its place.
    pub compaction: Option<Compaction>,
    /// A line for each field or value that was ignored.
    pub warnings: Vec<String>,
    max_tokens: u32,
}

impl MessagesRequest {
    /// The machine that answers this request; `seal` signs its thinking.
    pub fn machine(&self, mut ids: Ids, seal: Seal) -> MessagesMachine {
        let machine = MessagesMachine::new(ids.next("msg_"), self.model.clone(), self.max_tokens, seal);
        if self.clearing.is_some() { machine.telling_what_was_cleared() } else { machine }
    }
}

/// Reads and checks a request's body.
pub(crate) fn parse(body: &JsonObject<'_>, defaults: &Defaults) -> Result<MessagesRequest, ApiError> {
    let max_tokens = body.require(fields::MAX_TOKENS)?;
    let Prompt { counted, hosted, compaction } = prompt(body, defaults)?;
    let CountRequest { model, job, clearing, warnings } = counted;
    let stop = options::stop_list(body.list(fields::STOP_SEQUENCES)?, &defaults.limits)?;
    Ok(MessagesRequest {
        model,
        stream: body.get(fields::STREAM)?.unwrap_or(false),
        job: Job { max_output_tokens: Some(max_tokens), stop, ..job },
        hosted,
        clearing,
        compaction,
        warnings,
        max_tokens,
    })
}

/// Reads a request's body and makes the machine that answers it, as the transport needs them.
pub fn read(
    body: &JsonObject<'_>,
    defaults: &Defaults,
    ids: Ids,
    _now: &Clock,
) -> Result<ApiRequest, ApiError> {
    let request = parse(body, defaults)?;
    let machine = Box::new(request.machine(ids, defaults.seal.clone()));
    let MessagesRequest { stream, job, hosted, clearing, compaction, warnings, .. } = request;
    let clearing = clearing.unwrap_or_default();
    Ok(ApiRequest { stream, job, hosted, clearing, compaction, warnings, machine })
}

/// Reads a body of `count_tokens`.
pub fn count(body: &JsonObject<'_>, defaults: &Defaults) -> Result<CountRequest, ApiError> {
    let Prompt { mut counted, hosted, .. } = prompt(body, defaults)?;
    if hosted.is_some() {
        counted.warnings.push(UNCOUNTED.to_owned());
    }
    Ok(counted)
}

/// What both routes have.
struct Prompt {
    counted: CountRequest,
    hosted: Option<Hosted>,
    compaction: Option<Compaction>,
}

/// Reads the fields that both routes have: all that make the prompt.
fn prompt(body: &JsonObject<'_>, defaults: &Defaults) -> Result<Prompt, ApiError> {
    let mut warnings = Warnings::of_fields(body, fields::TABLES)?;
    // Whoever has a store has put what it continues into the body.
    thread::link(body)?;
    let format = format(body, defaults)?;
    let Declared { shown: mut client_tools, mut deferred } =
        tools::client_tools(body, ToolBounds::new(defaults), &mut warnings)?;
    let WantedCalls { choice, parallel: parallel_tool_calls } = tools::choice(body)?;
    let reader = Reader { warnings: &mut warnings, deferred: &mut deferred };
    let messages = input::messages(body, defaults, reader)?;
    client_tools.tools.extend(deferred.into_found());
    let mut hosted = hosted::read(body, &defaults.mcp, &mut warnings)?;
    let choice = match &mut hosted {
        Some(hosted) => hosted::forced(hosted, choice),
        None => choice,
    };
    let tool_choice = client_tools.choose(&choice, hosted.is_some(), body.at(fields::TOOL_CHOICE))?;
    let beginning = beginning(&messages);
    let job = Job {
        conversation: Conversation { messages, tools: client_tools.declarations },
        beginning,
        demand: Demand {
            tools: client_tools.tools,
            tool_choice,
            parallel_tool_calls,
            response_schema: format.schema(),
            ..Demand::default()
        },
        template_arguments: template_arguments(body, defaults)?,
        reasoning_budget: budget(body)?,
        sampling: options::sampling(body, body.get(fields::MAX_TOKENS.optional())?, &defaults.limits)?,
        ..Job::default()
    };
    let ContextEdits { clearing, compaction } = context_edits::read(body, defaults, &mut warnings)?;
    let clearing = body.value(fields::CONTEXT_MANAGEMENT).map(|_| clearing);
    let model = body.require(fields::MODEL)?.to_owned();
    let counted = CountRequest { model, job, clearing, warnings: warnings.into_lines() };
    Ok(Prompt { counted, hosted, compaction })
}

/// Where the answer begins: it continues the last message if that is text of the assistant.
fn beginning(messages: &[ChatMessage]) -> Beginning {
    let is_begun = |last: &ChatMessage| {
        last.role == Role::Assistant && last.tool_calls.is_empty() && !last.content.is_empty()
    };
    if messages.last().is_some_and(is_begun) { Beginning::ContinueLast } else { Beginning::Answer }
}

/// The format of the answer: `output_config.format`, else `output_format`, as it was called in the
/// beta.
fn format(body: &JsonObject<'_>, defaults: &Defaults) -> Result<AnswerFormat, ApiError> {
    let read = |owner: &JsonObject<'_>, field| format::read(owner, field, Naming::Nameless, &defaults.limits);
    let older = read(body, fields::OUTPUT_FORMAT)?;
    match body.get(fields::OUTPUT_CONFIG)? {
        Some(config) if config.value(fields::FORMAT).is_some() => read(&config, fields::FORMAT),
        _ => Ok(older),
    }
}

/// Thinking and effort as template arguments. Arguments that the request sets in
/// `chat_template_kwargs` win.
fn template_arguments(
    body: &JsonObject<'_>,
    defaults: &Defaults,
) -> Result<Vec<(String, serde_json::Value)>, ApiError> {
    let effort = body.get(fields::OUTPUT_CONFIG)?.map_or(Ok(None), |config| config.get(fields::EFFORT))?;
    let mut arguments = options::template_arguments(body, effort, &defaults.template_arguments)?;
    options::add_budget(&mut arguments, budget(body)?);
    let thinks = thinks(body)?;
    if !arguments.iter().any(|(name, _)| name == "enable_thinking") {
        arguments.push(("enable_thinking".to_owned(), thinks.into()));
    }
    Ok(arguments)
}

/// Most tokens of thinking.
fn budget(body: &JsonObject<'_>) -> Result<Option<u32>, ApiError> {
    body.get(fields::THINKING)?.map_or(Ok(None), |thinking| thinking.get(fields::BUDGET_TOKENS))
}

/// Whether the model may think: only if the request asks for it. Clients that don't ask take the
/// first block for the answer.
fn thinks(body: &JsonObject<'_>) -> Result<bool, ApiError> {
    let Some(thinking) = body.get(fields::THINKING)? else { return Ok(false) };
    options::thinks(thinking.require(fields::TYPE)?, &thinking)
}
