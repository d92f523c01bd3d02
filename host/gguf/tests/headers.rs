//! Broken headers: each fault is named in one line, with its place.
#![allow(clippy::unwrap_used, clippy::cast_possible_truncation, reason = "a test may fail here")]

use gguf::{FilePart, Gguf, GgufError};

mod tools;
use tools::writer::{Key, Writer};

fn error(bytes: &[u8]) -> String {
    let GgufError { file, reason } = Gguf::parse(&[FilePart::whole("f", bytes)]).unwrap_err();
    assert!(file == "f" && !reason.contains('\n'), "{reason}");
    reason
}

/// A file with a key and a tensor, and the place of the first byte of each number in its header.
fn file() -> Vec<u8> {
    let mut writer = Writer::default();
    writer.key("k", Key::U32(7));
    writer.tensor("t", 0, &[2, 3], vec![0; 24]);
    writer.finish()
}

const TENSORS: usize = 8;
const KEYS: usize = 16;
const KEY_LENGTH: usize = 24;
const KEY_TYPE: usize = 33;
const NAME_LENGTH: usize = 41;
const DIMENSIONS: usize = 50;
const COLS: usize = 54;
const TYPE: usize = 70;
const OFFSET: usize = 74;

#[test]
fn faults_of_a_gguf_header_are_named() {
    assert!(Gguf::parse(&[FilePart::whole("f", &file())]).is_ok());
    let word = |value: u32| value.to_le_bytes().to_vec();
    let long = |value: u64| value.to_le_bytes().to_vec();
    for (at, bytes, wanted) in [
        (0, b"GGML".to_vec(), "no GGUF file: it doesn't begin with \"GGUF\""),
        (4, word(1), "GGUF version 1 is not supported; supported: 2, 3"),
        (4, 3u32.to_be_bytes().to_vec(), "its numbers are big-endian, which is not supported"),
        (TENSORS, long(u64::MAX), "18446744073709551615 tensors don't fit the 112 bytes that are left"),
        (KEYS, long(9), "9 keys don't fit the 104 bytes that are left"),
        (KEY_LENGTH, long(1 << 40), "truncated at byte 32 of 128"),
        (KEY_TYPE, word(13), "key k: no value has type 13"),
        (KEY_TYPE, word(7), "key k: 7 is neither true nor false"),
        (NAME_LENGTH, long(300), "truncated at byte 49 of 128"),
        (DIMENSIONS, word(5), "tensor t: 5 dimensions, expected 1 to 4"),
        (COLS, long(0), "tensor t: a dimension is zero or too large"),
        (COLS, long(1 << 62), "tensor t: rows of 4611686018427387904 are not whole blocks of 1 F32 values"),
        (
            COLS,
            long(1 << 60),
            "tensor t: truncated: F32 [2, 1152921504606846976] from 0 on, in a file of 128 bytes",
        ),
        (
            TYPE,
            word(99),
            "tensor t: type number 99 is not supported; supported: F32, F16, BF16, Q1_0, Q4_0, ",
        ),
        (TYPE, word(31), "tensor t: type Q4_0_4_4 is not supported; supported: "),
        (TYPE, word(40), "tensor t: rows of 3 are not whole blocks of 64 NVFP4 values"),
        (TYPE, word(8), "tensor t: rows of 3 are not whole blocks of 32 Q8_0 values"),
        (OFFSET, long(8), "tensor t: offset 8 is not a multiple of 32"),
        (OFFSET, long(32), "tensor t: truncated: F32 [2, 3] from 32 on, in a file of 128 bytes"),
        (OFFSET, long(u64::MAX - 31), "tensor t: truncated: F32 [2, 3] from 18446744073709551584 on"),
    ] {
        let mut broken = file();
        broken[at..at + bytes.len()].copy_from_slice(&bytes);
        let found = error(&broken);
        assert!(found.starts_with(wanted), "{found}\nwanted {wanted}");
    }
}

#[test]
fn gguf_cut_anywhere_is_truncated() {
    let whole = file();
    for length in 0..whole.len() - 8 {
        let reason = error(&whole[..length]);
        assert!(reason.contains("truncated") || reason.contains("don't fit"), "{length} bytes: {reason}");
    }
}

#[test]
fn header_of_a_gguf_file_needs_no_more_than_it() {
    let whole = file();
    for length in 0..whole.len() {
        let parts = [FilePart { name: "f", bytes: &whole[..length], file_bytes: whole.len() }];
        let is_there = length >= OFFSET + 8;
        assert_eq!(parts[0].header_len(), Ok(is_there.then_some(OFFSET + 8)), "{length} bytes");
        assert_eq!(Gguf::parse(&parts).is_ok(), is_there, "{length} bytes");
    }
    let lie = FilePart { name: "f", bytes: &whole[..100], file_bytes: 100 };
    assert!(lie.header_len().unwrap_err().reason.contains("truncated"), "a file that ends in its tensors");
}

#[test]
fn twins_and_overlaps_in_a_gguf_file_are_refused() {
    let mut writer = Writer::default();
    writer.key("k", Key::U32(7));
    writer.key("k", Key::Text("again"));
    assert_eq!(error(&writer.finish()), "key k occurs twice");
    let mut writer = Writer::default();
    writer.tensor("t", 0, &[1], vec![0; 4]);
    writer.tensor("t", 0, &[1], vec![0; 4]);
    assert_eq!(error(&writer.finish()), "tensor t occurs twice");
    let mut writer = Writer::default();
    writer.tensor("a", 0, &[9], vec![0; 4]);
    writer.tensor("b", 0, &[1], vec![0; 4]);
    assert_eq!(error(&writer.finish()), "tensor b overlaps a");
}

