//! Writes Lark: rules, quoted text, markers, JSON schemas.

use std::fmt::Write as _;

use serde_json::Value;

use super::text::Forbidden;
use crate::GRAMMAR_BYTES;

/// Which of a grammar's markers are tokens, and which are text: neither free text nor JSON among
/// the markers spells a marker that is text.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Markers<'a> {
    /// Indices of those that are tokens.
    pub(crate) tokens: &'a [u32],
    /// Whether all that the grammar names have to be tokens.
    pub(crate) have_to_be: bool,
    /// Regular expressions of texts that a message may have though they begin with a marker: the
    /// format doesn't go on that way.
    pub(crate) quoted: &'a [String],
}

/// A grammar being written. Rules that [`Lark::start`] doesn't reach cost nothing.
#[derive(Debug)]
pub(crate) struct Lark {
    literals: Vec<String>,
    /// Name of the rules of markers, without the index: `marker` or `token`.
    marker: &'static str,
    /// Indices of the markers that text can spell.
    spelt: Vec<usize>,
    /// Indices of the markers that count inside a message, so that text must not spell them.
    active: Vec<usize>,
    rules: String,
}

/// Lark expression of exactly this text.
pub(crate) fn literal(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for char in text.chars() {
        match char {
            '"' | '\\' => quoted.extend(['\\', char]),
            _ if char.is_ascii_control() => {
                let _ = write!(quoted, "\\u{:04x}", u32::from(char));
            }
            _ => quoted.push(char),
        }
    }
    quoted.push('"');
    quoted
}

/// Lark expression of JSON by this schema.
pub(crate) fn json(schema: &Value) -> String {
    format!("%json {schema}")
}

impl Lark {
    /// Begins a grammar for a parser whose descriptor has these literals. Of these only the markers
    /// `active` mean something inside a message. It has the rules
    ///
    /// - `text`: any text, perhaps empty, that spells no active marker;
    /// - `gap`: white space between parts of the turn, of 1 to 8 characters;
    /// - `key`: the key of any parameter;
    /// - `INTEGER` and `NUMBER`, as long as turns read them.
    ///
    /// # Errors
    /// The markers are such that no text can be kept from spelling them.
    pub(crate) fn new<S: AsRef<str>>(
        literals: &[S],
        markers: Markers<'_>,
        active: Vec<usize>,
    ) -> Result<Self, String> {
        let is_token = |index: &usize| markers.tokens.iter().any(|token| *token as usize == *index);
        let mut lark = Self {
            literals: literals.iter().map(|literal| literal.as_ref().to_owned()).collect(),
            marker: if markers.have_to_be { "token" } else { "marker" },
            spelt: (0..literals.len()).filter(|index| !is_token(index)).collect(),
            active: active.clone(),
            rules: String::new(),
        };
        lark.text_or("text", active, markers.quoted)?;
        lark.rule("gap", r"/[ \t\r\n]{1,8}/");
        lark.rule("key", r#"/[^<>="\s]{1,64}/"#);
        lark.rule("INTEGER", r"/-?(?:0|[1-9][0-9]{0,18})/");
        lark.rule("NUMBER", r"/-?(?:0|[1-9][0-9]{0,15})(?:\.[0-9]{1,17})?(?:[eE][-+]?[0-9]{1,2})?/");
        Ok(lark)
    }

    /// Adds lines as they are.
    pub(super) fn lines(&mut self, lines: &str) {
        self.rules += lines;
    }

    /// The literals of these markers.
    pub(super) fn literals_of<'a>(&'a self, markers: &'a [usize]) -> impl Iterator<Item = &'a str> {
        markers.iter().map(|index| self.literals[*index].as_str())
    }

    /// The rule that stands for marker `index` of the descriptor.
    pub(crate) fn marker(&self, index: usize) -> String {
        format!("{}_{index}", self.marker)
    }

    /// Checks that the grammar can still grow: what a request and a template say can be multiplied
    /// by each other.
    ///
    /// # Errors
    /// It has more than [`GRAMMAR_BYTES`].
    pub(crate) fn check_size(&self, more: usize) -> Result<(), String> {
        if self.rules.len() + more <= GRAMMAR_BYTES {
            return Ok(());
        }
        Err(format!("its grammar has more than {GRAMMAR_BYTES} bytes, the most that are allowed"))
    }

    /// Defines a rule. Names are lower case; `body` is Lark.
    pub(crate) fn rule(&mut self, name: &str, body: &str) {
        let _ = writeln!(self.rules, "{name}: {body}");
    }

    /// Defines a rule of text that spells none of the markers with these indices.
    ///
    /// # Errors
    /// The markers are such that no text can be kept from spelling them.
    pub(crate) fn text(
        &mut self,
        name: &str,
        markers: impl IntoIterator<Item = usize>,
    ) -> Result<(), String> {
        self.text_or(name, markers, &[])
    }

    /// [`Self::text`], which may also have texts of these regular expressions.
    fn text_or(
        &mut self,
        name: &str,
        markers: impl IntoIterator<Item = usize>,
        others: &[String],
    ) -> Result<(), String> {
        let forbidden = self.forbidden(markers)?;
        if forbidden.is_empty() {
            self.rule(name, r"/(?s:.+)/?");
            return Ok(());
        }
        let terminal = name.to_ascii_uppercase();
        let _ = writeln!(self.rules, "{terminal}_PIECE: /{}/", forbidden.piece());
        let _ = writeln!(self.rules, "{terminal}_TAIL: /{}/", forbidden.tail());
        let mut pieces = format!("{terminal}_PIECE");
        for (at, other) in others.iter().enumerate() {
            let _ = writeln!(self.rules, "{terminal}_OTHER_{at}: /{other}/");
            let _ = write!(pieces, " | {terminal}_OTHER_{at}");
        }
        self.rule(name, &format!("({pieces})* {terminal}_TAIL?"));
        Ok(())
    }

    /// The grammar of which `body` is the whole turn.
    #[must_use]
    pub(crate) fn start(self, body: &str) -> String {
        format!("start: {body}\n{}", self.rules)
    }

    /// Indices of the markers that a message must not spell.
    pub(super) fn active(&self) -> impl Iterator<Item = usize> {
        self.active.iter().copied()
    }

    /// The literals of these markers, to be kept out of text.
    ///
    /// # Errors
    /// No text can be kept from spelling them.
    pub(crate) fn forbidden(&self, markers: impl IntoIterator<Item = usize>) -> Result<Forbidden, String> {
        let spelt = markers.into_iter().filter(|index| self.spelt.contains(index));
        Forbidden::new(spelt.map(|index| self.literals[index].as_str()))
    }
}
