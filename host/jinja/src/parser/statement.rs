//! Statements: what stands in `{% … %}`, and the bodies between them.

use std::sync::Arc;

use super::{Parser, SPECIAL_NAMES, describe};
use crate::ast::{ExpressionKind, For, Macro, Parameter, Statement, StatementKind};
use crate::error::Result;
use crate::lexer::TokenKind;
use crate::text::{Origin, Text};

impl Parser {
    /// Parses statements up to a tag that `ends` names, which stays the next token; without ends,
    /// up to the end of the template.
    pub(super) fn block(&mut self, ends: &[&str]) -> Result<Vec<Statement>> {
        let mut body = Vec::new();
        loop {
            let line = self.line();
            match self.next() {
                TokenKind::Data(text) => {
                    let kind = StatementKind::Text(Text::new(Origin::Template, text));
                    body.push(Statement { line, kind });
                }
                TokenKind::VariableBegin => {
                    let value = self.tuple(false, true)?;
                    self.expect(&TokenKind::VariableEnd)?;
                    body.push(Statement { line, kind: StatementKind::Print(value) });
                }
                TokenKind::BlockBegin => {
                    if ends.iter().any(|end| self.is_name(end)) {
                        return Ok(body);
                    }
                    self.nested(|parser| parser.statement(&mut body))?;
                    self.expect(&TokenKind::BlockEnd)?;
                }
                TokenKind::End if ends.is_empty() => return Ok(body),
                other => {
                    return self.fail(format!(
                        "unexpected {}, looking for {}",
                        describe(&other),
                        ends.join(" or ")
                    ));
                }
            }
        }
    }

    /// Parses the body of a statement up to and including the name of its end.
    fn body(&mut self, end: &str) -> Result<Vec<Statement>> {
        let body = self.open_body(&[end])?;
        self.next();
        Ok(body)
    }

    /// Parses the body of a statement up to one of `ends`.
    fn open_body(&mut self, ends: &[&str]) -> Result<Vec<Statement>> {
        self.skip_operator(":");
        self.expect(&TokenKind::BlockEnd)?;
        self.block(ends)
    }

    /// Parses a body that isn't part of a condition's branch, and in which `break` is allowed or
    /// not.
    fn separate<T>(&mut self, in_loop: bool, parse: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        let before = (self.in_loop, self.in_branch);
        (self.in_loop, self.in_branch) = (in_loop, false);
        let parsed = parse(self);
        (self.in_loop, self.in_branch) = before;
        parsed
    }

    fn statement(&mut self, body: &mut Vec<Statement>) -> Result<()> {
        let line = self.line();
        let name = self.expect_name()?;
        let kind = match &*name {
            "set" => self.set()?,
            "if" => self.condition()?,
            "for" => self.for_loop()?,
            "with" => self.with()?,
            "macro" => self.macro_definition()?,
            "call" => self.call_block()?,
            "filter" => {
                let in_loop = self.in_loop;
                let filter = self.separate(in_loop, |parser| parser.filter(None))?;
                StatementKind::FilterBlock(filter, self.separate(in_loop, |parser| parser.body("endfilter"))?)
            }
            "autoescape" => StatementKind::AutoEscape(self.expression()?, self.body("endautoescape")?),
            "generation" => {
                StatementKind::Generation(self.separate(false, |parser| parser.body("endgeneration"))?)
            }
            "block" => self.named_block()?,
            "break" | "continue" if !self.in_loop => return self.fail(format!("'{name}' outside loop")),
            "break" => StatementKind::Break,
            "continue" => StatementKind::Continue,
            "print" => {
                while !matches!(self.peek(), TokenKind::BlockEnd) {
                    let kind = StatementKind::Print(self.expression()?);
                    body.push(Statement { line, kind });
                    if !matches!(self.peek(), TokenKind::BlockEnd) {
                        self.expect_operator(",")?;
                    }
                }
                return Ok(());
            }
            "include" => self.needs_loader("include")?,
            "import" => self.needs_loader("import")?,
            "from" => self.needs_loader("from")?,
            "extends" => self.needs_loader("extends")?,
            other => return self.fail(format!("Encountered unknown tag '{other}'")),
        };
        body.push(Statement { line, kind });
        Ok(())
    }

    fn needs_loader(&mut self, name: &'static str) -> Result<StatementKind> {
        self.warn(format!("'{name}' needs other templates, and a chat template has none"));
        self.expression()?;
        while !matches!(self.peek(), TokenKind::BlockEnd | TokenKind::End) {
            self.next();
        }
        Ok(StatementKind::NeedsLoader(name))
    }

    fn named_block(&mut self) -> Result<StatementKind> {
        let name = self.expect_name()?;
        if self.blocks.contains(&name) {
            return self.fail(format!("block '{name}' defined twice"));
        }
        self.blocks.push(name.clone());
        let is_scoped = self.skip_name("scoped");
        let is_required = self.skip_name("required");
        let body = self.separate(false, |parser| parser.body("endblock"))?;
        self.skip_name(&name);
        if is_required {
            return Ok(StatementKind::NeedsLoader("required"));
        }
        Ok(StatementKind::Block(is_scoped, body))
    }

