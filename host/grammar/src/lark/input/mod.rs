//! Grammars of text, as requests bring them for inputs of custom tools and for answers: Lark or a
//! regular expression, made part of a format's own grammar where the format writes such a text raw.
//!
//! Invariant: a definition is read word by word and written anew ([`Definition`]), and what isn't
//! understood is refused. So it can't reach the rules around it, name a token, or mean something
//! else than it says.
//!
//! Three ways in. Where a *token* ends the input, the definition stands as a nested grammar, with
//! names, imports and `%ignore` of its own. Where *text* ends it, llguidance's lexer, which takes
//! the longest lexeme and never goes back, would read the end as part of the input: there the whole
//! input is one terminal with its end behind it, which spells no marker. Such a definition can't be
//! recursive. Where the input is a *string of JSON*, the definition is one regular expression, which
//! isn't recursive either.

mod definition;
mod lexemes;
mod pattern;
mod reader;
mod regex;

use super::writer::{Lark, literal};
use crate::{TextGrammar, ToolDefinition};
pub(crate) use definition::{Definition, Part, is_terminal};
use lexemes::lexemes;

/// Greatest length of a definition, in bytes.
const BYTES: usize = 64 << 10;

/// The grammar of a custom tool's input, or of an answer.
#[derive(Debug)]
pub(crate) struct Input {
    /// What the grammar is of, for errors: a tool or the response.
    of: String,
    rule: String,
    definition: Definition,
}

impl Input {
    /// The grammar of a custom tool, if it has one; `index` keeps the names of its rules apart from
    /// other tools'.
    pub(super) fn of(tool: &ToolDefinition, index: usize) -> Result<Option<Self>, String> {
        let Some(grammar) = &tool.grammar else { return Ok(None) };
        Self::new(grammar, format!("tool {:?}", tool.name), format!("input_{index}")).map(Some)
    }

    /// The grammar of an answer.
    pub(super) fn answer(grammar: &TextGrammar) -> Result<Self, String> {
        Self::new(grammar, "the response".into(), "answer".into())
    }

    fn new(grammar: &TextGrammar, of: String, rule: String) -> Result<Self, String> {
        let definition = match grammar.syntax.as_str() {
            _ if grammar.definition.len() > BYTES => Err(format!("it has more than {BYTES} bytes")),
            "lark" => lark(&grammar.definition),
            "regex" => Definition::of_regex(&grammar.definition),
            other => Err(format!("its syntax {other:?} is neither lark nor regex")),
        };
        match definition {
            Ok(definition) => Ok(Self { of, rule, definition }),
            Err(error) => Err(format!("the grammar of {of}: {error}")),
        }
    }

    /// The grammar as a Lark expression: a nested grammar.
    pub(super) fn nested(&self) -> String {
        format!("%lark {{\n{}}}", self.definition.nested())
    }

    /// The grammar as a regular expression.
    ///
    /// # Errors
    /// One line naming the tool: what can't be followed in a string of JSON.
    pub(super) fn pattern(&self) -> Result<String, String> {
        self.definition.pattern().map_err(|error| format!("the grammar of {}: {error}", self.of))
    }

    /// The rule that stands for the input once [`Lark::input`] or [`Lark::input_before`] has
    /// defined it.
    pub(crate) fn rule(&self) -> &str {
        &self.rule
    }
}

/// Lark expression of a text by a response's grammar, where nothing needs to be kept out of that
/// text.
///
/// # Errors
/// What is wrong with the grammar.
pub fn response_text(grammar: &TextGrammar) -> Result<String, String> {
    Input::answer(grammar).map(|input| input.nested())
}

/// Reads a definition in Lark. Whether its names are defined isn't checked.
///
/// # Errors
/// What isn't understood, and its line.
pub(crate) fn definition(text: &str) -> Result<Definition, String> {
    reader::read(&lexemes(text)?)
}

/// Reads and checks a definition in Lark.
fn lark(text: &str) -> Result<Definition, String> {
    let definition = definition(text)?;
    definition.check()?;
    Ok(definition)
}

impl Lark {
    /// Defines the rule of an input that ends at a token.
    pub(crate) fn input(&mut self, input: &Input) {
        self.rule(&input.rule, &input.nested());
    }

    /// Defines the rule of an input together with the marker `end` behind it, which is text. The
    /// input spells none of `markers`.
    ///
    /// # Errors
    /// The definition is recursive or has `%ignore`.
    pub(crate) fn input_before(
        &mut self,
        input: &Input,
        end: usize,
        markers: &[usize],
    ) -> Result<(), String> {
        let prefix = input.rule.to_ascii_uppercase();
        let error = |error| format!("the grammar of {}: {error}", input.of);
        self.lines(&input.definition.flat(&prefix).map_err(error)?);
        let start = definition::flat_name(&prefix, "start");
        let spells: Vec<String> = self.literals_of(markers).map(literal).collect();
        let spells = spells.join(" | ");
        self.rule(&format!("{prefix}_SPELLS"), &format!("/(?s:.*)/ ({spells}) /(?s:.*)/"));
        self.rule(&format!("{prefix}_WHOLE"), &format!("({start} & ~{prefix}_SPELLS) MARKER_{end}"));
        self.rule(&input.rule, &format!("{prefix}_WHOLE"));
        Ok(())
    }
}
