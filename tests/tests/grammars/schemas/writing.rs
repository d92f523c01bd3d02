//! JSON as a model writes it: between each format's markup, with properties in the schema's order.

use registry::{Call, Writing};
use serde_json::{Map, Value};

/// Writer of answers and of calls of the tool `f` in one format.
#[derive(Clone, Copy)]
pub(super) struct Writer(pub(super) Writing);

/// Spelling of JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Style {
    /// Blanks after colons and commas; whole numbers have no decimal point.
    Spaced,
    /// No blanks; whole numbers have no decimal point.
    Dense,
    /// No blanks; numbers as `serde_json` writes them.
    Plain,
}

/// Parts of a turn: whether a part is the format's markup, and its text. A value's text counts as
/// text even if it spells a marker.
pub(super) type Parts = Vec<(bool, String)>;

impl Writer {
    /// Whether each argument is written as a parameter of its own.
    pub(super) fn has_parameters(&self) -> bool {
        matches!(self.0.call, Call::Parameters(..) | Call::Typed(..))
    }

    /// Whether values have a notation of the format's own.
    pub(super) fn has_notation(&self) -> bool {
        matches!(self.0.call, Call::Bare(_) | Call::Elements(_) | Call::Python(_))
    }

    /// Whether strings in arguments are written without quotes.
    pub(super) fn has_raw_strings(&self) -> bool {
        self.has_parameters() || matches!(self.0.call, Call::Bare(_) | Call::Elements(_))
    }

    /// Whether the notation can write a key, of an object inside an argument or of the arguments
    /// themselves.
    pub(super) fn writes_key(&self, key: &str, is_inside: bool) -> bool {
        let is_bare = |char: char| !char.is_whitespace() && !"<:=,(){}[]\"'".contains(char);
        match self.0.call {
            Call::Bare(_) => !key.is_empty() && key.chars().all(is_bare),
            Call::Elements(_) => {
                !key.is_empty() && !key.contains(|char: char| char.is_whitespace() || "<>/".contains(char))
            }
            Call::Python(_) if !is_inside => key.chars().all(|char| char == '_' || char.is_alphanumeric()),
            _ => true,
        }
    }

    /// Writes a message that is this value.
    pub(super) fn answer(&self, value: &Value, style: Style) -> Parts {
        between(self.0.answer, vec![(false, spelt(value, style))])
    }

    /// Writes a call with these arguments.
    pub(super) fn call(&self, arguments: &Map<String, Value>, style: Style) -> Parts {
        match self.0.call {
            Call::Json(marks) => {
                between(marks, vec![(false, spelt(&Value::Object(arguments.clone()), style))])
            }
            Call::Parameters(marks, each) => {
                let parameter = |(key, value): (&String, &Value)| parameter(each, key, value, style);
                between(marks, arguments.iter().flat_map(parameter).collect())
            }
            Call::Typed(marks, [before, string, other, behind]) => {
                let parameter = |(key, value): (&String, &Value)| {
                    let middle = if value.is_string() { string } else { other };
                    parameter([before, middle, behind], key, value, style)
                };
                between(marks, arguments.iter().flat_map(parameter).collect())
            }
            Call::Bare(marks) => between(marks, bare_members(arguments, style)),
            Call::Elements(marks) => between(marks, elements(arguments, style)),
            Call::Python(marks) => {
                let keyword = |(key, value): (&String, &Value)| format!("{key}={}", python(value, style));
                let keywords: Vec<String> = arguments.iter().map(keyword).collect();
                between(marks, vec![(false, keywords.join(", "))])
            }
        }
    }
}

fn between([before, behind]: [&str; 2], parts: Parts) -> Parts {
    [vec![(true, before.to_owned())], parts, vec![(true, behind.to_owned())]].concat()
}

/// Writes one parameter; a string is written raw, without quotes.
fn parameter([before, middle, behind]: [&str; 3], key: &str, value: &Value, style: Style) -> Parts {
    let text = value.as_str().map_or_else(|| spelt(value, style), str::to_owned);
    let marks = [before, middle, behind].map(|mark| (true, mark.to_owned()));
    let [before, middle, behind] = marks;
    vec![before, (false, key.to_owned()), middle, (false, text), behind]
}

/// Writes the members of an object in Gemma's notation: keys are bare, strings stand between
/// markers.
fn bare_members(members: &Map<String, Value>, style: Style) -> Parts {
    let member =
        |(key, value): (&String, &Value)| [vec![(false, format!("{key}:"))], bare(value, style)].concat();
    joined(members.iter().map(member).collect())
}

