//! Exceptions of the package.

use pyo3::create_exception;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

create_exception!(
    sluice_parsers,
    ParserError,
    PyValueError,
    "A parser can't be found, loaded, bound, started or tested."
);
create_exception!(sluice_parsers, AlignmentError, PyValueError, "Token ids and text don't fit together.");

/// The exception for what can't be used.
pub(super) fn refused(error: impl ToString) -> PyErr {
    ParserError::new_err(error.to_string())
}
