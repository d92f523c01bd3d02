//! Layers with the gated delta rule (Qwen3.5, Qwen3-Next), and what goes with them.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;

use super::convert::{Stored, widened};
use super::keys::architecture;
use super::writer::{Key, Writer};

/// Names of such a layer's tensors: the checkpoint's, and the file's.
const NAMES: [(&str, &str); 12] = [
    ("linear_attn.A_log", "ssm_a"),
    ("linear_attn.dt_bias", "ssm_dt.bias"),
    ("linear_attn.conv1d.weight", "ssm_conv1d.weight"),
    ("linear_attn.norm.weight", "ssm_norm.weight"),
    ("linear_attn.out_proj.weight", "ssm_out.weight"),
    ("linear_attn.in_proj_qkv.weight", "attn_qkv.weight"),
    ("linear_attn.in_proj_z.weight", "attn_gate.weight"),
    ("linear_attn.in_proj_b.weight", "ssm_beta.weight"),
    ("linear_attn.in_proj_a.weight", "ssm_alpha.weight"),
    ("linear_attn.in_proj_ba.weight", "ssm_ba.weight"),
    ("mlp.shared_expert_gate.weight", "ffn_gate_inp_shexp.weight"),
    // Shared experts have this part of the name in other checkpoints.
    ("mlp.shared_expert.", "mlp.shared_experts."),
];

/// Sizes of such layers.
struct Sizes {
    key_heads: usize,
    /// Value heads of a key head.
    group: usize,
    key_dim: usize,
    value_dim: usize,
}

fn sizes(config: &Value) -> Sizes {
    let size = |field: &str| usize::try_from(config[field].as_u64().unwrap()).unwrap();
    let key_heads = size("linear_num_key_heads");
    Sizes {
        key_heads,
        group: size("linear_num_value_heads") / key_heads,
        key_dim: size("linear_key_head_dim"),
        value_dim: size("linear_value_head_dim"),
    }
}

fn has_states(name: &str) -> bool {
    ["qwen35", "qwen35moe", "qwen3next"].contains(&name)
}

/// Number of layers that predict tokens further ahead.
pub(super) fn layers_ahead(architecture: &str) -> u32 {
    u32::from(has_states(architecture))
}

/// Writes the keys.
pub(super) fn keys(writer: &mut Writer, name: &str, config: &Value) {
    if !has_states(name) {
        return;
    }
    let Sizes { key_heads, group, value_dim, .. } = sizes(config);
    let inner = u32::try_from(key_heads * group * value_dim).unwrap();
    writer.key(&format!("{name}.ssm.inner_size"), Key::U32(inner));
    writer.key(&format!("{name}.nextn_predict_layers"), Key::U32(1));
    if let Some(kinds) = config["layer_types"].as_array() {
        let ahead = std::iter::once(false);
        let kinds: Vec<bool> = kinds.iter().map(|kind| kind == "linear_attention").chain(ahead).collect();
        writer.key(&format!("{name}.attention.recurrent_layers"), Key::Bools(&kinds));
    }
}

/// Writes a tensor of the layer that predicts tokens further ahead.
pub(super) fn layer_ahead(writer: &mut Writer, config: &Value) {
    if has_states(architecture(config)) {
        let layer = &config["num_hidden_layers"];
        writer.tensor(&format!("blk.{layer}.nextn.enorm.weight"), 0, &[1], vec![0; 4]);
    }
}

/// Gives tensors of such layers their names in files, in which value heads that share a key head are
/// apart (Qwen3.5) or the wide projection isn't by key heads (Qwen3-Next).
pub(super) fn rename(tensors: &mut BTreeMap<String, Stored>, config: &Value) {
    let architecture = architecture(config);
    if !has_states(architecture) {
        return;
    }
    let sizes = sizes(config);
    for (name, stored) in std::mem::take(tensors) {
        if let Some(prefix) = name.strip_suffix("linear_attn.in_proj_qkvz.weight") {
            let (qkv, z) = by_kind(&stored, &sizes);
            tensors.insert(format!("{prefix}attn_qkv.weight"), qkv);
            tensors.insert(format!("{prefix}attn_gate.weight"), z);
        } else if let Some(prefix) = name.strip_suffix("mlp.experts.gate_up_proj") {
            let (gate, up) = halves_of_experts(&stored);
            tensors.insert(format!("{prefix}ffn_gate_exps.weight"), gate);
            tensors.insert(format!("{prefix}ffn_up_exps.weight"), up);
        } else if let Some(prefix) = name.strip_suffix("mlp.experts.down_proj") {
            tensors.insert(format!("{prefix}ffn_down_exps.weight"), stored);
        } else {
            let stored = if architecture == "qwen3next" { stored } else { strided(&name, stored, &sizes) };
            let renamed = NAMES.iter().find(|(own, _)| name.contains(own));
            let renamed = renamed.map_or(name.clone(), |(own, file)| name.replace(own, file));
            tensors.insert(renamed, of_file(&name, stored));
        }
    }
}

