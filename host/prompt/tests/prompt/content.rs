//! Content of messages, as a string and as parts, in templates that take one of them, both, or
//! neither.

use crate::common::{conversation, format, generation_prompt, text, tokenizer};
use prompt::PromptLimits;
use prompt::{ChatFiles, ChatFormat, ChatMessage, Content, HistoryCall, RenderError, Role, TurnOpening};

/// Ways to write `m.content`, and what a template that writes it so makes of a string and of lists:
/// see `CONTENTS`.
const WAYS: [(&str, [&str; 5]); 13] = [
    // Strings only: lists raise, are spelt as Python or JSON has them, or are dropped.
    ("{{ m.content + '' }}", JOINED),
    ("{{ m.content }}", JOINED),
    ("{{ m.content | tojson }}", [r#""a""#, r#""a\nb""#, r#""\na\n""#, r#""a""#, r#""""#]),
    ("{% if m.content is string %}{{ m.content }}{% endif %}", JOINED),
    ("{% if m.content is string %}{{ m.content }}{% else %}{{ raise_exception('no') }}{% endif %}", JOINED),
    ("{% if m.content is string %}{{ m.content }}{% else %}{{ m.content[0].text }}{% endif %}", JOINED),
    // Both.
    (
        "{% if m.content is string %}{{ m.content }}{% else %}{% for p in m.content %}{{ p.text }}{% endfor %}{% endif %}",
        CONCATENATED,
    ),
    (
        "{% if m.content is string %}{{ m.content }}{% else %}{% for p in m.content %}{{ p['text'] + '|' }}{% endfor %}{% endif %}",
        ["a", "a|b|", "|a||", "a|", ""],
    ),
    (
        "{% set c = m.content if m.content is string else m.content | map(attribute='text') | join %}{{ c }}",
        CONCATENATED,
    ),
    // Lists only, as templates of models that see images have them.
    (
        "{% for p in m.content %}{% if p.type == 'image' %}<image>{% endif %}{% if p.type == 'text' %}{{ p.text }}{% endif %}{% endfor %}",
        CONCATENATED,
    ),
    (
        "{% for p in m.content | selectattr('type', 'equalto', 'image') %}<image>{% endfor %}{% for p in m.content | selectattr('type', 'equalto', 'text') %}{{ '\\n' + p.text }}{% endfor %}",
        ["\na", "\na\nb", "\n\na\n", "\na", ""],
    ),
    (
        "{% if m.content is string %}{{ raise_exception('no') }}{% endif %}{% for p in m.content %}{{ p.text }}{% endfor %}",
        CONCATENATED,
    ),
    // Lists of which it shows the first part only.
    ("{{ m.content[0].text }}", JOINED),
];
const JOINED: [&str; 5] = ["a", "a\nb", "\na\n", "a", ""];
const CONCATENATED: [&str; 5] = ["a", "ab", "a", "a", ""];

fn contents() -> [Content; 5] {
    let lists = [&["a", "b"][..], &["", "a", ""], &["a"], &[]].map(|parts| parts.iter().collect());
    let [two, empty, one, none] = lists;
    ["a".into(), two, empty, one, none]
}

/// The conversation's roles that a test looks at.
const ROLES: [Role; 5] = [Role::System, Role::Developer, Role::User, Role::Assistant, Role::Tool];

/// A template that writes the messages of these `names` of roles in one way, and all others'
/// content if it is a string.
fn template(names: &str, way: &str) -> String {
    format!(
        "{{% for m in messages %}}{{{{ m.role }}}}:{{% if m.role in {names} %}}{way}{{% elif m.content is string %}}\
         {{{{ m.content }}}}{{% endif %}};{{% endfor %}}"
    )
}

/// What `format` writes for a message of `role` with this content, in the middle of a conversation
/// that has all roles.
fn written(format: &ChatFormat, role: Role, content: &Content) -> String {
    let call = HistoryCall { id: "1".into(), name: "f".into(), arguments: "{}".into() };
    let messages = [Role::System, Role::User, Role::Assistant, Role::Tool].map(|each| {
        let is_it = each == role || (each == Role::System && role == Role::Developer);
        let mut message = ChatMessage::text(if is_it { role } else { each }, "-");
        if is_it {
            message.content = content.clone();
        }
        if each == Role::Assistant {
            message.tool_calls.push(call.clone());
        }
        message
    });
    let prompt = text(&format.render(&conversation(messages.to_vec()), &[], TurnOpening::NewTurn).unwrap());
    let name = match role {
        Role::System | Role::Developer => "system:",
        Role::User => "user:",
        Role::Assistant => "assistant:",
        Role::Tool => "tool:",
    };
    let after = prompt.split_once(name).unwrap().1;
    after.split_once(';').unwrap().0.to_owned()
}

#[test]
fn each_role_gets_content_in_the_templates_form() {
    let mut checked = 0;
    for (way, expected) in WAYS {
        for (names, roles) in [
            ("['system', 'user', 'assistant', 'tool']", &ROLES[..]),
            ("['system']", &ROLES[..2]),
            ("['user']", &ROLES[2..3]),
            ("['assistant']", &ROLES[3..4]),
            ("['tool']", &ROLES[4..]),
        ] {
            let format = format(&template(names, way));
            for role in ROLES {
                let expected = if roles.contains(&role) { expected } else { JOINED };
                for (content, expected) in contents().iter().zip(expected) {
                    if content.parts().next().is_none() && way.contains("[0]") {
                        continue;
                    }
                    let written = written(&format, role, content);
                    assert_eq!(written, expected, "{way} for {names}: {role:?} {content:?}");
                    checked += 1;
                }
            }
        }
    }
    assert!(checked > 1500, "{checked}");
}

#[test]
fn answer_in_parts_continues_behind_its_last_part() {
    for (way, expected) in WAYS {
        if way.contains("tojson") {
            continue;
        }
        let format = format(&template("['system', 'user', 'assistant', 'tool']", way));
        for (content, expected) in contents().iter().zip(expected) {
            let messages = vec![
                ChatMessage::text(Role::User, "Hi"),
                ChatMessage::text(Role::Assistant, "Ho"),
                ChatMessage::text(Role::User, "Hi"),
                ChatMessage { content: content.clone(), ..ChatMessage::text(Role::Assistant, "") },
            ];
            let prompt = format.render(&conversation(messages), &[], TurnOpening::ContinueLast).unwrap();
            // Where there is no part, the answer's text becomes the first.
            let expected = if *content == Content::list() && way.contains("'\\n'") { "\n" } else { expected };
            let expected = format!("assistant:{}", expected.strip_suffix('|').unwrap_or(expected));
            assert_eq!(generation_prompt(&prompt), expected, "{way}: {content:?}");
        }
    }
}

/// The reason why a template is refused at the start.
fn refused(template: &str) -> Option<String> {
    let chat = ChatFiles { template: template.to_owned(), tool_template: None, special_tokens: Vec::new() };
    ChatFormat::new(&chat, tokenizer(), &PromptLimits::default(), 1 << 20).err()
}

#[test]
fn template_losing_user_text_is_refused_at_start() {
    for template in [
        "",
        "{% for m in messages %}{{ m.role }}{% endfor %}",
        "{% for m in messages if m.role != 'user' %}{{ m.content }}{% endfor %}",
        "{% for m in messages %}{{ m.text }}{% endfor %}",
        "{% for m in messages %}{% for p in m.content if p.type == 'image' %}<image>{% endfor %}{% endfor %}",
    ] {
        let reason = "it doesn't show the text of user messages";
        assert_eq!(refused(template).as_deref(), Some(reason), "{template}");
    }
    for template in [
        // It takes no conversation that the host can try, so nothing is known of it.
        "{{ raise_exception('I need two arguments') }}",
        // It shows it in one of the conversations at least.
        "{{ messages[-1].content }}",
        "{% if messages[0].role != 'system' %}{{ raise_exception('instructions first') }}{% endif %}{{ messages[1].content }}",
        "{% for m in messages %}{{ m.content | upper }}{% endfor %}",
    ] {
        assert_eq!(refused(template), None, "{template}");
    }
}

#[test]
fn many_small_parts_count_as_the_memory_they_take() {
    let chat = ChatFiles {
        template: template("['user']", WAYS[6].0),
        tool_template: None,
        special_tokens: Vec::new(),
    };
    let format = ChatFormat::new(&chat, tokenizer(), &PromptLimits::default(), 100).unwrap();
    let parts = |count: usize| {
        conversation(vec![ChatMessage {
            content: vec![""; count].iter().collect(),
            ..ChatMessage::text(Role::User, "")
        }])
    };
    let few = format.render(&parts(10), &[], TurnOpening::NewTurn).unwrap();
    assert_eq!(text(&few), "user:;");
    let error = format.render(&parts(10_000), &[], TurnOpening::NewTurn).unwrap_err();
    let RenderError::TooLong(error) = error else { panic!("{error}") };
    assert_eq!(error.bytes, 169_999);
}
