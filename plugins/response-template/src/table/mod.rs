//! Tables that describe a format: `response_template` of a model's `tokenizer_config.json` (version
//! 1), as Hugging Face transformers reads it, restricted to what can be decided while text arrives.
//! The parser `response-template` interprets tables.
//!
//! Invariant: a construct that can't be decided while text arrives is refused here, by name, in one
//! line. `defaults`, `optional` and `join` are ignored, since they don't say where bytes go: each
//! region is an item of its own, and the generation prompt goes through the same delimiters as the
//! output. `repeats` and the start anchor count for grammars ([`Table::template`]).

use parser_sdk::{Route, Trim};

mod active;
mod calls;
mod delimiter;
mod json;
mod named;
mod parameter;
mod pattern;
mod read;
mod regex;
mod search;
mod spelling;
mod template;
mod tokens;
mod watch;
mod writer;

pub(crate) use delimiter::{Delimiter, Markers};
pub(crate) use pattern::{Class, Match, Pattern, Piece, Run, Wait};
pub(crate) use regex::parse;
pub(crate) use search::{Found, Search};
pub(crate) use watch::{Meaning, Place, Within, are_ends};

/// A table that has been read.
#[derive(Debug, Default)]
pub(crate) struct Table {
    /// Fields, in the order of the table's JSON.
    pub(crate) fields: Vec<Field>,
    /// Index of the field without `open`, to which text outside all regions belongs.
    pub(crate) implicit: Option<usize>,
    /// Index of the field whose region is open when the message begins.
    pub(crate) first: Option<usize>,
    /// Markers that the delimiters need.
    pub(crate) markers: Markers,
    /// Whether each marker begins with another, or another with it.
    nested: Vec<bool>,
    /// Alternatives of the start anchor, the text of the generation prompt before the message, that
    /// begin with a possible special token.
    pub(crate) anchors: Vec<Delimiter>,
    /// Headers of regions that the table lacks, like those of its text but for one word, if text
    /// outside all regions belongs to no field.
    pub(crate) headers: Vec<Delimiter>,
    /// Alternatives of the start anchor that begin with plain text.
    plain_anchors: Vec<Pattern>,
    /// Whether the start anchor is a pattern that `parse` refuses.
    has_unsupported_anchor: bool,
    /// Kinds of text that lose white space at their ends.
    pub(crate) trim: Trim,
}

/// A field: one kind of region of the answer.
#[derive(Debug)]
pub(crate) struct Field {
    /// What the region contains.
    pub(crate) kind: Kind,
    /// Delimiters that open the region.
    pub(crate) open: Vec<Delimiter>,
    /// Other spellings of those, which count with a declared name: without the wrapper around the
    /// call, or with other quotes.
    pub(crate) lenient: Vec<Delimiter>,
    /// Delimiters that open the region with an object where the name should stand.
    pub(crate) nameless: Vec<Delimiter>,
    /// Delimiters that close the region.
    pub(crate) close: Vec<Delimiter>,
    /// Whether an answer may have several regions of this field.
    pub(crate) repeats: bool,
}

/// What a region contains.
#[derive(Debug)]
pub(crate) enum Kind {
    /// The message.
    Content,
    /// Reasoning.
    Reasoning,
    /// Calls that are JSON objects.
    Objects {
        /// Keys that lead to the object with the name.
        path: Vec<String>,
        /// Key of the name.
        name: String,
        /// Key of the arguments.
        arguments: String,
        /// Whether the objects stand in a list.
        listed: bool,
    },
    /// A call whose name stands in the opening delimiter. The region contains the arguments:
    /// parameters, or JSON if `None`.
    Named(Option<Parameter>),
    /// A call whose name stands in the opening delimiter. The region contains the arguments as
    /// lines.
    Lines(Lines),
    /// Calls in Python.
    Python,
    /// A call whose name stands in the opening delimiter. The region contains the arguments in a
    /// dialect of JSON.
    Dialect {
        /// Whether keys may be bare words.
        bare_keys: bool,
        /// Delimiters at both ends of strings.
        strings: Vec<(Delimiter, Delimiter)>,
    },
}

/// Spelling of a parameter.
#[derive(Debug, Default)]
pub(crate) struct Parameter {
    /// Delimiters before the value, whose group is the key; the plainest first.
    pub(crate) keys: Vec<Delimiter>,
    /// The same with other quotes around the key.
    pub(crate) lenient_keys: Vec<Delimiter>,
    /// Delimiters that end the value; the plainest first.
    pub(crate) ends: Vec<Delimiter>,
    /// Whether the format has white space before the value.
    pub(crate) spaced: bool,
    /// Whether several values of a parameter that is a list are its items.
    pub(crate) merges: bool,
}

/// Spelling of arguments as lines.
#[derive(Debug, Clone)]
pub(crate) struct Lines {
    /// What ends a line: a marker.
    pub(crate) line: String,
    /// Whether that is a token of the model.
    pub(crate) is_token: bool,
    /// What stands behind a key.
    pub(crate) key: String,
    /// Whether white space around keys and values is markup.
    pub(crate) trims: bool,
}

impl Kind {
    /// Whether the region contains text that goes out unchanged.
    pub(crate) fn is_text(&self) -> bool {
        matches!(self, Self::Content | Self::Reasoning)
    }

    /// Route of text in the region; `Route::Drop` in a region of calls.
    pub(crate) fn route(&self) -> Route {
        match self {
            Self::Content => Route::Content,
            Self::Reasoning => Route::Reasoning,
            _ => Route::Drop,
        }
    }
}

impl Table {
    /// The table where these markers are tokens.
    pub(crate) fn with_tokens(mut self, tokens: &[u32]) -> Self {
        let is_token = |literal: &str| {
            let mut indices = (0..).zip(&self.markers.0).filter(|(_, marker)| ***marker == *literal);
            indices.any(|(index, _)| tokens.contains(&index))
        };
        for field in &mut self.fields {
            if let Kind::Lines(lines) = &mut field.kind {
                lines.is_token = is_token(&lines.line);
            }
        }
        self
    }

    /// The marker that ends this field and no other, if one does.
    fn own_end(&self, index: usize) -> Option<usize> {
        let [Delimiter { trigger, .. }] = &self.fields[index].close[..] else { return None };
        let mut others = self.fields.iter().enumerate().filter(|(other, _)| *other != index);
        let is_shared = others.any(|(_, field)| field.close.iter().any(|close| close.trigger == *trigger));
        (!is_shared).then_some(*trigger)
    }
}
