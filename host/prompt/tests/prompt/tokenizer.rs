//! Tokenizers with added tokens of every kind: ids of benign text are those of the reference, and
//! request text never becomes an added token.

use std::sync::Arc;

use crate::common::{conversation, format_with, path, tokenizer};
use prompt::{ChatMessage, Role, Tokenizer, TurnOpening};
use serde_json::{Value, json};

/// The embedded tokenizer with added `tokens`: (literal, name of the flag that is set).
fn with_added(tokens: &[(&str, &str)], alter: impl Fn(&mut Value)) -> Arc<Tokenizer> {
    let mut file: Value =
        serde_json::from_slice(&std::fs::read(path("../models/qwen3-tiny/tokenizer.json")).unwrap()).unwrap();
    for (index, (literal, flag)) in tokens.iter().enumerate() {
        let mut token = json!({"id": 549 + index, "content": literal, "single_word": false, "lstrip": false,
            "rstrip": false, "normalized": false, "special": false});
        token[*flag] = json!(true);
        file["added_tokens"].as_array_mut().unwrap().push(token);
    }
    alter(&mut file);
    Arc::new(Tokenizer::from_json(file.to_string().as_bytes()).unwrap())
}

/// Checks that the ids of `template` with a user's `text` are the reference's ids of `written`.
fn assert_as_reference(tokenizer: &Arc<Tokenizer>, template: &str, text: &str, written: &str) {
    let talk = conversation(vec![ChatMessage::text(Role::User, text)]);
    let prompt =
        format_with(template, Arc::clone(tokenizer)).render(&talk, &[], TurnOpening::NewTurn).unwrap();
    assert_eq!(prompt.ids, tokenizer.encode_with_added(written).unwrap(), "{written:?}");
}

#[test]
fn tokens_take_white_space_as_in_the_reference() {
    let tokenizer = with_added(&[("<|r|>", "rstrip"), ("<|l|>", "lstrip"), ("<|w|>", "single_word")], |_| ());
    let template = "{{ '<|r|>' + messages[0].content + '<|l|>a<|w|>b<|r|> <|l|> <|w|>' }}";
    for text in ["a", "  a \n ", " ", ""] {
        assert_as_reference(&tokenizer, template, text, &format!("<|r|>{text}<|l|>a<|w|>b<|r|> <|l|> <|w|>"));
    }
}

#[test]
fn tokens_of_white_space_are_text_like_any_other() {
    let tokenizer =
        with_added(&[("  ", "special"), ("\n\n", "normalized"), ("\n\n\n", "normalized")], |_| ());
    let text = "a  b   c\n\n\n\n\nd\n\n";
    assert_eq!(tokenizer.encode_text(text), tokenizer.encode_with_added(text));
    let spaces = tokenizer.encode_with_added("  ").unwrap();
    assert!(spaces.len() == 1 && tokenizer.encode_text(text).unwrap().contains(&spaces[0]));
    assert_as_reference(
        &tokenizer,
        "<|im_start|>  {{ messages[0].content }}",
        text,
        &format!("<|im_start|>  {text}"),
    );
}

#[test]
fn token_that_the_vocabulary_spells_too_is_not_forged() {
    let literal = "<|>";
    let tokenizer = with_added(&[(literal, "special")], |file| file["model"]["vocab"][literal] = json!(549));
    assert_eq!(tokenizer.encode_with_added(literal).unwrap(), [549]);
    for text in [literal, "a <|>", "<|><|>", " <|>|>"] {
        let ids = tokenizer.encode_text(text).unwrap();
        assert!(!ids.contains(&549), "{text:?}");
        assert_eq!(tokenizer.decode(&ids).unwrap(), text);
    }
}

#[test]
fn token_built_from_pieces_by_the_template_is_found() {
    let template = "{% for m in messages %}{{ '<|' + 'im_' + ('start' if m.role else '') + '|>' + m.content }}{% endfor %}";
    assert_as_reference(&tokenizer(), template, "im_start start <| | >", "<|im_start|>im_start start <| | >");
}

#[test]
fn added_words_leave_the_templates_code_alone() {
    let tokenizer =
        with_added(&[("role", "special"), ("content", "special"), ("messages", "special")], |_| ());
    let template = "{% for m in messages %}{{ m['role'] + ':role ' + m['content'] }}{% endfor %}";
    assert_as_reference(&tokenizer, template, "a", "user:role a");
}

