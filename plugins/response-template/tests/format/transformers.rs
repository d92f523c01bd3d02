//! The parser against transformers' own reading of the same tables: the turns in
//! `transformers.json`, which `tests/response-templates/run.sh` wrote, or those in the file that
//! `SLUICE_TURNS` names.

use std::collections::BTreeMap;
use std::path::Path;

use parser_kit::{Head, Item, cut, function, play, with_tools};
use parser_sdk::{FinishReason, Request};
use response_template_parser::ResponseTemplate;
use serde_json::{Value, json};

/// Sizes of the pieces in which a turn arrives, in bytes.
const SIZES: [usize; 3] = [1, 5, 4096];

/// Reasoning, message and calls of a turn. Of several texts of one kind the last counts, as in
/// transformers.
fn reading(items: &[Item]) -> Value {
    let mut reading = json!({"reasoning": "", "content": "", "calls": []});
    for Item { head, text, complete } in items {
        match head {
            Head::Reasoning => reading["reasoning"] = text.as_str().into(),
            Head::Message(_) => reading["content"] = text.as_str().into(),
            Head::ToolCall(call) => {
                let arguments: Value = serde_json::from_str(text).unwrap_or_else(|_| text.as_str().into());
                let call = json!({"name": call.name, "arguments": arguments, "complete": complete});
                reading["calls"].as_array_mut().expect("a list").push(call);
            }
        }
    }
    reading
}

/// The reading that transformers' `message` is.
fn expected(message: &Value) -> Value {
    let text =
        |keys: &[&str]| keys.iter().find_map(|key| message.get(key)?.as_str()).unwrap_or_default().to_owned();
    let calls = match &message["tool_calls"] {
        Value::Array(calls) => calls.clone(),
        _ => Vec::new(),
    };
    let calls: Vec<Value> = calls
        .iter()
        .map(|call| json!({"name": call["function"]["name"], "arguments": call["function"]["arguments"], "complete": true}))
        .collect();
    json!({"reasoning": text(&["reasoning_content", "thinking"]), "content": text(&["content"]), "calls": calls})
}

/// The table of a file that is one, or has one beside its markers.
fn table(file: &str) -> String {
    let text = std::fs::read_to_string(Path::new(file)).unwrap_or_else(|error| panic!("{file}: {error}"));
    let content: Value = serde_json::from_str(&text).expect("it is JSON");
    content.get("response_template").unwrap_or(&content).to_string()
}

fn request_with(tools: &Value, table: &str) -> Request {
    let tools = tools.as_object().expect("tools").iter();
    let mut request = with_tools(tools.map(|(name, schema)| function(name, &schema.to_string())));
    request.options = vec![("response_template".into(), table.into())];
    request
}

#[test]
fn a_table_is_read_as_transformers_reads_it() {
    let file = std::env::var("SLUICE_TURNS").unwrap_or_else(|_| "tests/transformers.json".into());
    let text = std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{file}: {error}"));
    let sample: Value = serde_json::from_str(&text).expect("it is JSON");
    let (mut requests, mut differing) = (BTreeMap::new(), Vec::new());
    let turns = sample["turns"].as_array().expect("turns");
    for turn in turns {
        let [file, prompt, output] =
            ["table", "prompt", "output"].map(|key| turn[key].as_str().expect("text"));
        let request = requests.entry(file).or_insert_with(|| request_with(&sample["tools"], &table(file)));
        let expected = expected(&turn["message"]);
        for size in SIZES {
            let got = play::<ResponseTemplate>(request, prompt, cut(output, &[size]), FinishReason::Stop);
            let got = reading(&got);
            if got != expected {
                differing.push(format!(
                    "{file}, in pieces of {size}: {output:?}\n  got      {got}\n  expected {expected}"
                ));
                break;
            }
        }
    }
    assert!(turns.len() >= 5 * requests.len() && requests.len() >= 20, "{} turns", turns.len());
    let shown = differing.iter().take(10).map(String::as_str).collect::<Vec<_>>().join("\n");
    assert!(differing.is_empty(), "{} of {} turns differ:\n{shown}", differing.len(), turns.len());
}
