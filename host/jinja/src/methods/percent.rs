//! Formatting by `%`, as C's `printf` with Python's extensions.

use crate::arithmetic;
use crate::error::{Error, Result};
use crate::eval::Run;
use crate::print;
use crate::print::spec::{MAX_WIDTH, Spec};
use crate::text::{Origin, Text, TextBuilder};
use crate::value::Value;

/// Values that conversions take, in order.
struct Values<'a> {
    items: Vec<Value>,
    next: usize,
    mapping: Option<&'a Value>,
}

/// `format % value`.
pub(crate) fn format(run: &mut Run, format: &Text, value: &Value) -> Result<Value> {
    let items = match value {
        Value::Tuple(items) => items.items.clone(),
        other => vec![other.clone()],
    };
    let mapping = matches!(value, Value::Dict(_)).then_some(value);
    let mut values = Values { items, next: 0, mapping };
    let mut out = TextBuilder::new(format.is_markup);
    let string = format.as_str();
    let mut start = 0;
    let mut uses_keys = false;
    while let Some(at) = string[start..].find('%') {
        out.push_slice(format, start..start + at);
        let conversion = Conversion::parse(&string[start + at + 1..], &mut values)?;
        start += at + 1 + conversion.len;
        if conversion.kind == '%' {
            out.push(Origin::Request, "%");
            continue;
        }
        let value = match &conversion.key {
            Some(key) => {
                uses_keys = true;
                let mapping = values.mapping.ok_or_else(|| Error::runtime("format requires a mapping"))?;
                let Value::Dict(dict) = mapping else {
                    return Err(Error::runtime("format requires a mapping"));
                };
                dict.get(key).cloned().ok_or_else(|| Error::runtime(format!("KeyError: '{key}'")))?
            }
            None => values.take()?,
        };
        let text = conversion.apply(run, &value)?;
        run.check_size(out.len() + text.as_str().len())?;
        out.push_text(&if format.is_markup { crate::markup::escape(&text) } else { text });
    }
    out.push_slice(format, start..string.len());
    let is_loose = values.mapping.is_some() || matches!(value, Value::List(_) | Value::Undefined(_));
    if values.next < values.items.len() && !uses_keys && !is_loose {
        return Err(Error::runtime("not all arguments converted during string formatting"));
    }
    run.finish(out)
}

impl Values<'_> {
    fn take(&mut self) -> Result<Value> {
        let value = self.items.get(self.next).cloned();
        self.next += 1;
        value.ok_or_else(|| Error::runtime("not enough arguments for format string"))
    }

    fn take_width(&mut self) -> Result<isize> {
        self.take()?.as_index().ok_or_else(|| Error::runtime("* wants int"))
    }
}

struct Conversion {
    key: Option<String>,
    spec: Spec,
    kind: char,
    /// Bytes behind the percent sign.
    len: usize,
}

impl Conversion {
    fn parse(text: &str, values: &mut Values) -> Result<Self> {
        let incomplete = || Error::runtime("incomplete format");
        let mut rest = text;
        let mut key = None;
        if let Some(inside) = rest.strip_prefix('(') {
            let end = closing(inside).ok_or_else(|| Error::runtime("incomplete format key"))?;
            key = Some(inside[..end].to_owned());
            rest = &inside[end + 1..];
        }
        let mut spec = Spec::default();
        let mut left = false;
        while let Some(flag) = rest.chars().next().filter(|c| matches!(c, '-' | '+' | ' ' | '#' | '0')) {
            match flag {
                '-' => left = true,
                '+' => spec.sign = Some('+'),
                ' ' => spec.sign = spec.sign.or(Some(' ')),
                '#' => spec.alternate = true,
                _ => spec.zero = true,
            }
            rest = &rest[1..];
        }
        let width = number(&mut rest, values)?.unwrap_or(0);
        left |= width < 0;
        spec.width = width.unsigned_abs();
        if let Some(after) = rest.strip_prefix('.') {
            rest = after;
            spec.precision = Some(usize::try_from(number(&mut rest, values)?.unwrap_or(0)).unwrap_or(0));
        }
        if spec.width.max(spec.precision.unwrap_or(0)) > MAX_WIDTH {
            return Err(Error::too_large());
        }
        rest = rest.trim_start_matches(['h', 'l', 'L']);
        let kind = rest.chars().next().ok_or_else(incomplete)?;
        if left {
            (spec.align, spec.zero) = (Some('<'), false);
        }
        let len = text.len() - rest.len() + kind.len_utf8();
        Ok(Self { key, spec, kind, len })
    }

