//! Text of a request never becomes a control token, and is never lost.

mod bodies;
mod reasoning;
mod tokenizers;
mod transforms;

use std::sync::{Arc, LazyLock};

use self::tokenizers::{VOCABULARIES, Vocabulary};
use crate::common::{chat_files, format_with, text};
use prompt::PromptLimits;
use prompt::{
    ChatFormat, ChatMessage, Conversation, HistoryCall, Prompt, Role, ToolDeclaration, TurnOpening,
};
use proptest::prelude::*;
use serde_json::{Value, json};

/// All text fields of a request.
#[derive(Debug, Clone)]
struct Fields {
    system: String,
    user: String,
    answer: String,
    reasoning: String,
    result: String,
    call_id: String,
    call_name: String,
    argument_key: String,
    argument: String,
    raw_arguments: String,
    tool_name: String,
    description: String,
    property: String,
    default: String,
    extra_key: String,
    template_argument: String,
}

impl Fields {
    fn new(mut next: impl FnMut() -> String) -> Self {
        Self {
            system: next(),
            user: next(),
            answer: next(),
            reasoning: next(),
            result: next(),
            call_id: next(),
            call_name: next(),
            argument_key: next(),
            argument: next(),
            raw_arguments: next(),
            tool_name: next(),
            description: next(),
            property: next(),
            default: next(),
            extra_key: next(),
            template_argument: next(),
        }
    }

    fn conversation(&self) -> Conversation {
        let call = |arguments: String| HistoryCall {
            id: self.call_id.clone(),
            name: self.call_name.clone(),
            arguments,
        };
        let object = json!({ &self.argument_key: self.argument }).to_string();
        let mut calling = ChatMessage::text(Role::Assistant, self.answer.clone());
        calling.reasoning = Some(self.reasoning.clone());
        calling.tool_calls = vec![call(object), call(self.raw_arguments.clone())];
        let mut result = ChatMessage::text(Role::Tool, self.result.clone());
        (result.tool_call_id, result.name) = (Some(self.call_id.clone()), Some(self.call_name.clone()));
        let messages = vec![
            ChatMessage::text(Role::System, self.system.clone()),
            ChatMessage::text(Role::Developer, self.system.clone()),
            ChatMessage::text(Role::User, self.user.clone()),
            ChatMessage::text(Role::Assistant, self.answer.clone()),
            ChatMessage::text(Role::User, self.user.clone()),
            calling,
            result,
        ];
        let declaration = json!({"type": "function", "function": {"name": self.tool_name, "description": self.description,
            "parameters": {"type": "object", &self.extra_key: self.default,
                "properties": {&self.property: {"type": "string", "default": self.default}}}}});
        Conversation {
            messages,
            tools: vec![ToolDeclaration {
                name: self.tool_name.clone(),
                declaration: declaration.to_string(),
            }],
        }
    }

    fn render(&self, format: &ChatFormat) -> Prompt {
        let arguments = [("note".to_owned(), Value::from(self.template_argument.as_str()))];
        format.render(&self.conversation(), &arguments, TurnOpening::NewTurn).unwrap()
    }

    fn all(&self) -> [&String; 16] {
        [
            &self.system,
            &self.user,
            &self.answer,
            &self.reasoning,
            &self.result,
            &self.call_id,
            &self.call_name,
            &self.argument_key,
            &self.argument,
            &self.raw_arguments,
            &self.tool_name,
            &self.description,
            &self.property,
            &self.default,
            &self.extra_key,
            &self.template_argument,
        ]
    }
}

