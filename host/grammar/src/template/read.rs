//! Reads a template's text: directives, and rules in Lark.

use crate::lark::definition;

use super::{Directives, GrammarTemplate, TemplateError, Word, check};

/// Greatest length of a template, in bytes.
const BYTES: usize = 64 << 10;
/// Most rules of a template.
const RULES: usize = 256;

impl GrammarTemplate {
    /// Reads and checks a template of a parser with these marker literals.
    ///
    /// # Errors
    /// One line: what is wrong, and where.
    pub fn parse<S: AsRef<str>>(text: &str, literals: &[S]) -> Result<Self, TemplateError> {
        Self::read(text, literals).map_err(TemplateError)
    }

    fn read<S: AsRef<str>>(text: &str, literals: &[S]) -> Result<Self, String> {
        if text.len() > BYTES {
            return Err(format!("it has {} bytes, at most {BYTES} are allowed", text.len()));
        }
        let is_control = |char: char| char.is_control() && !matches!(char, '\n' | '\r' | '\t');
        let (mut directives, mut rules) = (Directives::default(), String::with_capacity(text.len()));
        for (number, line) in (1..).zip(text.lines()) {
            let at = |error| format!("line {number}: {error}");
            if line.contains(is_control) {
                return Err(at("it has a control character".to_owned()));
            }
            match line.trim_start().strip_prefix('%') {
                Some(directive) => directives.add(directive, literals.len()).map_err(at)?,
                None => rules.push_str(line),
            }
            // Errors of the rules name lines, so each line stays one.
            rules.push('\n');
        }
        let read = definition(&rules)?;
        if read.bodies.len() > RULES {
            return Err(format!("it has {} rules, at most {RULES} are allowed", read.bodies.len()));
        }
        let words = |body: Vec<_>| body.into_iter().map(Word::from).collect();
        let template = Self {
            literals: literals.iter().map(|literal| literal.as_ref().to_owned()).collect(),
            rules: read.bodies.into_iter().map(|(name, body)| (name, words(body))).collect(),
            directives,
        };
        check::check(&template)?;
        Ok(template)
    }
}
