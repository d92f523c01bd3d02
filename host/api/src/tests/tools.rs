//! Tools and the choice among them, as all protocols read them.

use serde_json::{Value, json};

use super::{job, refusal};
use crate::fields::sampling::NAME;
use crate::json::{Document, JsonObject, Path, with_value};
use crate::limits::RequestLimits;
use crate::request::ReadRequest;
use crate::tools::{Allowed, ClientTools, ToolChoiceField, choice};
use crate::{chat, messages, responses};
use contract::ToolKind;
use grammar::{TextGrammar, ToolChoice, ToolDefinition};

fn custom(declared: &Value) -> Result<(ToolDefinition, Value), String> {
    let mut client_tools = ClientTools::default();
    with_value(declared, |declared| {
        let object = JsonObject::new(declared, Path::Body.field("custom"))?;
        client_tools.add_custom(object.require(NAME)?, object)
    })
    .map_err(|error| error.message)?;
    let declaration = client_tools.declarations.remove(0).declaration;
    Ok((client_tools.tools.remove(0), serde_json::from_str(&declaration).unwrap()))
}

fn chosen(choice_of: &Value) -> Result<ToolChoiceField, String> {
    let body = json!({ "tool_choice": choice_of });
    let document = Document::read(body.to_string().into(), &RequestLimits::default()).unwrap();
    choice(&document.body()).map_err(|error| error.message)
}

#[test]
fn a_custom_tool_is_shown_as_a_function_of_one_string() {
    let (tool, shown) = custom(&json!({ "name": "patch", "description": "Edits." })).unwrap();
    assert_eq!((tool.kind, tool.name.as_str(), tool.grammar), (ToolKind::Custom, "patch", None));
    assert_eq!(shown["type"], "function");
    assert_eq!(
        (&shown["function"]["name"], &shown["function"]["description"]),
        (&json!("patch"), &json!("Edits."))
    );
    let parameters = &shown["function"]["parameters"];
    assert_eq!(parameters["required"], json!(["input"]));
    assert_eq!(parameters["properties"]["input"]["type"], "string");
}

#[test]
fn grammar_is_read_in_both_shapes_and_told_to_model() {
    let grammar = json!({ "syntax": "lark", "definition": "start: WORD" });
    let mut flat = grammar.clone();
    flat["type"] = json!("grammar");
    for format in [flat, json!({ "type": "grammar", "grammar": grammar })] {
        let (tool, shown) = custom(&json!({ "name": "f", "format": format })).unwrap();
        assert_eq!(
            tool.grammar,
            Some(TextGrammar { syntax: "lark".into(), definition: "start: WORD".into() })
        );
        let description = shown.pointer("/function/parameters/properties/input/description").unwrap();
        assert!(
            description.as_str().unwrap().ends_with("lark grammar accepts:\nstart: WORD"),
            "{description}"
        );
    }
    assert_eq!(custom(&json!({ "name": "f", "format": { "type": "text" } })).unwrap().0.grammar, None);
}

#[test]
fn a_custom_tool_that_is_none_is_refused_by_name() {
    for (declared, message) in [
        (json!({}), "custom.name: missing: expected a string"),
        (
            json!({ "name": "" }),
            "custom.name: expected a tool's name of 1 to 128 characters out of A-Z, a-z, 0-9, `_`, `.`, `:` and `-`",
        ),
        (
            json!({ "name": "f", "format": { "type": "x" } }),
            "custom.format.type: expected \"text\" or \"grammar\"",
        ),
        (
            json!({ "name": "f", "format": { "type": "grammar", "syntax": "bnf", "definition": "" } }),
            "custom.format.syntax: expected \"lark\" or \"regex\"",
        ),
        (
            json!({ "name": "f", "format": { "type": "grammar", "grammar": { "syntax": "regex" } } }),
            "custom.format.grammar.definition: missing: expected a string",
        ),
    ] {
        assert_eq!(custom(&declared).unwrap_err(), message);
    }
}

#[test]
fn a_choice_of_tools_is_read_in_both_shapes() {
    let flat = json!({ "type": "allowed_tools", "mode": "auto", "tools": [
        { "type": "function", "name": "f" }, { "type": "custom", "name": "g" }, { "type": "web_search" },
        { "type": "mcp", "server_label": "time" }, { "type": "mcp", "server_label": "docs", "name": "f" } ] });
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    let allowed = Allowed {
        names: names(&["f", "g"]),
        kinds: names(&["web_search"]),
        servers: vec![("time".to_owned(), None), ("docs".to_owned(), Some("f".to_owned()))],
        ..Allowed::default()
    };
    assert_eq!(chosen(&flat), Ok(ToolChoiceField::Allowed(allowed)));
    let nested = json!({ "type": "allowed_tools", "allowed_tools": { "mode": "auto", "tools": [
        { "type": "function", "function": { "name": "f" } }, { "type": "custom", "custom": { "name": "g" } }] } });
    assert_eq!(
        chosen(&nested),
        Ok(ToolChoiceField::Allowed(Allowed { names: names(&["f", "g"]), ..Allowed::default() }))
    );
}

