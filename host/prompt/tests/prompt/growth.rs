//! What is learnt at load about long conversations: how a template's work grows, and whether new
//! messages change earlier tokens.

use crate::common::{conversation, format, model_format, text};
use prompt::{ChatMessage, Role, TurnOpening};

const TURNS: &str =
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}";

#[test]
fn quadratic_template_is_detected() {
    assert!(!model_format().is_quadratic());
    assert!(!format(TURNS).is_quadratic());
    let last = "{% for m in messages %}{% for n in messages %}{% if n.role == 'user' %}{% endif %}{% endfor %}{{ m.content }}{% endfor %}";
    assert!(format(last).is_quadratic());
    let growing = "{% set ns = namespace(seen=[]) %}{% for m in messages %}{% set ns.seen = ns.seen + [m] %}{{ ns.seen | length }}{{ m.content }}{% for s in ns.seen %}{% endfor %}{% endfor %}";
    assert!(format(growing).is_quadratic());
}

#[test]
fn what_appending_a_message_rewrites_is_found() {
    assert!(format(TURNS).changed_by_appending().is_empty());
    // Qwen3 drops the reasoning of earlier turns.
    assert!(model_format().changed_by_appending().contains(&"reasoning"));
    let marked =
        "{% for m in messages %}{% if loop.last %}<|im_start|>{% endif %}{{ m.content }}{% endfor %}";
    assert_eq!(format(marked).changed_by_appending().len(), 4);
    let result = "{% for m in messages %}{{ m.content }}{% if m.role == 'tool' and loop.last %}!{% endif %}{% endfor %}";
    assert_eq!(format(result).changed_by_appending(), ["a call and its result"]);
}

/// As gpt-oss and DeepSeek V3.2 do it: for each message, the template looks at all of them.
#[test]
fn long_session_renders_with_a_quadratic_template() {
    let quadratic = format(
        "{% for m in messages %}{% set ns = namespace(later=false) %}{% for n in messages[loop.index:] %}\
         {% if n.role == 'user' and not ns.later %}{% set ns.later = true %}{% endif %}{% endfor %}\
         {{ m.content }}{{ '.' if ns.later else '!' }}{% endfor %}",
    );
    let message = |index: usize| {
        ChatMessage::text(if index.is_multiple_of(2) { Role::User } else { Role::Assistant }, "a")
    };
    let talk = conversation((0..1401).map(message).collect());
    let prompt = quadratic.render(&talk, &[], TurnOpening::NewTurn).unwrap();
    assert_eq!(text(&prompt), "a.".repeat(1400) + "a!");
}
