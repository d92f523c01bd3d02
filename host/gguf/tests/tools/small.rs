//! A small file with all that headers have, for tests of broken ones and the fuzzer's seeds.

use super::writer::{Key, Writer};

/// A file with a key of each kind, a small model's sizes and tokens, and tensors of three types.
pub(crate) fn model() -> Writer {
    let mut writer = Writer::default();
    let texts: Vec<String> = ["a", "b", "ab", "<s>"].map(str::to_owned).into();
    writer.key("general.architecture", Key::Text("llama"));
    for (name, size) in [
        ("llama.embedding_length", 32),
        ("llama.block_count", 1),
        ("llama.attention.head_count", 2),
        ("llama.context_length", 64),
        ("llama.feed_forward_length", 32),
        ("general.alignment", 32),
        ("tokenizer.ggml.eos_token_id", 3),
    ] {
        writer.key(name, Key::U32(size));
    }
    writer.key("llama.attention.layer_norm_rms_epsilon", Key::F32(1e-5));
    writer.key("llama.attention.head_count_kv", Key::I32s(&[1]));
    writer.key("tokenizer.ggml.add_bos_token", Key::Bool(true));
    writer.key("tokenizer.ggml.model", Key::Text("gpt2"));
    writer.key("tokenizer.ggml.pre", Key::Text("qwen2"));
    writer.key("tokenizer.ggml.tokens", Key::Texts(&texts));
    writer.key("tokenizer.ggml.merges", Key::Texts(&["a b".to_owned()]));
    writer.key("tokenizer.ggml.token_type", Key::I32s(&[1, 1, 1, 3]));
    writer.key("tokenizer.ggml.scores", Key::F32s(&[0.0; 4]));
    writer.key("tokenizer.chat_template", Key::Text("{{ messages }}"));
    writer.tensor("token_embd.weight", 2, &[4, 32], vec![0; 72]);
    writer.tensor("blk.0.attn_q.weight", 1, &[2, 3], vec![0; 12]);
    writer.tensor("output_norm.weight", 0, &[32], vec![0; 128]);
    writer
}
