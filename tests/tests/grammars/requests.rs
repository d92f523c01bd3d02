//! Requests with constraints, with difficult schemas and names.

use contract::ToolKind;
use grammar::{CallForm, Demand, TextGrammar, ToolChoice, ToolDefinition};

/// Expected result of composing the grammar of a request.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Expected {
    Constrained,
    Free,
    /// An error that contains this word.
    Refused(&'static str),
    /// Constrained, or an error that contains this word, depending on the format.
    Either(&'static str),
}

const WEATHER: &str = r#"{"type":"object","properties":{"city":{"type":"string"},"days":{"type":"integer"},
    "unit":{"type":"string","enum":["celsius","fahrenheit"]}},"required":["city"],"additionalProperties":false}"#;
const NESTED: &str = r##"{"type":"object","properties":{"who":{"$ref":"#/$defs/person"},
    "tags":{"type":"array","items":{"type":"string"},"maxItems":3},"on":{"type":"boolean"},
    "größe":{"type":"number"},"nothing":{"type":"null"}},"required":["who","on"],"additionalProperties":false,
    "$defs":{"person":{"type":"object","properties":{"name":{"type":"string"},"born":{"type":"integer"}},
    "required":["name"],"additionalProperties":false}}}"##;
const ENUMS: &str = r#"{"type":"object","properties":{"mode":{"enum":["a \"quoted\" one","naïve 😀","tab\there"]},
    "level":{"enum":[1,2,3]},"maybe":{"type":["string","null"]}},"required":["mode","level"],"additionalProperties":false}"#;
const EMPTY: &str = r#"{"type":"object","properties":{},"additionalProperties":false}"#;
const OPEN: &str = r#"{"type":"object","properties":{"q":{"type":"string"}}}"#;

const MAP: &str = r#"{"type":"object","properties":{"counts":{"type":"object","additionalProperties":{"type":"integer"}},
    "code":{"type":"string","pattern":"^[A-Z]{2,4}$"},"any":{},"list":{"type":"array","minItems":1},
    "either":{"anyOf":[{"type":"string","maxLength":5},{"type":"object"}]}},"required":["counts","code","any","list","either"]}"#;

pub(crate) fn tool(name: &str, parameters: &str) -> ToolDefinition {
    ToolDefinition {
        name: name.into(),
        kind: ToolKind::Function,
        schema: parameters.into(),
        strict: false,
        grammar: None,
    }
}

/// Regular expression of texts with characters that begin markers.
const CODE: &str = r"[A-Z]{2,3}-[0-9]{1,4}( [^\n]{0,20}<[a-z/]{1,9}>)?\.";
const LINES: &str = "start: line (\"\\n\" line)* \".\"\nline: WORD (\", \" WORD)*\nWORD: /[a-z<>]{1,5}/\n";

pub(crate) fn strict(name: &str, parameters: &str) -> ToolDefinition {
    ToolDefinition { strict: true, ..tool(name, parameters) }
}

pub(crate) fn of(tools: Vec<ToolDefinition>, tool_choice: ToolChoice) -> Demand {
    Demand { tools, tool_choice, parallel_tool_calls: true, ..Demand::default() }
}

/// Requests that demand nothing, whose calls have a form all the same, or whose reasoning has a bound.
pub(crate) fn plain() -> Vec<(&'static str, Demand, Expected)> {
    let tools = || vec![tool("get_weather", WEATHER), tool("open", OPEN), tool("empty", EMPTY)];
    let held = |call_form| Demand { call_form, ..of(tools(), ToolChoice::Auto) };
    let envelope = || held(CallForm::Envelope);
    let no_tools = of(vec![], ToolChoice::Auto);
    // Formats whose calls begin like a message have no envelope: it would say how messages begin.
    let either = Expected::Either("a message may begin like a call");
    let envelopes = [
        ("calls have an envelope", envelope(), either),
        ("one call has an envelope", Demand { parallel_tool_calls: false, ..envelope() }, either),
    ];
    let demands = [
        ("calls follow the schemas", held(CallForm::Schema)),
        ("reasoning has a bound", Demand { bounds_reasoning: true, ..envelope() }),
        ("reasoning has a bound, no tools", Demand { bounds_reasoning: true, ..no_tools }),
    ];
    let demands = demands.map(|(name, demand)| (name, demand, Expected::Constrained));
    envelopes.into_iter().chain(demands).collect()
}

