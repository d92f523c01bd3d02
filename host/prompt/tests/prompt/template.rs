//! Templates run as with jinja2 and Python, within limits; their exceptions become refusals with
//! their own messages.

use std::time::Duration;

use crate::common::{conversation, format, text, tokenizer};
use prompt::PromptLimits;
use prompt::{
    ChatFiles, ChatFormat, ChatMessage, HistoryCall, RenderError, Role, ToolDeclaration, TurnOpening,
};
use serde_json::{Value, json};

/// Renders `template` for a user's `Hi` and the argument `x`. The user's text is written before it,
/// since a template without is refused.
fn rendered(template: &str, x: &Value) -> String {
    let talk = conversation(vec![ChatMessage::text(Role::User, "Hi")]);
    let format = format(&format!("{{{{ messages[0].content }}}}{template}"));
    let prompt = format.render(&talk, &[("x".to_owned(), x.clone())], TurnOpening::NewTurn).unwrap();
    text(&prompt).strip_prefix("Hi").unwrap().to_owned()
}

fn refused(template: &str) -> RenderError {
    let talk = conversation(vec![ChatMessage::text(Role::User, "Hi")]);
    format(template).render(&talk, &[], TurnOpening::NewTurn).unwrap_err()
}

#[test]
fn json_is_written_as_json_dumps_writes_it() {
    let x =
        json!({"b": [1, 2.0, 1e-7, -3, true, null], "a": {"é<>&'": "\"\\\n\u{1}\u{7f}🙂"}, "e": [], "o": {}});
    let expected =
        r#"{"b": [1, 2.0, 1e-07, -3, true, null], "a": {"é<>&'": "\"\\\n\u0001🙂"}, "e": [], "o": {}}"#;
    assert_eq!(rendered("{{ x | tojson }}", &x), expected.replace("\\u0001", "\\u0001\u{7f}"));
    assert_eq!(rendered("{{ x | tojson(ensure_ascii=true) }}", &json!("é🙂")), "\"\\u00e9\\ud83d\\ude42\"");
    assert_eq!(rendered("{{ x | tojson(separators=(',', ':')) }}", &json!({"a": [1, 2]})), r#"{"a":[1,2]}"#);
    assert_eq!(
        rendered("{{ x | tojson(sort_keys=true) }}", &json!({"b": 1, "a": {"d": 1, "c": 2}})),
        r#"{"a": {"c": 2, "d": 1}, "b": 1}"#
    );
    let indented = "{\n  \"a\": [\n    1,\n    []\n  ],\n  \"b\": {}\n}";
    assert_eq!(rendered("{{ x | tojson(indent=2) }}", &json!({"a": [1, []], "b": {}})), indented);
}

#[test]
fn values_are_printed_as_python_prints_them() {
    let x = json!({"none": null, "yes": true, "float": 1.0, "large": 1e16, "list": [1, "it's", "a\n\"", false, null], "map": {"k": 1}});
    let template = "{{ x.none }} {{ x.yes }} {{ x.float }} {{ x.large | string }} {{ x.list }} {{ x.map }} {{ x.list[1:2] | string }}{{ x.missing }}";
    let expected = r#"None True 1.0 1e+16 [1, "it's", 'a\n"', False, None] {'k': 1} ["it's"]"#;
    assert_eq!(rendered(template, &x), expected);
    assert_eq!(rendered("{{ 'a' ~ x.yes ~ x.none }}", &x), "aTrueNone");
}

#[test]
fn features_used_by_published_templates_are_there() {
    for (template, expected) in [
        (
            "{% for i in range(5) %}{% if i == 1 %}{% continue %}{% endif %}{% if i == 3 %}{% break %}{% endif %}{{ i }}{% endfor %}",
            "02",
        ),
        ("{% generation %}a{% endgeneration %}{{ strftime_now('%Y') | length }}", "a4"),
        (
            "{% set ns = namespace(n=0) %}{% for m in messages %}{% set ns.n = ns.n + 1 %}{% endfor %}{{ ns.n }}",
            "1",
        ),
        (
            "{% for m in messages[::-1] %}{{ m['role'] }}{{ loop.index0 }}{{ m.get('name', '-') }}{% endfor %}",
            "user0-",
        ),
        (
            "{% if x is mapping and x is not string and x is sequence and 'items' in x %}{{ x.items() | list | length }}{% endif %}",
            "2",
        ),
        ("{{ x['items'] }}{% for k, v in x.items() %}{{ k }}={{ v }},{% endfor %}", "7items=7,b=1,"),
        ("{% if enable_thinking is defined and enable_thinking is false %}a{% else %}b{% endif %}", "b"),
        (
            "{{ 'a-b'.split('-')[-1] }}{{ ' x '.strip() }}{{ 'x\n'.rstrip('\n') }}{{ 'ab'.startswith('a') }}{{ 'ab'|replace('a', 'c') }}",
            "bxxTruecb",
        ),
        ("{% macro f(a, b=false) %}{{ a }}{% if b %}!{% endif %}{% endmacro %}{{ f('x', b=true) }}", "x!"),
        ("{% if tools %}t{% elif tools is none %}none{% endif %}{% if documents %}d{% endif %}", "none"),
        (
            "{%- set a = messages[0].content if messages else '' -%}\n  {{- a }}\n    {% if true %}\nb\n    {% endif %}\n",
            "Hi\nb\n",
        ),
        ("{{ bos_token }}{{ eos_token + '|' }}", "<|endoftext|><|im_end|>|"),
        ("{{ ['a', 'b'] | join(', ') }}{{ messages | map(attribute='role') | list }}", "a, b['user']"),
        (
            "{{ messages | selectattr('role', 'equalto', 'user') | list | length }}{{ '%s-%d' | format('a', 3) }}",
            "1a-3",
        ),
    ] {
        assert_eq!(rendered(template, &json!({"items": 7, "b": 1})), expected, "{template}");
    }
}

#[test]
fn messages_have_the_fields_that_templates_read() {
    let mut calling = ChatMessage::text(Role::Assistant, "");
    calling.reasoning = Some("r".to_owned());
    let call = |arguments: &str| HistoryCall {
        id: "i".to_owned(),
        name: "f".to_owned(),
        arguments: arguments.to_owned(),
    };
    calling.tool_calls = vec![call("{\"a\":1}"), call("broken {"), call(""), call("[1]")];
    let mut result = ChatMessage::text(Role::Tool, "c");
    (result.tool_call_id, result.name) = (Some("i".to_owned()), Some("f".to_owned()));
    let mut talk = conversation(vec![ChatMessage::text(Role::Developer, "d"), calling, result]);
    talk.tools =
        vec![ToolDeclaration { name: "f".to_owned(), declaration: json!({"type": "function"}).to_string() }];
    let all = format("{{ messages | tojson }}{{ tools | tojson }}")
        .render(&talk, &[], TurnOpening::NewTurn)
        .unwrap();
    let call = |arguments: &str| {
        format!(r#"{{"type": "function", "id": "i", "function": {{"name": "f", "arguments": {arguments}}}}}"#)
    };
    let calls = [call("{\"a\": 1}"), call("\"broken {\""), call("{}"), call("\"[1]\"")].join(", ");
    let expected = format!(
        r#"[{{"role": "system", "content": "d"}}, {{"role": "assistant", "content": "", "reasoning_content": "r", "thinking": "r", "tool_calls": [{calls}]}}, {{"role": "tool", "content": "c", "tool_call_id": "i", "name": "f"}}][{{"type": "function"}}]"#
    );
    assert_eq!(text(&all), expected);
}

#[test]
fn developer_is_system_for_templates_not_knowing_it() {
    let talk = conversation(vec![ChatMessage::text(Role::Developer, "")]);
    let role = |template: &str| text(&format(template).render(&talk, &[], TurnOpening::NewTurn).unwrap());
    assert_eq!(role("{{ messages[0].role ~ messages[0].content }}"), "system");
    assert_eq!(
        role(
            "{{ messages[0].role ~ messages[0].content }}{{ '' if messages[0].role == 'developer' else '!' }}"
        ),
        "developer"
    );
}

#[test]
fn arguments_cannot_replace_the_conversation() {
    let arguments =
        ["messages", "tools", "add_generation_prompt", "bos_token"].map(|name| (name.to_owned(), json!("x")));
    let talk = conversation(vec![ChatMessage::text(Role::User, "Hi")]);
    let template = "{{ messages[0].content }}{{ tools }}{{ add_generation_prompt }}{{ bos_token }}";
    let prompt = format(template).render(&talk, &arguments, TurnOpening::NewTurn).unwrap();
    assert_eq!(text(&prompt), "HiNoneTrue<|endoftext|>");
}

#[test]
fn a_raised_exception_is_the_clients_to_read() {
    let error = refused(
        "{% macro check(m) %}{{ raise_exception('Only ' ~ m.role ~ '?') }}{% endmacro %}{{ check(messages[0]) }}",
    );
    assert_eq!(error, RenderError::Raised("Only user?".to_owned()));
}

#[test]
fn template_errors_of_a_conversation_tell_their_line() {
    for (template, reason) in [
        (
            "{{ messages[0].content }}\n{{ messages[1].content.x }}",
            "has no element 1 (line 2 of the template)",
        ),
        ("{{ messages[0].content }}{{ nosuch() }}", "'nosuch' is undefined"),
        ("{{ messages[0].content }}{{ 'a'.nosuch() }}", "'str object' has no attribute 'nosuch'"),
        (
            "{{ messages[0].content }}{% if messages[1] is undefined %}{{ 1 | nosuch }}{% endif %}",
            "no filter named 'nosuch'",
        ),
    ] {
        let error = refused(template).to_string();
        assert!(
            error.contains("can't take this conversation") && error.contains(reason),
            "{template}: {error}"
        );
    }
}

#[test]
fn broken_template_is_refused_by_name_and_line() {
    for (template, reason) in [
        ("\n{{ 1 | nosuch }}", "no filter named 'nosuch' (line 2 of the template)"),
        ("{{ 1 is nosuch }}", "no test named 'nosuch'"),
        ("{{ messages | pprint }}", "the filter 'pprint' is not supported"),
        ("{{ 'a'.encode() }}", "the method 'encode' is not supported"),
        ("{% for m in messages %}", "unexpected end of template, looking for endfor or else"),
    ] {
        let chat =
            ChatFiles { template: template.to_owned(), tool_template: None, special_tokens: Vec::new() };
        let error = ChatFormat::new(&chat, tokenizer(), &PromptLimits::default(), 1 << 20).unwrap_err();
        assert!(error.contains(reason), "{template}: {error}");
    }
}

const ENDLESS: &str = "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}";

/// Trying a template takes some 150 conversations: one that ends for none of them isn't given the
/// time of 150 prompts.
#[test]
fn probes_of_a_start_share_one_bound_of_time() {
    let limits = PromptLimits { template_time: Duration::from_millis(20), ..PromptLimits::default() };
    let only_calls = format!("{{{{ messages[0].content }}}}{{% if tools %}}{ENDLESS}{{% endif %}}");
    for template in [ENDLESS.to_owned(), format!("{{{{ messages[0].content }}}}{ENDLESS}"), only_calls] {
        let chat = ChatFiles { template, tool_template: None, special_tokens: Vec::new() };
        let error = ChatFormat::new(&chat, tokenizer(), &limits, 1 << 20).unwrap_err();
        let wanted = "a few short conversations take it more than 40 ms of CPU time, 2 times --template-time";
        assert_eq!(error, wanted);
    }
}

#[test]
fn a_template_is_bounded_in_time_and_output() {
    let limits = PromptLimits {
        template_time: Duration::from_millis(20),
        template_output: 1000,
        ..PromptLimits::default()
    };
    let render = |template: &str, content: String| {
        let template = format!("{{{{ messages[0].content }}}}{template}");
        let chat = ChatFiles { template, tool_template: None, special_tokens: Vec::new() };
        let format = ChatFormat::new(&chat, tokenizer(), &limits, 1 << 20).unwrap();
        format.render(&conversation(vec![ChatMessage::text(Role::User, content)]), &[], TurnOpening::NewTurn)
    };
    let endless = format!("{{% if messages[0].content | length > 99 %}}{ENDLESS}{{% endif %}}");
    let error = render(&endless, "x".repeat(100)).unwrap_err().to_string();
    assert!(error.contains("more than 20 ms of CPU time (--template-time)"), "{error}");
    let error = render("{{ 'x' * 5000 }}", "x".to_owned()).unwrap_err().to_string();
    assert!(error.contains("makes texts of more than 1017 bytes (--template-output)"), "{error}");
    assert!(render("", "x".repeat(5000)).is_ok());
}

#[test]
fn a_template_sees_nothing_of_the_machine() {
    for template in
        ["{% include '/etc/hostname' %}", "{% import 'chat_template' as t %}{{ t }}", "{{ self.__class__ }}"]
    {
        let talk = conversation(vec![ChatMessage::text(Role::User, "Hi")]);
        let prompt = format(template).render(&talk, &[], TurnOpening::NewTurn);
        assert!(prompt.is_err() || prompt.unwrap().ids.is_empty(), "{template}");
    }
}
