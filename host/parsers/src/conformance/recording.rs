//! A case file, prepared to be played to one parser.

use std::sync::Arc;

use parser_kit::case::{CaseEnd, CaseItem, MarkerMode};
use parser_kit::nothing_lost::{BROKEN_TOOL, declare_broken_tool};
use serde_json::Value;

use super::subject::Subject;
use super::tape::Tape;
use contract::{FinishReason, Request};

/// A recorded turn, the parser under test, and the expected result.
#[derive(Clone)]
pub struct Recording {
    pub(super) name: String,
    pub(super) subject: Arc<Subject>,
    pub(super) request: Request,
    pub(super) prompt: Tape,
    pub(super) tape: Tape,
    /// Cuts between the case's own chunks.
    pub(super) cuts: Vec<usize>,
    pub(super) finish: FinishReason,
    pub(super) expected: Vec<CaseItem>,
    pub(super) end: Option<CaseEnd>,
    /// Whether the case has no `expect`.
    pub(super) says_nothing: bool,
    pub(super) raw: Value,
}

impl Recording {
    /// Name of the case.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Markers of the parser, with the case's options.
    pub fn markers(&self) -> &[String] {
        &self.subject.descriptor().markers
    }

    /// The case as a file has it.
    pub fn raw(&self) -> &Value {
        &self.raw
    }

    /// The case with every marker as a token.
    pub(super) fn by_tokens(&self) -> Self {
        let markers = self.markers();
        let tokens = |tape: &Tape| tape.in_mode(MarkerMode::Id, markers).expect("text may be read by tokens");
        let (prompt, tape) = (tokens(&self.prompt), tokens(&self.tape));
        let token_markers = (0..).zip(markers).map(|(index, _)| index).collect();
        let request = Request { token_markers, ..self.request.clone() };
        Self { request, prompt, tape, ..self.clone() }
    }

    /// The case with every marker in the text; `None` where a look-alike would become a marker.
    pub(super) fn by_text(&self) -> Option<Self> {
        let text = |tape: &Tape| tape.in_mode(MarkerMode::Text, self.markers());
        let (prompt, tape) = (text(&self.prompt)?, text(&self.tape)?);
        let request = Request { token_markers: Vec::new(), ..self.request.clone() };
        Some(Self { request, prompt, tape, ..self.clone() })
    }

    /// The case with the tool declared that a call which breaks off names, if it declares any.
    pub(super) fn with_broken_tool(mut self) -> Self {
        declare_broken_tool(&mut self.request);
        if let Some(tools) = self.raw["tools"].as_array_mut() {
            tools.push(BROKEN_TOOL.into());
        }
        self
    }

    /// The case with this tape, cuts and reason, as a case file whose `about` is `why`.
    pub(super) fn written(&self, tape: &Tape, cuts: &[usize], finish: FinishReason, why: &str) -> Value {
        let mut case = self.raw.clone();
        case["about"] = why.into();
        case["chunks"] = tape.chunks(cuts);
        case["markers"] = match tape.mode() {
            MarkerMode::Text => "text".into(),
            MarkerMode::Id => "id".into(),
        };
        case["finish"] = match finish {
            FinishReason::Stop => "stop".into(),
            FinishReason::Length => "length".into(),
            FinishReason::Cancelled => "cancelled".into(),
        };
        case
    }
}
