//! Converter of tiny model directories (Hugging Face's layout, safetensors) to GGUF, for tests: what
//! llama.cpp's converter does to them, written anew from the format. It takes checkpoints of bf16,
//! f16 or f32, and MXFP4 experts.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Value, json};

use super::writer::Writer;
use super::{experts, gemma4};

/// A tensor of a checkpoint.
#[derive(Debug, Clone)]
pub(crate) struct Stored {
    pub(crate) dtype: String,
    pub(crate) shape: Vec<usize>,
    pub(crate) bytes: Vec<u8>,
}

/// Names within a layer: the checkpoint's parts, and the file's.
const NAMES: [(&str, &str); 37] = [
    ("input_layernorm", "attn_norm"),
    ("self_attn.q_proj", "attn_q"),
    ("self_attn.k_proj", "attn_k"),
    ("self_attn.v_proj", "attn_v"),
    ("self_attn.o_proj", "attn_output"),
    ("self_attn.q_norm", "attn_q_norm"),
    ("self_attn.k_norm", "attn_k_norm"),
    ("self_attn.sinks", "attn_sinks.weight"),
    ("self_attn.q_a_proj", "attn_q_a"),
    ("self_attn.q_a_layernorm", "attn_q_a_norm"),
    ("self_attn.q_b_proj", "attn_q_b"),
    ("self_attn.kv_a_proj_with_mqa", "attn_kv_a_mqa"),
    ("self_attn.kv_a_layernorm", "attn_kv_a_norm"),
    ("mlp.gate_proj", "ffn_gate"),
    ("mlp.up_proj", "ffn_up"),
    ("mlp.down_proj", "ffn_down"),
    ("mlp.gate.e_score_correction_bias", "exp_probs_b.bias"),
    ("mlp.shared_experts.gate_proj", "ffn_gate_shexp"),
    ("mlp.shared_experts.up_proj", "ffn_up_shexp"),
    ("mlp.shared_experts.down_proj", "ffn_down_shexp"),
    ("mlp.router", "ffn_gate_inp"),
    ("self_attn.qkv_proj", "attn_qkv"),
    ("mlp.gate_up_proj", "ffn_up"),
    ("pre_feedforward_layernorm", "ffn_norm"),
    ("post_feedforward_layernorm", "post_ffw_norm"),
    ("operator_norm", "attn_norm"),
    ("ffn_norm", "ffn_norm"),
    ("self_attn.out_proj", "attn_output"),
    ("self_attn.q_layernorm", "attn_q_norm"),
    ("self_attn.k_layernorm", "attn_k_norm"),
    ("block_sparse_moe.gate", "ffn_gate_inp"),
    ("feed_forward.w1", "ffn_gate"),
    ("feed_forward.w2", "ffn_down"),
    ("feed_forward.w3", "ffn_up"),
    ("feed_forward.gate", "ffn_gate_inp"),
    ("feed_forward.expert_bias", "exp_probs_b.bias"),
    ("conv.", "shortconv."),
];

/// All tensors of a directory.
pub(crate) fn tensors(folder: &Path) -> BTreeMap<String, Stored> {
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let files = files.filter(|path| path.extension().is_some_and(|ending| ending == "safetensors"));
    files.flat_map(|path| tensors_of(&std::fs::read(path).unwrap())).collect()
}

fn tensors_of(file: &[u8]) -> Vec<(String, Stored)> {
    let data = 8 + usize::try_from(u64::from_le_bytes(file[..8].try_into().unwrap())).unwrap();
    let header: BTreeMap<String, Value> = serde_json::from_slice(&file[8..data]).unwrap();
    let number = |value: &Value| usize::try_from(value.as_u64().unwrap()).unwrap();
    let stored = |(name, entry): (String, Value)| {
        let [start, end] = [0, 1].map(|i| data + number(&entry["data_offsets"][i]));
        let shape = entry["shape"].as_array().unwrap().iter().map(number).collect();
        let dtype = entry["dtype"].as_str().unwrap().to_owned();
        (name, Stored { dtype, shape, bytes: file[start..end].to_vec() })
    };
    header.into_iter().filter(|(name, _)| name != "__metadata__").map(stored).collect()
}

/// The configuration of a directory.
pub(crate) fn config(folder: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(folder.join("config.json")).unwrap()).unwrap()
}

