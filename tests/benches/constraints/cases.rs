//! Cases of the benchmark: a request, and a text that satisfies it.

use contract::ToolKind;
use grammar::{CallForm, Demand, ToolChoice, ToolDefinition};
use serde_json::{Value, json};

use super::schemas;

const PROPERTIES: usize = 300;
const TOOLS: usize = 40;
const STRICT_TOOLS: usize = 8;
const PROSE: &str = "Let me see what the archive has. If x < y holds for both dates (it does: 3 < 7), the meeting was in January, and \
    \"the minutes\" are among its papers;\nI'll ask for them by date, newest first, and tell you what I find.\n\n- first the list of papers\n\
    - then who signed them\n\n";

/// Request and an answer to it.
pub(crate) struct Case {
    pub(crate) name: &'static str,
    pub(crate) demand: Demand,
    /// Model's output after the prompt, up to the turn's end.
    pub(crate) text: String,
    /// JSON of the answer, where the case isn't one of calls.
    pub(crate) json: Option<String>,
}

/// All cases.
pub(crate) fn all() -> Vec<Case> {
    let any = json!({"type": "object"});
    vec![
        answer("nested schema", &schemas::order(), &schemas::order_instance()),
        answer("300 properties", &schemas::wide(PROPERTIES), &schemas::wide_instance(PROPERTIES)),
        Case {
            name: "40 tools, required",
            demand: Demand { tool_choice: ToolChoice::Required, ..with_tools(TOOLS, false) },
            text: format!("{}\n{}", call(17), call(33)),
            json: None,
        },
        answer("json_object", &any, &schemas::any_object()),
        plain("prose, 2 plain tools", 2),
        plain("prose, 40 plain tools", TOOLS),
        Case {
            name: "prose, strict tools",
            demand: with_tools(STRICT_TOOLS, true),
            text: format!("<think>\n{}</think>\n\n{}{}", PROSE.repeat(2), PROSE.repeat(3), call(5)),
            json: None,
        },
    ]
}

/// Thoughts, an answer, and a call that has its envelope only.
fn plain(name: &'static str, tools: usize) -> Case {
    Case {
        name,
        demand: Demand { call_form: CallForm::Envelope, ..with_tools(tools, false) },
        text: format!("<think>\n{}</think>\n\n{}{}", PROSE.repeat(2), PROSE.repeat(3), call(tools - 1)),
        json: None,
    }
}

fn answer(name: &'static str, schema: &Value, instance: &Value) -> Case {
    jsonschema::validate(schema, instance).expect("an instance of the schema");
    let (schema, json) = (schema.to_string(), spaced(instance));
    let demand = Demand { response_schema: Some(schema), ..with_tools(0, false) };
    Case { name, demand, text: json.clone(), json: Some(json) }
}

fn with_tools(count: usize, strict: bool) -> Demand {
    let tool = |at| ToolDefinition {
        name: tool_name(at),
        kind: ToolKind::Function,
        schema: schemas::parameters(at).to_string(),
        strict,
        grammar: None,
    };
    Demand {
        tools: (0..count).map(tool).collect(),
        tool_choice: ToolChoice::Auto,
        parallel_tool_calls: true,
        ..Demand::default()
    }
}

fn tool_name(at: usize) -> String {
    format!("search_archive_{at}")
}

fn call(at: usize) -> String {
    let arguments = schemas::arguments(at);
    jsonschema::validate(&schemas::parameters(at), &arguments).expect("arguments of the tool");
    let call = json!({"name": tool_name(at), "arguments": arguments});
    format!("<tool_call>\n{}\n</tool_call>", spaced(&call))
}

/// Writes JSON with a space after each colon and comma, as models do.
fn spaced(value: &Value) -> String {
    let list = |parts: Vec<String>| parts.join(", ");
    match value {
        Value::Array(values) => format!("[{}]", list(values.iter().map(spaced).collect())),
        Value::Object(members) => {
            let member = |(key, value): (&String, &Value)| format!("{}: {}", json!(key), spaced(value));
            format!("{{{}}}", list(members.iter().map(member).collect()))
        }
        other => other.to_string(),
    }
}