    fn set(&mut self) -> Result<StatementKind> {
        let target = self.target(true)?;
        if self.skip_operator("=") {
            return Ok(StatementKind::Set(target, self.tuple(false, true)?));
        }
        let filter = if self.skip_operator("|") { Some(self.filter(None)?) } else { None };
        let in_loop = self.in_loop;
        let body = self.separate(in_loop, |parser| parser.body("endset"))?;
        Ok(StatementKind::SetBlock { target, filter, body })
    }

    fn condition(&mut self) -> Result<StatementKind> {
        let before = std::mem::replace(&mut self.in_branch, true);
        let mut branches = Vec::new();
        let otherwise = loop {
            let test = self.tuple(false, false)?;
            branches.push((test, self.open_body(&["elif", "else", "endif"])?));
            if self.skip_name("elif") {
                continue;
            }
            if self.skip_name("else") {
                break self.body("endif")?;
            }
            self.next();
            break Vec::new();
        };
        self.in_branch = before;
        Ok(StatementKind::If(branches, otherwise))
    }

    fn for_loop(&mut self) -> Result<StatementKind> {
        let target = self.target(false)?;
        self.loops += 1;
        self.check_loop_target(&target)?;
        if !self.skip_name("in") {
            return self.fail(format!("expected 'in', got {}", describe(self.peek())));
        }
        let items = self.tuple(false, false)?;
        let filter = if self.skip_name("if") { Some(self.expression()?) } else { None };
        let recursive = self.skip_name("recursive");
        let body = self.separate(true, |parser| parser.open_body(&["endfor", "else"]))?;
        let otherwise = if self.skip_name("else") {
            let in_loop = self.in_loop;
            self.separate(in_loop, |parser| parser.body("endfor"))?
        } else {
            self.next();
            Vec::new()
        };
        self.loops -= 1;
        Ok(StatementKind::For(Box::new(For { target, items, filter, recursive, body, otherwise })))
    }

    fn with(&mut self) -> Result<StatementKind> {
        let mut values = Vec::new();
        while !matches!(self.peek(), TokenKind::BlockEnd | TokenKind::End) {
            let target = self.target(false)?;
            self.expect_operator("=")?;
            values.push((target, self.expression()?));
            if !matches!(self.peek(), TokenKind::BlockEnd) {
                self.expect_operator(",")?;
            }
        }
        let in_loop = self.in_loop;
        Ok(StatementKind::With(values, self.separate(in_loop, |parser| parser.body("endwith"))?))
    }

    fn macro_definition(&mut self) -> Result<StatementKind> {
        let name = self.expect_name()?;
        let parameters = self.signature()?;
        let index = self.macro_body(name.clone(), parameters, "endmacro")?;
        Ok(StatementKind::Macro(self.symbol(&name), index))
    }

    fn call_block(&mut self) -> Result<StatementKind> {
        let parameters = if self.is_operator("(") { self.signature()? } else { Vec::new() };
        let call = self.expression()?;
        if !matches!(call.kind, ExpressionKind::Call(..)) {
            return self.fail("expected call");
        }
        let index = self.macro_body("".into(), parameters, "endcall")?;
        Ok(StatementKind::CallBlock(index, call))
    }

    fn macro_body(&mut self, name: Arc<str>, parameters: Vec<Parameter>, end: &str) -> Result<usize> {
        let before = self.special_reads;
        let body = self.separate(false, |parser| parser.body(end))?;
        let is_parameter =
            |index: usize| parameters.iter().any(|(_, name, _)| **name == *SPECIAL_NAMES[index]);
        let reads = |index: usize| self.special_reads[index] > before[index] && !is_parameter(index);
        if self.special_reads[2] > before[2]
            && parameters.iter().any(|(_, name, default)| &**name == "caller" && default.is_none())
        {
            return self.fail("the special \"caller\" argument must be omitted or be given a default");
        }
        let [takes_varargs, takes_kwargs, takes_caller] = [reads(0), reads(1), reads(2)];
        self.macros.push(Macro { name, parameters, body, takes_varargs, takes_kwargs, takes_caller });
        Ok(self.macros.len() - 1)
    }

    fn signature(&mut self) -> Result<Vec<Parameter>> {
        self.expect_operator("(")?;
        let mut parameters: Vec<Parameter> = Vec::new();
        while !self.is_operator(")") || !parameters.is_empty() {
            let name = self.expect_name()?;
            let default = if self.skip_operator("=") { Some(self.expression()?) } else { None };
            if default.is_none() && parameters.iter().any(|(_, _, default)| default.is_some()) {
                return self.fail("non-default argument follows default argument");
            }
            if parameters.iter().any(|(_, other, _)| *other == name) {
                return self.fail(format!("duplicate argument '{name}'"));
            }
            parameters.push((self.symbol(&name), name, default));
            if !self.skip_operator(",") {
                break;
            }
        }
        self.expect_operator(")")?;
        Ok(parameters)
    }
}
