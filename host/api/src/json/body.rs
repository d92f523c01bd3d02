//! A body as a document: read once, and opened by its readers.

use std::ops::Range;

use bytes::Bytes;

use super::document::Document;
use super::object::JsonObject;
use super::path::Path;
use super::scan::Values;
use super::value::Value;
use crate::error::ApiError;
use crate::limits::RequestLimits;

impl Document {
    /// Reads a body, which must be one JSON object.
    ///
    /// # Errors
    /// 400 where the body is no JSON, nests deeper than allowed, has too many fields, or is no
    /// object.
    pub fn read(body: Bytes, limits: &RequestLimits) -> Result<Self, ApiError> {
        let mut document = Self::new(body, limits);
        let text = document.check()?;
        match Value::new(text, &document) {
            Value::Object(_) => {}
            other => return Err(Path::Body.expected("a JSON object", other)),
        }
        let place = |part: &str| {
            let at = part.as_ptr().addr() - document.text.as_ptr().addr();
            at..at + part.len()
        };
        let mut values = Values::inside(text);
        let mut fields = Vec::new();
        while let (Some(name), Some(value)) = (values.next(), values.next()) {
            document.count_fields(1, Path::Body)?;
            fields.push([place(name), place(value)]);
        }
        document.fields = fields;
        Ok(document)
    }

    /// The body's object.
    pub fn body(&self) -> JsonObject<'_> {
        let part = |place: &Range<usize>| {
            let part = std::str::from_utf8(&self.text[place.clone()]);
            Value::new(part.expect("the whole body has been checked"), self)
        };
        let field = |[name, value]: &[Range<usize>; 2]| {
            (part(name).as_str().expect("names are strings"), part(value))
        };
        let fields = self.arena.alloc_slice_fill_iter(self.fields.iter().map(field));
        self.note_repeated(fields, Path::Body);
        JsonObject::of_body(fields, self)
    }
}