/// Converts a directory: configuration and tensors, no tokenizer.
pub(crate) fn convert(folder: &Path) -> Writer {
    let config = text_part(config(folder));
    let mut tensors: BTreeMap<String, Stored> = tensors(folder).into_iter().filter_map(of_text).collect();
    let mut writer = Writer::default();
    super::keys::write(&mut writer, &config);
    if super::keys::architecture(&config) == gemma4::ARCHITECTURE {
        gemma4::write(&mut writer, &config);
    } else {
        super::rope::write(&mut writer, &config);
    }
    super::delta::rename(&mut tensors, &config);
    experts::split_packed(&mut tensors);
    experts::stack(&mut tensors);
    split_projections(&mut tensors, &config);
    for (name, stored) in tensors {
        let Some((tensor, stored)) = renamed(&name, stored, &config) else { continue };
        let kind = match stored.dtype.as_str() {
            "F32" => 0,
            "F16" => 1,
            "BF16" => 30,
            "MXFP4" => 39,
            other => panic!("{name} is {other}"),
        };
        writer.tensor(&tensor, kind, &stored.shape, stored.bytes);
    }
    super::delta::layer_ahead(&mut writer, &config);
    writer
}

/// The configuration of the model of text, under the name of its class.
fn text_part(config: Value) -> Value {
    let Value::Object(mut text) = config["text_config"].clone() else { return config };
    let class =
        config["architectures"][0].as_str().unwrap().replace("ForConditionalGeneration", "ForCausalLM");
    text.insert("architectures".to_owned(), json!([class]));
    Value::Object(text)
}

/// The name in a model of text; `None` for tensors of other parts.
fn of_text((name, stored): (String, Stored)) -> Option<(String, Stored)> {
    if ["vision", "audio"].iter().any(|part| name.contains(part)) {
        return None;
    }
    Some((name.replace("model.language_model.", "model."), stored))
}

/// Classes whose files have rows beside each other that are rotated together.
const WITH_NEIGHBOURS: [&str; 6] = [
    "LlamaForCausalLM",
    "MistralForCausalLM",
    "MixtralForCausalLM",
    "Ministral3ForCausalLM",
    "SmolLM3ForCausalLM",
    "GraniteForCausalLM",
];

/// Classes whose files say `post_attention_norm`.
const WITH_POST_NORM: [&str; 7] = [
    "GptOssForCausalLM",
    "Gemma3ForCausalLM",
    "Gemma4ForCausalLM",
    "Glm4MoeForCausalLM",
    "Qwen3_5ForCausalLM",
    "Qwen3_5MoeForCausalLM",
    "Qwen3NextForCausalLM",
];

/// Classes whose norms lack the one, which files have.
const WITHOUT_ONE: [&str; 4] =
    ["Gemma3ForCausalLM", "Qwen3_5ForCausalLM", "Qwen3_5MoeForCausalLM", "Qwen3NextForCausalLM"];

/// The tensor under the file's name, its rows in the file's order. A vector becomes f32, as
/// converters write it.
fn renamed(name: &str, stored: Stored, config: &Value) -> Option<(String, Stored)> {
    let whole = match name {
        "model.embed_tokens.weight" => Some("token_embd.weight"),
        "model.norm.weight" => Some("output_norm.weight"),
        "model.embedding_norm.weight" => Some("token_embd_norm.weight"),
        "lm_head.weight" => Some("output.weight"),
        _ => None,
    };
    let class = config["architectures"][0].as_str().unwrap();
    let stored = match stored.shape[..] {
        [_] => widened(stored),
        [channels, 1, taps] => Stored { shape: vec![channels, taps], ..widened(stored) },
        _ => stored,
    };
    let is_norm = name.ends_with("norm.weight") && !name.ends_with("ssm_norm.weight");
    let has_one_added = WITHOUT_ONE.contains(&class) && is_norm;
    let stored = if has_one_added { one_added(stored) } else { stored };
    if let Some(whole) = whole {
        return Some((whole.to_owned(), stored));
    }
    if let Some(tensor) = (class == "Gemma4ForCausalLM").then(|| gemma4::tensor(name)).flatten() {
        return Some((tensor, stored));
    }
    let (layer, rest) = name.strip_prefix("model.layers.")?.split_once('.')?;
    let part = match rest {
        "mlp.gate.weight" => "ffn_gate_inp.weight".to_owned(),
        "post_attention_layernorm.weight" if WITH_POST_NORM.contains(&class) => {
            "post_attention_norm.weight".to_owned()
        }
        "post_attention_layernorm.weight" => "ffn_norm.weight".to_owned(),
        _ => match NAMES.iter().find(|(own, _)| rest.starts_with(own)) {
            Some((own, part)) => format!("{part}{}", &rest[own.len()..]),
            // Made by the steps before, under the file's name already.
            None => rest.to_owned(),
        },
    };
    let has_neighbours = WITH_NEIGHBOURS.contains(&class);
    let heads = |key: &str| usize::try_from(config[key].as_u64().unwrap()).unwrap();
    let stored = match rest.split('.').nth(1) {
        Some("q_proj") if has_neighbours => neighbours(stored, heads("num_attention_heads")),
        Some("k_proj") if has_neighbours => neighbours(stored, heads("num_key_value_heads")),
        _ => stored,
    };
    Some((format!("blk.{layer}.{part}"), stored))
}

