//! Checked access to the fields of a JSON object: each value in its range, or an error that names
//! the field.

use std::ops::RangeInclusive;

use serde_json::{Map, Value};

use super::LoadError;

/// Fields of a JSON object; `path` is the object's place in the file, for messages
/// (`rope_parameters.`).
#[derive(Debug, Clone, Copy)]
pub(super) struct Fields<'a> {
    file: &'a str,
    path: &'a str,
    object: &'a Map<String, Value>,
}

impl<'a> Fields<'a> {
    pub(super) fn new(file: &'a str, path: &'a str, object: &'a Map<String, Value>) -> Self {
        Self { file, path, object }
    }

    /// The object, with a default for each field that is absent or null.
    pub(super) fn with_defaults(&self, defaults: &[(&str, u64)]) -> Map<String, Value> {
        let mut object = self.object.clone();
        for (name, default) in defaults {
            if self.get(name).is_none() {
                object.insert((*name).to_owned(), (*default).into());
            }
        }
        object
    }

    /// The fields of another object at the same place.
    pub(super) fn of(self, object: &'a Map<String, Value>) -> Self {
        Self { object, ..self }
    }

    /// The value, unless it is absent or null.
    pub(super) fn get(&self, name: &str) -> Option<&'a Value> {
        self.object.get(name).filter(|value| !value.is_null())
    }

    /// The object in the field `name`; `path` is its place in the file, for messages.
    pub(super) fn object(&self, name: &'a str, path: &'a str) -> Result<Option<Self>, LoadError> {
        match self.get(name) {
            None => Ok(None),
            Some(Value::Object(object)) => Ok(Some(Self { path, object, ..*self })),
            Some(other) => Err(self.error(name, "an object", other)),
        }
    }

    /// A whole number within `range`, which must be there.
    pub(super) fn size(&self, name: &str, range: RangeInclusive<usize>) -> Result<usize, LoadError> {
        self.optional_size(name, range)?.ok_or_else(|| self.absent(name))
    }

    /// A whole number within `range`.
    pub(super) fn optional_size(
        &self,
        name: &str,
        range: RangeInclusive<usize>,
    ) -> Result<Option<usize>, LoadError> {
        let Some(value) = self.get(name) else { return Ok(None) };
        let size = value.as_u64().and_then(|n| usize::try_from(n).ok()).filter(|n| range.contains(n));
        let expected = || format!("a whole number from {} to {}", range.start(), range.end());
        size.map(Some).ok_or_else(|| self.error(name, &expected(), value))
    }

    /// A number above zero.
    pub(super) fn positive(&self, name: &str) -> Result<Option<f64>, LoadError> {
        let Some(value) = self.get(name) else { return Ok(None) };
        let number = value.as_f64().filter(|x| is_positive(*x));
        number.map(Some).ok_or_else(|| self.error(name, "a number above zero", value))
    }

    /// A number above zero, which must be there.
    pub(super) fn required_positive(&self, name: &str) -> Result<f64, LoadError> {
        self.positive(name)?.ok_or_else(|| self.absent(name))
    }

    /// A list of `count` numbers above zero, which must be there.
    pub(super) fn positives(&self, name: &str, count: usize) -> Result<Vec<f64>, LoadError> {
        let value = self.get(name).ok_or_else(|| self.absent(name))?;
        let number = |value: &Value| value.as_f64().filter(|x| is_positive(*x));
        let all: Option<Vec<f64>> = value.as_array().and_then(|all| all.iter().map(number).collect());
        let all = all.filter(|all| all.len() == count);
        all.ok_or_else(|| self.error(name, &format!("{count} numbers above zero"), value))
    }

    /// A list of whole numbers below `end`.
    pub(super) fn indices(&self, name: &str, end: usize) -> Result<Vec<usize>, LoadError> {
        let Some(value) = self.get(name) else { return Ok(Vec::new()) };
        let index = |value: &Value| value.as_u64().and_then(|n| usize::try_from(n).ok()).filter(|n| *n < end);
        let all = value.as_array().and_then(|all| all.iter().map(index).collect());
        all.ok_or_else(|| self.error(name, &format!("a list of whole numbers below {end}"), value))
    }

    /// Refuses a flag that would change results.
    pub(super) fn refuse_flag(&self, name: &str) -> Result<(), LoadError> {
        match self.flag(name)? {
            Some(true) => {
                Err(self.invalid(format!("\"{}{name}\" is not supported for this architecture", self.path)))
            }
            _ => Ok(()),
        }
    }

    /// Refuses every text but the one supported.
    pub(super) fn only_text(&self, name: &str, supported: &str) -> Result<(), LoadError> {
        match self.text(name)? {
            Some(other) if other != supported => {
                let path = self.path;
                let reason = format!("\"{path}{name}\" {other:?} is not supported; supported: {supported:?}");
                Err(self.invalid(reason))
            }
            _ => Ok(()),
        }
    }

    /// Refuses every number but the one supported.
    pub(super) fn only_number(&self, name: &str, supported: f64) -> Result<(), LoadError> {
        match self.get(name) {
            Some(value) if value.as_f64() != Some(supported) => {
                Err(self.error(name, &format!("{supported}, the only value supported"), value))
            }
            _ => Ok(()),
        }
    }

    /// A boolean.
    pub(super) fn flag(&self, name: &str) -> Result<Option<bool>, LoadError> {
        let Some(value) = self.get(name) else { return Ok(None) };
        value.as_bool().map(Some).ok_or_else(|| self.error(name, "true or false", value))
    }

    /// A string.
    pub(super) fn text(&self, name: &str) -> Result<Option<&'a str>, LoadError> {
        let Some(value) = self.get(name) else { return Ok(None) };
        value.as_str().map(Some).ok_or_else(|| self.error(name, "a string", value))
    }

    pub(super) fn invalid(&self, reason: impl Into<String>) -> LoadError {
        LoadError::invalid(self.file, reason)
    }

    /// The place of a field in the file, for messages.
    pub(super) fn place(&self, name: &str) -> String {
        format!("\"{}{name}\"", self.path)
    }

    pub(super) fn absent(&self, name: &str) -> LoadError {
        self.invalid(format!("{} is missing", self.place(name)))
    }

    /// Error for the field `name`, which should have been `expected`.
    pub(super) fn error(&self, name: &str, expected: &str, found: &Value) -> LoadError {
        let mut found = found.to_string();
        if found.len() > 60 {
            found = found.chars().take(57).chain("...".chars()).collect();
        }
        self.invalid(format!("\"{}{name}\" must be {expected}, found {found}", self.path))
    }
}

/// Whether a number is above zero, and stays so as f32.
#[expect(clippy::cast_possible_truncation, reason = "asks whether f32 can hold it")]
fn is_positive(x: f64) -> bool {
    let x = x as f32;
    x > 0.0 && x.is_finite()
}