#[test]
fn a_choice_may_force_a_call() {
    let named = Ok(ToolChoiceField::Named("f".to_owned()));
    let required = Allowed { required: true, ..Allowed::default() };
    for (choice, means) in [
        (json!("required"), Ok(ToolChoiceField::Required)),
        (json!({ "type": "required" }), Ok(ToolChoiceField::Required)),
        (json!({ "type": "function", "name": "f" }), named.clone()),
        (json!({ "type": "function", "function": { "name": "f" } }), named.clone()),
        (json!({ "type": "custom", "custom": { "name": "f" } }), named),
        (
            json!({ "type": "allowed_tools", "allowed_tools": { "mode": "required", "tools": [] } }),
            Ok(ToolChoiceField::Allowed(required)),
        ),
    ] {
        assert_eq!(chosen(&choice), means, "{choice}");
    }
}

#[test]
fn choices_that_say_nothing_or_too_much_are_refused() {
    for (choice, message) in [
        (json!({ "type": "function" }), "tool_choice.name: missing"),
        (
            json!({ "type": "allowed_tools", "tools": [{ "type": "mcp" }] }),
            "tool_choice.tools[0].server_label: missing",
        ),
        (json!({ "type": "allowed_tools" }), "tool_choice.tools: missing: expected a list of tools"),
        (json!({ "type": "allowed_tools", "mode": "never", "tools": [] }), "tool_choice.mode: expected"),
        (json!("sometimes"), "tool_choice: expected \"auto\""),
        (json!(3), "tool_choice: expected a string or an object"),
    ] {
        let refused = chosen(&choice).unwrap_err();
        assert!(refused.starts_with(message), "{refused}");
    }
}

#[test]
fn disallowed_tools_are_neither_shown_nor_known() {
    let flat = |name: &str| json!({ "type": "function", "name": name });
    let nested = |name: &str| json!({ "type": "function", "function": { "name": name } });
    let request = json!({
        "model": "m", "input": "x", "tools": [flat("f"), flat("g")],
        "tool_choice": { "type": "allowed_tools", "mode": "auto", "tools": [flat("g")] }
    });
    let from_responses = job(responses::read, &request).0;
    let request = json!({
        "model": "m", "messages": [{ "role": "user", "content": "x" }], "tools": [nested("f"), nested("g")],
        "tool_choice": { "type": "allowed_tools", "allowed_tools": { "mode": "auto", "tools": [nested("g")] } }
    });
    for job in [from_responses, job(chat::read, &request).0] {
        assert_eq!((job.demand.tools.len(), job.demand.tools[0].name.as_str()), (1, "g"));
        assert_eq!((job.conversation.tools.len(), job.conversation.tools[0].name.as_str()), (1, "g"));
        assert_eq!(job.demand.tool_choice, ToolChoice::Auto);
    }
}

#[test]
fn of_no_tools_none_can_be_called() {
    let path = Path::Body;
    let chosen = |choice: &ToolChoiceField, others| {
        ClientTools::default()
            .choose(choice, others, path.field("tool_choice"))
            .map_err(|error| error.message)
    };
    let allowed = |required| {
        let names = vec!["f".to_owned()];
        ToolChoiceField::Allowed(Allowed { required, names, ..Allowed::default() })
    };
    assert_eq!(chosen(&allowed(false), false), Ok(ToolChoice::None));
    assert_eq!(chosen(&allowed(false), true), Ok(ToolChoice::Auto));
    for choice in [allowed(true), ToolChoiceField::Required] {
        let refused = chosen(&choice, false).unwrap_err();
        assert!(refused.starts_with("tool_choice: a call is demanded, and there is no tool"), "{refused}");
        assert_eq!(chosen(&choice, true), Ok(ToolChoice::Required));
    }
    let refused = chosen(&ToolChoiceField::Named("f".to_owned()), true).unwrap_err();
    assert_eq!(refused, "tool_choice: expected the name of a declared tool");
}

#[test]
fn tool_names_are_plain_in_all_protocols() {
    let longest = "n".repeat(128);
    let too_long = "n".repeat(129);
    let declare = |name: &str| {
        [
            (
                chat::read as ReadRequest,
                json!({ "messages": [{ "role": "user", "content": "q" }],
                        "tools": [{ "type": "function", "function": { "name": name } }] }),
                "tools[0].function.name",
            ),
            (
                responses::read,
                json!({ "input": "q", "tools": [{ "type": "custom", "name": name }] }),
                "tools[0].name",
            ),
            (
                responses::read,
                json!({ "input": "q", "tools": [{ "type": "namespace", "name": "a",
                        "tools": [{ "type": "function", "name": name }] }] }),
                "tools[0].tools[0].name",
            ),
            (
                messages::read,
                json!({ "max_tokens": 1, "messages": [{ "role": "user", "content": "q" }],
                        "tools": [{ "name": name, "input_schema": {} }] }),
                "tools[0].name",
            ),
        ]
    };
    let named = |mut body: Value| {
        body["model"] = json!("m");
        body
    };
    for wrong in ["get weather", "gét", "a\"b", "a/b", "<tool>", "a\n", &too_long] {
        for (read, body, path) in declare(wrong) {
            let error = refusal(read, &named(body));
            assert_eq!((error.status, error.param.as_deref()), (400, Some(path)), "{wrong:?}");
        }
    }
    for right in ["f", "mcp__files__read", "browser.search", "ns:tool-1", &longest[3..]] {
        for (read, body, path) in declare(right) {
            let (job, _) = job(read, &named(body));
            assert!(job.demand.tools[0].name.ends_with(right), "{path}: {right}");
        }
    }
}
