//! Long texts, which are tokenised in pieces: their ids are those of the text as a whole, with
//! tokenizers of every kind; and what has too many tokens is refused before it was read to its end.

use std::sync::Arc;

use crate::common::{conversation, format_with, model_files, path, tokenizer};
use engine::ModelFiles;
use prompt::{
    ChatMessage, PromptLimits, PromptTooLong, RenderError, Role, TokenBudget, Tokenizer, TurnOpening,
};
use serde_json::{Value, json};

/// Size of the texts: those from 128 KiB on are read in pieces.
const BYTES: usize = 136_000;
const NO_BOUND: TokenBudget = TokenBudget { context: usize::MAX, counted_bytes: usize::MAX };

/// The embedded tokenizer with a token for each of 2, 4, … 64 equal signs, changed by `alter`.
fn altered(alter: impl Fn(&mut Value)) -> Arc<Tokenizer> {
    let json = model_files().read("tokenizer.json").unwrap().unwrap();
    let mut file: Value = serde_json::from_slice(&json).unwrap();
    let (mut run, mut id) = ("=".to_owned(), 100_000);
    while run.len() < 64 {
        let longer = run.repeat(2);
        file["model"]["vocab"][&longer] = json!(id);
        file["model"]["merges"].as_array_mut().unwrap().push(json!([run, run]));
        (run, id) = (longer, id + 1);
    }
    alter(&mut file);
    Arc::new(Tokenizer::from_json(file.to_string().as_bytes()).unwrap())
}

/// The embedded vocabulary behind another pattern.
fn cut_by(pattern: &str) -> Arc<Tokenizer> {
    altered(|file| {
        file["pre_tokenizer"]["pretokenizers"][0]["pattern"]["Regex"] = json!(pattern);
    })
}

/// A tokenizer of pieces with scores, as T5 has it: blanks are marks, the first text gets one.
fn unigram() -> Arc<Tokenizer> {
    let pieces =
        ["<unk>", "▁", "▁wo", "wor", "rd", "d", "w", "o", "r", "1", "12", "=", "==", "====", "a", "aaa"];
    let vocab: Vec<Value> =
        pieces.iter().zip(1..).map(|(piece, rank)| json!([piece, -0.5 * f64::from(rank)])).collect();
    let metaspace =
        |kind: &str| json!({"type": kind, "replacement": "▁", "prepend_scheme": "first", "split": false});
    let file = json!({
        "version": "1.0", "truncation": null, "padding": null, "added_tokens": [], "normalizer": {"type": "NFKC"},
        "pre_tokenizer": metaspace("Metaspace"), "post_processor": null, "decoder": metaspace("Metaspace"),
        "model": {"type": "Unigram", "unk_id": 0, "vocab": vocab, "byte_fallback": false},
    });
    Arc::new(Tokenizer::from_json(file.to_string().as_bytes()).unwrap())
}

