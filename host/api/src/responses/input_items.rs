//! The items that a request is read with, opened only where a reader asks for it: those that it
//! continues, then those of its own input.

use bytes::Bytes;

use super::fields;
use crate::content;
use crate::error::ApiError;
use crate::json::{Document, Elements, Object, Path, Value};
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
        let lists = self
            .open()
            .items()
            .flat_map(|(_, item)| [item.field(fields::CONTENT), item.field(fields::OUTPUT)]);
        let parts = lists.flatten().filter_map(Value::as_list).flat_map(Elements::iter);
        let unseen = parts.filter(|part| content::is_unseen(*part)).map(Value::size).sum();
        self.size().saturating_sub(unseen)
    }

    fn open(&self) -> Input<'_> {
        Input { of: self.document.body(), before: self.before }
    }
}

/// The input that a request is read with.
#[derive(Debug, Clone, Copy)]
pub(super) struct Input<'a> {
    /// The object that has it in the field `input`.
    pub(super) of: Object<'a>,
    /// Number of items that the request continues.
    before: usize,
}

impl<'a> Input<'a> {
    /// The `whole` input where there is one, else that of `body`.
    pub(super) fn new(body: &Object<'a>, whole: Option<&'a WholeInput>) -> Self {
        whole.map_or(Self { of: *body, before: 0 }, WholeInput::open)
    }

    /// Number of items that the request continues; its own follow them.
    pub(super) fn before(&self) -> usize {
        self.before
    }

    /// The items with their paths; none if the input isn't a list.
    pub(super) fn items(&self) -> impl Iterator<Item = (Path<'static>, Value<'a>)> + use<'a> {
        let before = self.before;
        let path = move |index: usize| match index.checked_sub(before) {
            Some(own) => INPUT_PATH.element(own),
            None => BEFORE.element(index),
        };
        let items =
            self.of.value(fields::INPUT).and_then(Value::as_list).into_iter().flat_map(Elements::iter);
        items.enumerate().map(move |(index, value)| (path(index), value))
    }
}

/// Whether an item has the type `kind`. The item isn't opened.
pub(super) fn is_of(item: Value<'_>, kind: &str) -> bool {
    item.field(fields::TYPE).and_then(Value::as_str) == Some(kind)
}