/// Values and dimensions as files have them.
fn of_file(name: &str, stored: Stored) -> Stored {
    match name.rsplit_once("linear_attn.").map(|(_, part)| part) {
        Some("A_log") => {
            let stored = widened(stored);
            let values = stored.bytes.as_chunks().0.iter().map(|bytes| -f32::from_le_bytes(*bytes).exp());
            Stored { bytes: values.flat_map(f32::to_le_bytes).collect(), ..stored }
        }
        Some("conv1d.weight") => Stored { shape: vec![stored.shape[0], stored.shape[2]], ..widened(stored) },
        _ if name.ends_with("shared_expert_gate.weight") => Stored { shape: vec![stored.shape[1]], ..stored },
        _ => stored,
    }
}

/// Moves value head `m` of each key head's group to the `m`th run of heads, in rows or columns.
fn strided(name: &str, stored: Stored, sizes: &Sizes) -> Stored {
    let Sizes { key_heads, group, key_dim, value_dim } = *sizes;
    let Some((_, part)) = name.rsplit_once("linear_attn.") else { return stored };
    let keys = 2 * key_heads * key_dim;
    let row = stored.bytes.len() / stored.shape[0];
    let order = |before: usize, size: usize| (before * row, size * row, stored.bytes.len());
    let (before, size, run) = match part {
        "A_log" | "dt_bias" | "in_proj_a.weight" | "in_proj_b.weight" => order(0, 1),
        "in_proj_z.weight" => order(0, value_dim),
        "in_proj_qkv.weight" | "conv1d.weight" => order(keys, value_dim),
        "out_proj.weight" => (0, value_dim * row / stored.shape[1], row),
        _ => return stored,
    };
    let reordered = |run: &[u8]| {
        let heads = (0..group).flat_map(|member| (0..key_heads).map(move |head| head * group + member));
        let moved = heads.flat_map(|head| run[before + head * size..][..size].to_vec());
        run[..before].iter().copied().chain(moved).collect::<Vec<u8>>()
    };
    let bytes = stored.bytes.chunks_exact(run).flat_map(reordered).collect();
    Stored { bytes, ..stored }
}

/// Qwen3-Next: takes the projection of queries, keys and values, and that of output gates, from one
/// that is by key heads.
fn by_kind(stored: &Stored, sizes: &Sizes) -> (Stored, Stored) {
    let Sizes { key_heads, group, key_dim, value_dim } = *sizes;
    let row = stored.bytes.len() / stored.shape[0];
    let widths = [key_dim, key_dim, group * value_dim, group * value_dim].map(|rows| rows * row);
    let of_head: usize = widths.iter().sum();
    let kind = |kind: usize| {
        let offset: usize = widths[..kind].iter().sum();
        let heads = stored.bytes.chunks_exact(of_head);
        heads.flat_map(|head| head[offset..][..widths[kind]].to_vec()).collect::<Vec<u8>>()
    };
    let matrix = |bytes: Vec<u8>| Stored {
        dtype: stored.dtype.clone(),
        shape: vec![bytes.len() / row, stored.shape[1]],
        bytes,
    };
    assert_eq!(stored.bytes.len(), key_heads * of_head);
    (matrix([kind(0), kind(1), kind(2)].concat()), matrix(kind(3)))
}

/// Takes gate and up of all experts apart, which follow each other.
fn halves_of_experts(stored: &Stored) -> (Stored, Stored) {
    let [experts, rows, cols] = stored.shape[..] else { panic!("{:?}", stored.shape) };
    let size = stored.bytes.len() / experts;
    let half = |from: usize| {
        let all = stored.bytes.chunks_exact(size).flat_map(|expert| expert[from..][..size / 2].to_vec());
        Stored { dtype: stored.dtype.clone(), shape: vec![experts, rows / 2, cols], bytes: all.collect() }
    };
    (half(0), half(size / 2))
}

/// Leaves one column of each row of the output projections of a file (safetensors), so that a sum
/// has one part only.
pub(crate) fn thin_out_projections(path: &Path) {
    let mut file = std::fs::read(path).unwrap();
    let data = 8 + u64::from_le_bytes(file[..8].try_into().unwrap()) as usize;
    let header: BTreeMap<String, Value> = serde_json::from_slice(&file[8..data]).unwrap();
    for (_, entry) in header.iter().filter(|(name, _)| name.ends_with("linear_attn.out_proj.weight")) {
        let number = |value: &Value| value.as_u64().unwrap() as usize;
        let [from, to] = [0, 1].map(|end| data + number(&entry["data_offsets"][end]));
        let [rows, cols] = [0, 1].map(|dimension| number(&entry["shape"][dimension]));
        let element = (to - from) / rows / cols;
        for (at, bytes) in file[from..to].chunks_exact_mut(element).enumerate() {
            if at % cols != at / cols * 5 % cols {
                bytes.fill(0);
            }
        }
    }
    std::fs::write(path, file).unwrap();
}