/// Template that changes request text in every possible way: it joins, splits, trims, quotes and
/// slices it, and writes brackets around it.
const WILD: &str = r"
{%- for tool in tools %}
{{- '<|im_start|>' }}{{ tool | tojson }}{{ tool.function.description | trim }}<{{ tool.function.name }}>
{%- for key in tool.function.parameters %}{{ '<' ~ key ~ '>' ~ (tool.function.parameters[key] | string) ~ '</' ~ key ~ '>' }}{% endfor %}
{%- for key, value in tool.function.parameters.properties | items %}<|{{ key }}|>{{ value | tojson(indent=2) }}{% endfor %}
{%- endfor %}
{%- for m in messages %}
{{- '<|im_start|>' + m.role + '\n' }}
{{- m.content }}{{ m.content | trim }}{{ m.content.strip('\n') }}{{ m.content.split('</think>')[-1] }}
{{- '<' + m.content + '>' }}{{ m.content[:9] }}{{ m.content[9:] }}{{ '<|im_' ~ m.content ~ '|>' }}
{%- for part in m.content.split(' ') %}{{ part }}{% endfor %}
{%- for c in m.content %}{{ c }}{% endfor %}
{%- if m.reasoning_content %}<think>{{ m.reasoning_content.lstrip() + m.content }}</think>{% endif %}
{%- for call in m.tool_calls or [] %}<tool_call>{{ call | tojson }}{{ call.function.name }}{{ call.id.replace('x', '') }}
{%- for key in call.function.arguments %}<{{ key }}>{{ call.function.arguments[key] if call.function.arguments is mapping }}{% endfor %}</tool_call>{% endfor %}
{{- m.name }}{{ m.tool_call_id }}{{ m | string }}<|im_end|>
{% endfor %}
{{- note }}{{ '<' }}{{ note }}{{ '>' }}
{%- if add_generation_prompt %}<|im_start|>assistant<think>{% endif %}";

/// Template that builds its turn tokens from pieces.
const GLUED: &str = r"
{%- for tool in tools or [] %}{{ tool | tojson }}{% endfor %}
{%- for m in messages %}{% set who = 'start' if m.role else 'x' %}
{{- '<|' + 'im_' + who + '|>' + m.role + '\n' + m.content + '<|' }}{{ 'im_end|>' }}
{%- for call in m.tool_calls or [] %}<tool_call>{{ call.function | tojson }}<|{{ call.function.name }}|></tool_call>{% endfor %}
{{- m.name }}{{ m.tool_call_id }}{{ m.reasoning_content }}{% endfor %}{{ note }}
{%- if add_generation_prompt %}{{ '<|im_' + 'start|>' }}assistant{% endif %}";

/// A chat format, and the control tokens of a chat of plain words.
struct Case {
    name: &'static str,
    vocabulary: &'static Vocabulary,
    format: ChatFormat,
    plain: Vec<u32>,
}

/// The embedded model's template and the two above, with each tokenizer; the embedded model's own
/// format first.
static CASES: LazyLock<Vec<Case>> = LazyLock::new(|| {
    let case = |name, vocabulary: &'static Vocabulary, format: ChatFormat| {
        let plain = vocabulary.control_tokens(&Fields::new(|| "word".to_owned()).render(&format));
        assert!(plain.len() > 14, "{name}, {}: {plain:?}", vocabulary.name);
        Case { name, vocabulary, format, plain }
    };
    let of_vocabulary = |vocabulary: &'static Vocabulary| {
        let tokenizer = || Arc::clone(&vocabulary.tokenizer);
        let model = ChatFormat::new(&chat_files(), tokenizer(), &PromptLimits::default(), 1 << 20).unwrap();
        let [wild, glued] = [WILD, GLUED].map(|template| format_with(template, tokenizer()));
        [("model", model), ("wild", wild), ("glued", glued)]
            .map(|(name, format)| case(name, vocabulary, format))
    };
    VOCABULARIES.iter().flat_map(of_vocabulary).collect()
});

#[test]
fn every_added_token_stays_text_in_every_field() {
    for Case { name, vocabulary, format, plain } in &*CASES {
        for literal in vocabulary.literals() {
            let inner = literal.trim_matches(['<', '>', '/', '|', '[', ']', '｜']).to_owned();
            let end = literal.trim_start_matches(['<', '[']).to_owned();
            for spelt in [literal.clone(), format!("a {literal} b"), inner, end, format!(" {literal}\n")] {
                let prompt = Fields::new(|| spelt.clone()).render(format);
                let place = format!("{name}, {}: {spelt:?}", vocabulary.name);
                assert_eq!(vocabulary.control_tokens(&prompt), *plain, "{place}");
                vocabulary.assert_holds(&prompt, &spelt);
            }
        }
    }
}

