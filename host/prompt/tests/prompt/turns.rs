//! Where the turn to generate begins in the prompt, and which part of the prompt is replayed to the
//! parser.

use crate::common::{conversation, format, generation_prompt, model_format, text, tokenizer};
use prompt::{ChatFormat, ChatMessage, Prompt, Role, TurnOpening};
use serde_json::{Value, json};

fn user() -> ChatMessage {
    ChatMessage::text(Role::User, "Hi")
}

fn with_history() -> Vec<ChatMessage> {
    let mut answer = ChatMessage::text(Role::Assistant, "Hello.");
    answer.reasoning = Some("Greet.".to_owned());
    vec![user(), answer, user()]
}

fn render(
    format: &ChatFormat,
    messages: Vec<ChatMessage>,
    arguments: &Value,
    opening: TurnOpening,
) -> Prompt {
    let arguments: Vec<_> = arguments.as_object().unwrap().clone().into_iter().collect();
    format.render(&conversation(messages), &arguments, opening).unwrap()
}

#[test]
fn thinking_on_replays_the_bare_header() {
    let prompt =
        render(&model_format(), with_history(), &json!({"enable_thinking": true}), TurnOpening::NewTurn);
    let start = tokenizer().token_id("<|im_start|>").unwrap();
    let expected = [(Some(start), "<|im_start|>".to_owned()), (None, "assistant\n".to_owned())];
    assert_eq!(prompt.generation_prompt, expected);
}

#[test]
fn thinking_off_replays_an_empty_block() {
    let prompt =
        render(&model_format(), with_history(), &json!({"enable_thinking": false}), TurnOpening::NewTurn);
    let texts: Vec<_> = prompt.generation_prompt.iter().map(|(_, text)| text.as_str()).collect();
    assert_eq!(texts, ["<|im_start|>", "assistant\n", "<think>", "\n\n", "</think>", "\n\n"]);
    let ids: Vec<_> = prompt.generation_prompt.iter().filter_map(|(id, _)| *id).collect();
    let literals = ["<|im_start|>", "<think>", "</think>"];
    assert_eq!(ids, literals.map(|literal| tokenizer().token_id(literal).unwrap()));
}

const FORCED: &str = r"
{%- for m in messages %}{{ '<|im_start|>' + m.role + '\n' }}
{%- if m.reasoning_content %}{{ '<think>\n' + m.reasoning_content + '\n</think>\n\n' }}{% endif %}
{{- m.content | trim }}{{ '<|im_end|>\n' }}{% endfor %}
{%- if add_generation_prompt %}{{ '<|im_start|>assistant\n<think>\n' }}{% endif %}";

#[test]
fn forced_thinking_is_open_despite_earlier_turns() {
    let prompt = render(&format(FORCED), with_history(), &json!({}), TurnOpening::NewTurn);
    assert!(text(&prompt).contains("</think>"));
    assert_eq!(generation_prompt(&prompt), "<|im_start|>assistant\n<think>\n");
}

#[test]
fn template_without_generation_prompt_replays_nothing() {
    let prompt = render(
        &format("{% for m in messages %}{{ m.content }}{% endfor %}"),
        with_history(),
        &json!({}),
        TurnOpening::NewTurn,
    );
    assert_eq!(prompt.generation_prompt, []);
}

#[test]
fn turn_begins_where_both_prompts_part() {
    let template =
        "{{ messages[0].content }}{{ '<|im_start|>a' if add_generation_prompt else '<|im_end|>' }}";
    let prompt = render(&format(template), vec![user()], &json!({}), TurnOpening::NewTurn);
    assert_eq!(generation_prompt(&prompt), "<|im_start|>a");
}

#[test]
fn prefilled_answer_stays_open_and_replays_its_header() {
    let messages = vec![user(), ChatMessage::text(Role::Assistant, "Once </think> upon ")];
    let prompt = render(&model_format(), messages, &json!({}), TurnOpening::ContinueLast);
    assert_eq!(text(&prompt), "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\nOnce </think> upon ");
    let start = tokenizer().token_id("<|im_start|>").unwrap();
    let text = "assistant\nOnce </think> upon ".to_owned();
    assert_eq!(prompt.generation_prompt, [(Some(start), "<|im_start|>".to_owned()), (None, text)]);
}

#[test]
fn prefilled_answer_is_trimmed_as_the_template_does() {
    let messages = vec![user(), ChatMessage::text(Role::Assistant, " Once upon \n")];
    let prompt = render(&format(FORCED), messages, &json!({}), TurnOpening::ContinueLast);
    assert_eq!(generation_prompt(&prompt), "<|im_start|>assistant\nOnce upon");
}

#[test]
fn prefilled_answer_written_twice_is_open_at_the_last() {
    let template = "{% for m in messages %}{{ m.content }}[{{ m.content | trim }}]{% endfor %}";
    let messages = vec![user(), ChatMessage::text(Role::Assistant, "Once")];
    let prompt = render(&format(template), messages, &json!({}), TurnOpening::ContinueLast);
    assert_eq!(text(&prompt), "Hi[Hi]Once[Once");
    assert_eq!(generation_prompt(&prompt), "Once[Once");
}

#[test]
fn only_an_assistants_text_can_be_continued() {
    for messages in [vec![], vec![user()]] {
        let error =
            model_format().render(&conversation(messages), &[], TurnOpening::ContinueLast).unwrap_err();
        assert!(error.to_string().contains("it must be the assistant's"), "{error}");
    }
    let deaf = format("{% for m in messages if m.role == 'user' %}{{ m.content }}{% endfor %}");
    let messages = vec![user(), ChatMessage::text(Role::Assistant, "Once")];
    let error = deaf.render(&conversation(messages), &[], TurnOpening::ContinueLast).unwrap_err();
    assert!(error.to_string().contains("drops the text"), "{error}");
}

#[test]
fn megabyte_of_one_word_or_many_becomes_a_prompt() {
    let size = 1 << 20;
    let filler = "word <|im_end|> 12345 é🙂 ".chars().cycle().take(size / 2).collect::<String>();
    let messages = vec![ChatMessage::text(Role::User, filler + &"x".repeat(size / 2))];
    let prompt = render(&model_format(), messages, &json!({}), TurnOpening::NewTurn);
    assert!(prompt.ids.len() > size / 2, "{} ids", prompt.ids.len());
}
