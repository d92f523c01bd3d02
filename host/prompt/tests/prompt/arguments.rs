//! Arguments of earlier calls, whole and broken, in templates that take them in different ways.

use crate::common::{conversation, format, text};
use prompt::{ChatFormat, ChatMessage, Conversation, HistoryCall, Role, ToolDeclaration, TurnOpening};

/// A template that writes each message's content, and its calls' arguments by `write`.
fn writing(write: &str) -> ChatFormat {
    format(&format!(
        "{{% for m in messages %}}{{{{ m.role }}}}:{{{{ m.content }}}}{{% for c in m.tool_calls or [] %}}\
         {{% set a = c.function.arguments %}}{write}{{% endfor %}};{{% endfor %}}"
    ))
}

/// Prompt of a conversation whose only call has these arguments.
fn prompt(format: &ChatFormat, arguments: &str) -> String {
    let call = HistoryCall { id: "1".into(), name: "f".into(), arguments: arguments.into() };
    let calling = ChatMessage { tool_calls: vec![call], ..ChatMessage::text(Role::Assistant, "") };
    let conversation = conversation(vec![ChatMessage::text(Role::User, "x"), calling]);
    text(&format.render(&conversation, &[], TurnOpening::NewTurn).unwrap())
}

/// Arguments that are no JSON object, as a model leaves them.
const BROKEN: [&str; 5] = [r#"{"city": "Os"#, "[1]", "42", r#""Oslo""#, "null"];

#[test]
fn broken_arguments_become_an_object_for_walkers() {
    for walk in [
        "{% for k, v in a|items %}{{ k }}={{ v }}{% endfor %}",
        "{% for k, v in a.items() %}{{ k }}={{ v }}{% endfor %}",
        "{% for k in a %}{{ k }}={{ a[k] }}{% endfor %}",
        "{% if a is string %}{% set a = a|fromjson %}{% endif %}{% for k in a %}{{ k }}={{ a[k] }}{% endfor %}",
    ] {
        let format = writing(walk);
        for broken in BROKEN {
            assert_eq!(prompt(&format, broken), format!("user:x;assistant:input={broken};"), "{walk}");
            assert!(format.wraps(broken), "{walk} {broken}");
        }
        assert_eq!(prompt(&format, r#"{"a": "b"}"#), "user:x;assistant:a=b;", "{walk}");
        assert_eq!(prompt(&format, ""), "user:x;assistant:;", "{walk}");
        assert!(!format.wraps("") && !format.wraps("{}"), "{walk}");
    }
}

#[test]
fn broken_arguments_stay_text_where_text_is_taken() {
    for write in ["{{ a if a is string else a|tojson }}", "{{ '' ~ a }}", "{{ '' + a }}"] {
        let format = writing(write);
        for broken in BROKEN {
            assert_eq!(prompt(&format, broken), format!("user:x;assistant:{broken};"), "{write}");
            assert!(!format.wraps(broken), "{write} {broken}");
        }
    }
    let ignoring = writing("");
    assert!(!ignoring.wraps(BROKEN[0]), "a template that shows no arguments needs no change");
}

#[test]
fn whether_a_template_shows_tools_is_known() {
    assert!(!writing("").shows_tools());
    assert!(format("{{ tools }}{% for m in messages %}{{ m.content }}{% endfor %}").shows_tools());
    let last =
        "{% for m in messages %}{{ m.content }}{% if m.role == 'system' %}{{ tools }}{% endif %}{% endfor %}";
    assert!(format(last).shows_tools(), "shown beside instructions");
    assert!(crate::common::model_format().shows_tools());
}

/// JSON as Python reads it: integers of any length, floats beyond `f64`, and zero with a sign.
#[test]
fn call_and_tool_numbers_reach_templates_as_pythons() {
    let numbers = r#"{"a": 123456789012345678901234567890, "b": 1e999, "c": -0, "d": -0.0, "e": 1.0}"#;
    let expected = r#"{"a": 123456789012345678901234567890, "b": Infinity, "c": 0, "d": -0.0, "e": 1.0}"#;
    let written = writing("{{ a|tojson }}");
    assert_eq!(prompt(&written, numbers), format!("user:x;assistant:{expected};"));
    let declaration =
        format!(r#"{{"type": "function", "function": {{"name": "f", "parameters": {numbers}}}}}"#);
    let tools = vec![ToolDeclaration { name: "f".into(), declaration }];
    let talk = Conversation { messages: vec![ChatMessage::text(Role::User, "x")], tools };
    let shown = crate::common::format("{{ messages[0].content }}{{ tools[0].function.parameters|tojson }}");
    let shown = text(&shown.render(&talk, &[], TurnOpening::NewTurn).unwrap());
    assert_eq!(shown, format!("x{expected}"));
}

/// As DeepSeek R1's templates write calls: only where the content is none, which is how clients
/// send a call without text.
#[test]
fn call_without_text_shows_where_content_must_be_none() {
    let call = HistoryCall { id: "1".into(), name: "f".into(), arguments: r#"{"a": 1}"#.into() };
    let calling = ChatMessage { tool_calls: vec![call], ..ChatMessage::text(Role::Assistant, "") };
    let talk = conversation(vec![ChatMessage::text(Role::User, "x"), calling]);
    let rendered = |test: &str| {
        let template = format!(
            "{{% for m in messages %}}{{% if m.tool_calls and {test} %}}{{% for c in m.tool_calls %}}\
             {{{{ c.function.name }}}}{{{{ c.function.arguments|tojson }}}}{{% endfor %}}{{% else %}}\
             {{{{ m.content }}}}{{% endif %}};{{% endfor %}}"
        );
        text(&crate::common::format(&template).render(&talk, &[], TurnOpening::NewTurn).unwrap())
    };
    for test in ["m.content is none", "m.content == ''", "m.content is string", "not m.content"] {
        assert_eq!(rendered(test), "x;f{\"a\": 1};", "{test}");
    }
}
