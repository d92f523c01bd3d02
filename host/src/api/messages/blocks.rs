//! Reader of content blocks, which become the one text that templates take. A block that isn't text becomes a placeholder, with a
//! warning; the request isn't refused.

use super::super::error::ApiError;
use super::super::json::{Object, Path, Value};
use super::super::warnings::Warnings;
use crate::printable::printable;

/// The text of `content`: a string, or blocks joined by line breaks.
pub(super) fn text(content: Value<'_>, path: Path<'_>, warnings: &mut Warnings) -> Result<String, ApiError> {
    let blocks = match content {
        Value::String(text) => return Ok(text.get().to_owned()),
        Value::List(blocks) => blocks,
        other => return Err(path.expected("a string or a list of blocks", other)),
    };
    let mut joined = Joined::default();
    for (index, value) in blocks.iter().enumerate() {
        let block = Object::new(value, path.element(index))?;
        joined.extend(block_text(block, warnings)?);
    }
    Ok(joined.take().unwrap_or_default())
}

/// Texts joined by line breaks.
#[derive(Debug, Default)]
pub(super) struct Joined(Option<String>);

impl Joined {
    /// Appends `text`.
    pub(super) fn push(&mut self, text: &str) {
        match &mut self.0 {
            Some(joined) => {
                joined.push('\n');
                joined.push_str(text);
            }
            none => *none = Some(text.to_owned()),
        }
    }

    /// Appends `text`, if it is `Some`.
    pub(super) fn extend(&mut self, text: Option<String>) {
        match &self.0 {
            None => self.0 = text,
            Some(_) => text.iter().for_each(|text| self.push(text)),
        }
    }

    /// Takes the joined text; `None` if nothing was added.
    pub(super) fn take(&mut self) -> Option<String> {
        self.0.take()
    }
}

/// The text of one block of a user message, a tool's result or instructions; `None` for unknown kinds.
pub(super) fn block_text(block: Object<'_>, warnings: &mut Warnings) -> Result<Option<String>, ApiError> {
    match block.required_string("type")? {
        "text" => block.required_string("text").map(|text| Some(text.to_owned())),
        "image" => Ok(Some(placeholder("[image]", "images", warnings))),
        "container_upload" => Ok(Some(placeholder("[file]", "files", warnings))),
        "document" => document(block, warnings).map(Some),
        "search_result" => search_result(block, warnings).map(Some),
        other => {
            warnings.add(format!("content block of type {} ignored", printable(other)));
            Ok(None)
        }
    }
}

fn placeholder(shown: &str, what: &str, warnings: &mut Warnings) -> String {
    warnings.add(format!("{what} cannot be read by this model: shown to it as {shown}"));
    shown.to_owned()
}

/// Title, context and text of a document. A document that isn't text, such as a PDF, has a placeholder for text.
fn document(block: Object<'_>, warnings: &mut Warnings) -> Result<String, ApiError> {
    let path = block.at("source");
    let source = block.object("source")?.ok_or_else(|| path.missing("an object"))?;
    let body = match source.required_string("type")? {
        "text" => source.required_string("data")?.to_owned(),
        "content" => required_text(&source, "content", warnings)?,
        _ => placeholder("[document]", "documents that are not text", warnings),
    };
    headed(&block, ["title", "context"], &body)
}

/// Title, source and text of a search result.
fn search_result(block: Object<'_>, warnings: &mut Warnings) -> Result<String, ApiError> {
    let body = required_text(&block, "content", warnings)?;
    headed(&block, ["title", "source"], &body)
}

fn required_text(block: &Object<'_>, field: &str, warnings: &mut Warnings) -> Result<String, ApiError> {
    let path = block.at(field);
    let content = block.get(field).ok_or_else(|| path.missing("a string or a list of blocks"))?;
    text(content, path, warnings)
}

/// The texts of `fields`, each on a line of its own, followed by `body`.
fn headed(block: &Object<'_>, fields: [&str; 2], body: &str) -> Result<String, ApiError> {
    let mut joined = Joined::default();
    for field in fields {
        joined.extend(block.string(field)?.map(str::to_owned));
    }
    joined.push(body);
    Ok(joined.take().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::api::json::with_value;

    use super::{Path, Warnings, text};

    fn read(content: &Value) -> (String, Vec<String>) {
        let mut warnings = Warnings::default();
        let read = |content: super::Value<'_>| text(content, Path::Body.field("content"), &mut warnings);
        let text = with_value(content, read).unwrap();
        (text, warnings.into_lines())
    }

    #[test]
    fn strings_and_text_blocks_become_one_text() {
        assert_eq!(read(&json!("hi")).0, "hi");
        let blocks = json!([{ "type": "text", "text": "a", "cache_control": { "type": "ephemeral" } }, { "type": "text", "text": "" }, { "type": "text", "text": "b" }]);
        assert_eq!(read(&blocks), ("a\n\nb".to_owned(), vec![]));
        assert_eq!(read(&json!([])).0, "");
    }

    #[test]
    fn documents_and_search_results_are_read_where_they_are_text() {
        let document = json!({ "type": "document", "title": "T", "context": "C",
            "source": { "type": "text", "media_type": "text/plain", "data": "body" } });
        let nested = json!({ "type": "document", "source": { "type": "content", "content": [{ "type": "text", "text": "in" }] } });
        let found = json!({ "type": "search_result", "source": "https://a.example", "title": "S",
            "content": [{ "type": "text", "text": "found" }] });
        let expected = "T\nC\nbody\nin\nS\nhttps://a.example\nfound".to_owned();
        assert_eq!(read(&json!([document, nested, found])), (expected, vec![]));
    }

    #[test]
    fn what_is_not_text_becomes_a_placeholder_with_a_warning() {
        let pdf = json!({ "type": "document", "source": { "type": "base64", "media_type": "application/pdf", "data": "" } });
        let image = json!({ "type": "image", "source": { "type": "url", "url": "https://a.example" } });
        let (text, warnings) = read(&json!([pdf, image, { "type": "hologram\n" }]));
        assert_eq!(text, "[document]\n[image]");
        assert_eq!(
            warnings,
            [
                "documents that are not text cannot be read by this model: shown to it as [document]",
                "images cannot be read by this model: shown to it as [image]",
                "content block of type hologram? ignored",
            ]
        );
    }
}
