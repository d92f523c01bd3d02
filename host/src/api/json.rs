//! Request bodies: JSON with a bound on its nesting, and typed access whose errors name the path, what was expected and what came.
//! `null` counts as absent everywhere.

use std::fmt;
use std::ops::RangeInclusive;

use serde_json::{Map, Value};

use super::error::ApiError;
use super::warnings::printable;

/// Reads a body that must be one JSON object.
pub(crate) fn parse_object(body: &[u8], max_depth: usize) -> Result<Map<String, Value>, ApiError> {
    if nests_deeper(body, max_depth) {
        let message = format!("body: JSON is nested deeper than {max_depth} levels");
        return Err(ApiError::invalid(None, message).with_code("invalid_json"));
    }
    match serde_json::from_slice(body) {
        Ok(Value::Object(map)) => Ok(map),
        Ok(other) => Err(Path::Body.expected("a JSON object", &other)),
        Err(error) => {
            Err(ApiError::invalid(None, format!("body: not valid JSON: {error}")).with_code("invalid_json"))
        }
    }
}

/// Whether brackets nest deeper than `max`, without parsing (strings are skipped).
fn nests_deeper(body: &[u8], max: usize) -> bool {
    let (mut depth, mut in_string, mut escaped) = (0_usize, false, false);
    for &byte in body {
        if in_string {
            match byte {
                _ if escaped => escaped = false,
                b'\\' => escaped = true,
                b'"' => in_string = false,
                _ => {}
            }
            continue;
        }
        match byte {
            b'"' => in_string = true,
            b'{' | b'[' => {
                depth += 1;
                if depth > max {
                    return true;
                }
            }
            b'}' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    false
}

/// Where in the body a value stands; printed only when something is wrong there.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Path<'a> {
    /// The whole body.
    Body,
    /// A field of the object at the first path.
    Field(&'a Path<'a>, &'a str),
    /// An element of the list at the first path.
    Element(&'a Path<'a>, usize),
}

impl<'a> Path<'a> {
    /// The field `name` below this.
    pub(crate) fn field(&'a self, name: &'a str) -> Self {
        Path::Field(self, name)
    }

    /// The element `index` below this.
    pub(crate) fn element(&'a self, index: usize) -> Self {
        Path::Element(self, index)
    }

    /// 400: the value has the wrong type.
    pub(crate) fn expected(&self, what: &str, got: &Value) -> ApiError {
        self.invalid(format_args!("expected {what}, got {}", type_name(got))).with_code("invalid_type")
    }

    /// 400: a value must be there and isn't.
    pub(crate) fn missing(&self, what: &str) -> ApiError {
        self.invalid(format_args!("missing: expected {what}")).with_code("missing_required_parameter")
    }

    /// 400: something is wrong here; `what` says what.
    pub(crate) fn invalid(&self, what: impl fmt::Display) -> ApiError {
        ApiError::invalid(self.param(), format!("{self}: {what}")).with_code("invalid_value")
    }

    /// 400: asks for what this server can't do yet.
    pub(crate) fn unsupported(&self, what: impl fmt::Display) -> ApiError {
        ApiError::invalid(self.param(), format!("{self}: {what}")).with_code("unsupported_parameter")
    }

    fn param(&self) -> Option<String> {
        (!matches!(self, Path::Body)).then(|| self.to_string())
    }
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Path::Body => f.write_str("body"),
            Path::Field(Path::Body, name) => f.write_str(&printable(name)),
            Path::Field(parent, name) => write!(f, "{parent}.{}", printable(name)),
            Path::Element(parent, index) => write!(f, "{parent}[{index}]"),
        }
    }
}

fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "list",
        Value::Object(_) => "object",
    }
}

/// A JSON object with its path.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Object<'a> {
    /// Its fields.
    pub(crate) map: &'a Map<String, Value>,
    /// Where it stands.
    pub(crate) path: Path<'a>,
}

impl<'a> Object<'a> {
    /// The body itself.
    pub(crate) fn body(map: &'a Map<String, Value>) -> Self {
        Self { map, path: Path::Body }
    }

    /// `value`, if it is an object.
    pub(crate) fn new(value: &'a Value, path: Path<'a>) -> Result<Self, ApiError> {
        match value {
            Value::Object(map) => Ok(Self { map, path }),
            other => Err(path.expected("an object", other)),
        }
    }

    /// Path of the field `name`.
    pub(crate) fn at<'b>(&'b self, name: &'b str) -> Path<'b> {
        self.path.field(name)
    }

