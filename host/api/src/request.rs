//! The result of reading a request body in any protocol: an [`ApiRequest`], which is all that the
//! transport needs.

use std::borrow::Cow;
use std::sync::Arc;

use bytes::Bytes;

use super::error::ApiError;
use super::fields;
use super::ids::{Clock, Ids};
use super::json::{Document, JsonObject, List};
use super::machine::Machine;
use super::options;
use super::overflow::Overflow;
use super::seal::Seal;
use crate::agent::{Clearing, Compaction, DEFAULT_PROMPT, Hosted};
use crate::limits::RequestLimits;
use accounts::Principal;
use grammar::ToolChoice;
use mcp::McpServers;
use model::{Job, Model};

/// A request to count a prompt's tokens.
#[derive(Debug)]
pub struct CountRequest {
    /// The model asked for.
    pub model: String,
    /// Job whose prompt is counted. Nothing is generated.
    pub job: Job,
    /// What is left out of the conversation before it is counted. `None`: the request doesn't say.
    pub clearing: Option<Vec<Clearing>>,
    /// A line for each field or value that was ignored.
    pub warnings: Vec<String>,
}

/// Warning of a count of tokens that lacks those of tools which aren't known yet.
pub(crate) const UNCOUNTED: &str =
    "tools of tool servers are not counted: they are listed when the answer begins";

/// A request whose body was read and checked.
pub struct ApiRequest {
    /// Whether the answer is a stream.
    pub stream: bool,
    /// What to generate: prompt, tools and sampling.
    pub job: Job,
    /// Tools that the server runs during the answer. `None`: the answer is one turn.
    pub hosted: Option<Hosted>,
    /// What is left out of the conversation before it is answered.
    pub clearing: Vec<Clearing>,
    /// Compaction of the conversation before the answer, or in its place.
    pub compaction: Option<Compaction>,
    /// A line for each field or value that was ignored, in printable ASCII, for the log and a
    /// header.
    pub warnings: Vec<String>,
    /// Makes the answer of the turn's events.
    pub machine: Box<dyn Machine>,
}

impl ApiRequest {
    /// The request for `model`, with lines on what that doesn't follow. A call of a tool of the server
    /// is left to a model that can't be held to it.
    #[must_use]
    pub fn for_model(mut self, model: &Model) -> Self {
        if let Some(hosted) = self.hosted.as_mut().filter(|hosted| hosted.forced.is_some())
            && let Err(why) = model.can_force_calls(&self.job)
        {
            hosted.forced = None;
            self.job.demand.tool_choice = ToolChoice::Auto;
            self.warnings.push(format!("tool_choice ignored: {why}"));
        }
        self.warnings.extend(model.warnings(&self.job));
        self
    }
}

/// How a protocol reads a body. Each protocol's `read` is one of these.
pub(crate) type ReadRequest = fn(&JsonObject<'_>, &Defaults, Ids, &Clock) -> Result<ApiRequest, ApiError>;

/// Fields that a body may have once only: what stands in front of this server routes, filters and
/// forwards by them, and might read another one of two. Of other fields the last one counts, with a
/// warning.
const ONCE: [&str; 8] = ["model", "stream", "messages", "input", "prompt", "system", "instructions", "tools"];

/// What a request refers to outside its body, in fields at its top. It is read before any other
/// field: what they mean may depend on it, and whoever calls may have to wait for what it names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct References {
    /// The model asked for.
    pub model: Option<String>,
}

/// The first step of reading a request: reads what it refers to. Nothing of this step stays in the
/// document's memory.
///
/// # Errors
/// 400 where the body repeats a field of `ONCE`, or the model's name is no text.
pub fn references(document: &mut Document) -> Result<References, ApiError> {
    let body = document.body();
    ONCE.iter().try_for_each(|name| body.check_once(name))?;
    let references = References { model: body.get(fields::MODEL.optional())?.map(str::to_owned) };
    document.reset();
    Ok(references)
}

/// Both steps at once, for a request that waits for nothing in between.
pub fn read_body<T>(
    body: &[u8],
    limits: &RequestLimits,
    read: impl FnOnce(&JsonObject<'_>) -> Result<T, ApiError>,
) -> Result<T, ApiError> {
    let mut document = Document::read(Bytes::copy_from_slice(body), limits)?;
    references(&mut document)?;
    read(&document.body())
}

/// Values that requests get from the operator's settings and from the model.
#[derive(Debug, Clone)]
pub struct Defaults {
    /// Bounds on requests.
    pub limits: RequestLimits,
    /// Most bytes of a request's tools: with more, the model's context can't hold them.
    pub tool_bytes: usize,
    /// Template arguments that requests may set through `chat_template_kwargs`.
    pub template_arguments: Vec<String>,
    /// How reasoning is shown in Responses streams unless the request says otherwise.
    pub reasoning_events: ReasoningEvents,
    /// MCP servers whose tools requests may ask for.
    pub mcp: McpServers,
    /// Temperature used (and echoed) where the request names none.
    pub temperature: f64,
    /// `top_p` used (and echoed) where the request names none.
    pub top_p: f64,
    /// Keys for data that clients keep for this server (encrypted reasoning).
    pub seal: Seal,
    /// Most tokens that prompt and answer may have together.
    pub context: usize,
    /// The prompt by which models write summaries of conversations.
    pub compaction_prompt: Arc<str>,
}

impl Defaults {
    /// These defaults with the sampling and the context of `model`.
    #[must_use]
    pub fn of(&self, model: &Model) -> Self {
        let (temperature, top_p) = model.default_sampling();
        Self {
            temperature: temperature.into(),
            top_p: top_p.into(),
            context: model.context(),
            tool_bytes: model.most_conversation_bytes(),
            ..self.clone()
        }
    }

    /// These defaults for a request of `owner`.
    pub fn for_owner(&self, owner: &Principal) -> Cow<'_, Self> {
        if *owner == Principal::default() {
            return Cow::Borrowed(self);
        }
        Cow::Owned(Self { seal: self.seal.of(owner), ..self.clone() })
    }

    /// Reads a list of token ids, of which the context must hold all.
    ///
    /// # Errors
    /// 400 where there are more, or where an element is no token id.
    pub(crate) fn check_tokens(&self, list: List<'_>) -> Result<Vec<u32>, ApiError> {
        if list.elements.is_longer_than(self.context) {
            return Err(Overflow::exactly(list.elements.len(), self.context).openai(&list.path.to_string()));
        }
        options::tokens(list)
    }
}

impl Default for Defaults {
    fn default() -> Self {
        Self {
            limits: RequestLimits::default(),
            tool_bytes: usize::MAX,
            template_arguments: vec!["enable_thinking".to_owned()],
            reasoning_events: ReasoningEvents::Text,
            mcp: McpServers::default(),
            temperature: 1.0,
            top_p: 1.0,
            seal: Seal::random(),
            context: 1 << 20,
            compaction_prompt: DEFAULT_PROMPT.into(),
        }
    }
}

/// The two encodings of reasoning in the Responses protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReasoningEvents {
    /// `response.reasoning_text.*`, and `content` of the item.
    Text,
    /// `response.reasoning_summary_*`, and `summary` of the item.
    Summary,
}
