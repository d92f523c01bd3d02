//! Expressions, by precedence from conditionals down to literals.

use super::{Parser, SPECIAL_NAMES, describe, node};
use crate::ast::{BinaryOp, CompareOp, Expression, ExpressionKind};
use crate::error::Result;
use crate::lexer::TokenKind;
use crate::text::Origin;
use crate::value::Value;

impl Parser {
    pub(super) fn expression(&mut self) -> Result<Expression> {
        self.nested(Self::conditional)
    }

    fn conditional(&mut self) -> Result<Expression> {
        let unknown_before = self.unknown.len();
        let mut then = self.or()?;
        while self.is_name("if") {
            let line = self.line();
            self.next();
            let test = self.or()?;
            let otherwise = if self.skip_name("else") { Some(Box::new(self.expression()?)) } else { None };
            self.unknown[unknown_before..].iter_mut().for_each(|unknown| unknown.in_branch = true);
            let kind = ExpressionKind::Conditional { test: Box::new(test), then: Box::new(then), otherwise };
            then = node(line, kind)?;
        }
        Ok(then)
    }

    pub(super) fn or(&mut self) -> Result<Expression> {
        let mut left = self.and()?;
        while self.is_name("or") {
            let line = self.line();
            self.next();
            left = node(line, ExpressionKind::Or(Box::new([left, self.and()?])))?;
        }
        Ok(left)
    }

    fn and(&mut self) -> Result<Expression> {
        let mut left = self.not()?;
        while self.is_name("and") {
            let line = self.line();
            self.next();
            left = node(line, ExpressionKind::And(Box::new([left, self.not()?])))?;
        }
        Ok(left)
    }

    fn not(&mut self) -> Result<Expression> {
        let line = self.line();
        if self.skip_name("not") {
            let inner = self.nested(Self::not)?;
            return node(line, ExpressionKind::Not(Box::new(inner)));
        }
        self.comparison()
    }

    fn comparison(&mut self) -> Result<Expression> {
        let line = self.line();
        let first = self.sum()?;
        let mut rest = Vec::new();
        while let Some(op) = self.compare_op() {
            rest.push((op, self.sum()?));
        }
        if rest.is_empty() {
            return Ok(first);
        }
        node(line, ExpressionKind::Compare(Box::new(first), rest))
    }

    fn compare_op(&mut self) -> Option<CompareOp> {
        use CompareOp as Op;
        let op = match self.peek() {
            TokenKind::Operator("==") => Op::Equal,
            TokenKind::Operator("!=") => Op::NotEqual,
            TokenKind::Operator("<") => Op::Less,
            TokenKind::Operator("<=") => Op::LessOrEqual,
            TokenKind::Operator(">") => Op::Greater,
            TokenKind::Operator(">=") => Op::GreaterOrEqual,
            TokenKind::Name(name) if name == "in" => Op::In,
            TokenKind::Name(name) if name == "not" => {
                if !matches!(self.peek_second(), TokenKind::Name(name) if name == "in") {
                    return None;
                }
                self.next();
                Op::NotIn
            }
            _ => return None,
        };
        self.next();
        Some(op)
    }

    /// Parses operands of one precedence, which are joined from the left.
    fn joined(
        &mut self,
        operators: &[(&str, BinaryOp)],
        operand: fn(&mut Self) -> Result<Expression>,
    ) -> Result<Expression> {
        let mut left = operand(self)?;
        while let Some(&(operator, op)) = operators.iter().find(|(operator, _)| self.is_operator(operator)) {
            let line = self.line();
            self.expect_operator(operator)?;
            let right = operand(self)?;
            left = node(line, ExpressionKind::Binary(op, Box::new([left, right])))?;
        }
        Ok(left)
    }

    fn sum(&mut self) -> Result<Expression> {
        self.joined(&[("+", BinaryOp::Add), ("-", BinaryOp::Sub)], Self::concatenation)
    }

    fn concatenation(&mut self) -> Result<Expression> {
        let line = self.line();
        let first = self.product()?;
        if !self.is_operator("~") {
            return Ok(first);
        }
        let mut parts = vec![first];
        while self.skip_operator("~") {
            parts.push(self.product()?);
        }
        node(line, ExpressionKind::Concat(parts))
    }

