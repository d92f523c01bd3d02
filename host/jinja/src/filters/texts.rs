//! Filters of strings.

use std::fmt::Write;

use crate::arguments::{Arguments, flag};
use crate::error::{Error, Result};
use crate::eval::Run;
use crate::markup;
use crate::methods;
use crate::print::is_true;
use crate::strings::{byte_of, is_line_end, is_space, is_word};
use crate::text::{Origin, Text, TextBuilder};
use crate::value::Value;

impl Run<'_> {
    pub(super) fn text_filter(&mut self, name: &str, value: &Value, arguments: &Arguments) -> Result<Value> {
        let text = self.str(value)?;
        self.charge_text(text.as_str().len())?;
        match name {
            "upper" | "lower" | "capitalize" => {
                let [] = arguments.exactly(name)?;
                methods::call(self, &Value::Text(text), name, arguments)
            }
            "title" => {
                let [] = arguments.exactly(name)?;
                Ok(Value::Text(title(&text).with_markup(false)))
            }
            "trim" => {
                let [characters] = arguments.bind(name, ["chars"], 0)?;
                let positional = characters.into_iter().collect();
                methods::call(self, &Value::Text(text), "strip", &Arguments::of(positional))
            }
            "center" => {
                let [width] = arguments.bind(name, ["width"], 0)?;
                let positional = vec![width.unwrap_or(Value::Int(80))];
                methods::call(self, &Value::Text(text), "center", &Arguments::of(positional))
            }
            "replace" => {
                let [old, new, count] = arguments.bind(name, ["old", "new", "count"], 2)?;
                let mut positional = Vec::new();
                for operand in [old, new] {
                    let operand = self.str(&operand.unwrap_or(Value::None))?;
                    positional.push(Value::Text(operand.with_markup(false)));
                }
                positional.extend(count.filter(|count| !count.is_none()));
                let text = if self.escapes() { text } else { text.with_markup(false) };
                methods::call(self, &Value::Text(text), "replace", &Arguments::of(positional))
            }
            "format" => self.format_filter(&text, arguments),
            "indent" => self.indent(value, arguments),
            "truncate" => self.truncate(value, arguments),
            "striptags" => {
                let [] = arguments.exactly(name)?;
                Ok(Value::Text(markup::striptags(&text)))
            }
            "wordcount" => {
                let [] = arguments.exactly(name)?;
                let words = text.as_str().split(|c| !is_word(c)).filter(|word| !word.is_empty());
                Ok(Value::count(words.count()))
            }
            "urlencode" => {
                let [] = arguments.exactly(name)?;
                self.url_encode(value)
            }
            _ => self.xml_attributes(value, arguments),
        }
    }

    fn format_filter(&mut self, text: &Text, arguments: &Arguments) -> Result<Value> {
        if !arguments.positional.is_empty() && !arguments.keyword.is_empty() {
            return Err(Error::runtime("can't handle positional and keyword arguments at the same time"));
        }
        let value = if arguments.keyword.is_empty() {
            Value::tuple(arguments.positional.clone())?
        } else {
            Value::dict(arguments.keyword.iter().map(|(name, value)| (name.as_str(), value.clone())))?
        };
        methods::percent::format(self, text, &value)
    }

    fn indent(&mut self, value: &Value, arguments: &Arguments) -> Result<Value> {
        let [width, first, blank] = arguments.bind("indent", ["width", "first", "blank"], 0)?;
        let (first, blank) = (flag(first), flag(blank));
        let text = match value {
            Value::Text(text) => text.clone(),
            Value::Undefined(missing) => return Err(missing.error()),
            other => {
                let name = self.type_name(other);
                return Err(Error::runtime(format!(
                    "unsupported operand type(s) for +=: '{name}' and 'str'"
                )));
            }
        };
        let width = match width {
            None => Text::new(Origin::Template, "    "),
            Some(Value::Text(width)) => width,
            Some(width) => {
                let count =
                    width.as_index().ok_or_else(|| Error::runtime("width must be a number or a string"))?;
                let count = usize::try_from(count).unwrap_or(0);
                self.charge_text(count)?;
                Text::new(Origin::Template, " ".repeat(count))
            }
        };
        let mut with_end = TextBuilder::default();
        with_end.push_text(&text);
        with_end.push(Origin::Template, "\n");
        self.allocate_values(text.as_str().matches(is_line_end).count())?;
        let lines = methods::lines(&with_end.finish(), false);
        self.charge_text(lines.len().saturating_mul(width.as_str().len()))?;
        let mut out = TextBuilder::new(text.is_markup);
        for (index, line) in lines.iter().enumerate() {
            if index > 0 {
                out.push(Origin::Template, "\n");
            }
            let is_indented = if index == 0 { first } else { blank || !line.as_str().is_empty() };
            if is_indented {
                out.push_text(&width);
            }
            out.push_text(line);
        }
        self.finish(out)
    }

    fn truncate(&mut self, value: &Value, arguments: &Arguments) -> Result<Value> {
        let names = ["length", "killwords", "end", "leeway"];
        let [length, kill_words, end, leeway] = arguments.bind("truncate", names, 0)?;
        let number = |value: Option<Value>, default: isize| {
            let value = value.filter(|value| !value.is_none());
            value
                .map_or(Some(default), |value| value.as_index())
                .and_then(|number| usize::try_from(number).ok())
        };
        let end = self.str(&end.unwrap_or_else(|| Value::text(Origin::Template, "...")))?;
        let (Some(length), Some(leeway)) = (number(length, 255), number(leeway, 5)) else {
            return Err(Error::runtime("truncate needs numbers that aren't negative"));
        };
        let Some(kept) = length.checked_sub(end.char_count()) else {
            let message = format!("expected length >= {}, got {length}", end.char_count());
            return Err(Error::runtime(message));
        };
        let text = match value {
            Value::Text(text) => text.clone(),
            other => {
                // What has a length and is short enough passes as it is.
                let count = self.length(other)?;
                if count.as_index().is_some_and(|count| count.unsigned_abs() <= length + leeway) {
                    return Ok(other.clone());
                }
                return Err(Error::runtime("only a string can be truncated"));
            }
        };
        if text.char_count() <= length + leeway {
            return Ok(Value::Text(text));
        }
        let mut cut = text.slice(0..byte_of(text.as_str(), kept));
        if !flag(kill_words) {
            let word_end = cut.as_str().rfind(' ').unwrap_or(cut.as_str().len());
            cut = cut.slice(0..word_end);
        }
        let mut out = TextBuilder::new(text.is_markup);
        out.push_text(&cut);
        out.push_text(&end);
        self.finish(out)
    }

    fn url_encode(&mut self, value: &Value) -> Result<Value> {
        let pairs = match value {
            Value::Dict(dict) => dict.viewed(crate::value::View::Items)?,
            Value::List(_) | Value::Tuple(_) | Value::View(..) | Value::Range(_) | Value::Object(_) => {
                self.iterate(value)?
            }
            other => return Ok(Value::Text(url_quote(&self.str(other)?, false))),
        };
        let mut out = TextBuilder::default();
        for (index, pair) in pairs.iter().enumerate() {
            let [name, value] = <[Value; 2]>::try_from(self.iterate(pair)?)
                .map_err(|_| Error::runtime("urlencode needs pairs of name and value"))?;
            out.push(Origin::Template, if index > 0 { "&" } else { "" });
            out.push_text(&url_quote(&self.str(&name)?, true));
            out.push(Origin::Template, "=");
            out.push_text(&url_quote(&self.str(&value)?, true));
            self.check_size(out.len())?;
        }
        self.finish(out)
    }

    fn xml_attributes(&mut self, value: &Value, arguments: &Arguments) -> Result<Value> {
        let [auto_space] = arguments.bind("xmlattr", ["autospace"], 0)?;
        let auto_space = auto_space.is_none_or(|space| is_true(&space));
        let Value::Dict(dict) = value else { return Err(Error::runtime("xmlattr needs a mapping")) };
        let mut out = TextBuilder::new(self.escapes());
        for (key, value) in dict.pairs().filter(|(_, value)| !value.is_none() && !value.is_undefined()) {
            let key = self.str(key)?;
            if key.as_str().contains([' ', '\t', '\n', '\r', '\u{b}', '\u{c}', '/', '>', '=']) {
                return Err(Error::runtime("Invalid character in attribute name"));
            }
            if auto_space || out.len() > 0 {
                out.push(Origin::Template, " ");
            }
            out.push_text(&markup::escape(&key));
            out.push(Origin::Template, "=\"");
            out.push_text(&markup::escape(&self.str(value)?));
            out.push(Origin::Template, "\"");
            self.check_size(out.len())?;
        }
        self.finish(out)
    }
}

/// Upper case at the beginning of each word, lower case in it. Words begin behind white space,
/// hyphens and opening brackets.
fn title(text: &Text) -> Text {
    let mut at_start = true;
    text.map(|part, out| {
        for c in part.chars() {
            let separates = is_space(c) || matches!(c, '-' | '(' | '{' | '[' | '<');
            if at_start {
                out.extend(c.to_uppercase());
            } else {
                out.extend(c.to_lowercase());
            }
            at_start = separates;
        }
    })
}

fn url_quote(text: &Text, for_query: bool) -> Text {
    text.map(|part, out| {
        for byte in part.bytes() {
            match byte {
                b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'_' | b'.' | b'-' | b'~' => {
                    out.push(char::from(byte));
                }
                b'/' if !for_query => out.push('/'),
                b' ' if for_query => out.push('+'),
                _ => write!(out, "%{byte:02X}").expect("a String takes all text"),
            }
        }
    })
}
