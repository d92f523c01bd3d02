//! The items that a request is read with, opened only where a reader asks for it: those that it
//! continues, then those of its own input.

use bytes::Bytes;

use super::fields;
use crate::content;
use crate::error::ApiError;
use crate::json::{Document, Elements, JsonObject, Path, Value};
use crate::limits::RequestLimits;

/// Path of a request's own input.
pub(super) static INPUT_PATH: Path<'static> = Path::Field(&Path::Body, "input");
/// Path of what it continues.
static BEFORE: Path<'static> = Path::Field(&Path::Body, "previous_response_id");

/// The items of a request that its body doesn't have whole: those that it continues, then its own,
/// with references resolved. It owns its text, as a body does.
#[derive(Debug)]
pub struct WholeInput {
    document: Document,
    before: usize,
}

impl WholeInput {
    /// The items `before`, oldest first, then the `own` ones; each is the JSON of an object, and all
    /// together have `bytes`. An item that is given away is freed as soon as its text is copied.
    ///
    /// # Errors
    /// 400 where they nest deeper than allowed.
    pub fn new<'a>(
        before: impl IntoIterator<Item: AsRef<[u8]>>,
        own: impl Iterator<Item = &'a [u8]>,
        bytes: usize,
        limits: &RequestLimits,
    ) -> Result<Self, ApiError> {
        let (mut text, mut items) = (Vec::with_capacity(bytes + (bytes >> 5) + 64), 0);
        text.extend_from_slice(br#"{"input":["#);
        let mut add = |item: &[u8]| {
            text.extend_from_slice(item);
            text.push(b',');
        };
        for item in before {
            add(item.as_ref());
            items += 1;
        }
        own.for_each(add);
        // The last comma.
        text.pop_if(|byte| *byte == b',');
        text.extend_from_slice(b"]}");
        Ok(Self { document: Document::read(Bytes::from(text), limits)?, before: items })
    }

    /// The text, an object with the items in `input`, and the number of those that the request
    /// continues.
    pub fn parts(&self) -> (&Bytes, usize) {
        (self.document.text(), self.before)
    }

    /// The input of these [`Self::parts`].
    ///
    /// # Errors
    /// 400 where the text is no such object, or nests deeper than allowed.
    pub fn of_parts(text: Bytes, before: usize, limits: &RequestLimits) -> Result<Self, ApiError> {
        Ok(Self { document: Document::read(text, limits)?, before })
    }

    /// Size of its text, in bytes.
    pub fn size(&self) -> usize {
        self.document.size()
    }

    /// Bytes of its text that a reader copies: all but those that stand for images, files and audio,
    /// which no model here sees.
    pub fn copied(&self) -> usize {
        if !content::may_have_unseen(self.document.text()) {
            return self.size();
        }
        let lists = listed(self.document.body())
            .flat_map(|item| [item.field(fields::CONTENT), item.field(fields::OUTPUT)]);
        let parts = lists.flatten().filter_map(Value::as_list).flat_map(Elements::iter);
        let unseen = parts.filter(|part| content::is_unseen(*part)).map(Value::size).sum();
        self.size().saturating_sub(unseen)
    }
}

/// Types of the items that readers beside that of the conversation look for.
const SOUGHT: [&str; 9] = [
    "additional_tools",
    "compaction",
    "compaction_trigger",
    "configuration_update",
    "mcp_approval_request",
    "mcp_approval_response",
    "mcp_call",
    "mcp_list_tools",
    "tool_search_output",
];

/// The input that a request is read with.
#[derive(Debug, Clone, Copy)]
pub(super) struct Input<'a> {
    /// The object that has it in the field `input`.
    pub(super) of: JsonObject<'a>,
    /// Number of items that the request continues.
    before: usize,
    /// The items of the types in [`SOUGHT`], so that the others aren't looked through by each reader.
    sought: &'a [SoughtItem<'a>],
}

/// An item that some reader looks for.
#[derive(Debug, Clone, Copy)]
struct SoughtItem<'a> {
    index: usize,
    kind: &'static str,
    item: Value<'a>,
}

impl<'a> Input<'a> {
    /// The `whole` input where there is one, else that of `body`.
    ///
    /// # Errors
    /// 400 where it has too many items that are looked for.
    pub(super) fn new(body: &JsonObject<'a>, whole: Option<&'a WholeInput>) -> Result<Self, ApiError> {
        let (of, before) = whole.map_or((*body, 0), |whole| (whole.document.body(), whole.before));
        let mut sought = Vec::new();
        for (index, item) in listed(of).enumerate() {
            let kind = item.field(fields::TYPE).and_then(Value::as_str);
            if let Some(kind) = kind.and_then(|kind| SOUGHT.into_iter().find(|sought| *sought == kind)) {
                of.count_kept(1)?;
                sought.push(SoughtItem { index, kind, item });
            }
        }
        Ok(Self { of, before, sought: of.keep(&sought) })
    }

    /// Number of items that the request continues; its own follow them.
    pub(super) fn before(&self) -> usize {
        self.before
    }

    fn path(&self, index: usize) -> Path<'static> {
        match index.checked_sub(self.before) {
            Some(own) => INPUT_PATH.element(own),
            None => BEFORE.element(index),
        }
    }

    /// The items with their paths; none if the input isn't a list.
    pub(super) fn items(&self) -> impl Iterator<Item = (Path<'static>, Value<'a>)> + use<'a> {
        let input = *self;
        listed(self.of).enumerate().map(move |(index, item)| (input.path(index), item))
    }

    /// The items of the types in [`SOUGHT`], with their types and paths.
    pub(super) fn sought(&self) -> impl Iterator<Item = (&'static str, Path<'static>, Value<'a>)> + use<'a> {
        let input = *self;
        input.sought.iter().map(move |found| (found.kind, input.path(found.index), found.item))
    }

    /// The items of type `kind`, one of [`SOUGHT`], with their paths.
    pub(super) fn of_kind(
        &self,
        kind: &'static str,
    ) -> impl Iterator<Item = (Path<'static>, Value<'a>)> + use<'a> {
        assert!(SOUGHT.contains(&kind), "{kind} isn't gathered");
        self.sought().filter(move |(found, ..)| *found == kind).map(|(_, path, item)| (path, item))
    }
}

/// The items in the field `input` of an object; none if it has no list there.
fn listed(of: JsonObject<'_>) -> impl Iterator<Item = Value<'_>> {
    of.value(fields::INPUT).and_then(Value::as_list).into_iter().flat_map(Elements::iter)
}

/// Whether an item has the type `kind`. The item isn't opened.
pub(super) fn is_of(item: Value<'_>, kind: &str) -> bool {
    item.field(fields::TYPE).and_then(Value::as_str) == Some(kind)
}
