//! The turn with a call that a chat template writes, by which the model's parser is chosen.

use prompt::CallingTurn;

use crate::common::{format, tokenizer};

/// A template whose assistant turns are `TURN`, and whose openings go on with `OPENING`.
const TEMPLATE: &str = "{#- <|tool_calls|> in a comment -#}
{%- for m in messages %}
{%- if m.role == 'assistant' %}TURN
{%- else %}{{ '<|im_start|>' + m.role + '\n' + m.content + '<|im_end|>\n' }}
{%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{ '<|im_start|>assistant\nOPENING' }}{% endif %}";

const TURN: &str = "{{ '<|im_start|>assistant\\n' }}
{%- if m.reasoning_content %}{{ '<think>' + m.reasoning_content + '</think>' }}{% endif %}{{ m.content }}
{%- for c in m.tool_calls or [] %}{{ '<tool_call>' + c.function.name + (c.function.arguments | tojson) + '</tool_call>' }}{% endfor %}
{{- '<|im_end|>\\n' }}";

const CALL: &str = r#"<tool_call>q_z{"q": "z w"}</tool_call>"#;

/// The turns that the template writes, as pairs of opening and rest.
fn turns(turn: &str, opening: &str, ends: &[&str]) -> Vec<(String, String)> {
    let template = TEMPLATE.replace("TURN", turn).replace("OPENING", opening);
    let ends: Vec<u32> = ends.iter().filter_map(|literal| tokenizer().token_id(literal)).collect();
    let turns = format(&template).calling_turns(&ends).unwrap();
    turns.into_iter().map(|CallingTurn { opening, written }| (opening, written)).collect()
}

#[test]
fn call_is_shown_with_and_without_reasoning() {
    let expected = [CALL.to_owned(), format!("<think>q z q</think>{CALL}")];
    let expected = expected.map(|written| ("<|im_start|>assistant\n".to_owned(), written));
    assert_eq!(turns(TURN, "", &["<|im_end|>"]), expected);
    let open = turns(TURN, "", &[]);
    assert_eq!(open[0].1, format!("{CALL}<|im_end|>\n"), "nothing is known to end the turn");
}

#[test]
fn opening_is_the_common_part_without_cut_markers() {
    // Without reasoning, the turn has in common with `<think>` only `<t`, which is no marker.
    let [(opening, written), with_reasoning] = &turns(TURN, "<think>", &["<|im_end|>"])[..] else {
        panic!("two turns")
    };
    assert_eq!((opening.as_str(), written.as_str()), ("<|im_start|>assistant\n", CALL));
    let expected = ("<|im_start|>assistant\n<think>".to_owned(), format!("q z q</think>{CALL}"));
    assert_eq!(with_reasoning, &expected);
}

#[test]
fn template_omitting_or_refusing_calls_shows_none() {
    let without = "{{ '<|im_start|>assistant\\n' + m.content + '<|im_end|>\\n' }}";
    assert_eq!(turns(without, "", &[]), []);
    let refusing = "{% if m.tool_calls %}{{ raise_exception('no calls') }}{% endif %}";
    assert_eq!(turns(refusing, "", &[]), []);
}

#[test]
fn template_that_needs_a_calls_result_gets_one() {
    let strict = format!("{{% if loop.last %}}{{{{ raise_exception('no result') }}}}{{% endif %}}{TURN}");
    let turns = turns(&strict, "", &["<|im_end|>"]);
    assert_eq!(turns.iter().map(|turn| turn.1.as_str()).next(), Some(CALL));
}
