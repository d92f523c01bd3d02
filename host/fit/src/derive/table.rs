//! Writes a format as a table, which the parser `response-template` reads, if a table can say it.

use serde_json::{Map, Value, json};

use super::format::{Arguments, Delimiters, DerivedCalls, DerivedFormat, FormatPart};
use super::objects::objects;
use super::pattern::{around, literal, name_class, soft, spaced};

/// The table of a format.
///
/// # Errors
/// What a table can't say.
pub(super) fn table(format: &DerivedFormat, about: &str, markers: &[String]) -> Result<Value, String> {
    let mut fields = Map::new();
    if let Some(reasoning) = &format.reasoning {
        fields.insert("reasoning_content".to_owned(), prose(&reasoning.value, true)?);
    }
    fields.insert("tool_calls".to_owned(), calls(format)?);
    fields.insert("content".to_owned(), content(format)?);
    let mut table = json!({ "defaults": { "role": "assistant" } });
    let anchors = anchors(format);
    if !anchors.is_empty() {
        table["start_anchor"] = json!(anchors);
    }
    table["fields"] = Value::Object(fields);
    Ok(json!({ "about": about, "markers": markers, "response_template": table }))
}

/// What stands before the message, also where the prompt closes reasoning that it didn't open.
fn anchors(format: &DerivedFormat) -> Vec<String> {
    let anchor = format.anchor.trim_start();
    if anchor.trim().is_empty() {
        return Vec::new();
    }
    let close = format.reasoning.as_ref().map_or("", |reasoning| reasoning.value.close.as_str());
    let closed = format.openings.iter().filter(|opening| !close.is_empty() && opening.trim() == close);
    [anchor.to_owned()]
        .into_iter()
        .chain(closed.map(|opening| format!("{anchor}{}", opening.trim_end())))
        .collect()
}

fn prose(marks: &Delimiters, opens: bool) -> Result<Value, String> {
    if marks.open.is_empty() && opens {
        return Err("reasoning has no opening".to_owned());
    }
    if marks.close.is_empty() {
        return Err("reasoning has no end".to_owned());
    }
    let open = format!("\\s*{}", soft(&marks.open));
    Ok(json!({ "open_pattern": open, "close_pattern": soft(&marks.close) }))
}

fn content(format: &DerivedFormat) -> Result<Value, String> {
    let marks = &format.content.value;
    let mut ends: Vec<String> = format.ends.iter().map(|end| literal(end)).collect();
    if !marks.close.is_empty() {
        ends.insert(0, soft(&marks.close));
    }
    if ends.is_empty() {
        return Err("nothing ends the text".to_owned());
    }
    let close = format!("\\s*(?:{})", ends.join("|"));
    if marks.open.is_empty() {
        return Ok(json!({ "close_pattern": close }));
    }
    Ok(json!({ "open_pattern": format!("\\s*{}", soft(&marks.open)), "close_pattern": close }))
}

fn calls(format: &DerivedFormat) -> Result<Value, String> {
    let calls = &format.calls.value;
    match &calls.arguments {
        Arguments::Keywords => keywords(calls),
        Arguments::Json => objects(calls, &format.ends).unwrap_or_else(|| {
            let mut field = header(calls)?;
            field["content"] = json!("json");
            Ok(field)
        }),
        Arguments::Tagged { key, middles, ends, .. } => {
            let mut field = header(calls)?;
            field["content"] = json!("xml-inline");
            field["content_args"] = json!({ "tag_pattern": parameter(key, middles, ends)? });
            Ok(field)
        }
    }
}

/// Calls in Python, in a region of their own.
fn keywords(calls: &DerivedCalls) -> Result<Value, String> {
    let open = format!("{}{}", calls.section.open, before_name(&calls.unit));
    let close = format!("{}{}", behind_arguments(&calls.unit).trim_start_matches(')'), calls.section.close);
    let (open, close) = (open.trim_end_matches('['), close.trim_start_matches(']'));
    if open.trim().is_empty() || close.trim().is_empty() {
        return Err("calls in Python have no delimiters around them".to_owned());
    }
    let function = json!({ "name": "{name}", "arguments": "{arguments}" });
    Ok(json!({
        "open_pattern": format!("\\s*{}", soft(open)), "close_pattern": soft(close),
        "content": "python-call-list", "transform_each": true,
        "transform": { "type": "function", "function": function },
    }))
}

/// The text of these parts.
fn text_of(parts: &[FormatPart]) -> String {
    let text =
        |part: &FormatPart| if let FormatPart::Literal(text) = part { text.clone() } else { String::new() };
    parts.iter().map(text).collect()
}

fn before_name(unit: &[FormatPart]) -> String {
    let name = unit.iter().position(|part| *part == FormatPart::Name);
    text_of(&unit[..name.unwrap_or_default()])
}

fn behind_arguments(unit: &[FormatPart]) -> String {
    let arguments = unit.iter().position(|part| *part == FormatPart::Arguments);
    text_of(&unit[arguments.map_or(unit.len(), |at| at + 1)..])
}

/// A field whose opening holds the name, without its content.
fn header(calls: &DerivedCalls) -> Result<Value, String> {
    let mut open = String::new();
    let end = calls.unit.iter().position(|part| *part == FormatPart::Arguments).unwrap_or(calls.unit.len());
    for (index, part) in calls.unit[..end].iter().enumerate() {
        let class = || match (calls.unit.get(index + 1), &calls.arguments) {
            (Some(FormatPart::Literal(text)), _) => Ok(name_class(text)),
            (_, Arguments::Tagged { key, .. }) => Ok(name_class(key)),
            _ => Err("a tool's name isn't followed by a delimiter".to_owned()),
        };
        match part {
            FormatPart::Literal(text) => open.push_str(&spaced(text)),
            FormatPart::Name => open.extend(["(?P<name>", &class()?, ")"]),
            FormatPart::Id | FormatPart::Counter => open.push_str(&class()?),
            FormatPart::Arguments => {}
        }
    }
    if !open.contains("(?P<name>") {
        return Err("a tool's name stands behind the arguments".to_owned());
    }
    let close = soft(&behind_arguments(&calls.unit));
    let mut field = around(calls, open, close)?;
    let function = json!({ "name": "{name}", "arguments": "{content}" });
    field["transform"] = json!({ "type": "function", "function": function });
    Ok(field)
}

/// The pattern of a parameter. A value loses at most the one line end written around it.
fn parameter(key: &str, middles: &[String], ends: &[String]) -> Result<String, String> {
    let [end] = ends else { return Err("values of several types have several ends".to_owned()) };
    let (Some(first), false) = (middles.first(), key.trim().is_empty()) else {
        return Err("a parameter doesn't begin with a delimiter".to_owned());
    };
    let is_spaced = middles.iter().all(|middle| middle.ends_with('\n'));
    let class = name_class(first);
    let mut spelt: Vec<String> = middles.iter().map(|middle| spaced(middle.trim_end())).collect();
    spelt.dedup();
    let middle = if let [only] = &spelt[..] { only.clone() } else { format!("(?:{})", spelt.join("|")) };
    let (before, behind) =
        (if is_spaced { "\\n?" } else { "" }, if end.starts_with('\n') { "\\n?" } else { "" });
    let end = soft(end);
    if end.is_empty() {
        return Err("a value has no end".to_owned());
    }
    Ok(format!("{}(?P<key>{class}){middle}{before}(?P<value>.*?){behind}{end}", soft(key)))
}