/// Tokenizers by name.
fn tokenizers() -> Vec<(&'static str, Arc<Tokenizer>)> {
    let gpt4 = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";
    // Groups of three digits counted from the number's end.
    let from_the_end = r"\p{N}{1,3}(?=(?:\p{N}{3})*(?!\p{N}))| ?\p{L}+|[^\p{N}]";
    let tiktoken = ModelFiles::Directory(path("tests/prompt/tiktoken"));
    vec![
        ("embedded", tokenizer()),
        ("long tokens", altered(|_| ())),
        ("GPT-4's pattern", cut_by(gpt4)),
        ("numbers from their end", cut_by(from_the_end)),
        (
            "one word",
            altered(|file| {
                file["pre_tokenizer"] = json!({"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true, "use_regex": false});
            }),
        ),
        ("composed", altered(|file| file["normalizer"] = json!({"type": "NFC"}))),
        ("Unigram", unigram()),
        ("tiktoken", Arc::new(Tokenizer::load(&tiktoken).unwrap())),
    ]
}

/// `count` words of random letters and lengths, of which some are numbers, marks or line ends.
fn random_words(count: usize) -> String {
    let mut state = 0x2545_F491_4F6C_DD1D_u64;
    let mut next = |most: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % most
    };
    let mut text = String::new();
    for _ in 0..count {
        let alphabet = [
            "etaoin shrdlu",
            "0123456789",
            " \n\t ",
            "=====!?.",
            "é\u{301}e\u{301}ü한ᄒ\u{1161}",
            "🙂🚀你好",
        ][usize::try_from(next(6)).unwrap()];
        let letters: Vec<char> = alphabet.chars().collect();
        let length = 1 + next(12);
        text.extend((0..length).map(|_| letters[usize::try_from(next(letters.len() as u64)).unwrap()]));
        text.push(' ');
    }
    text
}

fn texts() -> Vec<String> {
    let repeated = |part: &str| part.repeat(BYTES.div_ceil(part.len()));
    let mut texts: Vec<String> = ["a", "=", " \n", "🙂", "wordword12 <|im_end|> é== "].map(repeated).into();
    let mut random = random_words(BYTES / 8);
    random.push_str(&"=".repeat(BYTES));
    texts.push(random);
    texts
}

fn rendered(tokenizer: &Arc<Tokenizer>, text: &str) -> Vec<u32> {
    let format = format_with("{{ messages[0].content }}", Arc::clone(tokenizer));
    let talk = conversation(vec![ChatMessage::text(Role::User, text)]);
    format.render(&talk, &[], TurnOpening::NewTurn).unwrap().ids
}

#[test]
fn ids_of_a_long_text_are_those_of_the_whole() {
    for (name, tokenizer) in tokenizers() {
        for text in texts() {
            let start: String = text.chars().take(20).collect();
            assert!(
                rendered(&tokenizer, &text) == tokenizer.encode_text(&text).unwrap(),
                "{name}: {start:?}"
            );
            if name == "embedded" {
                let raw = tokenizer.encode_raw_prompt(&text, false, NO_BOUND).unwrap();
                assert!(raw == tokenizer.encode_with_added(&text).unwrap(), "raw: {start:?}");
            }
        }
    }
}

#[test]
fn sections_between_control_tokens_are_those_of_the_whole() {
    let mark = |file: &mut Value| {
        file["pre_tokenizer"] =
            json!({"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true, "use_regex": true});
    };
    for tokenizer in [tokenizer(), altered(mark)] {
        let template =
            "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}";
        let format = format_with(template, Arc::clone(&tokenizer));
        let messages = texts().into_iter().map(|text| ChatMessage::text(Role::User, text));
        let messages: Vec<ChatMessage> =
            messages.filter(|message| !message.content.joined().contains("<|")).collect();
        let written: Vec<_> = messages
            .iter()
            .map(|m| format!("<|im_start|>user\n{}<|im_end|>\n", m.content.joined()))
            .collect();
        let written = written.concat();
        let ids = format.render(&conversation(messages), &[], TurnOpening::NewTurn).unwrap().ids;
        assert!(ids == tokenizer.encode_with_added(&written).unwrap());
    }
}

#[test]
fn tokens_around_a_long_raw_text_are_added_once() {
    let around = altered(|file| {
        file["post_processor"] = json!({
            "type": "TemplateProcessing",
            "single": [{"SpecialToken": {"id": "<|im_start|>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}},
                {"SpecialToken": {"id": "<|im_end|>", "type_id": 0}}],
            "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 0}}],
            "special_tokens": {
                "<|im_start|>": {"id": "<|im_start|>", "ids": [706], "tokens": ["<|im_start|>"]},
                "<|im_end|>": {"id": "<|im_end|>", "ids": [707], "tokens": ["<|im_end|>"]},
            },
        });
    });
    let text = "word ".repeat(BYTES / 5);
    let ids = around.encode_raw_prompt(&text, true, NO_BOUND).unwrap();
    assert!(ids == around.encode_raw(&text, true).unwrap());
    assert_eq!((ids[0], ids[ids.len() - 1]), (706, 707));
}

/// The error of a text that has too many tokens for a context of `context`.
fn refused(tokenizer: &Arc<Tokenizer>, text: &str, context: usize) -> PromptTooLong {
    let format = format_with("{{ messages[0].content }}", Arc::clone(tokenizer))
        .with_context(&PromptLimits::default(), context);
    let talk = conversation(vec![ChatMessage::text(Role::User, text)]);
    let errors = [
        format.render(&talk, &[], TurnOpening::NewTurn).unwrap_err(),
        tokenizer.encode_raw_prompt(text, false, PromptLimits::default().budget(context)).unwrap_err(),
    ];
    let [rendered, raw] = errors.map(|error| match error {
        RenderError::TooLong(error) => error,
        error => panic!("{error}"),
    });
    assert_eq!(rendered, raw);
    rendered
}

#[test]
fn what_is_too_long_is_read_no_further_than_that_shows() {
    let long = altered(|_| ());
    // The longest token has 64 bytes, so 256 KiB of text may fit into 4096 tokens: one read is enough
    // to see that this text doesn't.
    let error = refused(&long, &"🙂".repeat(1 << 16), 4096);
    assert!(error.tokens > 4096 && error.read < 1 << 16, "{error:?}");
    // So much can't fit, whatever it is: nothing is read.
    let error = refused(&long, &"a".repeat(512 << 10), 4096);
    assert_eq!((error.context, error.bytes, error.read), (4096, 512 << 10, 64 * 4096));
    assert!(error.tokens > 4096);
    // What is refused is counted to its end up to eight bytes for each token of the context.
    let text = "é".repeat(BYTES / 2);
    let format = format_with("{{ messages[0].content }}", Arc::clone(&long))
        .with_context(&PromptLimits::default(), BYTES / 8);
    let talk = conversation(vec![ChatMessage::text(Role::User, text)]);
    assert_eq!(format.render(&talk, &[], TurnOpening::NewTurn).unwrap().ids.len(), BYTES);
}

#[test]
fn text_that_fits_is_never_too_long() {
    let long = altered(|_| ());
    let text = "=".repeat(64 * 4000);
    let ids = long.encode_raw_prompt(&text, false, PromptLimits::default().budget(4096)).unwrap();
    assert_eq!(ids.len(), 4000);
}

#[test]
fn text_without_a_place_to_cut_it_is_read_at_once_or_refused() {
    let unknown = |file: &mut Value| {
        file["pre_tokenizer"] = json!({"type": "WhitespaceSplit"});
        file["decoder"] = Value::Null;
        file["model"] = json!({"type": "WordPiece", "unk_token": "<unk>", "continuing_subword_prefix": "##",
            "max_input_chars_per_word": 100, "vocab": {"<unk>": 0, "a": 1, "##a": 2}});
        file["added_tokens"] = json!([]);
    };
    let words = altered(unknown);
    let encode = |text: &str| words.encode_raw_prompt(text, false, PromptLimits::default().budget(4096));
    assert_eq!(encode(&"a".repeat(2 << 20)).unwrap(), [0]);
    let error = encode(&"a".repeat(20 << 20)).unwrap_err().to_string();
    assert!(error.contains("can't be cut into words"), "{error}");
}
