//! GGUF files: tokenizers give the ids of the original, special tokens, ends of turns, sampling
//! parameters and templates are those that the file names.

use std::path::{Path, PathBuf};

use engine::{GgufFiles, ModelFiles};
use prompt::{ChatFiles, GenerationDefaults, Tokenizer};
use proptest::prelude::*;
use tempfile::TempDir;

use crate::common::{model_files, path, tokenizer};

#[path = "../../../gguf/tests/tools/mod.rs"]
mod tools;
use tools::tokens;
use tools::writer::{Key, Writer};

/// A file of keys only.
fn open(writer: &Writer) -> (TempDir, ModelFiles) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("m.gguf");
    std::fs::write(&file, writer.finish()).unwrap();
    (folder, ModelFiles::Gguf(GgufFiles::open(&file).unwrap()))
}

/// The embedded model's tokenizer and template as a file.
fn embedded() -> Writer {
    let mut writer = Writer::default();
    writer.key("general.architecture", Key::Text("qwen3"));
    tokens::write(&mut writer, &path("../models/qwen3-tiny"));
    writer
}

#[test]
fn gguf_tokenizer_gives_the_originals_ids() {
    let (_folder, files) = open(&embedded());
    let (original, read) = (tokenizer(), Tokenizer::load(&files).unwrap());
    assert_eq!(read.vocab_size(), original.vocab_size());
    for text in [
        "Hello there, 1234!",
        "  two spaces\n\n\tand a tab ",
        "naïve 你好 🚀 e\u{301}",
        "<|im_start|>user\n<think>x</think><|im_end|>",
        "",
    ] {
        assert_eq!(read.encode_text(text), original.encode_text(text), "{text:?}");
        assert_eq!(read.encode_with_added(text), original.encode_with_added(text), "{text:?}");
    }
    for id in 0..u32::try_from(original.vocab_size()).unwrap() {
        assert_eq!(
            (read.token(id), read.is_special(id)),
            (original.token(id), original.is_special(id)),
            "{id}"
        );
    }
}

#[test]
fn gguf_template_and_special_tokens_are_the_files() {
    let (_folder, files) = open(&embedded());
    let (original, read) =
        (ChatFiles::load(&model_files(), None).unwrap(), ChatFiles::load(&files, None).unwrap());
    assert_eq!(read.template, original.template);
    for token in &read.special_tokens {
        assert!(original.special_tokens.contains(token), "{token:?}");
    }
    assert_eq!(read.special_tokens.len(), 2);
    let mut writer = embedded();
    writer.key("tokenizer.chat_template.tool_use", Key::Text("tools"));
    let (_folder, files) = open(&writer);
    assert_eq!(ChatFiles::load(&files, None).unwrap().tool_template.as_deref(), Some("tools"));
    let (_folder, files) = open(&small(&["a"], &[1], &[0.0]));
    let error = ChatFiles::load(&files, None).unwrap_err().to_string();
    assert!(error.ends_with("m.gguf: it has no chat template; give one: --chat-template FILE"), "{error}");
    assert!(ChatFiles::load_to_serve(&files, None).unwrap().is_of_base_model());
}

#[test]
fn gguf_generation_defaults_are_the_files() {
    let mut writer = embedded();
    writer.key("general.sampling.temp", Key::F32(0.7));
    writer.key("general.sampling.top_p", Key::F32(0.95));
    writer.key("general.sampling.top_k", Key::U32(40));
    writer.key("general.sampling.min_p", Key::F32(0.05));
    writer.key("general.sampling.penalty_repeat", Key::F32(1.1));
    writer.key("tokenizer.ggml.eot_token_id", Key::U32(0));
    let (_folder, files) = open(&writer);
    let defaults = GenerationDefaults::load(&files, &tokenizer(), Some("<|im_end|>")).unwrap();
    // The file's own end of a turn, the one of its key, and the end of a text.
    assert_eq!(defaults.eos_token_ids, [706, 0, 704]);
    assert_eq!((defaults.temperature, defaults.top_p, defaults.top_k), (Some(0.7), Some(0.95), Some(40)));
    assert_eq!((defaults.min_p, defaults.repetition_penalty), (Some(0.05), Some(1.1)));
    // Each parameter without a key is llama.cpp's.
    let mut one = embedded();
    one.key("general.sampling.top_k", Key::U32(20));
    let (_folder, files) = open(&one);
    let defaults = GenerationDefaults::load(&files, &tokenizer(), None).unwrap();
    assert_eq!((defaults.temperature, defaults.top_p, defaults.top_k), (Some(0.8), Some(0.95), Some(20)));
    assert_eq!((defaults.min_p, defaults.repetition_penalty), (Some(0.05), None));
    let mut wrong = embedded();
    wrong.key("general.sampling.temp", Key::F32(-1.0));
    let (_folder, files) = open(&wrong);
    let error = GenerationDefaults::load(&files, &tokenizer(), None).unwrap_err().to_string();
    assert!(error.contains("m.gguf (as generation_config.json): temperature can't be -1.0"), "{error}");
}

