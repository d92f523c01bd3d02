//! Filters that look at items one by one: choose, sort, group, sum.

use std::cmp::Ordering;

use indexmap::IndexMap;

use crate::arguments::{Arguments, flag};
use crate::ast::BinaryOp;
use crate::error::{Error, Result};
use crate::eval::Run;
use crate::names::{Filter, Test};
use crate::print::is_true;
use crate::value::{Key, Value, View};

impl Run<'_> {
    pub(super) fn selecting_filter(
        &mut self,
        name: &str,
        value: &Value,
        arguments: &Arguments,
    ) -> Result<Value> {
        match name {
            "map" | "select" | "reject" | "selectattr" | "rejectattr" if !is_true(value) => {
                self.generator(Vec::new())
            }
            "map" => self.map(value, arguments),
            "select" | "reject" | "selectattr" | "rejectattr" => self.select(name, value, arguments),
            "sort" => {
                let [reverse, case, attribute] =
                    arguments.bind(name, ["reverse", "case_sensitive", "attribute"], 0)?;
                let items = self.iterate(value)?;
                let items = self.sorted(items, flag(reverse), flag(case), attribute.as_ref())?;
                self.list(items)
            }
            "dictsort" => self.sort_dict(value, arguments),
            "unique" => {
                let [case, attribute] = arguments.bind(name, ["case_sensitive", "attribute"], 0)?;
                let (case, mut seen) = (flag(case), IndexMap::new());
                for item in self.iterate(value)? {
                    let key = self.sort_key(&item, attribute.as_ref(), case)?;
                    self.charge(key.weight())?;
                    seen.entry(Key::new(key)?).or_insert(item);
                }
                self.generator(seen.into_values().collect())
            }
            "min" | "max" => {
                let [case, attribute] = arguments.bind(name, ["case_sensitive", "attribute"], 0)?;
                self.extreme(value, name == "max", flag(case), attribute.as_ref())
            }
            "groupby" => self.group(value, arguments),
            _ => {
                let [attribute, start] = arguments.bind(name, ["attribute", "start"], 0)?;
                let mut sum = start.unwrap_or(Value::Int(0));
                if sum.as_text().is_some() {
                    return Err(Error::runtime("sum() can't sum strings [use ''.join(seq) instead]"));
                }
                for item in self.iterate(value)? {
                    let item = match attribute.as_ref().filter(|attribute| !attribute.is_none()) {
                        Some(attribute) => self.path(&item, attribute)?,
                        None => item,
                    };
                    let more = self.binary_value(BinaryOp::Add, &sum, &item)?;
                    sum = self.made(more)?;
                }
                Ok(sum)
            }
        }
    }

    /// Attribute of an item: a path of names and numbers with dots between them.
    pub(super) fn path(&mut self, item: &Value, attribute: &Value) -> Result<Value> {
        let Value::Text(path) = attribute else { return self.item(item, attribute) };
        let mut value = item.clone();
        for part in path.as_str().split('.') {
            let key = match part.parse::<i64>() {
                Ok(number) if part.bytes().all(|byte| byte.is_ascii_digit()) => Value::Int(number),
                _ => Value::text(crate::Origin::Template, part),
            };
            value = self.item(&value, &key)?;
        }
        Ok(value)
    }

    fn map(&mut self, value: &Value, arguments: &Arguments) -> Result<Value> {
        let keyword = |name: &str| arguments.keyword.iter().find(|(key, _)| key.as_str() == name);
        let items = self.iterate(value)?;
        let mut mapped = Vec::with_capacity(items.len());
        if let (Some((_, attribute)), true) = (keyword("attribute"), arguments.positional.is_empty()) {
            let default = keyword("default").map(|(_, default)| default.clone());
            if let Some((name, _)) =
                arguments.keyword.iter().find(|(key, _)| !matches!(key.as_str(), "attribute" | "default"))
            {
                return Err(Error::runtime(format!("Unexpected keyword argument '{}'", name.as_str())));
            }
            for item in &items {
                let found = self.path(item, attribute)?;
                mapped.push(if found.is_undefined() { default.clone().unwrap_or(found) } else { found });
            }
        } else {
            let (filter, rest) = filter_of(arguments)?;
            for item in &items {
                let value = self.filter(filter, item, &rest)?;
                mapped.push(self.made(value)?);
            }
        }
        self.generator(mapped)
    }

    fn select(&mut self, name: &str, value: &Value, arguments: &Arguments) -> Result<Value> {
        let keeps = name.starts_with("select");
        let mut rest = arguments.clone();
        let attribute = match name.ends_with("attr") {
            false => None,
            true if rest.positional.is_empty() => {
                return Err(Error::runtime("Missing parameter for attribute name"));
            }
            true => Some(rest.positional.remove(0)),
        };
        let test = if rest.positional.is_empty() {
            None
        } else {
            let name = rest.positional.remove(0);
            let test = name.as_str().and_then(Test::named);
            let unknown = || format!("no test named '{}'", name.as_str().unwrap_or_default());
            Some(test.ok_or_else(|| Error::runtime(unknown()))?)
        };
        let mut kept = Vec::new();
        for item in self.iterate(value)? {
            let examined = match &attribute {
                Some(attribute) => self.path(&item, attribute)?,
                None => item.clone(),
            };
            let holds = match test {
                Some(test) => self.test(test, &examined, &rest)?,
                None => is_true(&examined),
            };
            if holds == keeps {
                kept.push(item);
            }
        }
        self.generator(kept)
    }

    /// What an item is sorted by: an attribute, or several with commas between them, in lower case
    /// unless case matters.
    fn sort_key(&mut self, item: &Value, attribute: Option<&Value>, case_sensitive: bool) -> Result<Value> {
        let folded = |value: Value| match value {
            Value::Text(text) if !case_sensitive => {
                Value::text(crate::Origin::Request, text.as_str().to_lowercase())
            }
            other => other,
        };
        match attribute.filter(|attribute| !attribute.is_none()) {
            None => Ok(folded(item.clone())),
            Some(attribute) => self.path(item, attribute).map(folded),
        }
    }

    /// Counts the work of sorting, which compares each key with some others.
    fn charge_sort(&mut self, keyed: &[(Value, Value)]) -> Result<()> {
        let weight: usize = keyed.iter().map(|(key, _)| key.weight()).sum();
        let rounds = keyed.len().checked_ilog2().unwrap_or(0) as usize + 1;
        self.charge(weight.saturating_mul(rounds))
    }

    fn sorted(
        &mut self,
        items: Vec<Value>,
        reverse: bool,
        case_sensitive: bool,
        attribute: Option<&Value>,
    ) -> Result<Vec<Value>> {
        let attributes: Vec<Option<Value>> = match attribute {
            Some(Value::Text(names)) => {
                let name = |name: &str| Some(Value::text(crate::Origin::Template, name));
                names.as_str().split(',').map(name).collect()
            }
            other => vec![other.cloned()],
        };
        let mut keyed = Vec::with_capacity(items.len());
        for item in items {
            let keys: Result<Vec<Value>> = attributes
                .iter()
                .map(|attribute| self.sort_key(&item, attribute.as_ref(), case_sensitive))
                .collect();
            keyed.push((Value::list(keys?)?, item));
        }
        self.charge_sort(&keyed)?;
        sort_by_key(&mut keyed, reverse)?;
        Ok(keyed.into_iter().map(|(_, item)| item).collect())
    }

    fn sort_dict(&mut self, value: &Value, arguments: &Arguments) -> Result<Value> {
        let [case, by, reverse] = arguments.bind("dictsort", ["case_sensitive", "by", "reverse"], 0)?;
        let position = match by.as_ref().map_or(Some("key"), Value::as_str) {
            Some("key") => Value::Int(0),
            Some("value") => Value::Int(1),
            _ => return Err(Error::runtime("You can only sort by either \"key\" or \"value\"")),
        };
        let Value::Dict(dict) = value else {
            return Err(match value {
                Value::Undefined(missing) => missing.error(),
                other => {
                    Error::runtime(format!("'{}' object has no attribute 'items'", self.type_name(other)))
                }
            });
        };
        let items = self.sorted(dict.viewed(View::Items)?, flag(reverse), flag(case), Some(&position))?;
        self.list(items)
    }

    fn extreme(&mut self, value: &Value, max: bool, case: bool, attribute: Option<&Value>) -> Result<Value> {
        let mut best: Option<(Value, Value)> = None;
        for item in self.iterate(value)? {
            let key = self.sort_key(&item, attribute, case)?;
            self.charge(key.weight())?;
            let is_better = match &best {
                None => true,
                Some((best, _)) if max => key.compare(best, ">")? == Some(Ordering::Greater),
                Some((best, _)) => key.compare(best, "<")? == Some(Ordering::Less),
            };
            if is_better {
                best = Some((key, item));
            }
        }
        let empty = || Value::undefined("", "No aggregated item, sequence was empty.");
        Ok(best.map_or_else(empty, |(_, item)| item))
    }

    fn group(&mut self, value: &Value, arguments: &Arguments) -> Result<Value> {
        let [attribute, default, case] =
            arguments.bind("groupby", ["attribute", "default", "case_sensitive"], 1)?;
        let (attribute, case) = (attribute.unwrap_or(Value::None), flag(case));
        let mut keyed = Vec::new();
        for item in self.iterate(value)? {
            let found = self.path(&item, &attribute)?;
            let found = if found.is_undefined() { default.clone().unwrap_or(found) } else { found };
            let key = self.sort_key(&found, None, case)?;
            keyed.push((key, Value::tuple(vec![found, item])?));
        }
        self.charge_sort(&keyed)?;
        sort_by_key(&mut keyed, false)?;
        let mut groups: Vec<(Value, Value, Vec<Value>)> = Vec::new();
        for (key, pair) in keyed {
            let Value::Tuple(pair) = pair else { continue };
            match groups.last_mut().filter(|(last, _, _)| last.equals(&key)) {
                Some((_, _, items)) => items.push(pair.items[1].clone()),
                None => groups.push((key, pair.items[0].clone(), vec![pair.items[1].clone()])),
            }
        }
        let group = |(_, name, items)| Value::tuple(vec![name, Value::list(items)?]);
        let groups = groups.into_iter().map(group).collect::<Result<_>>()?;
        self.list(groups)
    }
}

/// Filter that the first argument names, and the arguments for it.
fn filter_of(arguments: &Arguments) -> Result<(Filter, Arguments)> {
    let mut rest = arguments.clone();
    if rest.positional.is_empty() {
        return Err(Error::runtime("map requires a filter argument"));
    }
    let name = rest.positional.remove(0);
    let filter = name.as_str().and_then(Filter::named);
    let unknown = || format!("no filter named '{}'", name.as_str().unwrap_or_default());
    Ok((filter.ok_or_else(|| Error::runtime(unknown()))?, rest))
}

/// Sorts stably; Python refuses values without an order.
fn sort_by_key(keyed: &mut [(Value, Value)], reverse: bool) -> Result<()> {
    let mut fault = None;
    let mut compare = |a: &Value, b: &Value| {
        let order = a.compare(b, "<").unwrap_or_else(|error| {
            fault.get_or_insert(error);
            None
        });
        order.unwrap_or(Ordering::Equal)
    };
    keyed.sort_by(|(a, _), (b, _)| if reverse { compare(b, a) } else { compare(a, b) });
    fault.map_or(Ok(()), Err)
}
