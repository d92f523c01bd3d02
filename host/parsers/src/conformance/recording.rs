//! A case file, prepared to be played to one parser.

use std::path::Path;
use std::sync::Arc;

use parser_kit::case::{Case, CaseItem, End, MarkerMode, Piece};
use parser_kit::nothing_lost::{BROKEN_TOOL, declare_broken_tool};
use serde_json::{Value, json};

use super::play::play_case;
use super::subject::{ParserSource, Subject};
use super::tape::Tape;
use contract::{FinishReason, Request};
use system::bounded::{self, SETTINGS_BYTES};

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
    pub(super) end: Option<End>,
    /// Whether the case has no `expect`.
    pub(super) says_nothing: bool,
    raw: Value,
}

impl Recording {
    /// Reads a case file. The case has the file's name without its extension.
    ///
    /// # Errors
    /// The file, or the parser with the case's options, can't be used. The message has one line.
    pub fn load(file: &Path, source: &dyn ParserSource) -> Result<Self, String> {
        let name = file.file_stem().unwrap_or_default().to_string_lossy();
        let text = bounded::regular_text(file, SETTINGS_BYTES).map_err(|error| error.to_string());
        let recording = text.and_then(|text| Self::parse(&name, &text, source));
        recording.map_err(|error| format!("{}: {error}", file.display()))
    }

    /// Reads the text of a case. One without `expect` expects what the parser makes of it in its
    /// own chunks.
    ///
    /// # Errors
    /// What is wrong in the text, and where; or why the parser can't be used with the case's
    /// options.
    pub fn parse(name: &str, text: &str, source: &dyn ParserSource) -> Result<Self, String> {
        let raw: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
        let case = Case::parse(text)?;
        let says_nothing = case.expect.is_none();
        let mut request = case.request();
        let subject = source.load(&request.options)?;
        let markers = &subject.descriptor().markers;
        request.token_markers = case.token_markers(markers);
        let steps = case.pieces(markers);
        let prompt = Tape::new([&Piece::Text(case.generation_prompt.clone())], MarkerMode::Text);
        let prompt = prompt.in_mode(case.markers, markers).expect("text may be read by tokens");
        let mut length = 0;
        let ends = steps.iter().map(|step| {
            length += Tape::new(step, case.markers).len();
            length
        });
        let mut cuts: Vec<usize> = ends.collect();
        cuts.dedup();
        cuts.retain(|cut| *cut > 0 && *cut < length);
        let tape = Tape::new(steps.iter().flatten(), case.markers).compared_with(markers);
        let mut recording = Self {
            name: name.to_owned(),
            request,
            prompt,
            cuts,
            finish: case.finish(),
            expected: case.expected().into_iter().map(CaseItem::from).collect(),
            end: case.expect.as_ref().and_then(|expect| expect.end),
            says_nothing,
            raw,
            tape,
            subject: Arc::clone(&subject),
        };
        if says_nothing {
            recording.expected = play_case(&recording).items.unwrap_or_default();
            recording.raw["expect"] = json!({ "items": recording.expected });
        }
        Ok(recording)
    }

    /// Name of the case.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Markers of the parser, with the case's options.
    pub fn markers(&self) -> &[String] {
        &self.subject.descriptor().markers
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
