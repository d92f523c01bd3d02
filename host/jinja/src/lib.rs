//! Chat templates, rendered as transformers renders them: jinja2's language in its immutable
//! sandbox, with Python's values and printing.
//!
//! Every string knows for each of its characters whether the template or the request wrote it
//! ([`Origin`]), and keeps that through everything that a template does. So a template sees a
//! request's text as it is, and what it writes shows which characters are its own.
//!
//! A template can't read files, load others or call the host. Its work, the size of its texts, and
//! its nesting are bounded.
//!
//! ```
//! use jinja::{Limits, Origin, Template, Value};
//!
//! let template = Template::parse("<|user|>{{ text.strip() }}").unwrap();
//! let text = Value::text(Origin::Request, " <|user|> ");
//! let limits = Limits { text_bytes: 1 << 20, is_exhausted: &|| false };
//! let output = template.render(vec![("text", text)], &limits).unwrap();
//! let runs: Vec<_> = output.text.runs().collect();
//! assert_eq!(runs, [(Origin::Template, "<|user|>"), (Origin::Request, "<|user|>")]);
//! ```
#![doc = include_str!("../DESIGN.md")]
#![expect(clippy::similar_names, reason = "start, stop and step are Python's names, caller is jinja2's")]

mod arguments;
mod arithmetic;
mod ast;
mod clock;
mod error;
mod eval;
mod filters;
mod is_tests;
mod json;
mod lexer;
mod markup;
mod methods;
mod names;
mod number;
mod parser;
mod print;
mod strings;
mod text;
mod value;

pub use clock::strftime;
pub use error::{Error, ErrorKind};
pub use eval::Limits;
pub use parser::Warning;
pub use text::{Origin, Text};
pub use value::Value;

use ast::{Program, Symbol};
use eval::Run;

/// Parsed template.
#[derive(Debug)]
pub struct Template {
    program: Program,
    warnings: Vec<Warning>,
}

/// What a template wrote.
#[derive(Debug)]
pub struct Rendering {
    /// The text.
    pub text: Text,
    /// Number of steps that the run took: the same for the same template and variables.
    pub steps: u64,
}

impl Template {
    /// Parses a template.
    ///
    /// # Errors
    /// It isn't valid, or uses a filter or test that doesn't exist.
    pub fn parse(source: &str) -> Result<Self, Error> {
        let (program, warnings) = parser::parse(source)?;
        Ok(Self { program, warnings })
    }

    /// Faults that show only if a run gets there.
    pub fn warnings(&self) -> &[Warning] {
        &self.warnings
    }

    /// Runs the template with these variables.
    ///
    /// # Errors
    /// The template raised an exception, Python refuses an operation, or a limit was reached.
    pub fn render(&self, variables: Vec<(&str, Value)>, limits: &Limits<'_>) -> Result<Rendering, Error> {
        let mut run = Run::new(&self.program, variables, limits);
        let text = run.run()?;
        Ok(Rendering { text, steps: run.steps })
    }
}

impl Program {
    /// Symbol of a name that the template mentions.
    fn symbol(&self, name: &str) -> Option<Symbol> {
        let index = self.names.iter().position(|known| **known == *name)?;
        Symbol::try_from(index).ok()
    }
}
