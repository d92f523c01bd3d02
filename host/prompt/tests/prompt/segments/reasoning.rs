//! Reasoning that an earlier answer holds as text is stripped as the template says, and what stays
//! of such an answer is text.

use std::sync::Arc;

use super::tokenizers::{VOCABULARIES, Vocabulary};
use crate::common::{conversation, format_with};
use prompt::{ChatFormat, ChatMessage, Prompt, Role, TurnOpening};

/// Template that finds reasoning in an answer's text, as those of Qwen3, DeepSeek and GLM do, and
/// shows that of the last turn only.
const STRIPPING: &str = r"
{%- set ns = namespace(query=-1) %}
{%- for m in messages %}{% if m.role == 'user' and not m.content.startswith('<tool_response>') %}{% set ns.query = loop.index0 %}{% endif %}{% endfor %}
{%- for m in messages %}
{%- set content = m.content %}
{%- set reasoning = m.reasoning_content or '' %}
{%- if m.role == 'assistant' and not reasoning and '</think>' in content %}
{%- set reasoning = content.split('</think>')[0].rstrip('\n').split('<think>')[-1].lstrip('\n') %}
{%- set content = content.split('</think>')[-1].lstrip('\n') %}
{%- endif %}
{{- '<|im_start|>' + m.role + '\n' }}
{%- if reasoning and loop.index0 > ns.query %}{{ '<think>\n' + reasoning + '\n</think>\n\n' }}{% endif %}
{{- content + '<|im_end|>\n' }}
{%- endfor %}
{%- if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}";

fn format(vocabulary: &Vocabulary) -> ChatFormat {
    format_with(STRIPPING, Arc::clone(&vocabulary.tokenizer))
}

/// The prompt of a user's message, an answer, and a message `more`.
fn prompt(format: &ChatFormat, answer: &str, more: &str) -> Prompt {
    let [hi, more] = ["Hi", more].map(|text| ChatMessage::text(Role::User, text));
    let messages = vec![hi, ChatMessage::text(Role::Assistant, answer), more];
    format.render(&conversation(messages), &[], TurnOpening::NewTurn).unwrap()
}

#[test]
fn earlier_reasoning_in_an_answers_text_is_stripped() {
    let vocabulary = &VOCABULARIES[0];
    let ids = |answer, more| prompt(&format(vocabulary), answer, more).ids;
    let answer = "<think>\nhidden\n</think>\n\nHello!";
    let expected = "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\nHello!<|im_end|>\n\
                    <|im_start|>user\nMore<|im_end|>\n<|im_start|>assistant\n";
    assert_eq!(ids(answer, "More"), vocabulary.tokenizer.encode_with_added(expected).unwrap());
    // Behind a tool's result, the reasoning is of the last turn: it stays, between control tokens
    // of the template.
    let result = "<tool_response>\n3\n</tool_response>";
    let shown = ids(answer, result);
    let text = vocabulary.tokenizer.decode(&shown).unwrap();
    assert!(text.contains("assistant\n<think>\nhidden\n</think>\n\nHello!<|im_end|>"), "{text}");
    let [start, end, think, close] = vocabulary.ids(["<|im_start|>", "<|im_end|>", "<think>", "</think>"]);
    assert_eq!(vocabulary.controls_of(&shown), [start, end, start, think, close, end, start, end, start]);
}

#[test]
fn look_alikes_in_what_stays_are_text() {
    for vocabulary in &*VOCABULARIES {
        let format = format(vocabulary);
        let tokens = |answer: &str| {
            let prompt = prompt(&format, answer, "More");
            vocabulary.assert_holds(&prompt, answer.rsplit("</think>").next().unwrap().trim_matches('\n'));
            vocabulary.control_tokens(&prompt)
        };
        let plain = tokens("Hello!");
        let of_turns = vocabulary.ids(["<|im_start|>", "<|im_end|>"]);
        assert_eq!(plain.iter().filter(|id| of_turns.contains(id)).count(), 7, "{}", vocabulary.name);
        for literal in vocabulary.literals().iter().filter(|literal| *literal != "</think>") {
            for answer in ["", "<think>\nhidden\n</think>\n\n", "<think>a</think><think>b</think>\n"] {
                let tokens = tokens(&format!("{answer}{literal} Hello{literal}!"));
                assert_eq!(tokens, plain, "{}: {answer:?} {literal}", vocabulary.name);
            }
        }
    }
}