#[test]
fn what_a_gguf_model_lacks_or_has_too_much_is_named() {
    let config = |writer: &Writer| {
        let bytes = writer.finish();
        let parts = [FilePart::whole("f", &bytes)];
        Gguf::parse(&parts).unwrap().file("config.json").unwrap_err().reason
    };
    let mut writer = Writer::default();
    assert_eq!(config(&writer), "no general.architecture; a model needs it");
    writer.key("general.architecture", Key::Text("llama"));
    assert_eq!(config(&writer), "no matrix token_embd.weight; a model needs it");
    writer.tensor("token_embd.weight", 0, &[2, 3], vec![0; 24]);
    assert_eq!(config(&writer), "no llama.embedding_length; a model needs it");
    writer.key("llama.embedding_length", Key::Text("3"));
    assert_eq!(config(&writer), "llama.embedding_length must be a whole number from 0 to 4294967296");
    let mut writer = Writer::default();
    writer.key("general.architecture", Key::Text("rwkv\n7"));
    assert!(config(&writer).starts_with("architecture rwkv?7 is not supported; supported: llama, "));
}

#[test]
fn faults_of_layers_with_states_are_named() {
    let error = |values: u32, recurrent: &[bool]| {
        let mut writer = Writer::default();
        writer.key("general.architecture", Key::Text("qwen35"));
        writer.tensor("token_embd.weight", 0, &[2, 4], vec![0; 32]);
        writer.tensor("blk.0.attn_norm.weight", 0, &[1, 4], vec![0; 16]);
        writer.tensor("blk.1.attn_norm.weight", 0, &[1, 4], vec![0; 16]);
        for (key, number) in [
            ("embedding_length", 4),
            ("block_count", 3),
            ("nextn_predict_layers", 1),
            ("context_length", 8),
            ("attention.head_count", 2),
            ("ssm.time_step_rank", 4),
            ("ssm.inner_size", values),
            ("ssm.group_count", 2),
            ("ssm.state_size", 8),
            ("ssm.conv_kernel", 4),
        ] {
            writer.key(&format!("qwen35.{key}"), Key::U32(number));
        }
        writer.key("qwen35.attention.recurrent_layers", Key::Bools(recurrent));
        let bytes = writer.finish();
        let parts = [FilePart::whole("f", &bytes)];
        Gguf::parse(&parts).unwrap().file("config.json").map_err(|error| error.reason)
    };
    assert!(error(12, &[true, false, false]).is_ok());
    assert_eq!(error(13, &[true, false]).unwrap_err(), "qwen35.ssm.inner_size 13 is not that of 4 heads");
    let wanted = "qwen35.attention.recurrent_layers must have true or false for each of 2 layers";
    assert_eq!(error(12, &[true]).unwrap_err(), wanted);
}

/// A file's configuration, or why it has none.
fn configuration(writer: &Writer) -> Result<(), String> {
    let bytes = writer.finish();
    let parts = [FilePart::whole("f", &bytes)];
    let config = Gguf::parse(&parts).unwrap().file("config.json");
    config.map(|config| assert!(config.is_some())).map_err(|error| error.reason)
}

/// A small model's keys, with a tensor of each layer of `layers`, and rows for two tokens.
fn model(block_count: u32, layers: &[usize], tokens: usize) -> Writer {
    let mut writer = Writer::default();
    writer.key("general.architecture", Key::Text("llama"));
    for (key, value) in [
        ("block_count", block_count),
        ("embedding_length", 4),
        ("context_length", 64),
        ("feed_forward_length", 8),
        ("attention.head_count", 2),
    ] {
        writer.key(&format!("llama.{key}"), Key::U32(value));
    }
    writer.key("llama.attention.layer_norm_rms_epsilon", Key::F32(1e-6));
    let tokens: Vec<String> = (0..tokens).map(|token| token.to_string()).collect();
    writer.key("tokenizer.ggml.tokens", Key::Texts(&tokens));
    writer.tensor("token_embd.weight", 0, &[2, 4], vec![0; 32]);
    for layer in layers {
        writer.tensor(&format!("blk.{layer}.attn_norm.weight"), 0, &[1, 4], vec![0; 16]);
    }
    writer
}

#[test]
fn each_layer_has_a_tensor_and_each_token_a_row() {
    assert_eq!(configuration(&model(2, &[0, 1], 2)), Ok(()));
    // More rows than tokens fill the matrix up.
    assert_eq!(configuration(&model(2, &[0, 1], 1)), Ok(()));
    let lacking = |count, layer| {
        format!("llama.block_count calls for {count} layers, and the file has no tensor of layer {layer}")
    };
    assert_eq!(configuration(&model(4095, &[], 2)), Err(lacking(4095, 0)));
    assert_eq!(configuration(&model(4095, &[0, 1, 4094], 2)), Err(lacking(4095, 2)));
    let reason = "tokenizer.ggml.tokens has 3 tokens, more than the 2 rows of token_embd.weight";
    assert_eq!(configuration(&model(2, &[0, 1], 3)), Err(reason.to_owned()));
}

#[test]
fn bytes_in_blocks_are_those_that_stay_as_they_are() {
    const F32: u32 = 0;
    const Q8_0: u32 = 8;
    let mut writer = Writer::default();
    writer.tensor("plain", F32, &[2, 32], vec![0; 256]);
    writer.tensor("blocks", Q8_0, &[3, 32], vec![0; 3 * 34]);
    let bytes = writer.finish();
    let parts = [FilePart::whole("f", &bytes)];
    assert_eq!(Gguf::parse(&parts).unwrap().block_bytes(), 3 * 34);
}
