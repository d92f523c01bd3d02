//! A template that is being written, line by line.

use super::Table;

/// Shapes of a turn that have calls.
pub(super) const CALLS: [&str; 3] = ["forced", "free", "either"];

/// A template being written.
pub(super) struct Writer<'a> {
    pub(super) table: &'a Table,
    pub(super) text: String,
    /// Shapes that the table hasn't: each has a line with the first reason that was found.
    refused: Vec<&'static str>,
}

impl<'a> Writer<'a> {
    pub(super) fn new(table: &'a Table) -> Self {
        Self { table, text: String::new(), refused: Vec::new() }
    }

    /// A line, with the next of `parts` in place of each `$`.
    #[inline(never)]
    pub(super) fn line(&mut self, line: &str, parts: &[&str]) {
        self.text.push_str(&filled(line, parts));
        self.text.push('\n');
    }

    pub(super) fn refuse(&mut self, shapes: &[&'static str], why: &str) {
        for &shape in shapes {
            if !self.refused.contains(&shape) {
                self.refused.push(shape);
                self.line("%refuse $ $", &[shape, why]);
            }
        }
    }
}

/// `text` with the next of `parts` in place of each `$`.
#[inline(never)]
pub(super) fn filled(text: &str, parts: &[&str]) -> String {
    let (mut filled, mut parts) = (String::new(), parts.iter());
    for char in text.chars() {
        match char {
            '$' => filled.push_str(parts.next().unwrap_or(&"")),
            _ => filled.push(char),
        }
    }
    filled
}