    /// The field `name`, unless absent or null.
    pub(crate) fn get(&self, name: &str) -> Option<&'a Value> {
        self.map.get(name).filter(|value| !value.is_null())
    }

    /// A string.
    pub(crate) fn string(&self, name: &str) -> Result<Option<&'a str>, ApiError> {
        match self.get(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(other) => Err(self.at(name).expected("a string", other)),
        }
    }

    /// A string that must be there.
    pub(crate) fn required_string(&self, name: &str) -> Result<&'a str, ApiError> {
        self.string(name)?.ok_or_else(|| self.at(name).missing("a string"))
    }

    /// `true` or `false`.
    pub(crate) fn boolean(&self, name: &str) -> Result<Option<bool>, ApiError> {
        match self.get(name) {
            None => Ok(None),
            Some(Value::Bool(value)) => Ok(Some(*value)),
            Some(other) => Err(self.at(name).expected("a boolean", other)),
        }
    }

    /// A whole number in `range`.
    pub(crate) fn integer(&self, name: &str, range: RangeInclusive<i64>) -> Result<Option<i64>, ApiError> {
        let Some(value) = self.get(name) else { return Ok(None) };
        let path = self.at(name);
        let Value::Number(number) = value else { return Err(path.expected("an integer", value)) };
        match number.as_i64() {
            Some(n) if range.contains(&n) => Ok(Some(n)),
            _ => Err(path.invalid(format_args!(
                "expected an integer from {} to {}, got {number}",
                range.start(),
                range.end()
            ))),
        }
    }

    /// A whole number from `min` up to what 32 bits hold.
    pub(crate) fn count(&self, name: &str, min: u32) -> Result<Option<u32>, ApiError> {
        let count = self.integer(name, i64::from(min)..=i64::from(u32::MAX))?;
        Ok(count.map(|n| u32::try_from(n).expect("the range was checked")))
    }

    /// A number in `range`.
    pub(crate) fn number(&self, name: &str, range: RangeInclusive<f64>) -> Result<Option<f64>, ApiError> {
        let Some(value) = self.get(name) else { return Ok(None) };
        let path = self.at(name);
        let Some(number) = value.as_f64() else { return Err(path.expected("a number", value)) };
        if range.contains(&number) {
            return Ok(Some(number));
        }
        Err(path.invalid(format_args!(
            "expected a number from {} to {}, got {value}",
            range.start(),
            range.end()
        )))
    }

    /// A list.
    pub(crate) fn list(&self, name: &str) -> Result<Option<&'a [Value]>, ApiError> {
        match self.get(name) {
            None => Ok(None),
            Some(Value::Array(list)) => Ok(Some(list)),
            Some(other) => Err(self.at(name).expected("a list", other)),
        }
    }

    /// An object.
    pub(crate) fn object<'b>(&'b self, name: &'b str) -> Result<Option<Object<'b>>, ApiError> {
        self.get(name).map(|value| Object::new(value, self.at(name))).transpose()
    }
}

#[cfg(test)]
mod tests {
    use super::{Object, Path, parse_object};

    #[test]
    fn nesting_is_bounded_and_brackets_in_strings_do_not_count() {
        let deep = |n: usize| format!("{{\"a\":{}{}}}", "[".repeat(n), "]".repeat(n));
        assert!(parse_object(deep(63).as_bytes(), 64).is_ok());
        let error = parse_object(deep(64).as_bytes(), 64).unwrap_err();
        assert_eq!(error.message, "body: JSON is nested deeper than 64 levels");
        let text = format!("{{\"a\":\"{}\\\"{}\"}}", "[".repeat(100), "{".repeat(100));
        assert!(parse_object(text.as_bytes(), 64).is_ok());
    }

    #[test]
    fn bad_json_and_other_values_are_named() {
        let message = |body: &str| parse_object(body.as_bytes(), 64).unwrap_err().message;
        assert!(message("{\"a\":").starts_with("body: not valid JSON: EOF"));
        assert_eq!(message("[]"), "body: expected a JSON object, got list");
        assert!(message("\u{0}").starts_with("body: not valid JSON"));
    }

    #[test]
    fn errors_name_the_path_and_both_types() {
        let map = parse_object(br#"{"input":[{"content":5,"n":7,"t":9.5}]}"#, 64).unwrap();
        let body = Object::body(&map);
        let list = body.list("input").unwrap().unwrap();
        let input = body.at("input");
        let item = Object::new(&list[0], input.element(0)).unwrap();
        let error = item.string("content").unwrap_err();
        assert_eq!(error.message, "input[0].content: expected a string, got number");
        assert_eq!(error.param.as_deref(), Some("input[0].content"));
        let error = item.integer("n", 0..=5).unwrap_err();
        assert_eq!(error.message, "input[0].n: expected an integer from 0 to 5, got 7");
        let error = item.number("t", 0.0..=2.0).unwrap_err();
        assert_eq!(error.message, "input[0].t: expected a number from 0 to 2, got 9.5");
        assert_eq!(item.required_string("x").unwrap_err().message, "input[0].x: missing: expected a string");
    }

    #[test]
    fn names_from_the_request_are_made_printable() {
        let path = Path::Body;
        assert_eq!(path.field("a\nb\u{1F600}").to_string(), "a?b?");
    }
}
