//! The detokenizer's pieces for a stream of ids, joined, are the text of all ids.

use std::sync::Arc;

use crate::common::tokenizer;
use prompt::{Detokenizer, Tokenizer};
use proptest::prelude::*;
use serde_json::json;

/// Pieces of text for `ids`, one for each id, and that of the flush at the end.
fn pieces(tokenizer: &Arc<Tokenizer>, prompt: &[u32], ids: &[u32]) -> Vec<String> {
    let mut detokenizer = Detokenizer::new(Arc::clone(tokenizer), prompt);
    let mut pieces: Vec<String> = Vec::new();
    for &id in ids {
        let mut piece = String::new();
        detokenizer.push(id, &mut piece);
        pieces.push(piece);
    }
    let mut rest = String::new();
    detokenizer.flush(&mut rest);
    pieces.push(rest);
    pieces
}

#[test]
fn a_character_is_held_back_until_it_is_complete() {
    let tokenizer = tokenizer();
    let ids = tokenizer.encode_text("é🙂a").unwrap();
    assert_eq!(pieces(&tokenizer, &[], &ids), ["", "é", "", "", "", "🙂", "a", ""]);
}

#[test]
fn a_broken_character_is_a_replacement_character() {
    let tokenizer = tokenizer();
    let smile = tokenizer.encode_text("🙂").unwrap();
    let (a, end) = (tokenizer.encode_text("a").unwrap()[0], tokenizer.token_id("<|im_end|>").unwrap());
    assert_eq!(pieces(&tokenizer, &[], &smile[..3]), ["", "", "", "\u{FFFD}"]);
    assert_eq!(pieces(&tokenizer, &[], &[smile[0], smile[1], a]), ["", "", "\u{FFFD}a", ""]);
    assert_eq!(pieces(&tokenizer, &[], &[smile[0], end]), ["", "\u{FFFD}<|im_end|>", ""]);
    assert_eq!(
        pieces(&tokenizer, &[], &[smile[2], smile[0], smile[0]]),
        ["\u{FFFD}", "", "\u{FFFD}", "\u{FFFD}"]
    );
}

#[test]
fn added_tokens_are_literals_and_unknown_ids_nothing() {
    let tokenizer = tokenizer();
    let beyond = u32::try_from(tokenizer.vocab_size()).unwrap();
    let [think, end] = ["<think>", "<|endoftext|>"].map(|literal| tokenizer.token_id(literal).unwrap());
    let ids = [think, beyond, u32::MAX, end];
    assert_eq!(pieces(&tokenizer, &[], &ids), ["<think>", "", "", "<|endoftext|>", ""]);
}

proptest! {
    #[test]
    fn pieces_of_any_ids_are_the_text_of_the_whole(ids in prop::collection::vec(0_u32..560, 0..60)) {
        let tokenizer = tokenizer();
        prop_assert_eq!(pieces(&tokenizer, &[], &ids).concat(), tokenizer.decode(&ids).unwrap());
    }
}

/// Tokenizer like `SentencePiece`'s: `▁` for blanks, byte tokens for unknown characters.
fn sentence_pieces() -> Arc<Tokenizer> {
    let words = ["<unk>", "<s>", "</s>", "▁", "▁Hello", "▁wor", "ld", "!", "H", "e", "l", "o", "w", "r", "d"];
    let mut vocab: serde_json::Map<String, _> =
        words.iter().enumerate().map(|(id, word)| ((*word).to_owned(), json!(id))).collect();
    for byte in 0..=255 {
        vocab.insert(format!("<0x{byte:02X}>"), json!(words.len() + byte));
    }
    let added: Vec<_> = (0..3)
        .map(|id| {
            json!({"id": id, "content": words[id], "single_word": false, "lstrip": false, "rstrip": false,
                "normalized": false, "special": true})
        })
        .collect();
    let file = json!({"version": "1.0", "truncation": null, "padding": null, "added_tokens": added,
        "normalizer": {"type": "Sequence", "normalizers": [{"type": "Prepend", "prepend": "▁"},
            {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}]},
        "pre_tokenizer": null, "post_processor": null,
        "decoder": {"type": "Sequence", "decoders": [{"type": "Replace", "pattern": {"String": "▁"}, "content": " "},
            {"type": "ByteFallback"}, {"type": "Fuse"}, {"type": "Strip", "content": " ", "start": 1, "stop": 0}]},
        "model": {"type": "BPE", "dropout": null, "unk_token": "<unk>", "continuing_subword_prefix": null,
            "end_of_word_suffix": null, "fuse_unk": true, "byte_fallback": true, "ignore_merges": true, "vocab": vocab,
            "merges": []}});
    Arc::new(Tokenizer::from_json(file.to_string().as_bytes()).unwrap())
}

#[test]
fn characters_of_byte_tokens_give_the_same_text_in_pieces() {
    let tokenizer = sentence_pieces();
    for text in
        ["Hello", "Hello world! é🙂 \n ld", "  two  blanks ", "🙂🙂", "édéé", "日本語の文字列です", ""]
    {
        let ids = tokenizer.encode_text(text).unwrap();
        let pieces = pieces(&tokenizer, &[], &ids);
        assert_eq!(pieces.concat(), text);
        assert!(!pieces.concat().contains('\u{FFFD}'));
    }
}

#[test]
fn word_after_a_prompt_keeps_the_blank_a_first_loses() {
    let tokenizer = sentence_pieces();
    let hello = tokenizer.encode_text("Hello").unwrap();
    assert_eq!(pieces(&tokenizer, &[], &hello)[0], "Hello");
    assert_eq!(pieces(&tokenizer, &hello, &hello)[0], " Hello");
}

#[test]
fn a_broken_tail_ends_as_replacement_characters() {
    let tokenizer = sentence_pieces();
    let smile = tokenizer.encode_text("🙂").unwrap();
    let broken = &smile[..smile.len() - 1];
    assert_eq!(pieces(&tokenizer, &[], broken).concat(), "\u{FFFD}");
}
