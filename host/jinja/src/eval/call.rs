//! Calls of methods, functions and macros.

use std::sync::Arc;

use indexmap::IndexMap;

use super::{Object, Run};
use crate::arguments::Arguments;
use crate::ast::{CallArguments, Expression, ExpressionKind, Macro};
use crate::error::{Error, Result};
use crate::methods;
use crate::value::{Dict, Key, MacroValue, Name, Value};
use crate::{Origin, Text};

impl<'t> Run<'t> {
    pub(super) fn call_expression(
        &mut self,
        callee: &'t Expression,
        arguments: &'t CallArguments,
        caller: Option<MacroValue>,
    ) -> Result<Value> {
        let with_caller = |mut arguments: Arguments| {
            let name = Text::new(Origin::Template, "caller");
            arguments.keyword.extend(caller.map(|caller| (name, Value::Macro(caller))));
            arguments
        };
        if let ExpressionKind::Attribute(owner, name) = &callee.kind {
            let owner = self.value(owner)?;
            if methods::has_method(&owner, name) {
                let arguments = with_caller(self.arguments(arguments)?);
                return self.call_method(&owner, name, &arguments);
            }
            let callee = self.attribute(&owner, name)?;
            let arguments = with_caller(self.arguments(arguments)?);
            return self.call(&callee, &arguments);
        }
        let callee = self.value(callee)?;
        let arguments = with_caller(self.arguments(arguments)?);
        self.call(&callee, &arguments)
    }

    pub(super) fn call_with_caller(&mut self, call: &'t Expression, caller: MacroValue) -> Result<Value> {
        match &call.kind {
            ExpressionKind::Call(callee, arguments) => self.call_expression(callee, arguments, Some(caller)),
            _ => self.value(call),
        }
    }

    /// Calls a value.
    pub(crate) fn call(&mut self, callee: &Value, arguments: &Arguments) -> Result<Value> {
        match callee {
            Value::Undefined(missing) => Err(missing.error()),
            Value::Function(function) => self.call_function(*function, arguments),
            Value::Macro(called) => self.call_macro(*called, arguments),
            Value::Method(bound) => self.call_method(&bound.0, &bound.1, arguments),
            Value::Object(index) => match &mut self.objects[*index] {
                Object::Loop(_) => self.loop_again(callee, arguments),
                Object::Joiner { separator, is_used } => {
                    let text = if *is_used { separator.clone() } else { Text::new(Origin::Template, "") };
                    *is_used = true;
                    Ok(Value::Text(text))
                }
                _ => Err(Error::runtime(format!("'{}' object is not callable", self.type_name(callee)))),
            },
            other => Err(Error::runtime(format!("'{}' object is not callable", other.type_name()))),
        }
    }

    fn call_method(&mut self, owner: &Value, name: &str, arguments: &Arguments) -> Result<Value> {
        if name == "fromkeys" {
            return self.dict_from_keys(arguments);
        }
        match owner {
            Value::Object(index) => match &mut self.objects[*index] {
                Object::Loop(_) => self.loop_method(owner, name, arguments),
                Object::Cycler { items, at } => {
                    if name == "next" {
                        let item = items[*at].clone();
                        *at = (*at + 1) % items.len();
                        Ok(item)
                    } else {
                        *at = 0;
                        Ok(Value::None)
                    }
                }
                _ => Err(Error::runtime(format!("no method '{name}'"))),
            },
            _ => methods::call(self, owner, name, arguments),
        }
    }

    fn call_macro(&mut self, called: MacroValue, arguments: &Arguments) -> Result<Value> {
        let node = &self.program.macros[called.index];
        let bound = bind(node, arguments)?;
        self.scoped(called.scope, |run| {
            run.assign_parameters(node, bound)?;
            Ok(run.captured(|run| run.statements(&node.body))?.0)
        })
    }

    fn assign_parameters(&mut self, node: &'t Macro, bound: Bound) -> Result<()> {
        for ((symbol, name, _), value) in node.parameters.iter().zip(&bound.values) {
            let missing = || Value::undefined("", format!("parameter '{name}' was not provided"));
            self.assign(*symbol, value.clone().unwrap_or_else(missing));
        }
        for ((symbol, _, default), value) in node.parameters.iter().zip(&bound.values) {
            if let (None, Some(default)) = (value, default) {
                let value = self.value(default)?;
                self.assign(*symbol, value);
            }
        }
        for (name, value) in [("varargs", bound.varargs), ("kwargs", bound.kwargs), ("caller", bound.caller)]
        {
            if let (Some(value), Some(symbol)) = (value, self.program.symbol(name)) {
                self.assign(symbol, value);
            }
        }
        Ok(())
    }
}

/// Values of a macro's parameters, and of the special names that its body reads.
struct Bound {
    values: Vec<Option<Value>>,
    varargs: Option<Value>,
    kwargs: Option<Value>,
    caller: Option<Value>,
}

fn bind(node: &Macro, arguments: &Arguments) -> Result<Bound> {
    let count = node.parameters.len();
    let key = |(name, value): &(Text, Value)| (Key(Value::Text(name.clone())), value.clone());
    let mut keyword: IndexMap<Key, Value> = arguments.keyword.iter().map(key).collect();
    let mut values: Vec<Option<Value>> = arguments.positional.iter().take(count).cloned().map(Some).collect();
    for (_, name, _) in &node.parameters[values.len()..] {
        values.push(keyword.shift_remove(&Name(name)));
    }
    let has_parameter = |name: &str| node.parameters.iter().any(|(_, parameter, _)| &**parameter == name);
    let caller = (node.takes_caller && !has_parameter("caller")).then(|| {
        let caller = keyword.shift_remove(&Name("caller"));
        caller.unwrap_or_else(|| Value::undefined("", "No caller defined"))
    });
    let kwargs = if node.takes_kwargs {
        Some(Value::Dict(Arc::new(Dict::new(std::mem::take(&mut keyword))?)))
    } else {
        None
    };
    if let Some(name) = keyword.keys().next() {
        let name = name.0.as_str().unwrap_or_default();
        return Err(Error::runtime(format!("macro '{}' takes no keyword argument '{name}'", node.name)));
    }
    let surplus: Vec<Value> = arguments.positional.iter().skip(count).cloned().collect();
    if !surplus.is_empty() && !node.takes_varargs {
        return Err(Error::runtime(format!("macro '{}' takes not more than {count} argument(s)", node.name)));
    }
    let varargs = if node.takes_varargs { Some(Value::tuple(surplus)?) } else { None };
    Ok(Bound { values, varargs, kwargs, caller })
}
