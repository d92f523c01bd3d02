//! What protocols make of a request body: an [`ApiRequest`], which is all that the transport needs to know of it.

use super::error::ApiError;
use super::ids::{Clock, Ids};
use super::json::{List, Path};
use super::machine::Machine;
use super::options;
use super::seal::Seal;
use crate::agent::Hosted;
use crate::limits::Limits;
use crate::mcp::McpServers;
use crate::model::Job;

/// A request that was understood.
pub struct ApiRequest {
    /// The model asked for; the transport checks that it is served.
    pub model: String,
    /// Whether the answer is a stream.
    pub stream: bool,
    /// The turn to generate.
    pub job: Job,
    /// Tools that the server runs for it; none: the answer is this one turn.
    pub hosted: Option<Hosted>,
    /// What of the request was left aside: printable ASCII lines for the log and a header.
    pub warnings: Vec<String>,
    /// Turns the turn's events into the answer.
    pub machine: Box<dyn Machine>,
}

/// How a protocol reads a body. Each protocol's `call` is one of these.
pub type ReadRequest = fn(&[u8], &Defaults, Ids, Clock) -> Result<ApiRequest, ApiError>;

/// What the operator's settings and the model say about requests.
#[derive(Debug, Clone)]
pub struct Defaults {
    /// Bounds on requests.
    pub limits: Limits,
    /// Template arguments that requests may set through `chat_template_kwargs`.
    pub template_arguments: Vec<String>,
    /// How reasoning is shown in Responses streams unless the request says otherwise.
    pub reasoning_events: ReasoningEvents,
    /// Servers of tools that requests may ask for.
    pub mcp: McpServers,
    /// Temperature used (and echoed) where the request names none.
    pub temperature: f64,
    /// Nucleus used (and echoed) where the request names none.
    pub top_p: f64,
    /// Keys of what clients keep for this server (encrypted reasoning).
    pub seal: Seal,
    /// Tokens that prompt and answer may have together.
    pub context: usize,
}

impl Defaults {
    /// A list of token ids that the context can hold.
    ///
    /// # Errors
    /// 400 where there are more, or where an element is no token id.
    pub(crate) fn check_tokens(&self, given: List<'_>, path: Path<'_>) -> Result<Vec<u32>, ApiError> {
        if given.is_longer_than(self.context) {
            return Err(ApiError::context_length_exceeded(&path.to_string(), self.context, given.len()));
        }
        options::tokens(given, path)
    }
}

impl Default for Defaults {
    fn default() -> Self {
        Self {
            limits: Limits::default(),
            template_arguments: vec!["enable_thinking".to_owned()],
            reasoning_events: ReasoningEvents::Text,
            mcp: McpServers::default(),
            temperature: 1.0,
            top_p: 1.0,
            seal: Seal::random(),
            context: 1 << 20,
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
