//! Writes Lark, in llguidance's dialect, of what a request demands ([`DemandedTurn`]): rules,
//! quoted text and markers ([`Lark`]), JSON by schemas ([`json`]), and parameters one by one
//! ([`parameter_list`]).
//!
//! What such a grammar means stands in `docs/grammars.md`. Invariant: schemas, names and grammars
//! are request data: bounded, parsed and written anew, so that nothing in them is read as grammar.
//! What can't be expressed is an error that names it where the tool is strict, never a weaker
//! constraint.

mod arguments;
mod closed;
mod demanded;
mod digits;
mod input;
mod parameters;
mod patterns;
mod safe;
mod schema;
#[cfg(test)]
pub(crate) mod tests;
mod text;
mod writer;

pub(crate) use arguments::ArgumentsRule;
pub(crate) use demanded::{Callable, DemandedTurn, InputForm};
pub use input::response_text;
pub(crate) use input::{Part, definition, is_terminal};
pub(crate) use parameters::{DeclaredParameter, ParameterList, Spelling, Value, parameter_list};
pub(crate) use safe::{may_be, without};
pub use schema::response_json;
pub(crate) use schema::{ANNOTATIONS, Follow, prepared};
pub(crate) use text::{Forbidden, escape};
pub(crate) use writer::{Lark, Markers, json, literal};
