//! Reader of content blocks, which become the text parts of a message. A block that isn't text
//! becomes a placeholder, with a warning; the request isn't refused.

use std::borrow::Cow;

use super::fields;
use super::tools::Deferred;
use crate::error::ApiError;
use crate::json::{Field, JsonObject, List, Path, Required, Value};
use crate::warnings::Warnings;
use net::printable::printable;
use prompt::Content;

/// Text of a document's source.
const DATA: Required<&str> = Field::new("data", "").required();

/// What a reader of blocks needs and changes.
#[derive(Debug)]
pub(super) struct Reader<'a> {
    pub(super) warnings: &'a mut Warnings,
    /// Tools that the model sees where a block refers to them.
    pub(super) deferred: &'a mut Deferred,
}

impl Reader<'_> {
    fn placeholder(&mut self, shown: &'static str, what: &str) -> &'static str {
        self.warnings.add(format!("{what} cannot be read by this model: shown to it as {shown}"));
        shown
    }
}

/// Reads `content`, a string or blocks.
pub(super) fn read(content: Value<'_>, path: Path<'_>, reader: &mut Reader<'_>) -> Result<Content, ApiError> {
    let blocks = match content {
        Value::String(text) => return Ok(text.get().into()),
        Value::List(blocks) => List::new(blocks, path),
        other => return Err(path.expected("a string or a list of blocks", other)),
    };
    let mut content = Content::list();
    for block in blocks.objects() {
        if let Some(text) = block_text(block?, reader)? {
            content.push(&text);
        }
    }
    Ok(content)
}

/// The text of one block of a user message, a tool's result or instructions; `None` for kinds that
/// say nothing.
pub(super) fn block_text<'a>(
    block: JsonObject<'a>,
    reader: &mut Reader<'_>,
) -> Result<Option<Cow<'a, str>>, ApiError> {
    let kind = block.require(fields::TYPE)?;
    if !reader.warnings.kind(&block, &fields::BLOCKS, kind)? {
        return Ok(None);
    }
    match kind {
        "text" => block.require(fields::TEXT).map(|text| Some(text.into())),
        "image" => Ok(Some(reader.placeholder("[image]", "images").into())),
        "container_upload" => Ok(Some(reader.placeholder("[file]", "files").into())),
        "document" => document(block, reader).map(|text| Some(text.into())),
        "search_result" => search_result(block, reader).map(|text| Some(text.into())),
        "tool_reference" => {
            block.require(fields::TOOL_REFERENCE).map(|name| Some(reader.deferred.find(name)))
        }
        other => Err(misplaced(&block, other)),
    }
}

/// 400: a block stands in the content of a message that can't have it.
pub(super) fn misplaced(block: &JsonObject<'_>, kind: &str) -> ApiError {
    block.at(fields::TYPE).invalid(format_args!("{} can't stand here", printable(kind)))
}

/// Title, context and text of a document. A document that isn't text, such as a PDF, has a
/// placeholder for text.
fn document(block: JsonObject<'_>, reader: &mut Reader<'_>) -> Result<String, ApiError> {
    let source = block.require(fields::SOURCE)?;
    let body = match source.require(fields::TYPE)? {
        "text" => source.require(DATA)?.to_owned(),
        "content" => required_text(&source, reader)?,
        _ => reader.placeholder("[document]", "documents that are not text").to_owned(),
    };
    headed(&block, [fields::DOCUMENT_TITLE, fields::CONTEXT], &body)
}

/// Title, source and text of a search result.
fn search_result(block: JsonObject<'_>, reader: &mut Reader<'_>) -> Result<String, ApiError> {
    let body = required_text(&block, reader)?;
    headed(&block, [fields::DOCUMENT_TITLE, fields::ORIGIN], &body)
}

fn required_text(block: &JsonObject<'_>, reader: &mut Reader<'_>) -> Result<String, ApiError> {
    Ok(read(block.require(fields::CONTENT)?, block.at(fields::CONTENT), reader)?.into_joined())
}

/// The texts of `fields`, each on a line of its own, followed by `body`.
fn headed(block: &JsonObject<'_>, fields: [Field<&str>; 2], body: &str) -> Result<String, ApiError> {
    let mut lines = Content::list();
    for field in fields {
        if let Some(text) = block.get(field)? {
            lines.push(text);
        }
    }
    lines.push(body);
    Ok(lines.into_joined())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::json::with_content;

    use super::{Content, Deferred, Reader};

    fn read(content: &Value) -> (Content, Vec<String>) {
        with_content(content, |content, path, warnings| {
            super::read(content, path, &mut Reader { warnings, deferred: &mut Deferred::default() })
        })
    }

    #[test]
    fn strings_stay_strings_and_text_blocks_become_parts() {
        assert_eq!(read(&json!("hi")).0, Content::from("hi"));
        let blocks = json!([{ "type": "text", "text": "a", "cache_control": { "type": "ephemeral" } }, { "type": "text", "text": "" }, { "type": "text", "text": "b" }]);
        assert_eq!(read(&blocks), (Content::from_iter(["a", "", "b"]), vec![]));
        assert_eq!(read(&json!([])).0, Content::list());
    }

    #[test]
    fn documents_and_search_results_are_read_as_text() {
        let document = json!({ "type": "document", "title": "T", "context": "C",
            "source": { "type": "text", "media_type": "text/plain", "data": "body" } });
        let nested = json!({ "type": "document", "source": { "type": "content", "content": [{ "type": "text", "text": "in" }] } });
        let found = json!({ "type": "search_result", "source": "https://a.example", "title": "S",
            "content": [{ "type": "text", "text": "found" }] });
        let expected = Content::from_iter(["T\nC\nbody", "in", "S\nhttps://a.example\nfound"]);
        assert_eq!(read(&json!([document, nested, found])), (expected, vec![]));
    }

    #[test]
    fn what_is_no_text_is_a_placeholder_with_a_warning() {
        let pdf = json!({ "type": "document", "source": { "type": "base64", "media_type": "application/pdf", "data": "" } });
        let image = json!({ "type": "image", "source": { "type": "url", "url": "https://a.example" } });
        let (content, warnings) = read(&json!([pdf, image]));
        assert_eq!(content, Content::from_iter(["[document]", "[image]"]));
        assert_eq!(
            warnings,
            [
                "documents that are not text cannot be read by this model: shown to it as [document]",
                "images cannot be read by this model: shown to it as [image]",
            ]
        );
    }
}