fn bare(value: &Value, style: Style) -> Parts {
    let around = |[before, behind]: [&str; 2], parts| {
        [vec![(false, before.to_owned())], parts, vec![(false, behind.to_owned())]].concat()
    };
    match value {
        Value::Array(values) => {
            around(["[", "]"], joined(values.iter().map(|value| bare(value, style)).collect()))
        }
        Value::Object(members) => around(["{", "}"], bare_members(members, style)),
        Value::String(text) => between(["<|\"|>", "<|\"|>"], vec![(false, text.clone())]),
        other => vec![(false, spelt(other, style))],
    }
}

fn joined(all: Vec<Parts>) -> Parts {
    let mut parts = Parts::new();
    for one in all {
        if !parts.is_empty() {
            parts.push((false, ",".to_owned()));
        }
        parts.extend(one);
    }
    parts
}

/// Writes the members of an object as elements named after their keys.
fn elements(members: &Map<String, Value>, style: Style) -> Parts {
    members.iter().flat_map(|(key, value)| element(key, value, style)).collect()
}

fn element(name: &str, value: &Value, style: Style) -> Parts {
    let inner = match value {
        Value::Array(values) => values.iter().flat_map(|value| element("item", value, style)).collect(),
        Value::Object(members) => elements(members, style),
        Value::String(text) => vec![(false, text.clone())],
        other => vec![(false, spelt(other, style))],
    };
    let tags =
        ["<", "</"].map(|tag| vec![(true, "]<]minimax[>[".to_owned()), (false, format!("{tag}{name}>"))]);
    let [before, behind] = tags;
    [before, inner, behind].concat()
}

/// Writes a value in Python.
fn python(value: &Value, style: Style) -> String {
    let all = |values: Vec<String>| values.join(", ");
    match value {
        Value::Null => "None".into(),
        Value::Bool(true) => "True".into(),
        Value::Bool(false) => "False".into(),
        Value::Array(values) => {
            format!("[{}]", all(values.iter().map(|value| python(value, style)).collect()))
        }
        Value::Object(members) => {
            let member = |(key, value): (&String, &Value)| {
                format!("{}: {}", Value::from(key.as_str()), python(value, style))
            };
            format!("{{{}}}", all(members.iter().map(member).collect()))
        }
        other => spelt(other, style),
    }
}

/// Writes JSON in this style.
pub(super) fn spelt(value: &Value, style: Style) -> String {
    let [comma, colon] = if style == Style::Spaced { [", ", ": "] } else { [",", ":"] };
    match value {
        Value::Array(values) => {
            format!("[{}]", values.iter().map(|value| spelt(value, style)).collect::<Vec<_>>().join(comma))
        }
        Value::Object(members) => {
            let member = |(key, value): (&String, &Value)| {
                format!("{}{colon}{}", Value::from(key.as_str()), spelt(value, style))
            };
            format!("{{{}}}", members.iter().map(member).collect::<Vec<_>>().join(comma))
        }
        Value::Number(number) if style != Style::Plain => {
            let text = number.to_string();
            text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
        }
        other => other.to_string(),
    }
}

/// Value with its properties in the order in which the schema first names them, others at the end.
pub(super) fn ordered(schema: &Value, value: &Value) -> Value {
    sorted(value, &names(schema))
}

fn sorted(value: &Value, names: &[&str]) -> Value {
    match value {
        Value::Array(values) => values.iter().map(|value| sorted(value, names)).collect(),
        Value::Object(members) => {
            let mut members: Vec<_> =
                members.iter().map(|(key, value)| (key.clone(), sorted(value, names))).collect();
            members.sort_by_key(|(key, _)| names.iter().position(|name| name == key).unwrap_or(names.len()));
            Value::Object(members.into_iter().collect())
        }
        other => other.clone(),
    }
}

/// Names of the properties that the schema declares, enumerates or requires anywhere.
pub(super) fn names(schema: &Value) -> Vec<&str> {
    let mut names = Vec::new();
    named(schema, &mut names);
    names
}

fn named<'a>(schema: &'a Value, names: &mut Vec<&'a str>) {
    match schema {
        Value::Array(schemas) => schemas.iter().for_each(|schema| named(schema, names)),
        Value::Object(members) => {
            let properties = members.get("properties").and_then(Value::as_object);
            names.extend(properties.into_iter().flatten().map(|(name, _)| name.as_str()));
            let values = ["const", "enum"].iter().filter_map(|keyword| members.get(*keyword));
            values.for_each(|value| keys(value, names));
            members.values().for_each(|value| named(value, names));
            let required = members.get("required").and_then(Value::as_array);
            names.extend(required.into_iter().flatten().filter_map(Value::as_str));
        }
        _ => {}
    }
}

fn keys<'a>(value: &'a Value, names: &mut Vec<&'a str>) {
    match value {
        Value::Array(values) => values.iter().for_each(|value| keys(value, names)),
        Value::Object(members) => members.iter().for_each(|(key, value)| {
            names.push(key);
            keys(value, names);
        }),
        _ => {}
    }
}
