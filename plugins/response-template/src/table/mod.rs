//! Tables that describe a format: `response_template` of a model's `tokenizer_config.json` (version 1), as Hugging Face transformers reads it,
//! as far as it can be followed while text arrives. The parser `response-template` follows it.
//!
//! Invariant: what can't be followed is refused here, by name, in one line.
//! `defaults`, `optional` and `join` say nothing about where bytes go: each region is an item of its own, and the generation prompt goes
//! through the same delimiters as the output. `repeats` and the start anchor count for grammars ([`Table::constrain`]).

use parser_sdk::{Route, Trim};

mod delimiter;
mod grammar;
mod pattern;
mod read;
mod watch;

pub(crate) use delimiter::{Delimiter, Markers};
pub(crate) use pattern::{Match, Pattern, Piece, parse};
pub(crate) use watch::{Found, Meaning, Place, Within};

/// What a table says.
#[derive(Debug, Default)]
pub(crate) struct Table {
    /// Its fields, by name.
    pub(crate) fields: Vec<Field>,
    /// Field that text outside the others belongs to.
    pub(crate) implicit: Option<usize>,
    /// Field in which the message begins.
    pub(crate) first: Option<usize>,
    /// The markers that its delimiters need.
    pub(crate) markers: Markers,
    /// What stands before the message, in the generation prompt, where it begins with what may be a token.
    pub(crate) anchors: Vec<Delimiter>,
    /// The same where it is plain text.
    plain_anchors: Vec<Pattern>,
    /// Whether it is a pattern that can't be followed.
    is_anchored_somehow: bool,
    /// Whose white space it drops.
    pub(crate) trim: Trim,
}

/// A region of the answer.
#[derive(Debug)]
pub(crate) struct Field {
    /// What stands in it.
    pub(crate) kind: Kind,
    /// What opens it.
    pub(crate) open: Vec<Delimiter>,
    /// What closes it.
    pub(crate) close: Vec<Delimiter>,
    /// Whether there may be several such regions.
    pub(crate) repeats: bool,
}

/// What stands in a region.
#[derive(Debug)]
pub(crate) enum Kind {
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
pub(crate) struct Parameter {
    /// What begins it; its group is the key.
    pub(crate) key: Delimiter,
    /// What ends its value.
    pub(crate) end: Vec<Delimiter>,
    /// Whether the format sets its value off with white space.
    pub(crate) spaced: bool,
}

impl Kind {
    /// Whether it is text that goes out as it is.
    pub(crate) fn is_text(&self) -> bool {
        matches!(self, Self::Content | Self::Reasoning)
    }

    /// Where its text goes.
    pub(crate) fn route(&self) -> Route {
        match self {
            Self::Content => Route::Content,
            Self::Reasoning => Route::Reasoning,
            Self::Objects { .. } | Self::Named(_) => Route::Drop,
        }
    }
}
