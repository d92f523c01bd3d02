//! Typed access to a file's keys: a value of the type that is expected, or an error that names the
//! key.

use std::collections::HashMap;
use std::ops::RangeInclusive;

use super::error::{GgufError, printable};
use super::value::{Array, MetadataValue};

/// Keys of a model, and the name of their file.
#[derive(Debug)]
pub(crate) struct Keys<'a> {
    file: &'a str,
    values: HashMap<&'a str, MetadataValue<'a>>,
}

/// Most layers of a model.
pub(crate) const MOST_LAYERS: u64 = 4096;

impl<'a> Keys<'a> {
    pub(crate) fn new(file: &'a str, values: HashMap<&'a str, MetadataValue<'a>>) -> Self {
        Self { file, values }
    }

    /// Error about the file.
    pub(crate) fn error(&self, reason: impl Into<String>) -> GgufError {
        GgufError::new(self.file, reason)
    }

    fn typed<T>(
        &self,
        key: &str,
        expected: &str,
        convert: impl FnOnce(&MetadataValue<'a>) -> Option<T>,
    ) -> Result<Option<T>, GgufError> {
        let Some(value) = self.values.get(key) else { return Ok(None) };
        let error = || self.error(format!("{} must be {expected}", printable(key)));
        convert(value).map(Some).ok_or_else(error)
    }

    /// A text.
    pub(crate) fn text(&self, key: &str) -> Result<Option<&'a str>, GgufError> {
        self.typed(key, "a text in UTF-8", MetadataValue::as_str)
    }

    /// A text that must be there.
    pub(crate) fn needed_text(&self, key: &str) -> Result<&'a str, GgufError> {
        self.text(key)?.ok_or_else(|| self.absent(key))
    }

    /// A number.
    pub(crate) fn number(&self, key: &str) -> Result<Option<f64>, GgufError> {
        self.typed(key, "a number", |value| value.as_f64().filter(|number| number.is_finite()))
    }

    /// A whole number within `range`.
    pub(crate) fn size(&self, key: &str, range: RangeInclusive<u64>) -> Result<Option<u64>, GgufError> {
        let expected = format!("a whole number from {} to {}", range.start(), range.end());
        self.typed(key, &expected, |value| value.as_u64().filter(|size| range.contains(size)))
    }

    /// A whole number that is the same for all layers: one number, or a list of equal ones.
    pub(crate) fn same(&self, key: &str, range: RangeInclusive<u64>) -> Result<Option<u64>, GgufError> {
        let Some(sizes) = self.sizes(key, range)? else { return Ok(None) };
        match sizes.split_first() {
            Some((first, rest)) if rest.iter().all(|size| size == first) => Ok(Some(*first)),
            _ => Err(self.differs(key)),
        }
    }

    /// Whole numbers within `range`: one for all layers, or a list with one for each.
    pub(crate) fn sizes(&self, key: &str, range: RangeInclusive<u64>) -> Result<Option<Vec<u64>>, GgufError> {
        let Some(MetadataValue::Array(array)) = self.values.get(key) else {
            return Ok(self.size(key, range)?.map(|size| vec![size]));
        };
        if array.len() as u64 > MOST_LAYERS {
            return Err(self.error(format!("{} lists more than {MOST_LAYERS} numbers", printable(key))));
        }
        let sizes = array.iter().map(|value| value.as_u64().filter(|size| range.contains(size)));
        sizes.collect::<Option<_>>().map(Some).ok_or_else(|| self.differs(key))
    }

    /// Error for a list with other numbers than are supported.
    pub(crate) fn differs(&self, key: &str) -> GgufError {
        self.error(format!("{} differs between layers, which is not supported", printable(key)))
    }

    /// A whole number for each of `count` layers: one number for all, or a list.
    pub(crate) fn each(
        &self,
        key: &str,
        range: RangeInclusive<u64>,
        count: usize,
    ) -> Result<Option<Vec<u64>>, GgufError> {
        let Some(MetadataValue::Array(array)) = self.values.get(key) else {
            return Ok(self.size(key, range)?.map(|size| vec![size; count]));
        };
        let sizes = array.iter().map(|value| value.as_u64().filter(|size| range.contains(size)));
        let sizes: Option<Vec<u64>> = sizes.collect();
        let error = || self.error(format!("{} must be a whole number for each layer", printable(key)));
        sizes.filter(|sizes| sizes.len() == count).map(Some).ok_or_else(error)
    }

    /// True or false.
    pub(crate) fn flag(&self, key: &str) -> Result<Option<bool>, GgufError> {
        self.typed(key, "true or false", MetadataValue::as_bool)
    }

    /// A list.
    pub(crate) fn array(&self, key: &str) -> Result<Option<Array<'a>>, GgufError> {
        self.typed(key, "a list", |value| match value {
            MetadataValue::Array(array) => Some(*array),
            _ => None,
        })
    }

    /// A list that must be there.
    pub(crate) fn needed_array(&self, key: &str) -> Result<Array<'a>, GgufError> {
        self.array(key)?.ok_or_else(|| self.absent(key))
    }

    /// A list that a kind of tokenizers must have, though it may be empty.
    pub(crate) fn tokenizer_array(&self, key: &str, kind: &str) -> Result<Array<'a>, GgufError> {
        let error = || {
            let key = printable(key);
            self.error(format!("no {key}; a tokenizer of kind {kind} needs it"))
        };
        self.array(key)?.ok_or_else(error)
    }

    pub(crate) fn absent(&self, key: &str) -> GgufError {
        self.error(format!("no {}; a model needs it", printable(key)))
    }
}
