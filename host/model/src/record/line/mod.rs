//! The lines of a record, as its JSON has them (docs/records.md).
//!
//! Invariant: the format's number grows with any change that an older reader would misread. Fields
//! may be added; readers skip those that they don't know.

mod inputs;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use accounts::Principal;
use prompt::{Author, AuthorRun};

pub use inputs::{
    ErrorLine, FailureLine, FinishLine, ListedLine, ListedTool, LogprobsLine, StepLine, ToolLine,
};

/// Number of the format that is written and read here.
pub const FORMAT: u32 = 1;

/// A line: an object with one field, which says what it is.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Line {
    /// The request, and what else an answer follows from. Always the first line.
    Head(Box<RecordHead>),
    /// How the answer goes to its client.
    Answer(AnswerLine),
    /// A generation begins.
    Prompt(Box<PromptLine>),
    /// A step of a generation.
    Step(StepLine),
    /// A tool server has listed its tools.
    Listed(ListedLine),
    /// A tool of the server has run.
    Tool(ToolLine),
    /// A later turn couldn't be started.
    Refused(FailureLine),
    /// The answer was ended from outside.
    Cancel(FailureLine),
    /// A heartbeat event was sent.
    Heartbeat(Moment),
    /// The client steers: the answer ends as soon as it may.
    Steer(Moment),
    /// The answer's end couldn't be stored.
    Unstored(Moment),
    /// The events that were made of what came before; the body of an answer in one piece.
    Events(Vec<Box<RawValue>>),
    /// A parser failed.
    Fault(FaultLine),
    /// Lines are missing here.
    Lost(LostLine),
    /// The last line.
    End(EndLine),
}

/// The request, and what else an answer follows from.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct RecordHead {
    /// Number of the format.
    pub format: u32,
    /// Version of the server.
    pub sluice: String,
    /// The protocol's word, as the command line has it.
    pub protocol: String,
    /// Whether the request only compacts its conversation.
    #[serde(default)]
    pub compacts: bool,
    /// Whether the model was not to answer.
    #[serde(default)]
    pub prompt_only: bool,
    /// The body; none in a redacted record.
    pub body: Option<String>,
    /// What the request continues.
    #[serde(default)]
    pub continuation: ContinuationLine,
    /// Who sent the request, by whose name data are sealed; whoever needs no key if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// Id of the request.
    pub request_id: String,
    /// Seed of the answer's ids, as 64 hexadecimal digits.
    pub id_seed: String,
    /// Time of the request, in milliseconds since 1970, UTC.
    pub clock: u64,
    /// The model.
    pub model: ModelLine,
    /// Switches of the server on which an answer depends, as `serve` takes them.
    pub switches: Vec<String>,
}

impl RecordHead {
    /// Who sent the request.
    pub fn owner(&self) -> Principal {
        self.owner.as_deref().map(Principal::new).unwrap_or_default()
    }
}

/// What a request continues.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ContinuationLine {
    /// The whole input as JSON, if the body's own isn't.
    pub input: Option<String>,
    /// Number of items of `input` that are continued; the request's own follow them.
    pub before: usize,
    /// Whether the response is stored.
    pub store: bool,
    /// Id, time and number of events of a response that has waited.
    pub queued: Option<(String, u64, u64)>,
}

/// A model and its parser.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelLine {
    /// First of its names.
    pub label: String,
    /// Most tokens of prompt and answer together.
    pub context: usize,
    /// SHA-256 of the small files, and of names and sizes of the weights' files.
    pub files: String,
    /// SHA-256 of the tokenizer.
    pub tokenizer: String,
    /// SHA-256 of the chat template.
    pub template: String,
    /// Name and version of the parser.
    pub parser: String,
    /// SHA-256 of the parser; empty for `none`.
    pub parser_sha256: String,
    /// The engine, in words.
    pub engine: String,
}

/// How an answer goes to its client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Delivery {
    /// In events.
    Streamed,
    /// In one piece.
    Whole,
    /// Into the store, in events.
    Stored,
}

/// How an answer goes to its client.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct AnswerLine {
    /// Which way.
    pub delivery: Delivery,
}

/// A moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Moment {
    /// Milliseconds since the request.
    pub ms: u64,
}

/// A generation: its prompt, what its parser is told, and how its tokens are chosen.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct PromptLine {
    /// Milliseconds since the request.
    pub ms: u64,
    /// Number of the generation.
    pub generation: u32,
    /// Number of the prompt's tokens.
    pub tokens: u32,
    /// The prompt's tokens; none in a redacted record.
    pub ids: Option<Vec<u32>>,
    /// Who wrote how many of the tokens, in order; none in records of older versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub authors: Vec<(String, u32)>,
    /// The part of the turn that the template wrote: id of each control token, and text.
    pub opening: Vec<(Option<u32>, String)>,
    /// Number of tool results in the conversation.
    pub tool_results: usize,
    /// Declared tools.
    pub tools: Vec<ToolLineOf>,
    /// Options of the parser.
    pub options: Vec<(String, String)>,
    /// Whether the model may call `none`, `one` or `any` of them.
    pub calls: String,
    /// Stop strings.
    pub stop: Vec<String>,
    /// Whether the stop string that ended a message is shown.
    pub include_stop: bool,
    /// Number of tokens before which no stop string ends the turn.
    pub min_tokens: u32,
    /// Whether the prompt has no template, and the output no parser.
    pub raw: bool,
    /// Most tokens of the answer; none: as many as fit.
    pub max_tokens: Option<usize>,
    /// Tokens that end the turn.
    pub stop_ids: Vec<u32>,
    /// Whether a grammar restricts the answer.
    pub constrained: bool,
    /// How tokens are chosen.
    pub sampling: SamplingLine,
}

impl PromptLine {
    /// Who wrote how many of the tokens, in order.
    pub(crate) fn author_runs(&self) -> Vec<AuthorRun> {
        self.authors.iter().map(|(word, tokens)| (Author::of_word(word), *tokens)).collect()
    }
}

/// A tool that the request declares.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolLineOf {
    /// Name.
    pub name: String,
    /// Whether it takes free text.
    #[serde(default)]
    pub custom: bool,
    /// JSON schema of its arguments.
    pub schema: String,
}

/// How tokens are chosen, with the model's defaults filled in.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct SamplingLine {
    /// Temperature.
    pub temperature: f64,
    /// Mass of the nucleus.
    pub top_p: f64,
    /// Number of likeliest tokens.
    pub top_k: u32,
    /// Least share of the likeliest token's probability.
    pub min_p: f64,
    /// Seed.
    pub seed: u64,
    /// Presence penalty.
    pub presence_penalty: f64,
    /// Frequency penalty.
    pub frequency_penalty: f64,
    /// Repetition penalty.
    pub repetition_penalty: f64,
}

/// The fault of a parser.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FaultLine {
    /// Number of the generation.
    pub generation: u32,
    /// Name of the parser.
    pub parser: String,
    /// Reason, with the parser's own words.
    pub reason: String,
}

/// Lines that are missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct LostLine {
    /// Their number.
    pub lines: u64,
}

/// The end of an answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EndLine {
    /// How it ended: `completed`, `max_output_tokens`, `cancelled`, or a failure's code.
    pub end: String,
    /// SHA-256 of the events, each with a line feed behind it.
    pub sha256: String,
    /// Number of the events.
    pub events: u64,
    /// Number of lines that the record lacks.
    pub lost: u64,
    /// Tokens: of the prompt, of these in the cache, of the answer, of these in reasoning.
    pub usage: [u32; 4],
}
