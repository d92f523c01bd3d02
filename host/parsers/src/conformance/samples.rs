//! Requests whose turns are constrained, as samples for any format, and the check of their JSON.

use grammar::{Demand, TextGrammar, ToolChoice, ToolDefinition};
use serde_json::{Value, json};

use super::demanded::TextJudge;
use contract::ToolKind;

const WEATHER: &str = r#"{"type":"object","properties":{"city":{"type":"string"},"days":{"type":"integer"},
    "unit":{"type":"string","enum":["celsius","fahrenheit"]},"hourly":{"type":"boolean"}},"required":["city"],
    "additionalProperties":false}"#;
const TRIP: &str = r#"{"type":"object","properties":{"who":{"type":"object","properties":{"name":{"type":"string"},
    "born":{"type":"integer"}},"required":["name"],"additionalProperties":false},
    "seats":{"type":"array","items":{"type":"integer"},"maxItems":3},"price":{"type":"number"},
    "note":{"type":["string","null"]}},"required":["who","seats"],"additionalProperties":false}"#;

/// The requests, each with its name: functions with typed parameters and nested values, a custom
/// tool, and an answer's schema.
pub(super) fn all() -> Vec<(&'static str, Demand)> {
    let tool = |name: &str, kind, schema: &str| {
        let (name, schema) = (name.to_owned(), schema.to_owned());
        ToolDefinition { name, kind, schema, strict: kind == ToolKind::Function, grammar: None }
    };
    let tools = vec![
        tool("get_weather", ToolKind::Function, WEATHER),
        tool("book_trip", ToolKind::Function, TRIP),
        tool("shell", ToolKind::Custom, ""),
    ];
    let with_tools = |tool_choice| Demand {
        tools: tools.clone(),
        tool_choice,
        parallel_tool_calls: true,
        ..Demand::default()
    };
    let named = |name: &str| with_tools(ToolChoice::Named(name.into()));
    let answer = |demand| Demand { response_schema: Some(TRIP.into()), ..demand };
    let single = Demand { parallel_tool_calls: false, ..with_tools(ToolChoice::Required) };
    vec![
        ("calls are required", with_tools(ToolChoice::Required)),
        ("one call is required", single),
        ("get_weather is named", named("get_weather")),
        ("book_trip is named", named("book_trip")),
        ("shell is named", named("shell")),
        ("strict tools may be called", with_tools(ToolChoice::Auto)),
        ("an answer by a schema", answer(Demand::default())),
        ("an answer by a schema, or calls", answer(with_tools(ToolChoice::Auto))),
    ]
}

/// The tools of a request as a case declares them.
pub(super) fn case_tools(demand: &Demand) -> Value {
    let tool = |tool: &ToolDefinition| match tool.kind {
        ToolKind::Function => {
            let parameters: Value = serde_json::from_str(&tool.schema).expect("the schemas are ours");
            json!({ "name": tool.name, "parameters": parameters })
        }
        ToolKind::Custom => json!({ "name": tool.name, "kind": "custom" }),
    };
    demand.tools.iter().map(tool).collect()
}

/// Judge of the samples, whose schemas say types, `properties`, `required`, `items`, `maxItems` and
/// `enum`, and allow no other properties.
pub(super) struct SampleJudge;

impl TextJudge for SampleJudge {
    fn json(&self, schema: &str, text: &str) -> Result<(), String> {
        let schema: Value = serde_json::from_str(schema).map_err(|error| error.to_string())?;
        let value: Value =
            serde_json::from_str(text).map_err(|error| format!("{text:?} is no JSON: {error}"))?;
        if fits(&value, &schema) { Ok(()) } else { Err(format!("{text} isn't of the schema {schema}")) }
    }

    fn input(&self, _: &TextGrammar, _: &str) -> Result<(), String> {
        Ok(())
    }

    fn answer(&self, _: &TextGrammar, _: &str) -> Result<(), String> {
        Ok(())
    }
}

fn fits(value: &Value, schema: &Value) -> bool {
    if let Some(values) = schema["enum"].as_array() {
        return values.contains(value);
    }
    let types = schema["type"].as_array().map_or(std::slice::from_ref(&schema["type"]), Vec::as_slice);
    types.iter().filter_map(Value::as_str).any(|kind| match (kind, value) {
        ("string", Value::String(_))
        | ("number", Value::Number(_))
        | ("boolean", Value::Bool(_))
        | ("null", Value::Null) => true,
        ("integer", Value::Number(number)) => number.as_f64().is_some_and(|number| number.fract() == 0.0),
        ("array", Value::Array(items)) => {
            let most = schema["maxItems"].as_u64().unwrap_or(u64::MAX);
            items.len() as u64 <= most && items.iter().all(|item| fits(item, &schema["items"]))
        }
        ("object", Value::Object(members)) => {
            let required = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
            let is_known = |(key, value): (&String, &Value)| {
                schema["properties"].get(key).is_some_and(|one| fits(value, one))
            };
            required.into_iter().all(|key| members.contains_key(key)) && members.iter().all(is_known)
        }
        _ => false,
    })
}
