//! Lines of an answer's inputs, in the order in which it took them.

use serde::{Deserialize, Serialize};

/// A step of a generation.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct StepLine {
    /// Milliseconds since the request.
    pub ms: u64,
    /// Number of the generation.
    pub generation: u32,
    /// The step's tokens.
    pub ids: Vec<u32>,
    /// Log-probabilities of each token, if they are asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub logprobs: Vec<Option<LogprobsLine>>,
    /// Those of the prompt's tokens behind its first, with their ids.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub prompt: Vec<(u32, Option<LogprobsLine>)>,
    /// Number of the prompt's tokens that were in the cache.
    #[serde(default)]
    pub cached: usize,
    /// Number of tokens that an upstream engine counts and doesn't tell.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub untold: usize,
    /// Number of the last tokens of the generation's line before this one which are no part of the turn, as
    /// little as its end: the reasoning was cut short before them.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub dropped: usize,
    /// Why the generation ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finish: Option<FinishLine>,
    /// Log-probabilities of the token that ended it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop_logprobs: Option<LogprobsLine>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(number: &usize) -> bool {
    *number == 0
}

/// Log-probability of a chosen token and of the likeliest ones; `null` is minus infinity.
pub type LogprobsLine = (Option<f64>, Vec<(u32, Option<f64>)>);

/// Why a generation ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FinishLine {
    /// With this token.
    Stop(u32),
    /// At the limit of tokens.
    Length,
    /// With an error.
    Error(ErrorLine),
    /// The engine ended it without saying so.
    Died,
}

/// Error of an engine, as far as clients are told of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorLine {
    /// A grammar grew beyond this limit.
    TooComplex(String),
    /// A grammar took too long, at this token.
    TooSlow(usize),
    /// A grammar allows nothing.
    Unsatisfiable,
    /// There was no memory for a grammar.
    NoMemory,
    /// A script isn't what the request demands.
    Mismatch {
        /// Tokens before that place.
        before: Vec<u32>,
        /// The token there.
        token: Option<u32>,
        /// Whether nothing but the end is allowed there.
        is_complete: bool,
    },
    /// The engine failed.
    Engine(String),
}

/// The tools of a server, or the error that came instead.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ListedLine {
    /// Milliseconds since the request.
    pub ms: u64,
    /// Number of the server in the request.
    pub server: usize,
    /// Its tools.
    pub tools: Result<Vec<ListedTool>, String>,
}

/// A tool as its server describes it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ListedTool {
    /// Name.
    pub name: String,
    /// Description.
    pub description: String,
    /// JSON schema of its arguments.
    pub input_schema: serde_json::Map<String, serde_json::Value>,
    /// Hints about its behaviour.
    pub annotations: Option<serde_json::Value>,
}

/// The output of a tool, or the error that came instead.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolLine {
    /// Milliseconds since the request.
    pub ms: u64,
    /// Id of the call.
    pub call_id: String,
    /// Its output.
    pub result: Result<String, String>,
}

/// A failure.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailureLine {
    /// Milliseconds since the request.
    pub ms: u64,
    /// Its code.
    pub code: String,
    /// Its message.
    pub message: String,
}
