//! Raw outputs of scripted models, with texts, reasoning and calls in many orders and with faults
//! of writing.

use serde_json::{Value, json};

/// Names of raw Qwen3 outputs, each with its text.
pub const QWEN3: &[(&str, &str)] = &[
    ("text_only", "Hello! How can I help you?"),
    ("reasoning_then_text", "<think>\nThe user says hello.\n</think>\n\nHello 👋 there."),
    (
        "reasoning_text_tool_text_tool",
        "<think>\nTwo things: weather, then time.\n</think>\n\nFirst the weather.\n<tool_call>\n{\"name\": \"get_weather\", \
         \"arguments\": {\"city\": \"Zürich\"}}\n</tool_call>\nThen the time.\n<tool_call>\n{\"name\": \"get_time\", \
         \"arguments\": {\"city\": \"Zürich 🏔\"}}\n</tool_call>",
    ),
    (
        "parallel_calls",
        "<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Oslo\"}}\n</tool_call>\n<tool_call>\n\
         {\"name\": \"get_weather\", \"arguments\": {\"city\": \"Bergen\"}}\n</tool_call>",
    ),
    (
        "call_inside_reasoning",
        "<think>\nI call at once.\n<tool_call>\n{\"name\": \"get_time\", \"arguments\": {}}\n</tool_call>",
    ),
    (
        "end_marker_inside_a_string",
        "<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"a </tool_call> b\"}}\n</tool_call>\nDone.",
    ),
    (
        "lost_quote",
        "<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Oslo}}</tool_call>I say \"warm\".",
    ),
    (
        "arguments_before_the_name",
        "<tool_call>\n{\"arguments\": {\"city\": \"Oslo\", \"name\": \"x\"}, \"name\": \"get_weather\"}\n</tool_call>",
    ),
    (
        "unclosed_call_with_whole_json",
        "<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Oslo\"}}",
    ),
    (
        "unclosed_call_cut_in_the_arguments",
        "<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Os",
    ),
    ("a_call_that_never_becomes_one", "Look: <tool_call>\n{\"city\": \"Oslo\"}\n</tool_call> done."),
    (
        "an_undeclared_tool",
        "<tool_call>\n{\"name\": \"drop_tables\", \"arguments\": {\"all\": true}}\n</tool_call>",
    ),
    ("second_end_of_thinking", "<think>\na\n</think>\n\nb </think> c"),
    ("no_end_of_thinking", "<think>\nI never stop."),
    ("white_space_only", " \n\n "),
    ("nothing", ""),
    (
        "large_arguments",
        "<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\\n\
         \\u00e9\\\"quoted\\\" and more and more and more and more and more and more and more and more\"}}\n</tool_call>",
    ),
];

/// Tools that the transcripts call, in the Responses API's shape.
pub fn responses_tools() -> Value {
    tools()
        .into_iter()
        .map(|mut tool| {
            tool["type"] = "function".into();
            tool["strict"] = false.into();
            tool
        })
        .collect()
}

/// Tools that the transcripts call, in the shape of Chat Completions.
pub fn chat_tools() -> Value {
    tools().into_iter().map(|tool| json!({ "type": "function", "function": tool })).collect()
}

/// Tools that the transcripts call, in the shape of Messages.
pub fn messages_tools() -> Value {
    let renamed = |tool: Value| json!({ "name": tool["name"], "description": tool["description"], "input_schema": tool["parameters"] });
    tools().into_iter().map(renamed).collect()
}

fn tools() -> Vec<Value> {
    let parameters = json!({ "type": "object", "properties": { "city": { "type": "string" } } });
    ["get_weather", "get_time"]
        .map(|name| json!({ "name": name, "description": "of a city", "parameters": parameters }))
        .into()
}

/// Replay rules: the user's text `NAME at SIZE.` selects the transcript and the number of tokens
/// per step.
pub fn rules(sizes: &[usize]) -> Value {
    let mut rules = Vec::new();
    for (name, text) in QWEN3 {
        for size in sizes {
            rules.push(json!({ "when": { "contains": format!("{name} at {size}.") }, "text": text, "tokens_per_step": size }));
        }
    }
    rules.into()
}
