//! Tables that describe a format: `response_template` of a model's `tokenizer_config.json` (version 1), as Hugging Face transformers reads it,
//! as far as it can be followed while text arrives. The parser `response-template` follows it.
//!
//! Invariant: what can't be followed is refused here, by name, in one line.
//! `defaults`, `optional` and `join` say nothing about where bytes go: each region is an item of its own, and the generation prompt goes
//! through the same delimiters as the output. `repeats` and the start anchor count for grammars ([`Table::constrain`]).

use crate::{Route, Trim};

mod delimiter;
mod grammar;
mod pattern;
mod read;
mod watch;

pub use delimiter::{Delimiter, Markers};
pub use pattern::{Match, Pattern, Piece, parse};
pub use watch::{Found, Meaning, Place, Within};

/// What a table says.
#[derive(Debug, Default)]
pub struct Table {
    /// Its fields, by name.
    pub fields: Vec<Field>,
    /// Field that text outside the others belongs to.
    pub implicit: Option<usize>,
    /// Field in which the message begins.
    pub first: Option<usize>,
    /// The markers that its delimiters need.
    pub markers: Markers,
    /// What stands before the message, in the generation prompt, where it begins with what may be a token.
    pub anchors: Vec<Delimiter>,
    /// The same where it is plain text.
    plain_anchors: Vec<Pattern>,
    /// Whether it is a pattern that can't be followed.
    is_anchored_somehow: bool,
    /// Whose white space it drops.
    pub trim: Trim,
}

/// A region of the answer.
#[derive(Debug)]
pub struct Field {
    /// What stands in it.
    pub kind: Kind,
    /// What opens it.
    pub open: Vec<Delimiter>,
    /// What closes it.
    pub close: Vec<Delimiter>,
    /// Whether there may be several such regions.
    pub repeats: bool,
}

/// What stands in a region.
#[derive(Debug)]
pub enum Kind {
    /// The message.
    Content,
    /// Reasoning.
    Reasoning,
    /// Calls that are JSON objects.
    Objects {
        /// Key of the name.
        name: String,
        /// Key of the arguments.
        arguments: String,
        /// Whether they stand in a list.
        listed: bool,
    },
    /// Calls whose name stands in the opening delimiter: their body is the arguments, JSON or parameters.
    Named(Option<Parameter>),
}

/// How a parameter is written.
#[derive(Debug)]
pub struct Parameter {
    /// What begins it; its group is the key.
    pub key: Delimiter,
    /// What ends its value.
    pub end: Vec<Delimiter>,
    /// Whether the format sets its value off with white space.
    pub spaced: bool,
}

impl Kind {
    /// Whether it is text that goes out as it is.
    pub fn is_text(&self) -> bool {
        matches!(self, Self::Content | Self::Reasoning)
    }

    /// Where its text goes.
    pub fn route(&self) -> Route {
        match self {
            Self::Content => Route::Content,
            Self::Reasoning => Route::Reasoning,
            Self::Objects { .. } | Self::Named(_) => Route::Drop,
        }
    }
}
