//! Binary operators and comparisons.

use std::cmp::Ordering;

use super::Run;
use crate::arithmetic;
use crate::ast::{BinaryOp, CompareOp};
use crate::error::{Error, Result};
use crate::markup;
use crate::methods;
use crate::text::{Text, TextBuilder};
use crate::value::Value;

impl Run<'_> {
    pub(crate) fn binary_value(&mut self, op: BinaryOp, left: &Value, right: &Value) -> Result<Value> {
        if let Some(number) = arithmetic::arithmetic(op, left, right)? {
            return Ok(number);
        }
        match (op, left, right) {
            (BinaryOp::Mod, Value::Text(format), _) => methods::percent::format(self, format, right),
            (_, Value::Undefined(missing), _) | (_, _, Value::Undefined(missing)) => Err(missing.error()),
            (BinaryOp::Add, Value::Text(left), Value::Text(right)) => self.joined(left, right),
            (BinaryOp::Add, Value::List(left), Value::List(right)) => {
                self.allocate_list(left.items.len() + right.items.len())?;
                Value::list([&left.items[..], &right.items[..]].concat())
            }
            (BinaryOp::Add, Value::Tuple(left), Value::Tuple(right)) => {
                self.allocate_list(left.items.len() + right.items.len())?;
                Value::tuple([&left.items[..], &right.items[..]].concat())
            }
            (BinaryOp::Mul, value, count) | (BinaryOp::Mul, count, value)
                if count.as_index().is_some()
                    && matches!(value, Value::Text(_) | Value::List(_) | Value::Tuple(_)) =>
            {
                self.repeated(value, count)
            }
            (BinaryOp::Add, Value::Text(_), other) => Err(Error::runtime(format!(
                "can only concatenate str (not \"{}\") to str",
                self.type_name(other)
            ))),
            _ => Err(Error::runtime(format!(
                "unsupported operand type(s) for {}: '{}' and '{}'",
                op.symbol(),
                self.type_name(left),
                self.type_name(right)
            ))),
        }
    }

    /// `left + right`; if one of them is markup, the other is escaped.
    fn joined(&mut self, left: &Text, right: &Text) -> Result<Value> {
        let is_markup = left.is_markup || right.is_markup;
        self.charge_text(left.as_str().len() + right.as_str().len())?;
        let mut out = TextBuilder::new(is_markup);
        for side in [left, right] {
            out.push_text(&if is_markup { markup::escape(side) } else { side.clone() });
        }
        Ok(Value::Text(out.finish()))
    }

    fn repeated(&mut self, value: &Value, count: &Value) -> Result<Value> {
        let count = usize::try_from(count.as_index().unwrap_or(0)).unwrap_or(0);
        match value {
            Value::Text(text) => {
                self.charge_text(text.as_str().len().saturating_mul(count))?;
                let mut out = TextBuilder::new(text.is_markup);
                (0..count).for_each(|_| out.push_text(text));
                Ok(Value::Text(out.finish()))
            }
            Value::List(items) | Value::Tuple(items) => {
                self.allocate_list(items.items.len().saturating_mul(count))?;
                let count = if items.items.is_empty() { 0 } else { count };
                let items = std::iter::repeat_n(&items.items, count).flatten().cloned().collect();
                if matches!(value, Value::List(_)) { Value::list(items) } else { Value::tuple(items) }
            }
            _ => Ok(Value::None),
        }
    }

    pub(crate) fn compares(&mut self, op: CompareOp, left: &Value, right: &Value) -> Result<bool> {
        self.charge(left.weight().min(right.weight()))?;
        let ordered = |is: fn(Ordering) -> bool| Ok(left.compare(right, op.symbol())?.is_some_and(is));
        match op {
            CompareOp::Equal => Ok(left.equals(right)),
            CompareOp::NotEqual => Ok(!left.equals(right)),
            CompareOp::Less => ordered(Ordering::is_lt),
            CompareOp::LessOrEqual => ordered(Ordering::is_le),
            CompareOp::Greater => ordered(Ordering::is_gt),
            CompareOp::GreaterOrEqual => ordered(Ordering::is_ge),
            CompareOp::In => self.contains(right, left),
            CompareOp::NotIn => Ok(!self.contains(right, left)?),
        }
    }

    /// `item in container`.
    pub(crate) fn contains(&mut self, container: &Value, item: &Value) -> Result<bool> {
        match container {
            Value::Text(text) => {
                let needle = item.as_str().ok_or_else(|| {
                    let name = self.type_name(item);
                    Error::runtime(format!("'in <string>' requires string as left operand, not {name}"))
                })?;
                self.charge_text(text.as_str().len())?;
                Ok(text.as_str().contains(needle))
            }
            Value::Dict(dict) | Value::View(crate::value::View::Keys, dict) => {
                self.charge(item.weight())?;
                let key = crate::value::Key::new(item.clone())?;
                Ok(dict.entries.contains_key(&key))
            }
            Value::List(items) | Value::Tuple(items) => {
                self.charge(container.weight())?;
                Ok(items.items.iter().any(|other| other.equals(item)))
            }
            Value::View(..) | Value::Range(_) | Value::Undefined(_) | Value::Object(_)
                if !matches!(self.type_name(container), "Namespace" | "Cycler" | "Joiner") =>
            {
                let items = self.iterate(container)?;
                self.charge_values(&items)?;
                Ok(items.iter().any(|other| other.equals(item)))
            }
            other => {
                let name = self.type_name(other);
                Err(Error::runtime(format!("argument of type '{name}' is not iterable")))
            }
        }
    }
}
