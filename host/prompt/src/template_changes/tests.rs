//! Tests of changes for templates that can't take everything that agents send.

use std::sync::Arc;

use engine::ModelFiles;

use super::*;
use crate::limits::PromptLimits;
use crate::{ChatFiles, ChatFormat, RenderError, Tokenizer, TurnOpening};

/// Template that takes instructions only at the beginning and as one message, one call per message,
/// and either text or reasoning beside a call.
const STRICT: &str = r"
{%- set rest = messages %}
{%- if messages[0].role in ['developer', 'system'] %}{{ 'I: ' ~ messages[0].content ~ '\n' }}{% set rest = messages[1:] %}{% endif %}
{%- for m in rest %}
{%- if m.role == 'user' %}{{ 'U: ' ~ m.content ~ '\n' }}
{%- elif m.role == 'tool' %}{{ 'R: ' ~ m.content ~ '\n' }}
{%- elif m.role == 'assistant' %}
{%- if m.tool_calls %}
{%- if m.content and m.thinking %}{{ raise_exception('both') }}{% endif %}
{{- 'T: ' ~ (m.thinking or m.content or '') ~ '\n' ~ 'C: ' ~ m.tool_calls[0].function.name ~ '\n' }}
{%- else %}{{ 'A: ' ~ m.content ~ '\n' }}{% endif %}
{%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{ 'A: ' }}{% endif %}";

/// Template that takes everything as it is.
const LENIENT: &str = r"
{%- for m in messages %}{{ m.role ~ ': ' ~ (m.reasoning_content or '') ~ m.content }}
{%- for call in m.tool_calls or [] %}{{ ' ' ~ call.function.name }}{% endfor %}{{ '\n' }}
{%- endfor %}
{%- if add_generation_prompt %}{{ 'assistant: ' }}{% endif %}";

fn rendered(template: &str, messages: Vec<ChatMessage>) -> Result<String, RenderError> {
    let directory = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../models/qwen3-tiny");
    let tokenizer = Arc::new(Tokenizer::load(&ModelFiles::Directory(directory)).unwrap());
    let chat = ChatFiles { template: template.to_owned(), tool_template: None, special_tokens: Vec::new() };
    let format = ChatFormat::new(&chat, Arc::clone(&tokenizer), &PromptLimits::default(), 4096).unwrap();
    let prompt = format.render(&Conversation { messages, tools: Vec::new() }, &[], TurnOpening::NewTurn)?;
    Ok(tokenizer.decode(&prompt.ids).unwrap())
}

fn text(role: Role, text: &str) -> ChatMessage {
    ChatMessage::text(role, text)
}

#[test]
fn instructions_of_every_kind_are_seen() {
    let messages = vec![
        text(Role::System, "one"),
        text(Role::Developer, "two"),
        text(Role::User, "hi"),
        text(Role::Assistant, "yes"),
        text(Role::System, "late"),
    ];
    assert_eq!(rendered(STRICT, messages).unwrap(), "I: one\n\ntwo\nU: hi\nA: yes\nU: late\nA: ");
}

#[test]
fn text_beside_reasoning_and_a_call_is_seen() {
    let said = ChatMessage { reasoning: Some("why".to_owned()), ..calling("I look.", &["find"]) };
    let messages = vec![text(Role::User, "hi"), said, result("find")];
    assert_eq!(rendered(STRICT, messages).unwrap(), "U: hi\nT: why\n\nI look.\nC: find\nR: done\nA: ");
}

#[test]
fn each_of_several_calls_is_seen_before_its_result() {
    let mut late = result("third");
    late.content = "later".into();
    let messages = vec![
        text(Role::User, "hi"),
        calling("", &["first", "second"]),
        result("second"),
        result("first"),
        late,
        calling("", &["third"]),
    ];
    let expected = "U: hi\nT: \nC: first\nR: done\nT: \nC: second\nR: done\nR: later\nT: \nC: third\nA: ";
    assert_eq!(rendered(STRICT, messages).unwrap(), expected);
}

#[test]
fn lenient_template_gets_everything_unchanged() {
    let said = ChatMessage { reasoning: Some("why ".to_owned()), ..calling("I look.", &["first", "second"]) };
    let messages =
        vec![text(Role::System, "one"), text(Role::Developer, "two"), text(Role::User, "hi"), said];
    let expected = "system: one\nsystem: two\nuser: hi\nassistant: why I look. first second\nassistant: ";
    assert_eq!(rendered(LENIENT, messages).unwrap(), expected);
    assert!(
        TemplateChanges::detect(|conversation| rendered(LENIENT, conversation.messages.clone()).ok())
            .is_empty()
    );
}

#[test]
fn text_that_a_template_leaves_out_stays_out() {
    let silent = STRICT.replace("{{ raise_exception('both') }}", "");
    let said = ChatMessage { reasoning: Some("why".to_owned()), ..calling("I look.", &["find"]) };
    let messages = vec![text(Role::User, "hi"), said];
    assert_eq!(rendered(&silent, messages).unwrap(), "U: hi\nT: why\nC: find\nA: ");
}

#[test]
fn a_template_that_shows_nothing_is_left_alone() {
    assert!(TemplateChanges::detect(|_| None).is_empty());
    assert!(TemplateChanges::detect(|_| Some("nothing".to_owned())).is_empty());
}

#[test]
fn role_only_mentioned_by_a_template_becomes_system() {
    let template = "{# no developer here #}{% for m in messages %}{% if m.role == 'developer' %}\
        {{ raise_exception('unknown role') }}{% endif %}{{ m.role ~ ' ' ~ m.content ~ '\n' }}{% endfor %}";
    let messages = vec![text(Role::Developer, "be kind"), text(Role::User, "hi")];
    assert_eq!(rendered(template, messages).unwrap(), "system be kind\nuser hi\n");
}
