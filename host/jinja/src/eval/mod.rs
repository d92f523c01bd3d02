//! Run of a template: walks the program, and keeps scopes and changing objects. Called by
//! `Template::render`.
//!
//! Invariants: nothing outlives the run; values never hold references to the run, only numbers of
//! its objects, so no cycles can leak.

mod access;
mod bounds;
mod call;
mod expression;
mod globals;
mod loops;
mod operators;
mod statement;

use std::sync::Arc;

use indexmap::IndexMap;

use crate::ast::{Program, Symbol};
use crate::error::{Error, Result};
use crate::text::{Origin, Text, TextBuilder};
use crate::value::{Dict, Key, Missing, Value};
use bounds::{CHECK_INTERVAL, VALUE_BYTES, stack_address};

pub use bounds::Limits;
pub(crate) use loops::LoopRun;

/// What a statement did to the loop around it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Flow {
    Next,
    Break,
    Continue,
}

/// Variables of one block.
#[derive(Debug, Default)]
struct Scope {
    variables: Vec<(Symbol, Value)>,
    parent: Option<usize>,
    /// Whether a macro looks its names up here, so that the scope has to stay.
    is_captured: bool,
}

/// Changing object of a run.
pub(crate) enum Object<'t> {
    Namespace(IndexMap<Key, Value>),
    Loop(LoopRun<'t>),
    Cycler {
        items: Vec<Value>,
        at: usize,
    },
    Joiner {
        separator: Text,
        is_used: bool,
    },
    /// Items that can be taken once.
    Generator(Vec<Value>),
}

pub(crate) struct Run<'t> {
    program: &'t Program,
    limits: &'t Limits<'t>,
    scopes: Vec<Scope>,
    scope: usize,
    pub(crate) objects: Vec<Object<'t>>,
    out: TextBuilder,
    pub(crate) steps: u64,
    next_check: u64,
    /// Address of the stack where the run began.
    stack: usize,
    /// Bytes of all values that the run made.
    made: usize,
    auto_escape: bool,
    /// Symbol of the name `loop`, if the template mentions it.
    loop_symbol: Option<Symbol>,
}

/// Scope of the variables that the caller gives.
const ROOT: usize = 0;

impl<'t> Run<'t> {
    pub(crate) fn new(program: &'t Program, variables: Vec<(&str, Value)>, limits: &'t Limits<'t>) -> Self {
        let mut root = Scope::default();
        for (name, value) in variables {
            if let Some(symbol) = program.symbol(name) {
                root.variables.retain(|(other, _)| *other != symbol);
                root.variables.push((symbol, value));
            }
        }
        Self {
            program,
            limits,
            scopes: vec![root],
            scope: ROOT,
            objects: Vec::new(),
            out: TextBuilder::default(),
            steps: 0,
            next_check: CHECK_INTERVAL,
            stack: stack_address(),
            made: 0,
            auto_escape: false,
            loop_symbol: program.symbol("loop"),
        }
    }

    /// Runs the whole template.
    pub(crate) fn run(&mut self) -> Result<Text> {
        self.statements(&self.program.body)?;
        Ok(std::mem::take(&mut self.out).finish())
    }

    /// A new string as a value.
    pub(crate) fn finish(&mut self, text: TextBuilder) -> Result<Value> {
        self.charge_text(text.len())?;
        Ok(Value::Text(text.finish()))
    }

    /// A new list as a value.
    pub(crate) fn list(&mut self, items: Vec<Value>) -> Result<Value> {
        self.allocate_list(items.len())?;
        Value::list(items)
    }

    /// Items that are taken once, as jinja2's lazy filters give them.
    pub(crate) fn generator(&mut self, mut items: Vec<Value>) -> Result<Value> {
        self.allocate_list(items.len())?;
        items.reverse();
        Ok(self.object(Object::Generator(items)))
    }

    fn object(&mut self, object: Object<'t>) -> Value {
        self.made = self.made.saturating_add(VALUE_BYTES);
        self.objects.push(object);
        Value::Object(self.objects.len() - 1)
    }

    fn write(&mut self, text: &Text) -> Result<()> {
        self.check_size(self.out.len() + text.as_str().len())?;
        self.allocate(text.as_str().len())?;
        let shown = self.shown(text.clone());
        self.out.push_text(&shown);
        Ok(())
    }

    /// The text as the current place shows it.
    fn shown(&self, text: Text) -> Text {
        if self.auto_escape { crate::markup::escape(&text) } else { text }
    }

    /// Whether text is escaped at the current place.
    pub(crate) fn escapes(&self) -> bool {
        self.auto_escape
    }

    /// Runs `body` with an output of its own and returns what it wrote.
    fn captured(&mut self, body: impl FnOnce(&mut Self) -> Result<Flow>) -> Result<(Value, Flow)> {
        let outer = std::mem::take(&mut self.out);
        let flow = body(self);
        let text = std::mem::replace(&mut self.out, outer).finish();
        Ok((Value::Text(text.with_markup(self.auto_escape)), flow?))
    }

