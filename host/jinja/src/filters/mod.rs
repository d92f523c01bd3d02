//! Filters: what stands behind `|`.

mod numbers;
mod selection;
mod sequences;
mod texts;

use std::sync::Arc;

use crate::arguments::{Arguments, flag};
use crate::error::{Error, Result};
use crate::eval::Run;
use crate::markup::{escape, escape_again};
use crate::names::Filter;
use crate::print::is_true;
use crate::value::{Value, View};

/// Filters of jinja2 that are refused when a template is parsed.
pub(crate) const UNSUPPORTED: [&str; 4] = ["pprint", "random", "urlize", "wordwrap"];

impl Run<'_> {
    pub(crate) fn filter(&mut self, filter: Filter, value: &Value, arguments: &Arguments) -> Result<Value> {
        let name = filter.0;
        match name {
            "default" | "d" => {
                let [default, boolean] = arguments.bind(name, ["default_value", "boolean"], 0)?;
                let boolean = flag(boolean);
                let replaces = value.is_undefined() || (boolean && !is_true(value));
                let default = || default.unwrap_or_else(|| Value::text(crate::Origin::Template, ""));
                Ok(if replaces { default() } else { value.clone() })
            }
            "length" | "count" => {
                let [] = arguments.exactly(name)?;
                self.length(value)
            }
            "list" => {
                let [] = arguments.exactly(name)?;
                let items = self.iterate(value)?;
                self.list(items)
            }
            "items" => {
                let [] = arguments.exactly(name)?;
                match value {
                    Value::Undefined(_) => self.generator(Vec::new()),
                    Value::Dict(dict) => {
                        let items = dict.viewed(View::Items)?;
                        self.generator(items)
                    }
                    _ => Err(Error::runtime("Can only get item pairs from a mapping.")),
                }
            }
            "tojson" => crate::print::json::tojson(value, arguments, self.max_text()),
            "string" => {
                let [] = arguments.exactly(name)?;
                Ok(Value::Text(self.str(value)?))
            }
            "safe" | "escape" | "e" | "forceescape" => {
                let [] = arguments.exactly(name)?;
                let text = self.str(value)?;
                Ok(Value::Text(match name {
                    "safe" => text.with_markup(true),
                    "forceescape" => escape_again(&text),
                    _ => escape(&text),
                }))
            }
            "attr" => self.attr(value, arguments),
            "abs" | "int" | "float" | "round" | "filesizeformat" => {
                self.number_filter(name, value, arguments)
            }
            "map" | "select" | "reject" | "selectattr" | "rejectattr" | "groupby" | "sort" | "unique"
            | "min" | "max" | "sum" | "dictsort" => self.selecting_filter(name, value, arguments),
            "first" | "last" | "reverse" | "batch" | "slice" | "join" => {
                self.sequence_filter(name, value, arguments)
            }
            _ => self.text_filter(name, value, arguments),
        }
    }

    fn attr(&mut self, value: &Value, arguments: &Arguments) -> Result<Value> {
        let [attribute] = arguments.bind("attr", ["name"], 1)?;
        let attribute = attribute.and_then(|name| name.as_text().cloned());
        let attribute: Arc<str> =
            attribute.ok_or_else(|| Error::runtime("an attribute's name is a string"))?.as_str().into();
        match value {
            Value::Undefined(_) if attribute.starts_with("__") => Ok(value.clone()),
            Value::Dict(_) if !crate::methods::has_method(value, &attribute) => {
                Ok(Value::undefined("dict", attribute))
            }
            _ => self.attribute(value, &attribute),
        }
    }

    /// `len(value)`.
    pub(crate) fn length(&mut self, value: &Value) -> Result<Value> {
        Ok(Value::count(match value {
            Value::Undefined(_) => 0,
            Value::Text(text) => text.char_count(),
            Value::List(items) | Value::Tuple(items) => items.items.len(),
            Value::Dict(dict) | Value::View(_, dict) => dict.entries.len(),
            Value::Range(range) => crate::value::range_len(range),
            other => {
                if let Some(length) = self.loop_attribute(other, "length")? {
                    return Ok(length);
                }
                let name = self.type_name(other);
                return Err(Error::runtime(format!("object of type '{name}' has no len()")));
            }
        }))
    }
}
