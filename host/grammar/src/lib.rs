//! Grammars of constrained turns: a format's [`GrammarTemplate`], completed for what a request
//! demands ([`Demand`]) and for a tokenizer.
//!
//! A template is one text that says how a format spells a turn, with holes for what differs between
//! requests: the tools and their schemas, the tool choice, the answer's schema, and which markers
//! are tokens. It is read and checked once, when its parser is loaded;
//! [`GrammarTemplate::compose`] fills it for each request. The result is a grammar in llguidance's
//! dialect of Lark. The page `docs/grammar-templates.md` is the reference for authors.
//!
//! Invariant: a template comes from a parser and a request from a client, so neither is trusted.
//! Both are read word by word and written anew, names of either can't reach the other's, and what
//! isn't understood is refused in one line.
#![doc = include_str!("../DESIGN.md")]

mod compose;
mod demand;
mod lark;
mod markers;
mod template;

pub use compose::{ConstraintError, MarkerTokens};
pub use demand::{CallForm, Demand, TextGrammar, ToolChoice, ToolDefinition};
pub use lark::{response_json, response_text};
pub use markers::token_pieces;
pub use template::{GrammarTemplate, TemplateError};

/// Most bytes of a grammar: room for many tools with schemas of the largest size. Composing stops
/// there.
pub const GRAMMAR_BYTES: usize = 4 << 20;
