//! Reader of message content of Responses and Chat Completions, a string or a list of parts. A part
//! that isn't text becomes a placeholder, with a warning: the model sees that something was there.

use memchr::memmem;

use super::error::ApiError;
use super::fields::{self, CACHE_BREAKPOINT, CACHE_CONTROL, KindOf, Kinds, Row, TEXT};
use super::json::{Field, JsonObject, List, Path, Required, Value};
use super::warnings::Warnings;
use prompt::Content;

const REFUSAL: Required<&str> = Field::new("refusal", "").required();

/// Parts of content.
pub(crate) const PARTS: Kinds = Kinds {
    name: "ContentPart",
    of: &[
        KindOf::new("text", "").with(TEXT_PART),
        KindOf::new("input_text", "").with(TEXT_PART),
        KindOf::new("output_text", "").with(TEXT_PART),
        KindOf::new("reasoning_text", "").with(TEXT_PART),
        KindOf::new("summary_text", "").with(TEXT_PART),
        KindOf::new("refusal", "shown to the model as text").with(&[REFUSAL.row()]),
        KindOf::new("image_url", SEEN).with(IMAGE),
        KindOf::new("input_image", SEEN).with(IMAGE),
        KindOf::new("computer_screenshot", SEEN).with(IMAGE),
        KindOf::new("file", SEEN).with(FILE),
        KindOf::new("input_file", SEEN).with(FILE),
        KindOf::new("audio", SEEN).with(AUDIO),
        KindOf::new("input_audio", SEEN).with(AUDIO),
        KindOf::new("video_url", SEEN).with(VIDEO),
        KindOf::new("input_video", SEEN).with(VIDEO),
    ],
    common: &[
        CACHE_BREAKPOINT,
        CACHE_CONTROL,
        Row::ignored("annotations", "what is cited stands in the text"),
        Row::ignored("id", "of an answer that is sent back as it came"),
        Row::ignored("logprobs", "of an answer that is sent back as it came"),
    ],
    others: None,
};

const SEEN: &str = "the model sees a placeholder; with a warning";
const TEXT_PART: &[Row] = &[TEXT.row()];
const IMAGE: &[Row] =
    &[Row::ignored("detail", UNSEEN), Row::ignored("file_id", UNSEEN), Row::ignored("image_url", UNSEEN)];
const FILE: &[Row] = &[
    Row::ignored("detail", UNSEEN),
    Row::ignored("file", UNSEEN),
    Row::ignored("file_data", UNSEEN),
    Row::ignored("file_id", UNSEEN),
    Row::ignored("file_url", UNSEEN),
    Row::ignored("filename", UNSEEN),
];
const AUDIO: &[Row] =
    &[Row::ignored("data", UNSEEN), Row::ignored("format", UNSEEN), Row::ignored("input_audio", UNSEEN)];
const VIDEO: &[Row] = &[Row::ignored("video_url", UNSEEN)];
const UNSEEN: &str = "the model sees a placeholder";

/// Reads the content that `owner` has in `field`; none is empty.
pub(crate) fn optional(
    owner: &JsonObject<'_>,
    field: Field<Value<'_>>,
    warnings: &mut Warnings,
) -> Result<Content, ApiError> {
    owner.value(field).map_or(Ok(Content::default()), |content| read(content, owner.at(field), warnings))
}

/// Reads the content that `owner` must have in `field`.
pub(crate) fn required(
    owner: &JsonObject<'_>,
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
        content.push(part_text(part?, warnings)?);
    }
    Ok(content)
}

/// The placeholder of a kind of part that isn't text, and what that is.
fn placeholder(kind: &str) -> Option<(&'static str, &'static str)> {
    match kind {
        "input_image" | "image_url" | "computer_screenshot" => Some(("[image]", "images")),
        "input_file" | "file" => Some(("[file]", "files")),
        "input_audio" | "audio" => Some(("[audio]", "audio")),
        "input_video" | "video_url" => Some(("[video]", "videos")),
        _ => None,
    }
}

/// How the kinds that have a placeholder end, in JSON.
const UNSEEN_ENDS: [&str; 6] = ["audio\"", "file\"", "image\"", "screenshot\"", "video\"", "_url\""];

/// Whether a text of JSON may have a part in place of which a placeholder is read. A type with escapes isn't
/// seen.
pub(crate) fn may_have_unseen(json: &[u8]) -> bool {
    UNSEEN_ENDS.iter().any(|end| memmem::find(json, end.as_bytes()).is_some())
}

/// Whether a placeholder is read instead of this part.
pub(crate) fn is_unseen(part: Value<'_>) -> bool {
    part.field(fields::TYPE).and_then(Value::as_str).and_then(placeholder).is_some()
}

/// The text of one part, or what stands for it.
fn part_text<'a>(part: JsonObject<'a>, warnings: &mut Warnings) -> Result<&'a str, ApiError> {
    let kind = part.require(fields::TYPE)?;
    warnings.kind(&part, &PARTS, kind)?;
    if kind == "refusal" {
        return part.require(REFUSAL);
    }
    let Some((shown, what)) = placeholder(kind) else { return part.require(fields::TEXT) };
    warnings.add(format!("{what} cannot be read by this model: shown to it as {shown}"));
    Ok(shown)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::json::{refusal_of_content, with_content};

    use super::{Content, PARTS, may_have_unseen, placeholder};

    #[test]
    fn text_of_a_part_with_a_placeholder_may_have_one() {
        for kind in PARTS.of.iter().filter_map(|part| part.kind) {
            let part = json!({ "type": kind, "text": "a \"file\" of audio, say" }).to_string();
            assert_eq!(may_have_unseen(part.as_bytes()), placeholder(kind).is_some(), "{part}");
        }
    }

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
    fn unknown_parts_are_refused() {
        let parts = json!([{ "type": "hologram\n" }, { "type": "text", "text": "x" }]);
        let refused = refusal_of_content(&parts, super::read);
        assert_eq!(refused.param.as_deref(), Some("content[0].type"));
        assert!(refused.message.contains("type hologram? is known"), "{refused}");
    }
}