    fn product(&mut self) -> Result<Expression> {
        let operators =
            [("*", BinaryOp::Mul), ("/", BinaryOp::Div), ("//", BinaryOp::FloorDiv), ("%", BinaryOp::Mod)];
        self.joined(&operators, Self::power)
    }

    fn power(&mut self) -> Result<Expression> {
        self.joined(&[("**", BinaryOp::Pow)], |parser| parser.unary(true))
    }

    fn unary(&mut self, with_filters: bool) -> Result<Expression> {
        let line = self.line();
        let signed = |parser: &mut Self| parser.nested(|parser| parser.unary(false)).map(Box::new);
        let mut value = if self.skip_operator("-") {
            node(line, ExpressionKind::Negative(signed(self)?))?
        } else if self.skip_operator("+") {
            node(line, ExpressionKind::Positive(signed(self)?))?
        } else {
            self.primary()?
        };
        value = self.postfix(value)?;
        if with_filters {
            value = self.filters_and_tests(value)?;
        }
        Ok(value)
    }

    pub(super) fn primary(&mut self) -> Result<Expression> {
        let line = self.line();
        let constant = |value| node(line, ExpressionKind::Constant(value));
        match self.next() {
            TokenKind::Name(name) => match name.as_str() {
                "true" | "True" => constant(Value::Bool(true)),
                "false" | "False" => constant(Value::Bool(false)),
                "none" | "None" => constant(Value::None),
                _ => {
                    if name == "lipsum" {
                        self.report_unknown("the function 'lipsum' is not supported".to_owned(), line);
                    }
                    if let Some(index) = SPECIAL_NAMES.iter().position(|special| *special == name) {
                        self.special_reads[index] += 1;
                    }
                    node(line, ExpressionKind::Name(self.symbol(&name)))
                }
            },
            TokenKind::String(mut string) => {
                while let TokenKind::String(more) = self.peek() {
                    string.push_str(more);
                    self.next();
                }
                constant(Value::text(Origin::Template, string))
            }
            TokenKind::Integer(number) => constant(Value::integer(number)),
            TokenKind::Float(number) => constant(Value::Float(number)),
            TokenKind::Operator("(") => {
                let inner = self.tuple(true, true)?;
                self.expect_operator(")")?;
                Ok(inner)
            }
            TokenKind::Operator("[") => self.list(line),
            TokenKind::Operator("{") => self.dict(line),
            other => {
                self.at -= usize::from(other != TokenKind::End);
                self.fail(format!("unexpected {}", describe(&other)))
            }
        }
    }

    fn list(&mut self, line: u32) -> Result<Expression> {
        let mut items = Vec::new();
        while !self.is_operator("]") {
            items.push(self.expression()?);
            if !self.is_operator("]") {
                self.expect_operator(",")?;
            }
        }
        self.expect_operator("]")?;
        node(line, ExpressionKind::List(items))
    }

    fn dict(&mut self, line: u32) -> Result<Expression> {
        let mut entries = Vec::new();
        while !self.is_operator("}") {
            let key = self.expression()?;
            self.expect_operator(":")?;
            entries.push((key, self.expression()?));
            if !self.is_operator("}") {
                self.expect_operator(",")?;
            }
        }
        self.expect_operator("}")?;
        node(line, ExpressionKind::Dict(entries))
    }

    /// Parses an expression, or several with commas as a tuple.
    pub(super) fn tuple(&mut self, in_parentheses: bool, conditional: bool) -> Result<Expression> {
        let line = self.line();
        let mut items = Vec::new();
        let mut is_tuple = false;
        while !self.is_tuple_end() {
            items.push(if conditional { self.expression()? } else { self.nested(Self::or)? });
            if !self.skip_operator(",") {
                break;
            }
            is_tuple = true;
        }
        if !is_tuple {
            match items.pop() {
                Some(only) => return Ok(only),
                None if in_parentheses => {}
                None => return self.fail(format!("expected an expression, got {}", describe(self.peek()))),
            }
        }
        node(line, ExpressionKind::Tuple(items))
    }

    pub(super) fn is_tuple_end(&self) -> bool {
        matches!(self.peek(), TokenKind::VariableEnd | TokenKind::BlockEnd) || self.is_operator(")")
    }
}
