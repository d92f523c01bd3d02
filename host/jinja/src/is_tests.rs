//! Tests: what stands behind `is`.

use std::sync::Arc;

use crate::arguments::Arguments;
use crate::arithmetic;
use crate::ast::{BinaryOp, CompareOp};
use crate::error::{Error, Result};
use crate::eval::{Object, Run};
use crate::methods;
use crate::names::{Filter, Test};
use crate::value::Value;

impl Test {
    fn compare_op(self) -> Option<CompareOp> {
        Some(match self.0 {
            "==" | "eq" | "equalto" => CompareOp::Equal,
            "!=" | "ne" => CompareOp::NotEqual,
            ">" | "gt" | "greaterthan" => CompareOp::Greater,
            ">=" | "ge" => CompareOp::GreaterOrEqual,
            "<" | "lt" | "lessthan" => CompareOp::Less,
            "<=" | "le" => CompareOp::LessOrEqual,
            "in" => CompareOp::In,
            _ => return None,
        })
    }
}

/// Whether two values are the same object. Python's equal strings and numbers may be two objects;
/// here they count as one.
fn is_same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Undefined(_), _) => false,
        (Value::List(a), Value::List(b)) | (Value::Tuple(a), Value::Tuple(b)) => Arc::ptr_eq(a, b),
        (Value::Dict(a), Value::Dict(b)) => Arc::ptr_eq(a, b),
        _ => a.type_name() == b.type_name() && a.equals(b),
    }
}

impl Run<'_> {
    pub(crate) fn test(&mut self, test: Test, value: &Value, arguments: &Arguments) -> Result<bool> {
        if let Some(op) = test.compare_op() {
            let [other] = arguments.exactly(test.0)?;
            return self.compares(op, value, &other);
        }
        if matches!(test.0, "divisibleby" | "sameas") {
            let [other] = arguments.exactly(test.0)?;
            self.charge(value.weight().min(other.weight()))?;
            if test.0 == "sameas" {
                return Ok(is_same(value, &other));
            }
            let rest = self.remainder(value, &other)?;
            return Ok(rest.equals(&Value::Int(0)));
        }
        let [] = arguments.exactly(test.0)?;
        Ok(match test.0 {
            "defined" => !value.is_undefined(),
            "undefined" => value.is_undefined(),
            "none" => value.is_none(),
            "boolean" => matches!(value, Value::Bool(_)),
            "true" => matches!(value, Value::Bool(true)),
            "false" => matches!(value, Value::Bool(false)),
            "integer" => matches!(value, Value::Int(_) | Value::BigInt(_)),
            "float" => matches!(value, Value::Float(_)),
            "number" => value.is_number(),
            "string" => value.as_text().is_some(),
            "mapping" => matches!(value, Value::Dict(_)),
            "sequence" => matches!(
                value,
                Value::Text(_)
                    | Value::List(_)
                    | Value::Tuple(_)
                    | Value::Dict(_)
                    | Value::Range(_)
                    | Value::Undefined(_)
            ),
            "iterable" => self.is_iterable(value),
            "callable" => self.is_callable(value),
            "escaped" => value.as_text().is_some_and(|text| text.is_markup),
            "lower" | "upper" => methods::holds_case(self.str(value)?.as_str(), test.0 == "lower"),
            "odd" => self.remainder(value, &Value::Int(2))?.equals(&Value::Int(1)),
            "even" => self.remainder(value, &Value::Int(2))?.equals(&Value::Int(0)),
            "filter" => value.as_str().is_some_and(|name| Filter::named(name).is_some()),
            "test" => value.as_str().is_some_and(|name| Test::named(name).is_some()),
            other => return Err(Error::runtime(format!("no test named '{other}'"))),
        })
    }

    fn is_iterable(&self, value: &Value) -> bool {
        match value {
            Value::Object(index) => matches!(self.objects[*index], Object::Generator(_) | Object::Loop(_)),
            Value::None | Value::Method(_) | Value::Function(_) | Value::Macro(_) => false,
            other => !other.is_number(),
        }
    }

    fn is_callable(&self, value: &Value) -> bool {
        match value {
            Value::Object(index) => {
                matches!(self.objects[*index], Object::Loop(_) | Object::Joiner { .. })
            }
            Value::Undefined(_) | Value::Method(_) | Value::Function(_) | Value::Macro(_) => true,
            _ => false,
        }
    }

    fn remainder(&mut self, value: &Value, divisor: &Value) -> Result<Value> {
        if let Value::Undefined(missing) = value {
            return Err(missing.error());
        }
        if let Value::Text(text) = value {
            return methods::percent::format(self, text, divisor);
        }
        arithmetic::arithmetic(BinaryOp::Mod, value, divisor)?.ok_or_else(|| {
            let (left, right) = (self.type_name(value), self.type_name(divisor));
            Error::runtime(format!("unsupported operand type(s) for %: '{left}' and '{right}'"))
        })
    }
}