    /// Runs `body` in a new scope inside `parent`.
    fn scoped<T>(&mut self, parent: usize, body: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        let before = self.scope;
        self.scopes.push(Scope { parent: Some(parent), ..Scope::default() });
        self.scope = self.scopes.len() - 1;
        let index = self.scope;
        let result = body(self);
        self.scope = before;
        if index + 1 == self.scopes.len() && !self.scopes[index].is_captured {
            self.scopes.pop();
        }
        result
    }

    /// Keeps the current scope, and those around it, for a macro.
    fn capture_scope(&mut self) -> usize {
        let mut scope = Some(self.scope);
        while let Some(index) = scope.filter(|index| !self.scopes[*index].is_captured) {
            self.scopes[index].is_captured = true;
            self.made = self.made.saturating_add(VALUE_BYTES);
            scope = self.scopes[index].parent;
        }
        self.scope
    }

    fn assign(&mut self, symbol: Symbol, value: Value) {
        let variables = &mut self.scopes[self.scope].variables;
        match variables.iter_mut().find(|(other, _)| *other == symbol) {
            Some((_, slot)) => *slot = value,
            None => variables.push((symbol, value)),
        }
    }

    /// Value of a name; `None` if there is none.
    fn variable(&self, symbol: Symbol) -> Option<&Value> {
        let mut scope = Some(self.scope);
        while let Some(index) = scope {
            let Scope { variables, parent, .. } = &self.scopes[index];
            if let Some((_, value)) = variables.iter().find(|(other, _)| *other == symbol) {
                return Some(value);
            }
            scope = *parent;
        }
        None
    }

    fn name(&self, symbol: Symbol) -> Value {
        if let Some(value) = self.variable(symbol) {
            return value.clone();
        }
        let name = &self.program.names[symbol as usize];
        let missing = || Value::Undefined(Missing { owner: None, name: Arc::clone(name) });
        globals::named(name).unwrap_or_else(missing)
    }

    /// The items of a value, as a loop would get them.
    pub(crate) fn iterate(&mut self, value: &Value) -> Result<Vec<Value>> {
        let items = match value {
            Value::List(items) | Value::Tuple(items) => items.items.clone(),
            Value::Dict(dict) => dict.entries.keys().map(|key| key.0.clone()).collect(),
            Value::View(view, dict) => dict.viewed(*view)?,
            Value::Range(range) => globals::range_items(range),
            Value::Undefined(_) => Vec::new(),
            Value::Text(text) => {
                self.allocate_values(text.char_count())?;
                let characters = text.as_str().char_indices();
                let character = |(at, c): (usize, char)| text.slice(at..at + c.len_utf8());
                characters.map(|at| Value::Text(character(at).with_markup(false))).collect()
            }
            Value::Object(index) => match &mut self.objects[*index] {
                Object::Generator(items) => {
                    let mut items = std::mem::take(items);
                    items.reverse();
                    items
                }
                Object::Loop(_) => self.remaining(*index)?,
                _ => {
                    return Err(Error::runtime(format!(
                        "'{}' object is not iterable",
                        self.type_name(value)
                    )));
                }
            },
            other => return Err(Error::runtime(format!("'{}' object is not iterable", other.type_name()))),
        };
        self.charge(items.len())?;
        Ok(items)
    }

    /// Python's name of the value's type.
    pub(crate) fn type_name(&self, value: &Value) -> &'static str {
        let Value::Object(index) = value else { return value.type_name() };
        match &self.objects[*index] {
            Object::Namespace(_) => "Namespace",
            Object::Loop(_) => "LoopContext",
            Object::Cycler { .. } => "Cycler",
            Object::Joiner { .. } => "Joiner",
            Object::Generator(_) => "generator",
        }
    }

    /// Spelling of an object or a macro; `None` for other values. A namespace in a namespace is
    /// left out: they may hold each other.
    fn spelt(&self, value: &Value, in_namespace: bool) -> Result<Option<String>> {
        Ok(Some(match value {
            Value::Macro(called) => match &*self.program.macros[called.index].name {
                "" => "<Macro anonymous>".to_owned(),
                name => format!("<Macro '{name}'>"),
            },
            Value::Object(index) => match &self.objects[*index] {
                Object::Namespace(_) if in_namespace => "<Namespace {...}>".to_owned(),
                Object::Namespace(entries) => {
                    let dict = Value::Dict(Arc::new(Dict::new(entries.clone())?));
                    format!("<Namespace {}>", self.repr_of(&dict, true)?.as_str())
                }
                Object::Loop(running) => running.spelt(),
                _ => format!("<{}>", self.type_name(value)),
            },
            _ => return Ok(None),
        }))
    }

    fn repr_of(&self, value: &Value, in_namespace: bool) -> Result<Text> {
        let spelt = |value: &Value| self.spelt(value, in_namespace);
        crate::print::repr(value, &spelt, self.limits.text_bytes)
    }

    /// `repr(value)`.
    pub(crate) fn repr(&self, value: &Value) -> Result<Text> {
        self.repr_of(value, false)
    }

    /// `str(value)`.
    pub(crate) fn str(&self, value: &Value) -> Result<Text> {
        match value {
            Value::Text(text) => Ok(text.clone()),
            Value::Undefined(_) => Ok(Text::new(Origin::Template, "")),
            _ => self.repr(value),
        }
    }
}