#[test]
fn field_spelling_an_added_token_does_not_become_it() {
    for Case { vocabulary, format, plain, .. } in CASES.iter().step_by(3) {
        for field in 0..16 {
            for literal in vocabulary.literals() {
                let mut at = 0..;
                let next = || if at.next() == Some(field) { literal.clone() } else { "word".to_owned() };
                let tokens = vocabulary.control_tokens(&Fields::new(next).render(format));
                assert_eq!(tokens, *plain, "{}: field {field}, {literal}", vocabulary.name);
            }
        }
    }
}

#[test]
fn the_models_template_shows_request_text_unchanged() {
    let spelt = "a <|im_end|>\n</think> \u{F0000}\u{F0002}\u{FFFFD}\u{100000}\u{10FFFD} \u{FFFD}";
    let fields = Fields::new(|| spelt.to_owned());
    let text = text(&fields.render(&CASES[0].format));
    let system = format!("<|im_start|>system\n{spelt}\n\n# Tools");
    assert!(text.starts_with(&system), "{text}");
    assert!(text.contains(&format!("<|im_start|>user\n{spelt}<|im_end|>\n")), "{text}");
    assert!(text.contains(&format!("<tool_response>\n{spelt}\n</tool_response>")), "{text}");
    let argument = serde_json::to_string(spelt).unwrap();
    assert!(text.contains(&format!(r#""arguments": {{{argument}: {argument}}}"#)), "{text}");
}

fn fragment() -> impl Strategy<Value = String> {
    let mut parts: Vec<String> =
        ["<", ">", "|", "</", "|>", "<|", " ", "\n", "a", "é", "\"", "\\", "🙂", "{", "}", "x"]
            .map(str::to_owned)
            .to_vec();
    parts.extend(
        [
            "im_",
            "end",
            "start",
            "think",
            "tool",
            "_call",
            "/",
            "\u{F0000}",
            "\u{F0003}",
            "\u{100001}",
            "\u{FF001}",
        ]
        .map(str::to_owned),
    );
    for literal in VOCABULARIES.iter().flat_map(Vocabulary::literals) {
        for cut in (1..literal.len()).filter(|&cut| literal.is_char_boundary(cut)) {
            parts.push(literal[..cut].to_owned());
            parts.push(literal[cut..].to_owned());
        }
        parts.push(literal);
    }
    prop::collection::vec(prop::sample::select(parts), 1..5).prop_map(|parts| parts.concat())
}

fn fields() -> impl Strategy<Value = Fields> {
    prop::collection::vec(fragment(), 16).prop_map(|texts| {
        let mut texts = texts.into_iter();
        Fields::new(|| texts.next().unwrap())
    })
}

/// Whether the prompt has the usual control tokens with these fields: the extra key isn't a
/// reserved one, no text is blank, since templates leave out blank text, and raw arguments aren't
/// JSON.
fn keeps_its_shape(fields: &Fields) -> bool {
    let reserved = ["type", "properties"];
    !reserved.contains(&fields.extra_key.as_str())
        && fields.all().iter().all(|text| !text.trim().is_empty())
        && serde_json::from_str::<Value>(&fields.raw_arguments).is_err()
}

proptest! {
    #![proptest_config(ProptestConfig { ..ProptestConfig::default() })]

    #[test]
    fn request_text_forges_no_token_in_models_template(fields in fields()) {
        prop_assume!(keeps_its_shape(&fields));
        for Case { vocabulary, format, plain, .. } in CASES.iter().step_by(3) {
            let prompt = fields.render(format);
            prop_assert_eq!(&vocabulary.control_tokens(&prompt), plain, "{}", vocabulary.name);
            for field in [&fields.system, &fields.user, &fields.answer, &fields.result, &fields.raw_arguments] {
                vocabulary.assert_holds(&prompt, field);
            }
            for field in [&fields.argument, &fields.argument_key, &fields.description, &fields.tool_name, &fields.property] {
                vocabulary.assert_holds(&prompt, &serde_json::to_string(field).unwrap());
            }
        }
    }

    #[test]
    fn request_text_forges_no_token_in_any_template(fields in fields()) {
        prop_assume!(keeps_its_shape(&fields));
        for Case { name, vocabulary, format, plain } in CASES.iter().filter(|case| case.name != "model") {
            prop_assert_eq!(&vocabulary.control_tokens(&fields.render(format)), plain, "{}, {}", name, vocabulary.name);
        }
    }
}
