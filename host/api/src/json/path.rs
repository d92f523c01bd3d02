//! Path of a value in a request's body, and the refusals that name it.

use std::fmt;

use crate::error::ApiError;
use net::printable::printable;

/// Path of a value in the body. It becomes text only in an error message.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Path<'a> {
    /// The whole body.
    Body,
    /// A field of the object at the first path.
    Field(&'a Path<'a>, &'a str),
    /// An element of the list at the first path.
    Element(&'a Path<'a>, usize),
}

impl<'a> Path<'a> {
    /// The field `name` below this.
    pub(crate) fn field(&'a self, name: &'a str) -> Self {
        Path::Field(self, name)
    }

    /// The element `index` below this.
    pub(crate) fn element(&'a self, index: usize) -> Self {
        Path::Element(self, index)
    }

    /// 400: a required value is missing.
    pub(crate) fn missing(&self, what: &str) -> ApiError {
        self.invalid(format_args!("missing: expected {what}")).with_code("missing_required_parameter")
    }

    /// 400: the value is wrong; `what` says how.
    pub(crate) fn invalid(&self, what: impl fmt::Display) -> ApiError {
        ApiError::invalid(self.param(), format!("{self}: {what}")).with_code("invalid_value")
    }

    /// This text, if things can be stored under it: databases keep no NUL in a text that they search.
    ///
    /// # Errors
    /// 400 where it has one.
    pub(crate) fn without_nul<'t>(&self, text: &'t str) -> Result<&'t str, ApiError> {
        if text.contains('\0') {
            return Err(self.invalid("a NUL character (\\u0000) can't be part of it: leave it out"));
        }
        Ok(text)
    }

    /// 400: the value asks for something that this server doesn't support.
    pub(crate) fn unsupported(&self, what: impl fmt::Display) -> ApiError {
        ApiError::invalid(self.param(), format!("{self}: {what}")).with_code("unsupported_parameter")
    }

    fn param(&self) -> Option<String> {
        (!matches!(self, Path::Body)).then(|| self.to_string())
    }
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Path::Body => f.write_str("body"),
            Path::Field(Path::Body, name) => f.write_str(&printable(name)),
            Path::Field(parent, name) => write!(f, "{parent}.{}", printable(name)),
            Path::Element(parent, index) => write!(f, "{parent}[{index}]"),
        }
    }
}
