//! Loops and their `loop` object.

use std::collections::VecDeque;

use super::{Flow, Object, Run};
use crate::arguments::Arguments;
use crate::ast::For;
use crate::error::{Error, Result};
use crate::print::is_true;
use crate::value::Value;

/// State of one running loop. Items are taken one by one, since the loop's body may change what its
/// filter says.
pub(crate) struct LoopRun<'t> {
    node: &'t For,
    /// Scope around the statement.
    outer: usize,
    items: std::vec::IntoIter<Value>,
    /// Items that passed the filter and were looked at before their turn.
    ahead: VecDeque<Value>,
    index: usize,
    previous: Option<Value>,
    /// Number of recursive loops around this one.
    depth: usize,
    /// Arguments of the last call of `changed`.
    last: Option<Vec<Value>>,
}

impl LoopRun<'_> {
    /// What `{{ loop }}` prints. The items that a filter hasn't seen yet count, too.
    pub(super) fn spelt(&self) -> String {
        let at = self.index + 1;
        format!("<LoopContext {at}/{}>", at + self.ahead.len() + self.items.len())
    }
}

impl<'t> Run<'t> {
    /// Runs a loop over the items of a value; `outer` is the scope around the statement.
    pub(super) fn for_loop(
        &mut self,
        node: &'t For,
        items: &Value,
        depth: usize,
        outer: usize,
    ) -> Result<Flow> {
        let items = self.iterate(items)?.into_iter();
        let ahead = VecDeque::new();
        let state = LoopRun { node, outer, items, ahead, index: 0, previous: None, depth, last: None };
        self.objects.push(Object::Loop(state));
        let state = self.objects.len() - 1;
        // jinja2 runs `else` unless some item's turn came to its end.
        let mut is_empty = true;
        while let Some(item) = self.next_item(state)? {
            self.charge(1)?;
            let flow = self.scoped(outer, |run| {
                if let Some(symbol) = run.loop_symbol {
                    run.assign(symbol, Value::Object(state));
                }
                run.assign_target(&node.target, item.clone())?;
                run.statements(&node.body)
            })?;
            if flow == Flow::Break {
                break;
            }
            is_empty &= flow != Flow::Next;
            if let Some(running) = self.loop_run(state) {
                running.index += 1;
                running.previous = Some(item);
            }
        }
        // The object stays, since a variable may hold it; items of thousands of ended loops would
        // fill the memory.
        if let Some(ended) = self.loop_run(state) {
            (ended.items, ended.ahead) = (Vec::new().into_iter(), VecDeque::new());
        }
        if is_empty {
            return self.scoped(outer, |run| run.statements(&node.otherwise));
        }
        Ok(Flow::Next)
    }

    fn loop_run(&mut self, index: usize) -> Option<&mut LoopRun<'t>> {
        match self.objects.get_mut(index) {
            Some(Object::Loop(running)) => Some(running),
            _ => None,
        }
    }

    /// Takes the next item that passes the filter.
    fn next_item(&mut self, state: usize) -> Result<Option<Value>> {
        match self.loop_run(state).and_then(|running| running.ahead.pop_front()) {
            Some(item) => Ok(Some(item)),
            None => self.pull(state),
        }
    }

    fn pull(&mut self, state: usize) -> Result<Option<Value>> {
        loop {
            let Some(running) = self.loop_run(state) else { return Ok(None) };
            let (node, outer) = (running.node, running.outer);
            let Some(item) = running.items.next() else { return Ok(None) };
            let Some(filter) = &node.filter else { return Ok(Some(item)) };
            let keeps = self.scoped(outer, |run| {
                run.assign_target(&node.target, item.clone())?;
                run.value(filter)
            })?;
            if is_true(&keeps) {
                return Ok(Some(item));
            }
        }
    }

    /// Looks at up to `count` items that follow, and returns how many there are.
    fn look_ahead(&mut self, state: usize, count: usize) -> Result<usize> {
        loop {
            let known = self.loop_run(state).map_or(0, |running| running.ahead.len());
            if known >= count {
                return Ok(known);
            }
            match (self.pull(state)?, self.loop_run(state)) {
                (Some(item), Some(running)) => running.ahead.push_back(item),
                _ => return Ok(known),
            }
        }
    }

    /// Items that a loop hasn't come to yet, which are taken from it.
    pub(super) fn remaining(&mut self, state: usize) -> Result<Vec<Value>> {
        let mut items = Vec::new();
        while let Some(item) = self.next_item(state)? {
            items.push(item);
        }
        Ok(items)
    }

    /// Attribute of a loop; `None` if it has no such attribute.
    pub(crate) fn loop_attribute(&mut self, owner: &Value, name: &str) -> Result<Option<Value>> {
        let Value::Object(state) = *owner else { return Ok(None) };
        let after = match name {
            "last" | "nextitem" => self.look_ahead(state, 1)?,
            "revindex" | "revindex0" | "length" => self.look_ahead(state, usize::MAX)?,
            _ => 0,
        };
        let Some(running) = self.loop_run(state) else { return Ok(None) };
        let (index, depth) = (running.index, running.depth);
        Ok(Some(match name {
            "index" => Value::count(index + 1),
            "index0" => Value::count(index),
            "revindex" => Value::count(after + 1),
            "revindex0" => Value::count(after),
            "first" => Value::Bool(index == 0),
            "last" => Value::Bool(after == 0),
            "length" => Value::count(index + 1 + after),
            "depth" => Value::count(depth + 1),
            "depth0" => Value::count(depth),
            "previtem" => {
                running.previous.clone().unwrap_or_else(|| Value::undefined("", "there is no previous item"))
            }
            "nextitem" => {
                let next = running.ahead.front().cloned();
                next.unwrap_or_else(|| Value::undefined("", "there is no next item"))
            }
            _ => return Ok(None),
        }))
    }

    /// Calls a method of a loop.
    pub(super) fn loop_method(&mut self, value: &Value, name: &str, arguments: &Arguments) -> Result<Value> {
        let Value::Object(state) = *value else { return Ok(Value::None) };
        self.charge_values(&arguments.positional)?;
        let Some(running) = self.loop_run(state) else { return Ok(Value::None) };
        match name {
            "cycle" if arguments.positional.is_empty() => Err(Error::runtime("no items for cycling given")),
            "cycle" => Ok(arguments.positional[running.index % arguments.positional.len()].clone()),
            _ => {
                let same = |last: &Vec<Value>| {
                    let pairs = last.iter().zip(&arguments.positional);
                    last.len() == arguments.positional.len() && pairs.into_iter().all(|(a, b)| a.equals(b))
                };
                let changed = !running.last.as_ref().is_some_and(same);
                running.last = Some(arguments.positional.clone());
                Ok(Value::Bool(changed))
            }
        }
    }

    /// `loop(items)`: runs the loop again for other items and returns what it writes.
    pub(super) fn loop_again(&mut self, value: &Value, arguments: &Arguments) -> Result<Value> {
        let [items] = arguments.exactly("loop")?;
        let Value::Object(state) = *value else { return Ok(Value::None) };
        let Some(&mut LoopRun { node, outer, depth, .. }) =
            self.loop_run(state).filter(|run| run.node.recursive)
        else {
            let message = "The loop must have the 'recursive' marker to be called recursively.";
            return Err(Error::runtime(message));
        };
        Ok(self.captured(|run| run.for_loop(node, &items, depth + 1, outer))?.0)
    }
}
