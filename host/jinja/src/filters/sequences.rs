//! Filters of sequences.

use crate::arguments::Arguments;
use crate::error::{Error, Result};
use crate::eval::Run;
use crate::markup::escape;
use crate::text::{Text, TextBuilder};
use crate::value::Value;

impl Run<'_> {
    pub(super) fn sequence_filter(
        &mut self,
        name: &str,
        value: &Value,
        arguments: &Arguments,
    ) -> Result<Value> {
        match name {
            "first" => {
                let [] = arguments.exactly(name)?;
                let first = self.iterate(value)?.into_iter().next();
                Ok(first.unwrap_or_else(|| Value::undefined("", "No first item, sequence was empty.")))
            }
            "last" => {
                let [] = arguments.exactly(name)?;
                let last = self.reversible(value)?.pop();
                Ok(last.unwrap_or_else(|| Value::undefined("", "No last item, sequence was empty.")))
            }
            "reverse" => {
                let [] = arguments.exactly(name)?;
                if let Value::Text(text) = value {
                    return Ok(Value::Text(reversed(text)));
                }
                let mut items = self.iterate(value)?;
                items.reverse();
                self.generator(items)
            }
            "join" => self.join(value, arguments),
            "batch" => {
                let [count, fill] = arguments.bind(name, ["linecount", "fill_with"], 1)?;
                let count = positive(count.as_ref())?;
                let mut rows = Vec::new();
                for row in self.iterate(value)?.chunks(count) {
                    let mut row = row.to_vec();
                    if let Some(fill) = &fill
                        && !fill.is_none()
                        && row.len() < count
                    {
                        self.charge_text(count.saturating_mul(size_of::<Value>()))?;
                        row.resize(count, fill.clone());
                    }
                    rows.push(Value::list(row)?);
                }
                self.generator(rows)
            }
            _ => {
                let [count, fill] = arguments.bind(name, ["slices", "fill_with"], 1)?;
                let rows = self.sliced(value, positive(count.as_ref())?, fill.as_ref())?;
                self.generator(rows)
            }
        }
    }

    /// Items of what Python's `reversed` takes.
    fn reversible(&mut self, value: &Value) -> Result<Vec<Value>> {
        match value {
            Value::Object(_) => {
                Err(Error::runtime(format!("'{}' object is not reversible", self.type_name(value))))
            }
            _ => self.iterate(value),
        }
    }

    /// Columns of a table: the first ones have one item more if the items don't divide evenly.
    fn sliced(&mut self, value: &Value, count: usize, fill: Option<&Value>) -> Result<Vec<Value>> {
        let items = self.iterate(value)?;
        self.charge_text(count.saturating_mul(size_of::<Value>()))?;
        let (each, more) = (items.len() / count, items.len() % count);
        let fill = fill.filter(|fill| !fill.is_none());
        let mut rows = Vec::with_capacity(count);
        let mut start = 0;
        for index in 0..count {
            let end = start + each + usize::from(index < more);
            let mut row = items[start..end].to_vec();
            if index >= more {
                row.extend(fill.cloned());
            }
            rows.push(Value::list(row)?);
            start = end;
        }
        Ok(rows)
    }

    fn join(&mut self, value: &Value, arguments: &Arguments) -> Result<Value> {
        let [separator, attribute] = arguments.bind("join", ["d", "attribute"], 0)?;
        let separator = self.str(&separator.unwrap_or_else(|| Value::text(crate::Origin::Template, "")))?;
        let mut items = self.iterate(value)?;
        if let Some(attribute) = attribute.filter(|attribute| !attribute.is_none()) {
            items = items.iter().map(|item| self.path(item, &attribute)).collect::<Result<_>>()?;
        }
        let mut texts = Vec::with_capacity(items.len());
        let mut len = 0;
        for item in &items {
            texts.push(self.str(item)?);
            len += texts[texts.len() - 1].as_str().len() + separator.as_str().len();
            self.check_size(len)?;
        }
        let escapes = self.escapes() && (separator.is_markup || texts.iter().any(|text| text.is_markup));
        let mut out = TextBuilder::new(escapes);
        let plain = |text: &Text| if escapes { escape(text) } else { text.clone() };
        for (index, text) in texts.iter().enumerate() {
            if index > 0 {
                out.push_text(&plain(&separator));
            }
            out.push_text(&plain(text));
            self.check_size(out.len())?;
        }
        self.finish(out)
    }
}

fn positive(count: Option<&Value>) -> Result<usize> {
    let count = count.and_then(Value::as_index).filter(|count| *count > 0);
    count.map(isize::unsigned_abs).ok_or_else(|| Error::runtime("a count must be a positive number"))
}

fn reversed(text: &Text) -> Text {
    let mut out = TextBuilder::new(text.is_markup);
    for (at, c) in text.as_str().char_indices().rev() {
        out.push_slice(text, at..at + c.len_utf8());
    }
    out.finish()
}
