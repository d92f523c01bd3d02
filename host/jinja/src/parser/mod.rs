//! Parser of templates: jinja2's grammar, with the statements that transformers enables (loop
//! controls and `generation`).
//!
//! Unknown filters and tests are errors, except in branches of a condition, where jinja2 fails only
//! if they are reached; these become warnings. Called by `Template::parse`.

mod expression;
mod postfix;
mod statement;
mod target;

use std::collections::HashMap;
use std::sync::Arc;

use crate::ast::{Expression, ExpressionKind, Macro, Program, Symbol};
use crate::error::{Error, Result};
use crate::lexer::{Token, TokenKind, tokenize};

/// Maximum nesting of expressions and statements.
const MAX_DEPTH: usize = 100;
/// Maximum height of an expression's tree.
const MAX_HEIGHT: u16 = 200;

/// Fault of a template that shows only if a run gets there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warning {
    /// What is wrong.
    pub message: String,
    /// Line of the template, from 1.
    pub line: u32,
}

pub(crate) struct Parser {
    tokens: Vec<Token>,
    at: usize,
    depth: usize,
    /// Whether loops around the current place may be left by `break`.
    in_loop: bool,
    /// Whether the current place is in a branch of a condition.
    in_branch: bool,
    /// Number of loops around the current place, whatever is between them.
    loops: usize,
    /// Names of `{% block %}`s.
    blocks: Vec<Arc<str>>,
    names: Vec<Arc<str>>,
    symbols: HashMap<Arc<str>, Symbol>,
    /// How often `varargs`, `kwargs` and `caller` were read.
    special_reads: [usize; 3],
    macros: Vec<Macro>,
    unknown: Vec<Unknown>,
    warnings: Vec<Warning>,
}

/// A filter or test that doesn't exist.
struct Unknown {
    message: String,
    line: u32,
    in_branch: bool,
}

/// Names that a macro's body reads what a call passes beside its parameters by.
const SPECIAL_NAMES: [&str; 3] = ["varargs", "kwargs", "caller"];

/// Parses a template.
pub(crate) fn parse(source: &str) -> Result<(Program, Vec<Warning>)> {
    let mut parser = Parser {
        tokens: tokenize(source)?,
        at: 0,
        depth: 0,
        in_loop: false,
        in_branch: false,
        loops: 0,
        blocks: Vec::new(),
        names: Vec::new(),
        symbols: HashMap::new(),
        special_reads: [0; 3],
        macros: Vec::new(),
        unknown: Vec::new(),
        warnings: Vec::new(),
    };
    let body = parser.block(&[])?;
    for unknown in parser.unknown {
        if !unknown.in_branch {
            return Err(Error::syntax(unknown.message, unknown.line));
        }
        parser.warnings.push(Warning { message: unknown.message, line: unknown.line });
    }
    let program = Program { body, macros: parser.macros, names: parser.names };
    Ok((program, parser.warnings))
}

impl Parser {
    fn peek(&self) -> &TokenKind {
        &self.tokens[self.at].kind
    }

    fn peek_second(&self) -> &TokenKind {
        &self.tokens[(self.at + 1).min(self.tokens.len() - 1)].kind
    }

    fn line(&self) -> u32 {
        self.tokens[self.at].line
    }

    fn next(&mut self) -> TokenKind {
        let token = self.tokens[self.at].kind.clone();
        self.at = (self.at + 1).min(self.tokens.len() - 1);
        token
    }

    fn fail<T>(&self, message: impl Into<String>) -> Result<T> {
        Err(Error::syntax(message, self.line()))
    }

    fn is_operator(&self, operator: &str) -> bool {
        matches!(self.peek(), TokenKind::Operator(found) if *found == operator)
    }

    fn is_name(&self, name: &str) -> bool {
        matches!(self.peek(), TokenKind::Name(found) if found == name)
    }

    fn skip_operator(&mut self, operator: &str) -> bool {
        let found = self.is_operator(operator);
        if found {
            self.next();
        }
        found
    }

    fn skip_name(&mut self, name: &str) -> bool {
        let found = self.is_name(name);
        if found {
            self.next();
        }
        found
    }

    fn expect_operator(&mut self, operator: &str) -> Result<()> {
        if self.skip_operator(operator) {
            return Ok(());
        }
        self.fail(format!("expected token '{operator}', got {}", describe(self.peek())))
    }

    fn expect(&mut self, kind: &TokenKind) -> Result<()> {
        if self.peek() == kind {
            self.next();
            return Ok(());
        }
        self.fail(format!("expected {}, got {}", describe(kind), describe(self.peek())))
    }

    fn expect_name(&mut self) -> Result<Arc<str>> {
        let TokenKind::Name(name) = self.peek() else {
            return self.fail(format!("expected a name, got {}", describe(self.peek())));
        };
        let name = Arc::from(name.as_str());
        self.next();
        Ok(name)
    }

    /// Number of a name.
    fn symbol(&mut self, name: &str) -> Symbol {
        if let Some(symbol) = self.symbols.get(name) {
            return *symbol;
        }
        let symbol = Symbol::try_from(self.names.len()).unwrap_or(Symbol::MAX);
        let name: Arc<str> = Arc::from(name);
        self.names.push(name.clone());
        self.symbols.insert(name, symbol);
        symbol
    }

    /// Runs `parse` one level deeper.
    fn nested<T>(&mut self, parse: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if self.depth == MAX_DEPTH {
            return self.fail(format!("nested more than {MAX_DEPTH} deep"));
        }
        self.depth += 1;
        let parsed = parse(self);
        self.depth -= 1;
        parsed
    }

    fn report_unknown(&mut self, message: String, line: u32) {
        self.unknown.push(Unknown { message, line, in_branch: self.in_branch });
    }
}

/// Makes an expression; chains such as `a + b + c` nest to the left.
fn node(line: u32, kind: ExpressionKind) -> Result<Expression> {
    let mut height = 1;
    kind.each_child(&mut |child| height = height.max(child.height + 1));
    if height > MAX_HEIGHT {
        return Err(Error::syntax(format!("an expression has more than {MAX_HEIGHT} levels"), line));
    }
    Ok(Expression { line, height, kind })
}

fn describe(kind: &TokenKind) -> String {
    match kind {
        TokenKind::Data(_) => "text".to_owned(),
        TokenKind::VariableBegin => "begin of print statement".to_owned(),
        TokenKind::VariableEnd => "end of print statement".to_owned(),
        TokenKind::BlockBegin => "begin of statement block".to_owned(),
        TokenKind::BlockEnd => "end of statement block".to_owned(),
        TokenKind::Name(name) => format!("'{name}'"),
        TokenKind::String(_) => "a string".to_owned(),
        TokenKind::Integer(_) => "an integer".to_owned(),
        TokenKind::Float(_) => "a float".to_owned(),
        TokenKind::Operator(operator) => format!("'{operator}'"),
        TokenKind::End => "end of template".to_owned(),
    }
}
