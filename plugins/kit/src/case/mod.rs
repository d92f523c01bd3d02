//! A case: one recorded turn and the items that a parser must make of it. `docs/cases.md` describes
//! the format.
//!
//! The one format of everything that plays turns: native tests ([`super::check_cases`]) and
//! `host parser test`, `run`, `trace`.

mod items;
mod tools;

pub(crate) use self::tools::ANY_OBJECT;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use turn::TurnEnd;

pub use self::items::{CaseItem, CasePayload, CasePhase, CaseStatus};
use self::tools::CaseTool;
use super::Item;
use contract::{FinishReason, Request};

/// One recorded turn and its expected result.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// What the case shows, where its name doesn't say enough.
    #[serde(default)]
    pub about: Option<String>,
    /// Declared tools.
    #[serde(default)]
    tools: Vec<CaseTool>,
    /// Settings of the parser.
    #[serde(default)]
    options: BTreeMap<String, String>,
    /// What the chat template opens the turn with.
    #[serde(default)]
    pub generation_prompt: String,
    /// What the model wrote, one engine step each.
    pub chunks: Vec<CaseChunk>,
    /// How markers are found.
    #[serde(default)]
    pub markers: MarkerMode,
    #[serde(default)]
    finish: Finish,
    /// Expected items, and how the response ends. A test of a case without it shows what the case
    /// comes to, and fails.
    #[serde(default)]
    pub expect: Option<Expect>,
}

/// What one engine step wrote.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
pub enum CaseChunk {
    /// Text; where markers are found by id, this text has no markers, whatever it looks like.
    Text(String),
    /// Text and ids of tokens; each marker literal in the text is the token of that marker.
    Tokens(CaseTokens),
}

/// The tokens of one engine step.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CaseTokens {
    /// Text of the tokens.
    pub text: String,
    /// Ids of the tokens, for people who read the case.
    pub ids: Vec<u32>,
}

/// How markers are found in the stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MarkerMode {
    /// By the text of their literals, wherever it stands.
    #[default]
    Text,
    /// By token id, in chunks that have ids.
    Id,
}

/// A piece of the stream as the case fixes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece {
    /// Text; in [`MarkerMode::Text`] markers are still to be found in it.
    Text(String),
    /// A marker that came as a token: its index and literal.
    Marker(u32, String),
}

impl Piece {
    /// Whether this marker and the next stand side by side, without white space.
    pub fn touches(&self, next: &Self) -> bool {
        match (self, next) {
            (Self::Marker(_, one), Self::Marker(_, other)) => {
                !one.ends_with(char::is_whitespace) && !other.starts_with(char::is_whitespace)
            }
            _ => false,
        }
    }
}

/// Expected result of a turn.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expect {
    items: Vec<CaseItem>,
    /// How the response ends, if that is to be checked.
    #[serde(default)]
    pub end: Option<CaseEnd>,
}

/// How a response ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum CaseEnd {
    /// `response.completed`.
    Completed,
    /// `response.incomplete`.
    Incomplete,
    /// `response.failed`.
    Failed,
}

impl CaseEnd {
    /// How the response of a turn with this end ends.
    pub fn of(end: &TurnEnd) -> Self {
        match end {
            TurnEnd::Completed => Self::Completed,
            TurnEnd::MaxOutputTokens => Self::Incomplete,
            TurnEnd::Cancelled | TurnEnd::Failed(_) => Self::Failed,
        }
    }
}

#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Finish {
    #[default]
    Stop,
    Length,
    Cancelled,
}

impl Case {
    /// Reads a case.
    ///
    /// # Errors
    /// One line naming the file, and what is wrong in it and where.
    pub fn load(file: &Path) -> Result<Self, String> {
        let text = std::fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
        Self::parse(&text).map_err(|error| format!("{}: {error}", file.display()))
    }

    /// Reads a case from its text.
    ///
    /// # Errors
    /// What is wrong in the text, and where.
    pub fn parse(text: &str) -> Result<Self, String> {
        serde_json::from_str(text).map_err(|error| error.to_string())
    }

    /// What the parser is told of the request.
    pub fn request(&self) -> Request {
        Request {
            tools: self.tools.iter().map(CaseTool::tool).collect(),
            token_markers: Vec::new(),
            options: self.options.iter().map(|(key, value)| (key.clone(), value.clone())).collect(),
        }
    }

    /// Indices of the parser's `markers` that come as tokens in this case
    /// ([`Request::token_markers`]).
    pub fn token_markers(&self, markers: &[String]) -> Vec<u32> {
        match self.markers {
            MarkerMode::Text => Vec::new(),
            MarkerMode::Id => (0..).zip(markers).map(|(index, _)| index).collect(),
        }
    }

    /// Why the turn ends.
    pub fn finish(&self) -> FinishReason {
        match self.finish {
            Finish::Stop => FinishReason::Stop,
            Finish::Length => FinishReason::Length,
            Finish::Cancelled => FinishReason::Cancelled,
        }
    }

    /// Each chunk's pieces, given the parser's markers.
    pub fn pieces(&self, markers: &[String]) -> Vec<Vec<Piece>> {
        let pieces = |chunk: &CaseChunk| match chunk {
            CaseChunk::Tokens(tokens) if self.markers == MarkerMode::Id => by_marker(&tokens.text, markers),
            CaseChunk::Tokens(CaseTokens { text, .. }) | CaseChunk::Text(text) => {
                vec![Piece::Text(text.clone())]
            }
        };
        self.chunks.iter().map(pieces).collect()
    }

    /// The expected items; none if the case has no `expect`.
    pub fn expected(&self) -> Vec<Item> {
        self.expect.iter().flat_map(|expect| &expect.items).cloned().map(Item::from).collect()
    }
}

/// Cuts `text` at each marker, leftmost first, the longest of those that begin at one place.
pub fn by_marker(text: &str, markers: &[String]) -> Vec<Piece> {
    let (mut pieces, mut rest) = (Vec::new(), text);
    while !rest.is_empty() {
        let places =
            (0..).zip(markers).filter_map(|(index, marker)| Some((rest.find(marker)?, index, marker)));
        let first = places.min_by_key(|(at, _, marker)| (*at, usize::MAX - marker.len()));
        let at = first.as_ref().map_or(rest.len(), |(at, ..)| *at);
        if at > 0 {
            pieces.push(Piece::Text(rest[..at].to_owned()));
        }
        rest = &rest[at..];
        if let Some((_, index, marker)) = first {
            pieces.push(Piece::Marker(index, marker.clone()));
            rest = &rest[marker.len()..];
        }
    }
    pieces
}

/// The case files (`*.json`) of a folder, by name.
///
/// # Errors
/// The folder can't be read.
pub fn case_files(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let entries = folder.read_dir().map_err(|error| format!("{}: {error}", folder.display()))?;
    let paths = entries.filter_map(Result::ok).map(|entry| entry.path());
    let mut files: Vec<_> =
        paths.filter(|path| path.extension().is_some_and(|extension| extension == "json")).collect();
    files.sort();
    Ok(files)
}
