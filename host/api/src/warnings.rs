//! Warnings of request fields and values that were ignored: short lines for the log and a response
//! header.

use super::fields::{self, Support, Tables};
use super::json::{Field, Object, Repeated};
use model::printable::printable;

/// Most lines of one request; further lines are dropped.
const MAX_WARNINGS: usize = 16;

/// Collects a request's warnings; each line is printable ASCII, so that it may stand in a header.
#[derive(Debug, Default)]
pub(crate) struct Warnings {
    lines: Vec<String>,
    /// Fields that the body repeats, as far as its objects were opened.
    repeated: Repeated,
}

impl Warnings {
    /// A warning for each field of `body` that is missing in `tables`, or is marked `Warned` there.
    pub(crate) fn of_fields(body: &Object<'_>, tables: Tables) -> Self {
        let mut warnings = Self { repeated: body.repeated(), ..Self::default() };
        for (name, value) in body.fields() {
            match fields::all(tables).find(|field| field.name == name) {
                None => warnings.add(format!("unknown field {} ignored", printable(name))),
                Some(field) if field.support == Support::Warned && !value.is_null() => {
                    warnings.add(format!("{name} ignored: it is not there"));
                }
                Some(_) => {}
            }
        }
        warnings
    }

    /// Adds that a field was ignored, and the field's remark as the reason.
    pub(crate) fn ignored<T: Copy>(&mut self, object: &Object<'_>, field: Field<T>) {
        self.add(format!("{} ignored: {}", object.at(field), field.row().note));
    }

    /// Adds a line once. It may hold names from the request only through [`printable`].
    pub(crate) fn add(&mut self, line: impl Into<String>) {
        let line = line.into();
        if self.lines.len() < MAX_WARNINGS && !self.lines.contains(&line) {
            self.lines.push(line);
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
