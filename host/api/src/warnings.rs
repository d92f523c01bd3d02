//! Check of requests against the tables of fields: what nothing reads is refused, ignored with a
//! warning, or let pass, as its row says. Warnings are short lines for the log and the client.
//!
//! Invariant: objects in a request's fields are checked with the body, those in lists by whoever
//! reads the list. So each object is opened once.

use super::error::ApiError;
use super::fields::{Kinds, Row, Shape, Support, TYPE, Tables};
use super::json::{JsonObject, Path, Repeated, Value};
use net::printable::printable;

/// Most warnings of one request; further lines are dropped.
const MAX_WARNINGS: usize = 16;
/// The field by which kinds are told apart.
const OF_KIND: &[Row] = &[TYPE.row()];

/// Collects a request's warnings; each line is printable ASCII, so that it may stand in a header.
#[derive(Debug, Default)]
pub(crate) struct Warnings {
    lines: Vec<String>,
    /// Fields that the body repeats, as far as its objects were opened.
    repeated: Repeated,
}

impl Warnings {
    /// Checks the fields of `body`, and those of objects in them.
    ///
    /// # Errors
    /// 400 where a field is there that is refused.
    pub(crate) fn of_fields(body: &JsonObject<'_>, tables: Tables) -> Result<Self, ApiError> {
        let mut warnings = Self { repeated: body.repeated(), ..Self::default() };
        warnings.fields(body, tables)?;
        Ok(warnings)
    }

    /// Checks the fields of an object that may have those of `tables`.
    ///
    /// # Errors
    /// 400 where a field is there that is refused.
    pub(crate) fn fields(
        &mut self,
        object: &JsonObject<'_>,
        tables: &[&'static [Row]],
    ) -> Result<(), ApiError> {
        for (name, value) in object.fields().filter(|(_, value)| !value.is_null()) {
            let path = object.path.field(name);
            match tables.iter().copied().flatten().find(|row| row.name == name) {
                None => self.add_made(|| format!("unknown field {path} ignored")),
                Some(row) => self.field(row, value, path)?,
            }
        }
        Ok(())
    }

    fn field(&mut self, row: &Row, value: Value<'_>, path: Path<'_>) -> Result<(), ApiError> {
        match row.support {
            Support::Refused(_) if value.is_empty() => {}
            Support::Refused(refusal) => return Err(path.unsupported(row.note).with_code(refusal.code)),
            Support::Warned if matches!(value, Value::Bool(false)) => {}
            Support::Warned => self.add_made(|| format!("{path} ignored: {}", row.note)),
            Support::Ignored => {}
            Support::Supported | Support::InPart(_) => self.inside(&row.shape, value, path)?,
        }
        Ok(())
    }

    /// Checks the fields of an object that a field holds. Its kind is the reader's to refuse.
    fn inside(&mut self, shape: &Shape, value: Value<'_>, path: Path<'_>) -> Result<(), ApiError> {
        let Value::Object(_) = value else { return Ok(()) };
        match shape {
            Shape::Object(rows) => self.fields(&JsonObject::new(value, path)?, &[rows]),
            Shape::Kinds(kinds) => {
                let kind = value.field(TYPE).and_then(Value::as_str).and_then(|kind| kinds.find(kind));
                let Some(kind) = kind else { return Ok(()) };
                self.fields(&JsonObject::new(value, path)?, &[kind.fields, kinds.common, OF_KIND])
            }
            Shape::Either(shapes) => shapes.iter().try_for_each(|shape| self.inside(shape, value, path)),
            _ => Ok(()),
        }
    }

    /// Checks an object of `kinds` whose type is `kind`. Returns whether it is read.
    ///
    /// # Errors
    /// 400 where such objects, or a field that is there, are refused.
    pub(crate) fn kind(
        &mut self,
        object: &JsonObject<'_>,
        kinds: &'static Kinds,
        kind: &str,
    ) -> Result<bool, ApiError> {
        let Some(known) = kinds.find(kind) else {
            let Some(noun) = kinds.others else { return Err(unknown(object, kind)) };
            self.add_made(|| format!("{noun} of type {} ignored", printable(kind)));
            return Ok(false);
        };
        match known.support {
            Support::Refused(refusal) => {
                let what = format_args!("{kind} is not supported: {}", known.note);
                Err(object.at(TYPE).unsupported(what).with_code(refusal.code))
            }
            Support::Ignored => Ok(false),
            Support::Warned => {
                self.add_made(|| format!("{kind} ignored: {}", known.note));
                Ok(false)
            }
            Support::Supported | Support::InPart(_) => {
                self.fields(object, &[known.fields, kinds.common, OF_KIND])?;
                Ok(true)
            }
        }
    }

    /// Adds a line once. It may hold names from the request only through [`printable`].
    pub(crate) fn add(&mut self, line: impl Into<String>) {
        self.add_made(|| line.into());
    }

    /// Adds a line, which is made only if there is room for it.
    fn add_made(&mut self, make: impl FnOnce() -> String) {
        if self.lines.len() < MAX_WARNINGS {
            let line = make();
            if !self.lines.contains(&line) {
                self.lines.push(line);
            }
        }
    }

    /// The collected lines, and one for each field that was repeated.
    pub(crate) fn into_lines(mut self) -> Vec<String> {
        for path in self.repeated.take() {
            self.add(format!("{path} is given more than once: the last one counts"));
        }
        self.lines
    }
}

/// 400: nothing says what an object of this type means. It may hold a part of the conversation, so
/// it isn't left out.
fn unknown(object: &JsonObject<'_>, kind: &str) -> ApiError {
    let kind = printable(kind);
    let what =
        format_args!("nothing of the type {kind} is known here: send what it says as text, or leave it out");
    object.at(TYPE).invalid(what)
}