#[test]
fn each_known_way_to_cut_text_is_a_tokenizer() {
    let (_folder, files) = open(&small_bpe("no-such-way"));
    let error = Tokenizer::load(&files).unwrap_err().to_string();
    let known = error.split("known among others: ").nth(1).unwrap().split(';').next().unwrap();
    let known: Vec<&str> = known.split(", ").collect();
    assert!(known.len() > 12, "{error}");
    for way in known {
        let (_folder, files) = open(&small_bpe(way));
        let tokenizer = Tokenizer::load(&files).unwrap_or_else(|error| panic!("{way}: {error}"));
        let ids = tokenizer.encode_text("ab ab a").unwrap();
        assert_eq!(tokenizer.decode(&ids).unwrap(), "ab ab a", "{way}");
    }
}

/// What a file lacks of its tokenizer, or has of the wrong length or type, is one line that names the key.
#[test]
fn gguf_tokenizer_without_its_keys_is_refused() {
    let of_kind = |kind: &str, keys: &[(&str, Key<'_>)]| {
        let mut writer = Writer::default();
        writer.key("tokenizer.ggml.model", Key::Text(kind));
        writer.key("tokenizer.ggml.pre", Key::Text("qwen2"));
        for (key, value) in keys {
            writer.key(&format!("tokenizer.ggml.{key}"), *value);
        }
        let (_folder, files) = open(&writer);
        Tokenizer::load(&files).map(drop).map_err(|error| error.to_string())
    };
    let texts = ["a", "b"].map(str::to_owned);
    let (tokens, none) = (("tokens", Key::Texts(&texts)), ("merges", Key::Texts(&[])));
    let scores = ("scores", Key::F32s(&[0.0, -1.0]));
    let lacks =
        |key: &str, kind: &str| format!("no tokenizer.ggml.{key}; a tokenizer of kind {kind} needs it");
    for (kind, keys, wanted) in [
        ("gpt2", vec![none], "no tokenizer.ggml.tokens; a model needs it".to_owned()),
        ("gpt2", vec![tokens], lacks("merges", "gpt2")),
        ("gemma4", vec![tokens], lacks("merges", "gemma4")),
        ("llama", vec![tokens], lacks("scores", "llama")),
        ("gpt2", vec![tokens, ("merges", Key::U32(1))], "tokenizer.ggml.merges must be a list".to_owned()),
        (
            "gpt2",
            vec![tokens, ("merges", Key::I32s(&[1]))],
            "tokenizer.ggml.merges must be a list of texts".to_owned(),
        ),
        (
            "gpt2",
            vec![tokens, none, ("token_type", Key::I32s(&[1]))],
            "tokenizer.ggml.token_type has 1 entries for 2 tokens".to_owned(),
        ),
        (
            "gpt2",
            vec![tokens, none, ("token_type", Key::Texts(&texts))],
            "tokenizer.ggml.token_type must be a list of whole numbers from 0 on".to_owned(),
        ),
        (
            "llama",
            vec![tokens, ("scores", Key::F32s(&[]))],
            "tokenizer.ggml.scores has 0 entries for 2 tokens".to_owned(),
        ),
        (
            "llama",
            vec![tokens, ("scores", Key::Texts(&texts))],
            "tokenizer.ggml.scores must be a list of numbers".to_owned(),
        ),
    ] {
        let error = of_kind(kind, &keys).unwrap_err();
        let remedy = "get another file of the model, or convert it anew";
        assert!(error.ends_with(&format!("/m.gguf: {wanted}; {remedy}")), "{error}");
    }
    // Lists may be empty, as those of vocabularies whose tokens aren't merged are.
    assert_eq!(of_kind("gpt2", &[tokens, none]), Ok(()));
    assert_eq!(of_kind("llama", &[tokens, scores]), Ok(()));
}

/// A byte-level vocabulary of four tokens.
fn small_bpe(pre: &str) -> Writer {
    let mut writer = Writer::default();
    writer.key("tokenizer.ggml.model", Key::Text("gpt2"));
    writer.key("tokenizer.ggml.pre", Key::Text(pre));
    let tokens = ["a", "b", "Ġ", "ab"].map(str::to_owned);
    writer.key("tokenizer.ggml.tokens", Key::Texts(&tokens));
    writer.key("tokenizer.ggml.merges", Key::Texts(&["a b".to_owned()]));
    writer
}

/// A vocabulary with scores: tokens, their types and their scores.
fn small(tokens: &[&str], types: &[i32], scores: &[f32]) -> Writer {
    let mut writer = Writer::default();
    let tokens: Vec<String> = tokens.iter().map(|token| (*token).to_owned()).collect();
    writer.key("tokenizer.ggml.model", Key::Text("llama"));
    writer.key("tokenizer.ggml.tokens", Key::Texts(&tokens));
    writer.key("tokenizer.ggml.token_type", Key::I32s(types));
    if !scores.is_empty() {
        writer.key("tokenizer.ggml.scores", Key::F32s(scores));
    }
    writer
}

/// Tokens of the property below: those of bytes, characters, and pieces whose scores fall.
const PIECES: [&str; 14] =
    ["▁", "a", "b", "c", "▁a", "ab", "bc", "▁ab", "abc", "cc", "ca", "▁▁", "bcc", "▁abc"];

fn pieces() -> Writer {
    let bytes: Vec<String> = (0..=255u8).map(|byte| format!("<0x{byte:02X}>")).collect();
    let controls = ["<unk>", "<s>", "</s>"];
    let tokens: Vec<&str> =
        controls.into_iter().chain(bytes.iter().map(String::as_str)).chain(PIECES).collect();
    let types: Vec<i32> = [2, 3, 3].into_iter().chain([6; 256]).chain([1; PIECES.len()]).collect();
    let scores: Vec<f32> = (0..tokens.len()).map(|id| -f32::from(u16::try_from(id).unwrap())).collect();
    small(&tokens, &types, &scores)
}

/// Joins the two neighbours whose token has the highest score, the leftmost first, until none are
/// left: what `SentencePiece` says of itself, without regard to time.
fn joined(text: &str) -> Vec<u32> {
    let spelt = format!("▁{}", text.replace(' ', "▁"));
    let rank = |piece: &str| PIECES.iter().position(|other| *other == piece);
    let mut parts: Vec<String> = spelt.chars().map(String::from).collect();
    while let Some((_, at)) =
        (1..parts.len()).filter_map(|at| Some((rank(&format!("{}{}", parts[at - 1], parts[at]))?, at))).min()
    {
        let right = parts.remove(at);
        parts[at - 1].push_str(&right);
    }
    let id = |part: String| match rank(&part) {
        Some(rank) => vec![3 + 256 + u32::try_from(rank).unwrap()],
        None => part.bytes().map(|byte| 3 + u32::from(byte)).collect(),
    };
    parts.into_iter().flat_map(id).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn pieces_are_joined_by_their_scores(text in "[abc dé]{1,40}") {
        let (_folder, files) = open(&pieces());
        let tokenizer = Tokenizer::load(&files).unwrap();
        let ids = tokenizer.encode_text(&text).unwrap();
        prop_assert_eq!(&ids, &joined(&text));
        // The space that the tokenizer puts before a text is not shown.
        prop_assert_eq!(tokenizer.decode(&ids).unwrap(), text);
    }
}

#[test]
fn control_tokens_of_pieces_are_not_made_of_text() {
    let tokens = ["<unk>", "<s>", "</s>", "▁", "<", "s>", "</", "s", ">"];
    let (_folder, files) = open(&small(&tokens, &[2, 3, 3, 1, 1, 1, 1, 1, 1], &[0.0; 9]));
    let tokenizer = Tokenizer::load(&files).unwrap();
    assert_eq!(tokenizer.encode_text("<s>").unwrap(), [3, 4, 5]);
    assert_eq!(tokenizer.encode_with_added("<s>").unwrap(), [1]);
}

/// Gemma 4's kind: merges over characters, `▁` for spaces, bytes for what is no token. Markers of calls
/// are shown, and the one behind which a tool's answer stands ends the turn.
#[test]
fn gemma4_tokens_are_merged_and_markers_are_shown() {
    let markers = ["<pad>", "<eos>", "<bos>", "<|tool_call>", "<tool_call|>", "<|tool_response>", "<turn|>"];
    let bytes = (0..=255u8).map(|byte| format!("<0x{byte:02X}>"));
    let pieces = ["▁", "a", "b", "\n", "ab", "▁ab", "\n\n"];
    let tokens: Vec<String> =
        markers.map(str::to_owned).into_iter().chain(bytes).chain(pieces.map(str::to_owned)).collect();
    let types: Vec<i32> = [3, 3, 3, 4, 4, 4, 3].into_iter().chain([6; 256]).chain([1; 7]).collect();
    let mut writer = Writer::default();
    writer.key("tokenizer.ggml.model", Key::Text("gemma4"));
    writer.key("tokenizer.ggml.tokens", Key::Texts(&tokens));
    writer.key("tokenizer.ggml.token_type", Key::I32s(&types));
    writer.key("tokenizer.ggml.merges", Key::Texts(&["a b", "▁ ab", "\n \n"].map(str::to_owned)));
    writer.key("tokenizer.ggml.bos_token_id", Key::U32(2));
    writer.key("tokenizer.ggml.eos_token_id", Key::U32(1));
    let (_folder, files) = open(&writer);
    let tokenizer = Tokenizer::load(&files).unwrap();
    let (e_acute, piece) = ([7 + 0xC3, 7 + 0xA9], |at: u32| 7 + 256 + at);
    let text = "ab ab\n\n\né";
    let ids = [piece(4), piece(5), piece(6), piece(3), e_acute[0], e_acute[1]];
    assert_eq!(tokenizer.encode_text(text).unwrap(), ids);
    assert_eq!(tokenizer.decode(&ids).unwrap(), text);
    assert_eq!((tokenizer.token(piece(5)), tokenizer.token(e_acute[1])), (b" ab".to_vec(), vec![0xA9]));
    assert!(!tokenizer.encode_text("<|tool_call>").unwrap().contains(&3));
    assert_eq!(tokenizer.encode_with_added("<|tool_call>ab<tool_call|>").unwrap(), [3, piece(4), 4]);
    assert_eq!((tokenizer.is_special(3), tokenizer.is_special(6)), (false, true));
    let defaults = GenerationDefaults::load(&files, &tokenizer, None).unwrap();
    assert_eq!(defaults.eos_token_ids, [1, 6, 5]);
}

/// llama.cpp's vocabularies (`models/ggml-vocab-*.gguf`), with texts and the ids that transformers
/// gives them: `GGUF_VOCABULARIES` is their folder.
#[test]
#[ignore = "needs llama.cpp's vocabularies: tests/peers/gguf/run.sh"]
fn vocabularies_give_the_ids_of_transformers() {
    let folder = PathBuf::from(std::env::var("GGUF_VOCABULARIES").unwrap());
    let names = [
        "llama-bpe",
        "qwen2",
        "qwen35",
        "gpt-2",
        "starcoder",
        "refact",
        "command-r",
        "mpt",
        "deepseek-llm",
        "deepseek-coder",
        "llama-spm",
        "phi-3",
        "gemma-4",
    ];
    for name in names {
        let file = folder.join(format!("ggml-vocab-{name}.gguf"));
        let (texts, ids) = (lines(&file, "inp"), lines(&file, "out"));
        let tokenizer = Tokenizer::load(&ModelFiles::Gguf(GgufFiles::open(&file).unwrap())).unwrap();
        let texts: Vec<&str> = texts.split("\n__ggml_vocab_test__\n").collect();
        let mut count = 0;
        for (text, ids) in texts.iter().zip(ids.lines()) {
            let ids: Vec<u32> = ids.split_whitespace().map(|id| id.parse().unwrap()).collect();
            assert_eq!(tokenizer.encode_text(text).unwrap(), ids, "{name}: {text:?}");
            count += 1;
        }
        assert!(count > 40, "{name}: only {count} texts");
        println!("{name}: {count} texts");
    }
}

fn lines(file: &Path, ending: &str) -> String {
    std::fs::read_to_string(format!("{}.{ending}", file.display())).unwrap()
}
