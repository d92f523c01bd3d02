//! Reader of message content of Responses and Chat Completions, a string or a list of parts. A part
//! that isn't text becomes a placeholder, with a warning; the request isn't refused.

use super::error::ApiError;
use super::fields;
use super::json::{Field, List, Object, Path, Required, Value};
use super::warnings::Warnings;
use model::printable::printable;
use model::prompt::Content;

const REFUSAL: Required<&str> = Field::new("refusal", "").required();

/// Reads the content that `owner` has in `field`; none is empty.
pub(crate) fn optional(
    owner: &Object<'_>,
    field: Field<Value<'_>>,
    warnings: &mut Warnings,
) -> Result<Content, ApiError> {
    owner.value(field).map_or(Ok(Content::default()), |content| read(content, owner.at(field), warnings))
}

/// Reads the content that `owner` must have in `field`.
pub(crate) fn required(
    owner: &Object<'_>,
    field: Field<Value<'_>>,
    warnings: &mut Warnings,
) -> Result<Content, ApiError> {
    read(owner.require(field.required_as("a string or a list of parts"))?, owner.at(field), warnings)
}

fn read(content: Value<'_>, path: Path<'_>, warnings: &mut Warnings) -> Result<Content, ApiError> {
    let parts = match content {
        Value::String(text) => return Ok(text.get().into()),
        Value::List(parts) => parts,
        other => return Err(path.expected("a string or a list of parts", other)),
    };
    let mut content = Content::list();
    for part in List::new(parts, path).objects() {
        if let Some(text) = part_text(part?, warnings)? {
            content.push(text);
        }
    }
    Ok(content)
}

/// The placeholder of a kind of part that isn't text, and what that is.
fn placeholder(kind: &str) -> Option<(&'static str, &'static str)> {
    match kind {
        "input_image" | "image_url" | "computer_screenshot" => Some(("[image]", "images")),
        "input_file" | "file" => Some(("[file]", "files")),
        "input_audio" | "audio" => Some(("[audio]", "audio")),
        _ => None,
    }
}

/// Whether a placeholder is read instead of this part.
pub(crate) fn is_unseen(part: Value<'_>) -> bool {
    part.field(fields::TYPE).and_then(Value::as_str).and_then(placeholder).is_some()
}

/// The text of one part; `None` for unknown kinds.
fn part_text<'a>(part: Object<'a>, warnings: &mut Warnings) -> Result<Option<&'a str>, ApiError> {
    match part.require(fields::TYPE)? {
        "text" | "input_text" | "output_text" | "reasoning_text" | "summary_text" => {
            part.require(fields::TEXT).map(Some)
        }
        "refusal" => part.require(REFUSAL).map(Some),
        kind => {
            let shown = placeholder(kind);
            warnings.add(match shown {
                Some((shown, what)) => format!("{what} cannot be read by this model: shown to it as {shown}"),
                None => format!("content part of unknown type {} ignored", printable(kind)),
            });
            Ok(shown.map(|(shown, _)| shown))
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::json::with_content;

    use super::Content;

    fn read(content: &Value) -> (Content, Vec<String>) {
        with_content(content, super::read)
    }

    #[test]
    fn strings_stay_strings_and_parts_stay_parts() {
        assert_eq!(read(&json!("hi")).0, Content::from("hi"));
        let parts = json!([{"type":"input_text","text":"a"},{"type":"output_text","text":"b"},{"type":"refusal","refusal":"c"}]);
        assert_eq!(read(&parts), (Content::from_iter(["a", "b", "c"]), vec![]));
        assert_eq!(read(&json!([])).0, Content::list());
        assert_eq!(read(&json!([{"type":"text","text":""}])).0, Content::from_iter([""]));
    }

    #[test]
    fn images_become_placeholders_with_a_warning() {
        let (content, warnings) =
            read(&json!([{"type":"input_image","image_url":"data:…"},{"type":"text","text":"what?"}]));
        assert_eq!(content, Content::from_iter(["[image]", "what?"]));
        assert_eq!(warnings, ["images cannot be read by this model: shown to it as [image]"]);
    }

    #[test]
    fn unknown_parts_are_ignored_with_a_warning() {
        let (content, warnings) = read(&json!([{"type":"hologram\n"},{"type":"text","text":"x"}]));
        assert_eq!(content, Content::from_iter(["x"]));
        assert_eq!(warnings, ["content part of unknown type hologram? ignored"]);
    }
}
