//! What of a request was left aside without refusing it: short lines for the log and a response header.

/// Lines beyond this many are dropped: nobody reads more.
const MAX_WARNINGS: usize = 16;
/// Characters of a name that came from the request.
const MAX_NAME: usize = 64;

/// Gathers warnings; each line is printable ASCII, so that it may stand in a header.
#[derive(Debug, Default)]
pub(crate) struct Warnings(Vec<String>);

impl Warnings {
    /// One for each field that isn't among `known`.
    pub(crate) fn of_unknown_fields<'a>(fields: impl Iterator<Item = &'a String>, known: &[&str]) -> Self {
        let mut warnings = Self::default();
        for name in fields.filter(|name| !known.contains(&name.as_str())) {
            warnings.add(format!("unknown field {} ignored", printable(name)));
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

    /// The lines.
    pub(crate) fn into_lines(self) -> Vec<String> {
        self.0
    }
}

/// A name of the request, cut short and without anything but plain ASCII.
pub(crate) fn printable(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_graphic() && !matches!(c, '"' | '\\' | ',') { c } else { '?' };
    name.chars().take(MAX_NAME).map(plain).collect()
}
