//! Grammars of constrained turns, for [`crate::Parser::constrain`]: what a request demands ([`Turn`]), and the Lark text
//! (llguidance's dialect) that says it in a format's own words ([`Lark`], [`literal`], [`json`], [`parameters`]).
//!
//! What such a grammar means, for hosts and for authors:
//!
//! - It describes the **whole turn, the generation prompt that opened it included**: the host replays the prompt through its
//!   matcher as it does through the parser. What a template may have written (`<|im_start|>assistant\n`, `<think>\n`) is
//!   therefore optional at its beginning.
//! - **Markers are rules which the host defines**: `marker_N` ([`Lark::marker`]) stands for marker N of the descriptor. The host
//!   appends one line for each, `marker_2: <[151657]>` where its tokenizer has the literal as one added token and
//!   `marker_2: "<tool_call>"` where it hasn't, so the same grammar serves both. `token_N` is the same and has to be a token:
//!   with a tokenizer that hasn't it, the host refuses the request ([`Markers::Tokens`]).
//! - **The turn's end isn't part of the grammar**: where the grammar may end, the host allows its end-of-sequence ids and the descriptor's
//!   `stops`. These have to be tokens of their own: JSON strings are free text, and could spell them.
//! - **Free text never spells a marker**, whether markers are tokens or text ([`Lark::text`]).
//! - **A custom tool's grammar** is followed where the format writes its input as raw text ([`Turn::with_inputs`], [`Input`]); in
//!   formats that write it as a JSON string the input is free.
//!
//! Schemas, names and grammars are request data: bounded, parsed and written anew, so that nothing in them is read as
//! grammar. What can't be expressed is an error that names it where the tool is strict, never a weaker constraint.

mod arguments;
mod closed;
mod digits;
mod input;
mod lark;
mod parameters;
mod patterns;
mod safe;
mod schema;
mod text;
mod turn;

/// Error of a parser without a grammar, for a request that demands one.
pub(crate) const NO_GRAMMAR: &str =
    "this parser has no grammar: tool_choice, strict tools and response schemas can't be enforced";

pub use arguments::{ArgumentsRule, keyed_json, named_json};
pub use input::{Definition, Input, Part, definition, is_terminal, response_text};
pub use lark::{Lark, Markers, json, literal};
pub use parameters::{ParameterList, Spelling, Value, parameter_list, parameters};
pub use safe::without;
pub use schema::{ANNOTATIONS, Follow, prepared, response_json};
pub use text::Forbidden;
pub(crate) use turn::is_free;
pub use turn::{Answer, Callable, Turn};