pub(crate) fn requests() -> Vec<(&'static str, Demand, Expected)> {
    use Expected::{Constrained, Either, Free, Refused};
    use ToolChoice::{Auto, None as Never, Required};
    let several = || vec![tool("get_weather", WEATHER), strict("nested", NESTED), strict("enums", ENUMS)];
    let odd_names = vec![strict("a.b-c_d", WEATHER), strict("start", ENUMS), strict("TEXT_PIECE", NESTED)];
    let foreign = vec![strict("ünï", ENUMS), strict("q\"uote\\|/", NESTED)];
    let spaced = vec![
        strict("x start y", NESTED),
        strict("f\"}\nstart: \"free", WEATHER),
        strict("<tool_call>", ENUMS),
    ];
    let single = |choice| Demand { parallel_tool_calls: false, ..of(several(), choice) };
    let answer = |tools, choice| Demand { response_schema: Some(NESTED.into()), ..of(tools, choice) };
    let in_form = |syntax: &str, definition: &str, tools, choice| {
        let grammar = TextGrammar { syntax: syntax.into(), definition: definition.into() };
        Demand { response_grammar: Some(grammar), ..of(tools, choice) }
    };
    vec![
        ("a call is required", of(several(), Required), Constrained),
        ("one call is required", single(Required), Constrained),
        ("a tool is named", of(several(), ToolChoice::Named("nested".into())), Constrained),
        (
            "a lenient tool is named",
            of(vec![tool("open", OPEN)], ToolChoice::Named("open".into())),
            Constrained,
        ),
        ("strict tools may be called", of(several(), Auto), Constrained),
        ("one strict tool may be called", single(Auto), Constrained),
        ("odd names", of(odd_names, Required), Constrained),
        ("names beyond ASCII", of(foreign, Required), Either("name")),
        ("names that markup might swallow", of(spaced, Required), Either("name")),
        ("an answer by schema", answer(vec![], Auto), Constrained),
        ("an answer by schema, no calls", answer(several(), Never), Constrained),
        ("an answer by schema, or calls", answer(several(), Auto), Either("JSON")),
        ("a call though there is an answer's schema", answer(several(), Required), Constrained),
        (
            "an answer by an open schema",
            Demand { response_schema: Some(MAP.into()), ..of(vec![], Auto) },
            Constrained,
        ),
        ("an answer by a regular expression", in_form("regex", CODE, vec![], Auto), Either("markers")),
        ("an answer by a grammar", in_form("lark", LINES, vec![], Auto), Either("markers")),
        ("an answer by a grammar, no calls", in_form("lark", LINES, several(), Never), Either("markers")),
        (
            "a call though there is an answer's grammar",
            in_form("regex", CODE, several(), Required),
            Constrained,
        ),
        ("an answer of an unknown syntax", in_form("ebnf", CODE, vec![], Auto), Refused("syntax")),
        ("nothing is demanded", of(vec![tool("get_weather", WEATHER)], Auto), Free),
        ("no calls", of(several(), Never), Free),
        ("no tools", of(vec![], Auto), Free),
        (
            "a tool is named that isn't declared",
            of(several(), ToolChoice::Named("other".into())),
            Refused("declared"),
        ),
        ("a call is required without tools", of(vec![], Required), Refused("declared")),
        (
            "arguments that are no object",
            of(vec![strict("f", r#"{"type":"string"}"#)], Auto),
            Refused("object"),
        ),
        ("a schema that is no JSON", of(vec![strict("f", "{")], Auto), Refused("JSON")),
        ("a custom tool", of(vec![custom(None)], Required), Constrained),
    ]
}

pub(crate) fn custom(grammar: Option<TextGrammar>) -> ToolDefinition {
    ToolDefinition { kind: ToolKind::Custom, grammar, schema: String::new(), ..tool("shell", "") }
}
