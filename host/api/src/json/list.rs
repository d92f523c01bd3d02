//! A list with its path.

use super::field::Typed;
use super::path::Path;
use super::value::{Elements, Value};
use crate::error::ApiError;
use crate::fields::shape::Shape;

/// A JSON list with its path. Cheap to copy.
#[derive(Clone, Copy)]
pub(crate) struct List<'a> {
    /// The elements.
    pub(crate) elements: Elements<'a>,
    /// Path of the list in the body.
    pub(crate) path: Path<'a>,
}

impl<'a> List<'a> {
    /// The list at `path`.
    pub(crate) fn new(elements: Elements<'a>, path: Path<'a>) -> Self {
        Self { elements, path }
    }

    /// The elements with their paths.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (Path<'_>, Value<'a>)> {
        self.elements.iter().enumerate().map(|(index, value)| (self.path.element(index), value))
    }

    /// The elements, which must be strings.
    pub(crate) fn texts(&self) -> Result<Vec<String>, ApiError> {
        let text = |(path, value): (Path<'_>, Value<'a>)| {
            value.as_str().map(str::to_owned).ok_or_else(|| path.expected("a string", value))
        };
        self.iter().map(text).collect()
    }

    /// Refuses a list of more than `max`, which are called `what`.
    pub(crate) fn check_len(&self, max: usize, what: &str) -> Result<(), ApiError> {
        if self.elements.is_longer_than(max) {
            return Err(self.path.invalid(format_args!("at most {max} {what}, got {}", self.elements.len())));
        }
        Ok(())
    }
}

impl Typed for List<'_> {
    const SHAPE: Shape = Shape::List(&Shape::Any);
    const EXPECTED: &'static str = "a list";
    type Of<'a: 'b, 'b> = List<'b>;

    fn read<'a: 'b, 'b>(value: Value<'a>, _: &Shape, path: Path<'b>) -> Result<List<'b>, ApiError> {
        let elements = value.as_list().ok_or_else(|| path.expected(Self::EXPECTED, value))?;
        Ok(List::new(elements, path))
    }
}
