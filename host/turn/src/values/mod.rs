//! Values of calls' arguments: what a tool's schema says of its parameters, and what a value's text
//! becomes by that.
//!
//! The turn writes the values of [`contract::Op::Parameter`] by it, and grammars list values by it,
//! so that what a grammar allows is read as what the schema lists.

mod coerce;
mod schema;

pub use coerce::{Coerced, coerce};
pub(crate) use coerce::{is_list_alone, may_be_typed};
pub use schema::{Schema, any_tool, tool, type_of};
