//! Masks over a vocabulary as Gemma's: `▁` for a space, and bytes where it has no character.

use std::sync::Arc;

use serde_json::{Map, json};

use super::{GrammarMask, Grammars, MASK_TIME, allowed, write_ids};
use crate::Need;
use crate::tests::grammar_share;
use accounts::Caller;
use prompt::Tokenizer;

const END: u32 = 1;
/// Id of the first byte's token.
const BYTES: u32 = 2;

fn tokenizer() -> Tokenizer {
    let special = ["<unk>", "<end>"].map(str::to_owned);
    let bytes = (0..256).map(|byte| format!("<0x{byte:02X}>"));
    let characters = ('!'..='~').chain(['▁']).map(String::from);
    let joined = [("▁", "b"), ("t", "r"), ("u", "e"), ("tr", "ue")];
    let pieces = special.into_iter().chain(bytes).chain(characters);
    let pieces = pieces.chain(joined.map(|(left, right)| format!("{left}{right}")));
    let vocab: Map<_, _> = pieces.enumerate().map(|(id, piece)| (piece, json!(id))).collect();
    let added = [(0, "<unk>"), (1, "<end>")].map(|(id, content)| {
        json!({ "id": id, "content": content, "special": true, "single_word": false, "lstrip": false,
            "rstrip": false, "normalized": false })
    });
    let file = json!({
        "version": "1.0", "truncation": null, "padding": null, "added_tokens": added,
        "normalizer": { "type": "Replace", "pattern": { "String": " " }, "content": "▁" },
        "pre_tokenizer": null, "post_processor": null,
        "decoder": { "type": "Sequence", "decoders": [
            { "type": "Replace", "pattern": { "String": "▁" }, "content": " " },
            { "type": "ByteFallback" }, { "type": "Fuse" },
        ] },
        "model": { "type": "BPE", "dropout": null, "unk_token": "<unk>", "continuing_subword_prefix": null,
            "end_of_word_suffix": null, "fuse_unk": true, "byte_fallback": true, "vocab": vocab,
            "merges": joined.map(|(left, right)| json!([left, right])) },
    });
    Tokenizer::from_json(file.to_string().as_bytes()).unwrap()
}

fn mask(tokenizer: &Arc<Tokenizer>, grammar: &str) -> GrammarMask {
    let grammars = Grammars::new(Arc::clone(tokenizer), MASK_TIME, grammar_share());
    let compiled = grammars.compile(grammar, &Caller::default(), Need::Demanded).unwrap();
    compiled.start(&[], &Arc::from([END])).unwrap().mask()
}

#[test]
fn sentence_piece_vocabularies_follow_grammars() {
    let tokenizer = Arc::new(tokenizer());
    let mut mask = mask(&tokenizer, r#"start: "{" /"[a-z é]*"/ ":" ("true" | "tree") "}""#);
    let ids = tokenizer.encode_text(r#"{"é b":true}"#).unwrap();
    assert_eq!(ids.len(), 9, "{ids:?} are bytes of é, `▁b` and `true` among others");
    for id in &ids {
        assert!(allowed(&mut mask).contains(id), "{id} of {ids:?}");
        if *id == BYTES + 0xC3 {
            write_ids(&mut mask, &[*id]);
            assert_eq!(allowed(&mut mask), [BYTES + 0xA9], "the rest of é");
            continue;
        }
        write_ids(&mut mask, &[*id]);
    }
    assert_eq!(allowed(&mut mask), [END]);
}

#[test]
fn characters_are_preferred_to_their_bytes() {
    let tokenizer = Arc::new(tokenizer());
    let mut mask = mask(&tokenizer, r#"start: "a" " " "\n""#);
    for text in ["a", " ", "\n"] {
        let ids = tokenizer.encode_text(text).unwrap();
        assert_eq!(allowed(&mut mask), ids, "{text:?}");
        write_ids(&mut mask, &ids);
    }
}
