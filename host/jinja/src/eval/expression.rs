//! Expressions.

use std::sync::Arc;

use indexmap::IndexMap;

use super::Run;
use crate::arguments::Arguments;
use crate::arithmetic;
use crate::ast::{CallArguments, CompareOp, Expression, ExpressionKind};
use crate::error::{Error, Result};
use crate::print::is_true;
use crate::text::TextBuilder;
use crate::value::{Dict, Key, Value};

impl<'t> Run<'t> {
    pub(super) fn value(&mut self, expression: &'t Expression) -> Result<Value> {
        let value = self
            .evaluate(expression)
            .and_then(|value| if expression.kind.makes_value() { self.made(value) } else { Ok(value) });
        value.map_err(|error| error.at(expression.line))
    }

    fn evaluate(&mut self, expression: &'t Expression) -> Result<Value> {
        self.check_stack()?;
        self.charge(1)?;
        match &expression.kind {
            ExpressionKind::Constant(value) => Ok(value.clone()),
            ExpressionKind::Name(symbol) => Ok(self.name(*symbol)),
            ExpressionKind::List(items) => {
                let items = self.values(items)?;
                self.list(items)
            }
            ExpressionKind::Tuple(items) => Value::tuple(self.values(items)?),
            ExpressionKind::Dict(entries) => self.dict(entries),
            ExpressionKind::Negative(inner) => self.signed(inner, true),
            ExpressionKind::Positive(inner) => self.signed(inner, false),
            ExpressionKind::Not(inner) => Ok(Value::Bool(!is_true(&self.value(inner)?))),
            ExpressionKind::And(sides) => {
                let left = self.value(&sides[0])?;
                if is_true(&left) { self.value(&sides[1]) } else { Ok(left) }
            }
            ExpressionKind::Or(sides) => {
                let left = self.value(&sides[0])?;
                if is_true(&left) { Ok(left) } else { self.value(&sides[1]) }
            }
            ExpressionKind::Binary(op, sides) => {
                let (left, right) = (self.value(&sides[0])?, self.value(&sides[1])?);
                self.binary_value(*op, &left, &right)
            }
            ExpressionKind::Concat(parts) => self.concatenate(parts),
            ExpressionKind::Compare(first, rest) => self.comparison(first, rest),
            ExpressionKind::Conditional { test, then, otherwise } => {
                if is_true(&self.value(test)?) {
                    return self.value(then);
                }
                match otherwise {
                    Some(otherwise) => self.value(otherwise),
                    None => Ok(Value::undefined(
                        "",
                        "the inline if-expression evaluated to false and has no else",
                    )),
                }
            }
            ExpressionKind::Unknown(message) => Err(Error::runtime(message.clone())),
            _ => self.access(expression),
        }
    }

    /// What stands behind a value: attributes, items, slices, calls, filters and tests.
    fn access(&mut self, expression: &'t Expression) -> Result<Value> {
        match &expression.kind {
            ExpressionKind::Attribute(owner, name) => {
                let owner = self.value(owner)?;
                self.attribute(&owner, name)
            }
            ExpressionKind::Item(sides) => {
                let (owner, key) = (self.value(&sides[0])?, self.value(&sides[1])?);
                self.item(&owner, &key)
            }
            ExpressionKind::Slice(owner, bounds) => {
                let owner = self.value(owner)?;
                let mut values = [const { None }; 3];
                for (value, bound) in values.iter_mut().zip(bounds.iter()) {
                    *value = bound.as_ref().map(|bound| self.value(bound)).transpose()?;
                }
                self.slice(&owner, &values)
            }
            ExpressionKind::Call(callee, arguments) => self.call_expression(callee, arguments, None),
            ExpressionKind::Filter(value, filter, arguments) => {
                let value = match value {
                    Some(value) => self.value(value)?,
                    None => return Err(Error::runtime("a filter without a value")),
                };
                let arguments = self.arguments(arguments)?;
                self.filter(*filter, &value, &arguments)
            }
            ExpressionKind::Test(value, test, arguments) => {
                let value = self.value(value)?;
                let arguments = self.arguments(arguments)?;
                Ok(Value::Bool(self.test(*test, &value, &arguments)?))
            }
            _ => Ok(Value::None),
        }
    }

    fn values(&mut self, items: &'t [Expression]) -> Result<Vec<Value>> {
        items.iter().map(|item| self.value(item)).collect()
    }

    fn dict(&mut self, entries: &'t [(Expression, Expression)]) -> Result<Value> {
        let mut dict = IndexMap::with_capacity(entries.len());
        for (key, value) in entries {
            let key = Key::new(self.value(key)?)?;
            dict.insert(key, self.value(value)?);
        }
        Ok(Value::Dict(Arc::new(Dict::new(dict)?)))
    }

    fn signed(&mut self, inner: &'t Expression, negative: bool) -> Result<Value> {
        let value = self.value(inner)?;
        if let Value::Undefined(missing) = &value {
            return Err(missing.error());
        }
        arithmetic::signed(&value, negative).ok_or_else(|| {
            let sign = if negative { '-' } else { '+' };
            Error::runtime(format!("bad operand type for unary {sign}: '{}'", self.type_name(&value)))
        })
    }

    /// `a ~ b`: the parts as text, one behind the other.
    fn concatenate(&mut self, parts: &'t [Expression]) -> Result<Value> {
        let mut out = TextBuilder::new(self.auto_escape);
        for part in parts {
            let value = self.value(part)?;
            let text = self.str(&value)?;
            self.check_size(out.len() + text.as_str().len())?;
            out.push_text(&self.shown(text));
        }
        self.finish(out)
    }

    fn comparison(&mut self, first: &'t Expression, rest: &'t [(CompareOp, Expression)]) -> Result<Value> {
        let mut left = self.value(first)?;
        for (op, right) in rest {
            let right = self.value(right)?;
            if !self.compares(*op, &left, &right)? {
                return Ok(Value::Bool(false));
            }
            left = right;
        }
        Ok(Value::Bool(true))
    }

    /// Values of a call's arguments.
    pub(super) fn arguments(&mut self, arguments: &'t CallArguments) -> Result<Arguments> {
        let mut values = Arguments { positional: self.values(&arguments.positional)?, keyword: Vec::new() };
        for (name, value) in &arguments.keyword {
            values.keyword.push((name.clone(), self.value(value)?));
        }
        if let Some(more) = &arguments.more_positional {
            let more = self.value(more)?;
            values.positional.extend(self.iterate(&more)?);
        }
        if let Some(more) = &arguments.more_keyword {
            let Value::Dict(more) = self.value(more)? else {
                return Err(Error::runtime("argument after ** must be a mapping"));
            };
            for (key, value) in &more.entries {
                let name = key.0.as_text().ok_or_else(|| Error::runtime("keywords must be strings"))?;
                if arguments.keyword.iter().any(|(other, _)| other == name) {
                    let name = name.as_str();
                    return Err(Error::runtime(format!("got multiple values for keyword argument '{name}'")));
                }
                values.keyword.push((name.clone(), value.clone()));
            }
        }
        Ok(values)
    }

    /// Applies the filters of a block to its text.
    pub(super) fn filter_text(&mut self, filter: &'t Expression, text: Value) -> Result<Value> {
        match &filter.kind {
            ExpressionKind::Filter(inner, filter, arguments) => {
                let value = match inner {
                    Some(inner) => self.filter_text(inner, text)?,
                    None => text,
                };
                let arguments = self.arguments(arguments)?;
                self.filter(*filter, &value, &arguments)
            }
            _ => self.value(filter),
        }
    }
}
