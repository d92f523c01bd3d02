//! Warnings of request fields and values that were ignored: short lines for the log and a response header.

use super::fields::{self, Support, Tables};
use super::json::Object;
use crate::printable::printable;

/// Most lines of one request; further lines are dropped.
const MAX_WARNINGS: usize = 16;

/// Collects a request's warnings; each line is printable ASCII, so that it may stand in a header.
#[derive(Debug, Default)]
pub(crate) struct Warnings(Vec<String>);

impl Warnings {
    /// A warning for each field of `body` that is missing in `tables`, or is marked `Warned` there.
    pub(crate) fn of_fields(body: &Object<'_>, tables: Tables) -> Self {
        let mut warnings = Self::default();
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

    /// Adds a line once. It may hold names from the request only through [`printable`].
    pub(crate) fn add(&mut self, line: impl Into<String>) {
        let line = line.into();
        if self.0.len() < MAX_WARNINGS && !self.0.contains(&line) {
            self.0.push(line);
        }
    }

    /// The collected lines.
    pub(crate) fn into_lines(self) -> Vec<String> {
        self.0
    }
}
