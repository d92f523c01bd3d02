//! What transformers loses of a turn that it reads by a template, and where the template is
//! ambiguous, as its own rules say (`transformers/utils/chat_parsing`, 5.24): of several regions of
//! a field the last counts, text outside all fields is dropped, a region ends at the first text that
//! looks like its end, and content that can't be read fails the whole answer.

use serde_json::{Map, Value};

/// Contents whose parts end at the first text that looks like their end.
const PARTED: [&str; 2] = ["xml-inline", "kv-lines"];

/// What is lost of a turn, a sentence each.
pub(super) fn losses(template: &Value) -> Vec<String> {
    let Some(fields) = template["fields"].as_object() else { return Vec::new() };
    let mut losses = Vec::new();
    if fields.values().all(|field| opens(field).is_some()) {
        losses.push("text outside the fields is dropped: no field is without an open".to_owned());
    }
    for (name, field) in fields {
        losses.extend(field_losses(field).into_iter().map(|loss| format!("{name}: {loss}")));
    }
    losses
}

fn field_losses(field: &Value) -> Vec<String> {
    let content = field["content"].as_str().unwrap_or("text");
    let args = &field["content_args"];
    let is_set = |value: &Value| value.as_bool() == Some(true);
    let repeats = is_set(&field["repeats"]);
    let is_list = is_set(&field["transform_each"]) || content == "python-call-list";
    let mut losses = Vec::new();
    if !repeats {
        let what = match (content, opens(field)) {
            _ if is_list => "of several lists of calls the last counts",
            ("text", None) => {
                "of text around other regions the last part counts (repeats with join keeps all)"
            }
            ("text", Some(_)) => "of several regions the last counts (repeats with join keeps all)",
            _ => "of several calls the last counts (repeats keeps all)",
        };
        losses.push(what.to_owned());
    }
    if repeats && is_list {
        losses.push("a list of calls becomes a list in a list (leave repeats out)".to_owned());
    }
    if content == "json" && !is_set(&args["allow_non_json"]) {
        losses.push("JSON that is cut off or broken fails the whole answer".to_owned());
    }
    if content == "python-call-list" {
        losses.push("a call that is cut off or broken fails the whole answer".to_owned());
    }
    if PARTED.contains(&content) {
        losses.push("words between parameters are dropped, and a value ends at the first text that looks like its end".to_owned());
        if !is_set(&args["merge_duplicates"]) {
            losses.push("of a parameter that is given twice the last value counts".to_owned());
        }
    }
    if field["optional"].as_bool() == Some(false) {
        losses.push("an answer without it fails".to_owned());
    }
    losses
}

/// Where two fields begin or end alike, a sentence each.
pub(super) fn ambiguities(template: &Value) -> Vec<String> {
    let empty = Map::new();
    let fields = template["fields"].as_object().unwrap_or(&empty);
    let texts = |key: &str| -> Vec<(&String, &str)> {
        let all = fields.iter().flat_map(|(name, field)| {
            let one = field[key].as_str().into_iter();
            let several = field[key].as_array().into_iter().flatten().filter_map(Value::as_str);
            one.chain(several).map(move |text| (name, text))
        });
        all.collect()
    };
    let (opens, closes) = (texts("open"), texts("close"));
    let mut found = Vec::new();
    for (at, (name, open)) in opens.iter().enumerate() {
        for (other, text) in &opens[at + 1..] {
            if name != other && (text.starts_with(open) || open.starts_with(text)) {
                found.push(format!("{name} and {other} open alike: {open:?}, {text:?}"));
            }
        }
        for (other, text) in closes.iter().filter(|(_, text)| text == open) {
            found.push(format!("what closes {other} opens {name}: {text:?}"));
        }
    }
    found
}

/// What opens a field; `None` if text outside all regions is the field's.
fn opens(field: &Value) -> Option<&Value> {
    field.get("open").or_else(|| field.get("open_pattern"))
}
