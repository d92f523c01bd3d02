//! The extension of the Python package `sluice-parsers`: parsers in their sandbox and the turns that
//! come of them. What Python can do itself, such as looking at a tokenizer, is in
//! `python/sluice_parsers`.
//!
//! Python's process isn't ours: no signal is handled, forked children go on, and the interpreter is
//! let go where a call may take long. No panic is left to Python but as an exception.
#![expect(clippy::needless_pass_by_value, reason = "PyO3 makes owned values of arguments")]

mod deltas;
mod errors;
mod items;
mod parser;
mod stream;

/// The extension's module.
#[pyo3::pymodule]
mod _native {
    use pyo3::prelude::*;

    #[pymodule_export]
    use super::deltas::Delta;
    #[pymodule_export]
    use super::errors::{AlignmentError, ParserError};
    #[pymodule_export]
    use super::items::{Item, Turn};
    #[pymodule_export]
    use super::parser::{Parser, load, names, test};
    #[pymodule_export]
    use super::stream::{BoundParser, StartValues, Stream};

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("TABLE_PARSER", parsers::shipped::TABLE_PARSER)?;
        module.add("TABLE_OPTION", parsers::TABLE_OPTION)
    }
}
