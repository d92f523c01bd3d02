//! Statements.

use super::{Flow, Object, ROOT, Run};
use crate::ast::{Expression, Statement, StatementKind, Target};
use crate::error::{Error, Result};
use crate::print::is_true;
use crate::value::{Key, MacroValue, Value};
use crate::{Origin, Text};

impl<'t> Run<'t> {
    pub(super) fn statements(&mut self, statements: &'t [Statement]) -> Result<Flow> {
        self.check_stack()?;
        for statement in statements {
            let flow = self.statement(statement).map_err(|error| error.at(statement.line))?;
            if flow != Flow::Next {
                return Ok(flow);
            }
        }
        Ok(Flow::Next)
    }

    fn statement(&mut self, statement: &'t Statement) -> Result<Flow> {
        self.charge(1)?;
        match &statement.kind {
            StatementKind::Text(text) => {
                self.check_size(self.out.len() + text.as_str().len())?;
                self.allocate(text.as_str().len())?;
                self.out.push_text(text);
            }
            StatementKind::Print(value) => self.print(value)?,
            StatementKind::Set(target, value) => {
                let value = self.value(value)?;
                self.assign_target(target, value)?;
            }
            StatementKind::SetBlock { target, filter, body } => {
                return self.set_block(target, filter.as_ref(), body);
            }
            StatementKind::If(branches, otherwise) => {
                for (test, body) in branches {
                    if is_true(&self.value(test)?) {
                        return self.statements(body);
                    }
                }
                return self.statements(otherwise);
            }
            StatementKind::For(node) => {
                let items = self.value(&node.items)?;
                return self.for_loop(node, &items, 0, self.scope);
            }
            StatementKind::With(values, body) => return self.with(values, body),
            StatementKind::Macro(symbol, index) => {
                let scope = self.capture_scope();
                self.assign(*symbol, Value::Macro(MacroValue { index: *index, scope }));
            }
            StatementKind::CallBlock(index, call) => {
                let caller = MacroValue { index: *index, scope: self.capture_scope() };
                let result = self.call_with_caller(call, caller)?;
                let text = self.str(&result)?;
                self.write(&text)?;
            }
            StatementKind::FilterBlock(filter, body) => return self.filter_block(filter, body),
            StatementKind::AutoEscape(flag, body) => return self.auto_escaped(flag, body),
            StatementKind::Block(is_scoped, body) => {
                let outer = if *is_scoped { self.scope } else { ROOT };
                return self.scoped(outer, |run| run.statements(body));
            }
            StatementKind::Generation(body) => return self.scoped(self.scope, |run| run.statements(body)),
            StatementKind::Break => return Ok(Flow::Break),
            StatementKind::Continue => return Ok(Flow::Continue),
            StatementKind::NeedsLoader(name) => {
                return Err(Error::runtime(format!("'{name}' needs other templates, and there are none")));
            }
        }
        Ok(Flow::Next)
    }

    fn print(&mut self, expression: &'t Expression) -> Result<()> {
        let value = self.value(expression)?;
        match &value {
            Value::Text(text) => self.write(text),
            Value::Undefined(_) => Ok(()),
            other => {
                let text = self.str(other)?;
                self.write(&text)
            }
        }
    }

    fn auto_escaped(&mut self, flag: &'t Expression, body: &'t [Statement]) -> Result<Flow> {
        let flag = is_true(&self.value(flag)?);
        let before = std::mem::replace(&mut self.auto_escape, flag);
        let flow = self.scoped(self.scope, |run| run.statements(body));
        self.auto_escape = before;
        flow
    }

    fn set_block(
        &mut self,
        target: &'t Target,
        filter: Option<&'t Expression>,
        body: &'t [Statement],
    ) -> Result<Flow> {
        let (text, flow) = self.captured(|run| run.scoped(run.scope, |run| run.statements(body)))?;
        if flow == Flow::Next {
            let value = match filter {
                Some(filter) => self.filter_text(filter, text)?,
                None => text,
            };
            self.assign_target(target, value)?;
        }
        Ok(flow)
    }

    fn filter_block(&mut self, filter: &'t Expression, body: &'t [Statement]) -> Result<Flow> {
        let (text, flow) = self.captured(|run| run.scoped(run.scope, |run| run.statements(body)))?;
        if flow == Flow::Next {
            let value = self.filter_text(filter, text)?;
            let text = self.str(&value)?;
            self.write(&text)?;
        }
        Ok(flow)
    }

    fn with(&mut self, values: &'t [(Target, Expression)], body: &'t [Statement]) -> Result<Flow> {
        let outer = self.scope;
        self.scoped(outer, |run| {
            for (target, value) in values {
                let inner = std::mem::replace(&mut run.scope, outer);
                let value = run.value(value);
                run.scope = inner;
                run.assign_target(target, value?)?;
            }
            run.statements(body)
        })
    }

    pub(super) fn assign_target(&mut self, target: &Target, value: Value) -> Result<()> {
        match target {
            Target::Name(symbol) => self.assign(*symbol, value),
            Target::Tuple(targets) => {
                let items = match &value {
                    Value::Undefined(missing) => return Err(missing.error()),
                    _ => self.iterate(&value)?,
                };
                let (expected, got) = (targets.len(), items.len());
                if got != expected {
                    let message = if got > expected {
                        format!("too many values to unpack (expected {expected})")
                    } else {
                        format!("not enough values to unpack (expected {expected}, got {got})")
                    };
                    return Err(Error::runtime(message));
                }
                for (target, item) in targets.iter().zip(items) {
                    self.assign_target(target, item)?;
                }
            }
            Target::Attribute(symbol, attribute) => {
                let namespace = self.name(*symbol);
                let Value::Object(index) = namespace else {
                    return Err(Error::runtime("cannot assign attribute on non-namespace object"));
                };
                let Object::Namespace(entries) = &mut self.objects[index] else {
                    return Err(Error::runtime("cannot assign attribute on non-namespace object"));
                };
                check_attribute(attribute)?;
                entries.insert(Key(Value::Text(Text::new(Origin::Template, &**attribute))), value);
            }
        }
        Ok(())
    }
}

/// Whether transformers lets a template store this attribute on a namespace.
pub(super) fn check_attribute(name: &str) -> Result<()> {
    if name.starts_with('_') {
        let message = format!(
            "Chat templates cannot store underscore-prefixed attributes on a namespace, but got '{name}'"
        );
        return Err(Error::runtime(message));
    }
    Ok(())
}
