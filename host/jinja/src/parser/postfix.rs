//! What stands behind a value: attributes, subscripts, calls, filters and tests, with their
//! arguments.

use super::{Parser, Warning, node};
use crate::ast::{CallArguments, Expression, ExpressionKind};
use crate::error::Result;
use crate::filters;
use crate::lexer::TokenKind;
use crate::methods;
use crate::names::{Filter, Test};
use crate::text::{Origin, Text};
use crate::value::Value;

impl Parser {
    pub(super) fn postfix(&mut self, mut value: Expression) -> Result<Expression> {
        loop {
            let line = self.line();
            let kind = if self.skip_operator(".") {
                match self.next() {
                    TokenKind::Name(name) => {
                        if self.is_operator("(") {
                            self.check_method(&name, line);
                        }
                        ExpressionKind::Attribute(Box::new(value), name.into())
                    }
                    TokenKind::Integer(index) => {
                        let index = ExpressionKind::Constant(Value::integer(index));
                        ExpressionKind::Item(Box::new([value, node(line, index)?]))
                    }
                    _ => return self.fail("expected name or number"),
                }
            } else if self.skip_operator("[") {
                self.subscript(value)?
            } else if self.is_operator("(") {
                ExpressionKind::Call(Box::new(value), self.call_arguments()?)
            } else {
                return Ok(value);
            };
            value = node(line, kind)?;
        }
    }

    fn check_method(&mut self, name: &str, line: u32) {
        if methods::UNSUPPORTED.contains(&name) {
            self.report_unknown(format!("the method '{name}' is not supported"), line);
        } else if !methods::is_known(name) {
            let message = format!("no value has a method '{name}'");
            self.warnings.push(Warning { message, line });
        }
    }

    pub(super) fn filters_and_tests(&mut self, mut value: Expression) -> Result<Expression> {
        loop {
            let line = self.line();
            if self.skip_operator("|") {
                value = self.filter(Some(value))?;
            } else if self.is_name("is") {
                value = self.test(value)?;
            } else if self.is_operator("(") {
                let kind = ExpressionKind::Call(Box::new(value), self.call_arguments()?);
                value = node(line, kind)?;
            } else {
                return Ok(value);
            }
        }
    }

    fn test(&mut self, value: Expression) -> Result<Expression> {
        self.next();
        let negated = self.skip_name("not");
        let line = self.line();
        let name = self.dotted_name()?;
        let arguments = self.test_arguments()?;
        let kind = if let Some(test) = Test::named(&name) {
            ExpressionKind::Test(Box::new(value), test, arguments)
        } else {
            self.report_unknown(format!("no test named '{name}'"), line);
            ExpressionKind::Unknown(format!("no test named '{name}'"))
        };
        let test = node(line, kind)?;
        if negated { node(line, ExpressionKind::Not(Box::new(test))) } else { Ok(test) }
    }

    /// Parses what follows `value[`.
    pub(super) fn subscript(&mut self, value: Expression) -> Result<ExpressionKind> {
        let line = self.line();
        if self.skip_operator("]") {
            let index = node(line, ExpressionKind::Tuple(Vec::new()))?;
            return Ok(ExpressionKind::Item(Box::new([value, index])));
        }
        let start = if self.is_operator(":") { None } else { Some(self.expression()?) };
        if self.skip_operator(":") {
            let stop = self.slice_bound()?;
            let step = if self.skip_operator(":") { self.slice_bound()? } else { None };
            self.expect_operator("]")?;
            return Ok(ExpressionKind::Slice(Box::new(value), Box::new([start, stop, step])));
        }
        let mut indices: Vec<Expression> = start.into_iter().collect();
        let is_tuple = self.is_operator(",");
        while self.skip_operator(",") {
            indices.push(self.expression()?);
        }
        self.expect_operator("]")?;
        let index = match indices.pop() {
            Some(only) if !is_tuple => only,
            last => {
                indices.extend(last);
                node(line, ExpressionKind::Tuple(indices))?
            }
        };
        Ok(ExpressionKind::Item(Box::new([value, index])))
    }

