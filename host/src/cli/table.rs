//! Tables for people: each column is as wide as its widest cell. Cells are escaped, since some come
//! from parsers and servers.

use std::fmt;

use net::printable::Escaped;

/// A table with a header.
pub(super) struct Table<const COLUMNS: usize> {
    rows: Vec<Row<COLUMNS>>,
}

enum Row<const COLUMNS: usize> {
    Cells([String; COLUMNS]),
    /// Row with a first cell and a note in place of all other cells.
    Note(String, String),
}

impl<const COLUMNS: usize> Table<COLUMNS> {
    pub(super) fn new(head: [&str; COLUMNS]) -> Self {
        Self { rows: vec![Row::Cells(head.map(str::to_owned))] }
    }

    pub(super) fn row(&mut self, cells: [String; COLUMNS]) {
        self.rows.push(Row::Cells(cells.map(|cell| Escaped(cell).to_string())));
    }

    /// Adds a row whose first cell is `of`; `note` takes the place of the other cells.
    pub(super) fn note(&mut self, of: &str, note: &str) {
        self.rows.push(Row::Note(Escaped(of).to_string(), Escaped(note).to_string()));
    }

    fn widths(&self) -> [usize; COLUMNS] {
        let mut widths = [0; COLUMNS];
        for row in &self.rows {
            match row {
                Row::Cells(cells) => {
                    for (width, cell) in widths.iter_mut().zip(cells) {
                        *width = (*width).max(cell.chars().count());
                    }
                }
                Row::Note(of, _) => widths[0] = widths[0].max(of.chars().count()),
            }
        }
        widths
    }
}

impl<const COLUMNS: usize> fmt::Display for Table<COLUMNS> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let widths = self.widths();
        for row in &self.rows {
            let line = match row {
                Row::Cells(cells) => {
                    let padded = cells.iter().zip(widths).map(|(cell, width)| format!("{cell:width$}"));
                    padded.collect::<Vec<_>>().join("  ")
                }
                Row::Note(of, note) => format!("{of:width$}  {note}", width = widths[0]),
            };
            writeln!(f, "{}", line.trim_end())?;
        }
        Ok(())
    }
}