    fn apply(&self, run: &Run, value: &Value) -> Result<Text> {
        let spec = Spec { kind: None, ..self.spec.clone() };
        let text = |text: Text| {
            let text_spec = Spec { zero: false, sign: None, alternate: false, ..spec.clone() };
            let kind = Some('s');
            let align = text_spec.align.or(Some('>'));
            Spec { align, kind, ..text_spec }.format(&Value::Text(text))
        };
        match self.kind {
            's' => text(run.str(value)?),
            'r' => text(run.repr(value)?),
            'a' => text(print::ascii(&run.repr(value)?)),
            'c' => match value {
                Value::Text(single) if single.char_count() == 1 => text(single.clone()),
                Value::Text(_) => Err(Error::runtime("%c requires int or char")),
                _ => Spec { kind: Some('c'), zero: false, ..spec }.format(value),
            },
            'd' | 'i' | 'u' => self.integer(value, 'd'),
            'o' | 'x' | 'X' => self.integer(value, self.kind),
            'e' | 'E' | 'f' | 'F' | 'g' | 'G' => {
                if let Value::Undefined(missing) = value {
                    return Err(missing.error());
                }
                if !value.is_number() {
                    let name = run.type_name(value);
                    return Err(Error::runtime(format!("must be real number, not {name}")));
                }
                Spec { kind: Some(self.kind), ..spec }.format(value)
            }
            other => Err(Error::runtime(format!("unsupported format character '{other}'"))),
        }
    }

    fn integer(&self, value: &Value, kind: char) -> Result<Text> {
        let value = match value {
            Value::Float(float) if kind == 'd' => arithmetic::truncate(*float)?,
            Value::Bool(_) | Value::Int(_) | Value::BigInt(_) => value.clone(),
            Value::Undefined(missing) => return Err(missing.error()),
            other => {
                let (wanted, found) =
                    (if kind == 'd' { "a real number" } else { "an integer" }, other.type_name());
                return Err(Error::runtime(format!(
                    "%{} format: {wanted} is required, not {found}",
                    self.kind
                )));
            }
        };
        // A precision is the least number of digits.
        let digits = Spec { kind: Some(kind), precision: None, width: 0, zero: false, ..self.spec.clone() };
        let spelt = digits.format(&value)?;
        let missing = self.spec.precision.unwrap_or(0);
        let string = spelt.as_str();
        let body = string.trim_start_matches(['-', '+', ' ']);
        let sign = &string[..string.len() - body.len()];
        let prefix = if self.spec.alternate && kind != 'd' { 2 } else { 0 };
        let zeros = missing.saturating_sub(body.len() - prefix);
        let zeros =
            if self.spec.zero { zeros.max(self.spec.width.saturating_sub(string.len())) } else { zeros };
        let padded = format!("{sign}{}{}{}", &body[..prefix], "0".repeat(zeros), &body[prefix..]);
        let spec = Spec { width: self.spec.width, align: self.spec.align, ..Spec::default() };
        Ok(spec.pad(&Text::new(Origin::Request, padded), '>'))
    }
}

/// Position of the parenthesis that closes the one before `text`.
fn closing(text: &str) -> Option<usize> {
    let mut depth = 1;
    text.bytes().position(|byte| {
        match byte {
            b'(' => depth += 1,
            b')' => depth -= 1,
            _ => {}
        }
        depth == 0
    })
}

fn number(rest: &mut &str, values: &mut Values) -> Result<Option<isize>> {
    if let Some(after) = rest.strip_prefix('*') {
        *rest = after;
        return values.take_width().map(Some);
    }
    let len = rest.bytes().take_while(u8::is_ascii_digit).count();
    let (digits, after) = rest.split_at(len);
    *rest = after;
    if digits.is_empty() {
        return Ok(None);
    }
    digits.parse().map(Some).map_err(|_| Error::too_large())
}
