//! What is learnt at load about long conversations: how a template's work grows, and whether new messages change earlier tokens.

use crate::common::{format, model_format};

const TURNS: &str =
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}";

#[test]
fn a_template_that_walks_all_messages_for_each_is_found() {
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
