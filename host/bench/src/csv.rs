//! Tables as comma-separated values (RFC 4180), so that any program can read them.

use std::fmt::{Display, Write};

/// A table as text, header first.
#[derive(Debug, Clone)]
pub struct Csv {
    text: String,
    columns: usize,
}

impl Csv {
    /// Makes a table with these columns.
    pub(super) fn new(columns: &[&str]) -> Self {
        let mut csv = Self { text: String::new(), columns: columns.len() };
        csv.row(columns.iter().map(|column| column as &dyn Display));
        csv
    }

    /// Appends a row.
    ///
    /// # Panics
    /// If the number of cells differs from the header's.
    pub(super) fn row<'a>(&mut self, cells: impl IntoIterator<Item = &'a dyn Display>) {
        let mut count = 0;
        for cell in cells {
            if count > 0 {
                self.text.push(',');
            }
            count += 1;
            self.cell(cell);
        }
        assert_eq!(count, self.columns, "a row has a cell for each column");
        self.text.push('\n');
    }

    fn cell(&mut self, cell: &dyn Display) {
        let from = self.text.len();
        let _ = write!(self.text, "{cell}");
        if self.text[from..].contains([',', '"', '\n', '\r']) {
            let quoted = self.text[from..].replace('"', "\"\"");
            self.text.truncate(from);
            let _ = write!(self.text, "\"{quoted}\"");
        }
    }
}

impl Display for Csv {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_with_signs_of_the_format_are_quoted() {
        let mut csv = Csv::new(&["a", "b"]);
        csv.row([&1.5 as &dyn Display, &"x"]);
        csv.row([&"cpu, 2 threads" as &dyn Display, &"say \"x\"\n"]);
        assert_eq!(csv.to_string(), "a,b\n1.5,x\n\"cpu, 2 threads\",\"say \"\"x\"\"\n\"\n");
    }
}
