//! Declarations of request fields: one table per endpoint lists the fields, their shapes, and what
//! the server does with each. Refusals, warnings, the `OpenAPI` document and the tables in
//! `docs/api/` all come from these tables. Readers read by the same constants
//! ([`super::json::Field`]).

pub(crate) mod sampling;
pub(crate) mod shape;

pub(crate) use super::json::{Field, Id, JsonObject, List, OneOf, Required, UpTo, Value};
pub(crate) use sampling::*;
pub(crate) use shape::*;

/// The tables of an endpoint: its own, and those it shares.
pub(crate) type Tables = &'static [&'static [Row]];

/// All fields of `tables`.
pub(crate) fn all(tables: Tables) -> impl Iterator<Item = &'static Row> {
    tables.iter().copied().flatten()
}

/// Declares a table. Each entry is a new field (`NAME: TYPE = FIELD;`), which becomes a constant,
/// or a field of elsewhere or a row (`FIELD;`). The table has rows of its own, so the compiler
/// reports a new field that no reader reads as dead code.
macro_rules! table {
    (@[$vis:vis $table:ident] [$($row:expr,)*]) => {
        $vis const $table: &[Row] = &[$($row.row()),*];
    };
    (@[$vis:vis $table:ident] $rows:tt $name:ident: $type:ty = $field:expr; $($rest:tt)*) => {
        $vis const $name: $type = $field;
        table!(@[$vis $table] $rows { const FIELD: $type = $field; FIELD }; $($rest)*);
    };
    (@[$vis:vis $table:ident] [$($row:expr,)*] $field:expr; $($rest:tt)*) => {
        table!(@[$vis $table] [$($row,)* $field,] $($rest)*);
    };
    ($vis:vis $table:ident { $($entries:tt)* }) => {
        table!(@[$vis $table] [] $($entries)*);
    };
}
pub(crate) use table;