    fn slice_bound(&mut self) -> Result<Option<Expression>> {
        let is_missing = [":", "]", ","].iter().any(|operator| self.is_operator(operator));
        if is_missing { Ok(None) } else { self.expression().map(Some) }
    }

    pub(super) fn call_arguments(&mut self) -> Result<CallArguments> {
        let line = self.line();
        self.expect_operator("(")?;
        let mut arguments = CallArguments::default();
        while !self.is_operator(")") {
            self.argument(&mut arguments, line)?;
            if !self.is_operator(")") {
                self.expect_operator(",")?;
            }
        }
        self.expect_operator(")")?;
        Ok(arguments)
    }

    fn argument(&mut self, arguments: &mut CallArguments, line: u32) -> Result<()> {
        let invalid = |is_invalid: bool| {
            if is_invalid {
                Err(crate::Error::syntax("invalid syntax for function call expression", line))
            } else {
                Ok(())
            }
        };
        let has_more = arguments.more_positional.is_some() || arguments.more_keyword.is_some();
        if self.skip_operator("*") {
            invalid(has_more)?;
            arguments.more_positional = Some(Box::new(self.expression()?));
        } else if self.skip_operator("**") {
            invalid(arguments.more_keyword.is_some())?;
            arguments.more_keyword = Some(Box::new(self.expression()?));
        } else if matches!(self.peek(), TokenKind::Name(_))
            && matches!(self.peek_second(), TokenKind::Operator("="))
        {
            invalid(arguments.more_keyword.is_some())?;
            let name = self.expect_name()?;
            self.expect_operator("=")?;
            if arguments.keyword.iter().any(|(other, _)| other.as_str() == &*name) {
                return self.fail(format!("keyword argument repeated: {name}"));
            }
            let name = Text::new(Origin::Template, &*name);
            arguments.keyword.push((name, self.expression()?));
        } else {
            invalid(has_more || !arguments.keyword.is_empty())?;
            arguments.positional.push(self.expression()?);
        }
        Ok(())
    }

    pub(super) fn dotted_name(&mut self) -> Result<String> {
        let mut name = self.expect_name()?.to_string();
        while self.skip_operator(".") {
            name = format!("{name}.{}", self.expect_name()?);
        }
        Ok(name)
    }

    /// Parses the filter behind `|`, and the filters that follow it. Without a value, the first one
    /// gets a block's text.
    pub(super) fn filter(&mut self, mut value: Option<Expression>) -> Result<Expression> {
        loop {
            let line = self.line();
            let name = self.dotted_name()?;
            let arguments =
                if self.is_operator("(") { self.call_arguments()? } else { CallArguments::default() };
            let kind = if let Some(filter) = Filter::named(&name) {
                ExpressionKind::Filter(value.map(Box::new), filter, arguments)
            } else {
                let message = if filters::UNSUPPORTED.contains(&&*name) {
                    format!("the filter '{name}' is not supported")
                } else {
                    format!("no filter named '{name}'")
                };
                self.report_unknown(message.clone(), line);
                ExpressionKind::Unknown(message)
            };
            let filter = node(line, kind)?;
            if !self.skip_operator("|") {
                return Ok(filter);
            }
            value = Some(filter);
        }
    }

    /// Parses the arguments of a test: in parentheses, or one value without.
    pub(super) fn test_arguments(&mut self) -> Result<CallArguments> {
        if self.is_operator("(") {
            return self.call_arguments();
        }
        let is_value = match self.peek() {
            TokenKind::Name(name) => !matches!(name.as_str(), "else" | "or" | "and"),
            TokenKind::String(_) | TokenKind::Integer(_) | TokenKind::Float(_) => true,
            TokenKind::Operator(operator) => matches!(*operator, "[" | "{"),
            _ => false,
        };
        let mut arguments = CallArguments::default();
        if is_value {
            if self.is_name("is") {
                return self.fail("You cannot chain multiple tests with is");
            }
            let value = self.primary()?;
            arguments.positional.push(self.postfix(value)?);
        }
        Ok(arguments)
    }

    /// Reports what a run can't do, at the current line.
    pub(super) fn warn(&mut self, message: impl Into<String>) {
        let warning = Warning { message: message.into(), line: self.line() };
        self.warnings.push(warning);
    }
}
