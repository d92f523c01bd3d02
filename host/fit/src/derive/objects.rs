//! Writes calls whose name stands inside JSON as a field of a table. Where the JSON begins and ends
//! shows in a sample of two calls.

use serde_json::{Value, json};

use super::format::{DerivedCalls, FormatPart};
use super::pattern::{around, soft};
use super::spelling::json_at;

/// Names in a sample of two calls, and their arguments.
const NAMES: [&str; 2] = ["zqone", "zqtwo"];
const KEY: &str = "zqkey";

/// Calls whose name stands inside JSON, in a list or not; `None` if it doesn't.
pub(super) fn objects(calls: &DerivedCalls, ends: &[String]) -> Option<Result<Value, String>> {
    let unit = |name: &str| -> String {
        let part = |part: &FormatPart| match part {
            FormatPart::Literal(text) => text.clone(),
            FormatPart::Name => name.to_owned(),
            FormatPart::Id => "zqid".to_owned(),
            FormatPart::Counter => "0".to_owned(),
            FormatPart::Arguments => format!("{{\"{KEY}\": 1}}"),
        };
        calls.unit.iter().map(part).collect()
    };
    let separator = calls.separator.as_deref();
    let [one, two] = NAMES.map(unit);
    let body = separator.map_or(one.clone(), |separator| format!("{one}{separator}{two}"));
    let whole = format!("{}{body}{}", calls.section.open, calls.section.close);
    let begin = whole.find(NAMES[0])?;
    let places = whole[..begin].match_indices(['{', '[']).map(|(at, _)| at);
    let (at, (value, bytes)) = places
        .filter_map(|at| Some((at, json_at(&whole[at..])?)))
        .find(|(at, (_, bytes))| *at + bytes > begin)?;
    let (value, listed) = match value {
        Value::Array(items) => (items.into_iter().next()?, true),
        other => (other, false),
    };
    let Some(path) = path(&value) else {
        return Some(Err("a tool's name is a key of JSON".to_owned()));
    };
    Some(if listed {
        // The list may reach to the turn's end.
        let close = Some(whole[at + bytes..].trim()).filter(|close| !close.is_empty());
        list(&whole[..at], close.or(ends.first().map(String::as_str)).unwrap_or_default(), &path)
    } else {
        let in_unit = at.checked_sub(calls.section.open.len());
        let unit_end = calls.section.open.len() + one.len();
        match in_unit {
            Some(inner) if at + bytes <= unit_end => {
                object(calls, &one[..inner], &one[inner + bytes..], &path)
            }
            _ => Err("a call's object isn't whole inside the call".to_owned()),
        }
    })
}

/// Keys that lead to the name and to the arguments of a call.
#[derive(Debug)]
struct Path {
    way: Vec<String>,
    name: String,
    arguments: String,
}

fn path(value: &Value) -> Option<Path> {
    let object = value.as_object()?;
    let is_name = |value: &Value| value.as_str() == Some(NAMES[0]);
    let key_of =
        |is: &dyn Fn(&Value) -> bool| object.iter().find(|(_, value)| is(value)).map(|(key, _)| key.clone());
    if let Some(name) = key_of(&is_name) {
        let arguments = key_of(&|value| value.get(KEY).is_some())?;
        return Some(Path { way: Vec::new(), name, arguments });
    }
    object.iter().find_map(|(key, value)| {
        let mut found = path(value)?;
        found.way.insert(0, key.clone());
        Some(found)
    })
}

fn transform(path: &Path, root: &[&str]) -> Value {
    let place = |key: &String| {
        let way = root.iter().copied().chain(path.way.iter().map(String::as_str)).chain([key.as_str()]);
        format!("{{{}}}", way.collect::<Vec<_>>().join("."))
    };
    let function = json!({ "name": place(&path.name), "arguments": place(&path.arguments) });
    json!({ "type": "function", "function": function })
}

fn list(open: &str, close: &str, path: &Path) -> Result<Value, String> {
    if open.trim().is_empty() || close.trim().is_empty() {
        return Err("a list of calls has no delimiters around it".to_owned());
    }
    Ok(json!({
        "open_pattern": format!("\\s*{}", soft(open)), "close_pattern": soft(close),
        "content": "json", "transform_each": true, "transform": transform(path, &[]),
    }))
}

fn object(calls: &DerivedCalls, open: &str, close: &str, path: &Path) -> Result<Value, String> {
    let mut field = around(calls, soft(open), soft(close))?;
    field["content"] = json!("json");
    field["transform"] = transform(path, &["content"]);
    Ok(field)
}
