//! Reader of case files: a case becomes a [`Recording`] for one parser.

use std::path::Path;
use std::sync::Arc;

use parser_kit::case::{Case, CaseItem, MarkerMode, Piece};
use serde_json::{Value, json};
use system::bounded::{self, SETTINGS_BYTES};

use super::play::play_case;
use super::recording::Recording;
use super::subject::ParserSource;
use super::tape::Tape;

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
}