fn one_added(stored: Stored) -> Stored {
    let values = stored.bytes.as_chunks().0.iter().map(|bytes| f32::from_le_bytes(*bytes) + 1.0);
    Stored { bytes: values.flat_map(f32::to_le_bytes).collect(), ..stored }
}

pub(crate) fn widened(stored: Stored) -> Stored {
    let halves = stored.bytes.chunks_exact(2);
    let bytes = match stored.dtype.as_str() {
        "BF16" => halves.flat_map(|two| [0, 0, two[0], two[1]]).collect(),
        "F16" => halves.flat_map(|two| half(u16::from_le_bytes([two[0], two[1]])).to_le_bytes()).collect(),
        _ => return stored,
    };
    Stored { dtype: "F32".to_owned(), bytes, ..stored }
}

/// Value of a finite half float: its bits where f32 has them, and the difference of the exponents.
fn half(bits: u16) -> f32 {
    let bits = u32::from(bits);
    f32::from_bits((bits & 0x8000) << 16 | (bits & 0x7fff) << 13) * 2f32.powi(112)
}

/// Puts the rows that are rotated together beside each other.
fn neighbours(stored: Stored, heads: usize) -> Stored {
    let row = stored.bytes.len() / stored.shape[0];
    let head = stored.shape[0] / heads;
    let order = (0..stored.shape[0]).map(|at| {
        let (head_at, within) = (at / head, at % head);
        head_at * head + within % 2 * (head / 2) + within / 2
    });
    let bytes = order.flat_map(|from| stored.bytes[from * row..][..row].to_vec()).collect();
    Stored { bytes, ..stored }
}

/// DeepSeek: takes the projections of keys and values apart, that of keys transposed.
fn split_projections(tensors: &mut BTreeMap<String, Stored>, config: &Value) {
    let names: Vec<String> =
        tensors.keys().filter(|name| name.ends_with("kv_b_proj.weight")).cloned().collect();
    for name in names {
        let size = |key: &str| usize::try_from(config[key].as_u64().unwrap()).unwrap();
        let (heads, nope, value) =
            (size("num_attention_heads"), size("qk_nope_head_dim"), size("v_head_dim"));
        let stored = tensors.remove(&name).unwrap();
        let (rank, row) = (stored.shape[1], stored.bytes.len() / stored.shape[0]);
        let element = row / rank;
        let (mut keys, mut values) = (Vec::new(), Vec::new());
        for head in stored.bytes.chunks_exact((nope + value) * row) {
            let (of_keys, of_values) = head.split_at(nope * row);
            for col in 0..rank {
                for key in of_keys.chunks_exact(row) {
                    keys.extend(&key[col * element..][..element]);
                }
            }
            values.extend(of_values);
        }
        let prefix = name.strip_suffix("self_attn.kv_b_proj.weight").unwrap();
        let part =
            |shape: [usize; 3], bytes| Stored { dtype: stored.dtype.clone(), shape: shape.to_vec(), bytes };
        tensors.insert(format!("{prefix}attn_k_b.weight"), part([heads, rank, nope], keys));
        tensors.insert(format!("{prefix}attn_v_b.weight"), part([heads, value, rank], values));
    }
}