#[test]
fn literals_have_ids_only_as_added_tokens() {
    let tokenizer = tokenizer();
    let [think, end] = ["<think>", "<|im_end|>"].map(|literal| tokenizer.token_id(literal).unwrap());
    assert_eq!(tokenizer.added_token(think).unwrap().literal, "<think>");
    assert_eq!(tokenizer.token_id("Hello"), None);
    assert_eq!(tokenizer.token_id("<nothing>"), None);
    assert!(tokenizer.is_special(end) && !tokenizer.is_special(think) && !tokenizer.is_special(0));
    assert!(tokenizer.vocab_size() > end as usize);
}

#[test]
fn arguments_are_text_for_templates_joining_them() {
    let mut calling = ChatMessage::text(Role::Assistant, "");
    let call = prompt::HistoryCall { id: "i".into(), name: "f".into(), arguments: "{\"a\":1}".into() };
    calling.tool_calls.push(call);
    let template = "{% for m in messages %}{{ m.content }}{% for c in m.tool_calls or [] %}{{ c.function.name + c.function.arguments }}{% endfor %}{% endfor %}";
    let talk = conversation(vec![calling]);
    let prompt = format_with(template, tokenizer()).render(&talk, &[], TurnOpening::NewTurn).unwrap();
    assert_eq!(tokenizer().decode(&prompt.ids).unwrap(), "f{\"a\":1}");
}

/// The embedded tokenizer with one part replaced, or why it is refused.
fn with_part(part: &str, value: &Value) -> Result<Tokenizer, String> {
    let mut file: Value =
        serde_json::from_slice(&std::fs::read(path("../models/qwen3-tiny/tokenizer.json")).unwrap()).unwrap();
    file[part] = value.clone();
    Tokenizer::from_json(file.to_string().as_bytes())
}

/// A step of the file that writes `content` in place of `pattern`.
fn replace(pattern: &Value, content: &str) -> Value {
    json!({"type": "Replace", "pattern": pattern, "content": content})
}

#[test]
fn what_steps_make_of_a_text_is_bounded() {
    let sequence =
        |key: &str, step: &Value, times: usize| json!({"type": "Sequence", key: vec![step.clone(); times]});
    let double = replace(&json!({"String": "a"}), "aa");
    let mut untyped = double.clone();
    untyped.as_object_mut().unwrap().remove("type");
    let anywhere = replace(&json!({"Regex": ""}), "ab");
    let long = "x".repeat(65);
    for (part, step, reason) in [
        ("normalizer", sequence("normalizers", &double, 15), "its normalizer may make more than 16384 bytes"),
        ("normalizer", json!({"normalizers": vec![untyped; 15]}), "its normalizer may make more than"),
        ("normalizer", sequence("normalizers", &anywhere, 9), "its normalizer may make more than"),
        ("normalizer", sequence("normalizers", &double, 5), "it makes more than 16 bytes of each of"),
        ("normalizer", replace(&json!({"String": " "}), &long), "its normalizer writes 65 bytes at a time"),
        ("normalizer", json!({"type": "Prepend", "prepend": long}), "its normalizer writes 65 bytes"),
        ("decoder", sequence("decoders", &double, 15), "its decoder may make more than"),
    ] {
        let error = with_part(part, &step).unwrap_err();
        assert!(error.starts_with(reason), "{step}: {error}");
    }
    let spaces = json!({"type": "Sequence", "normalizers": [
        {"type": "Prepend", "prepend": "▁"}, replace(&json!({"String": " "}), "▁"), {"type": "NFKC"},
    ]});
    assert!(with_part("normalizer", &spaces).is_ok());
    assert!(with_part("normalizer", &replace(&json!({"Regex": " {2,}"}), " ")).is_ok());
}

/// A text that no probe has makes the library panic: its request is refused, and the next is served.
#[test]
fn panic_of_the_library_is_a_texts_error() {
    let split = |pattern: &str| {
        json!({"type": "Sequence", "pretokenizers": [
            {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": false},
            {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": false},
        ]})
    };
    let tokenizer = with_part("pre_tokenizer", &split("(z|zz)+(?=[bc])")).unwrap();
    let hostile = "z".repeat(80);
    for _ in 0..2 {
        let error = tokenizer.encode_text(&hostile).unwrap_err().to_string();
        assert_eq!(error, "the tokenizer can't encode this text: its library failed at it");
        assert_eq!(tokenizer.encode_with_added(&hostile).unwrap_err().to_string(), error);
        assert_eq!(tokenizer.decode(&tokenizer.encode_text("zz b").unwrap()).unwrap(), "zz b");
    }
}
