//! Tokenizers of three kinds with control tokens of every spelling: the embedded one, one as
//! `SentencePiece` makes them, and one of tiktoken's ranks.

use std::sync::{Arc, LazyLock};

use crate::common::{path, tokenizer};
use engine::ModelFiles;
use prompt::{Prompt, Tokenizer};
use serde_json::{Value, json};
use tempfile::TempDir;

/// A tokenizer, and control tokens of it that the tests' templates write.
pub(crate) struct Vocabulary {
    pub(crate) name: &'static str,
    pub(crate) tokenizer: Arc<Tokenizer>,
    /// Two parts of a control token.
    pub(crate) halves: [&'static str; 2],
    /// What control tokens begin and end with.
    pub(crate) brackets: [&'static str; 2],
    /// Control tokens around a template's text.
    pub(crate) frame: [&'static str; 2],
    /// Whether ids give the text back; `SentencePiece` adds and takes white space.
    pub(crate) is_exact: bool,
}

/// The three vocabularies.
pub(crate) static VOCABULARIES: LazyLock<[Vocabulary; 3]> = LazyLock::new(|| {
    [
        Vocabulary {
            name: "embedded",
            tokenizer: tokenizer(),
            halves: ["<|im_", "start|>"],
            brackets: ["<|", "|>"],
            frame: ["<think>", "<|im_end|>"],
            is_exact: true,
        },
        Vocabulary {
            name: "SentencePiece",
            tokenizer: Arc::new(sentencepiece()),
            halves: ["[IN", "ST]"],
            brackets: ["[", "]"],
            frame: ["<s>", "<mask>"],
            is_exact: false,
        },
        Vocabulary {
            name: "tiktoken",
            tokenizer: Arc::new(ranks()),
            halves: ["<｜Us", "er｜>"],
            brackets: ["<｜", "｜>"],
            frame: ["<|tool_calls_section_begin|>", "assistant"],
            is_exact: true,
        },
    ]
});

impl Vocabulary {
    /// Control tokens among ids.
    pub(crate) fn controls_of(&self, ids: &[u32]) -> Vec<u32> {
        ids.iter().copied().filter(|&id| self.tokenizer.added_token(id).is_some()).collect()
    }

    /// Control tokens of a prompt.
    pub(crate) fn control_tokens(&self, prompt: &Prompt) -> Vec<u32> {
        self.controls_of(&prompt.ids)
    }

    /// Ids of control tokens by their literals.
    pub(crate) fn ids<const N: usize>(&self, literals: [&str; N]) -> [u32; N] {
        literals.map(|literal| self.tokenizer.token_id(literal).unwrap())
    }

    /// Literals of all control tokens that a request might spell, in order.
    pub(crate) fn literals(&self) -> Vec<String> {
        let literals = self.tokenizer.added_literals().filter(|literal| !literal.contains("reserved"));
        let mut literals: Vec<_> = literals.map(str::to_owned).collect();
        literals.sort();
        literals
    }

    /// Asserts that a prompt holds `text`.
    pub(crate) fn assert_holds(&self, prompt: &Prompt, text: &str) {
        let all = self.comparable(&self.tokenizer.decode(&prompt.ids).unwrap());
        assert!(all.contains(&self.comparable(text)), "{}: {text:?} isn't in {all:?}", self.name);
    }

    /// Text as the tokenizer gives it back.
    pub(crate) fn comparable(&self, text: &str) -> String {
        if self.is_exact { text.to_owned() } else { text.split_whitespace().collect() }
    }
}

/// Control tokens of the embedded model and others, with their flags.
const ADDED: [(&str, &[&str]); 17] = [
    ("<unk>", &["special"]),
    ("<s>", &["special", "rstrip"]),
    ("</s>", &["special", "lstrip", "rstrip"]),
    ("[INST]", &["normalized"]),
    ("[/INST]", &["lstrip", "normalized"]),
    ("<mask>", &["single_word", "lstrip"]),
    ("<start_of_turn>", &["rstrip"]),
    ("user", &["single_word"]),
    ("<|endoftext|>", &["special"]),
    ("<|im_start|>", &["special", "lstrip"]),
    ("<|im_end|>", &["special", "rstrip"]),
    ("<think>", &["lstrip", "rstrip"]),
    ("</think>", &["normalized"]),
    ("<tool_call>", &[]),
    ("</tool_call>", &["rstrip"]),
    ("<tool_response>", &["lstrip"]),
    ("</tool_response>", &[]),
];

fn added(id: usize, literal: &str, set: &[&str]) -> Value {
    let mut token = json!({"id": id, "content": literal});
    for flag in ["single_word", "lstrip", "rstrip", "normalized", "special"] {
        token[flag] = json!(set.contains(&flag));
    }
    token
}

/// A tokenizer as Llama 2 has it: a mark for blanks is put before each text, unknown characters
/// become bytes. Its merges spell some of its control tokens.
fn sentencepiece() -> Tokenizer {
    let added: Vec<Value> =
        ADDED.iter().enumerate().map(|(id, (literal, flags))| added(id, literal, flags)).collect();
    let mut pieces: Vec<String> = ADDED.iter().map(|(literal, _)| (*literal).to_owned()).collect();
    pieces.extend((0..256).map(|byte| format!("<0x{byte:02X}>")));
    pieces.extend(('!'..='~').chain(['▁', 'é']).map(String::from));
    let mut merges = Vec::new();
    for spelt in ["</s>", "[INST]", "user", "<|im_start|>", "▁<", "▁[", "st", "art", "im_"] {
        let ends: Vec<usize> = spelt.char_indices().map(|(at, c)| at + c.len_utf8()).collect();
        for pair in ends.windows(2) {
            let (left, right) = (&spelt[..pair[0]], &spelt[pair[0]..pair[1]]);
            merges.push(json!([left, right]));
            pieces.push(spelt[..pair[1]].to_owned());
        }
    }
    pieces.dedup();
    let mut vocab = serde_json::Map::new();
    for piece in pieces {
        let id = vocab.len();
        vocab.entry(piece).or_insert(json!(id));
    }
    let file = json!({
        "version": "1.0", "truncation": null, "padding": null, "added_tokens": added,
        "normalizer": {"type": "Sequence", "normalizers": [{"type": "Prepend", "prepend": "▁"},
            {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}]},
        "pre_tokenizer": null, "post_processor": null,
        "decoder": {"type": "Sequence", "decoders": [{"type": "Replace", "pattern": {"String": "▁"}, "content": " "},
            {"type": "ByteFallback"}, {"type": "Fuse"}]},
        "model": {"type": "BPE", "dropout": null, "unk_token": "<unk>", "continuing_subword_prefix": null,
            "end_of_word_suffix": null, "fuse_unk": true, "byte_fallback": true, "vocab": vocab, "merges": merges},
    });
    Tokenizer::from_json(file.to_string().as_bytes()).unwrap()
}

/// A tokenizer of tiktoken's ranks. Some of its control tokens are plain words.
fn ranks() -> Tokenizer {
    let source = path("tests/prompt/tiktoken");
    let config = std::fs::read(source.join("tokenizer_config.json")).unwrap();
    let mut config: Value = serde_json::from_slice(&config).unwrap();
    let more = [
        "<｜User｜>",
        "<｜Assistant｜>",
        "<|tool_calls_section_begin|>",
        "<|tool_call_argument_begin|>",
        "assistant",
        "the",
    ];
    let literals = ADDED[3..].iter().map(|(literal, _)| *literal).filter(|literal| *literal != "<|im_end|>");
    let decoder = config["added_tokens_decoder"].as_object_mut().unwrap();
    for (id, literal) in (483..).zip(literals.chain(more)) {
        decoder.insert(id.to_string(), added(id, literal, &["special"]));
    }
    let folder = TempDir::new().unwrap();
    std::fs::copy(source.join("tiktoken.model"), folder.path().join("tiktoken.model")).unwrap();
    std::fs::write(folder.path().join("tokenizer_config.json"), config.to_string()).unwrap();
    Tokenizer::load(&ModelFiles::Directory(folder.path().to_owned())).unwrap()
}
