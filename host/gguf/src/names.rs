//! Where a file has the tensors of the original checkpoint: other names, experts in one tensor,
//! rows in another order.

use super::config::{Architecture, RopeRows, fields};
use super::error::GgufError;
use super::model::Gguf;

/// Names of tensors outside of layers: the checkpoint's, and the file's.
const WHOLE: [(&str, &str); 2] =
    [("model.embed_tokens.weight", "token_embd.weight"), ("lm_head.weight", "output.weight")];

/// Names within a layer, without `.weight` and `.bias`: the checkpoint's, and the file's.
const OF_LAYER: [(&str, &str); 33] = [
    ("input_layernorm", "attn_norm"),
    ("self_attn.q_proj", "attn_q"),
    ("self_attn.k_proj", "attn_k"),
    ("self_attn.v_proj", "attn_v"),
    ("self_attn.o_proj", "attn_output"),
    ("self_attn.q_norm", "attn_q_norm"),
    ("self_attn.k_norm", "attn_k_norm"),
    ("self_attn.q_a_proj", "attn_q_a"),
    ("self_attn.q_a_layernorm", "attn_q_a_norm"),
    ("self_attn.q_b_proj", "attn_q_b"),
    ("self_attn.kv_a_proj_with_mqa", "attn_kv_a_mqa"),
    ("self_attn.kv_a_layernorm", "attn_kv_a_norm"),
    ("self_attn.kv_b_proj", "attn_kv_b"),
    ("self_attn.k_b_proj", "attn_k_b"),
    ("self_attn.v_b_proj", "attn_v_b"),
    ("mlp.gate_proj", "ffn_gate"),
    ("mlp.up_proj", "ffn_up"),
    ("mlp.down_proj", "ffn_down"),
    ("mlp.gate", "ffn_gate_inp"),
    ("mlp.router", "ffn_gate_inp"),
    ("mlp.experts.gate_proj", "ffn_gate_exps"),
    ("mlp.experts.up_proj", "ffn_up_exps"),
    ("mlp.experts.down_proj", "ffn_down_exps"),
    ("mlp.shared_experts.gate_proj", "ffn_gate_shexp"),
    ("mlp.shared_experts.up_proj", "ffn_up_shexp"),
    ("mlp.shared_experts.down_proj", "ffn_down_shexp"),
    ("self_attn.qkv_proj", "attn_qkv"),
    // A layer that has gate and up in one tensor has no other `ffn_up`.
    ("mlp.gate_up_proj", "ffn_up"),
    ("pre_feedforward_layernorm", "ffn_norm"),
    ("post_feedforward_layernorm", "post_ffw_norm"),
    ("conv.conv", "shortconv.conv"),
    ("conv.in_proj", "shortconv.in_proj"),
    ("conv.out_proj", "shortconv.out_proj"),
];

/// Where a file has a tensor of the checkpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// Name of the file's tensor.
    pub tensor: String,
    /// Part of the first dimension, where the file has the experts of a layer in one tensor.
    pub expert: Option<usize>,
    /// Number of heads whose rows are to be reordered: row `2 j + s` of a head is row
    /// `s · half a head + j` of the checkpoint.
    pub neighbours_of: Option<usize>,
}

/// Names of an architecture's tensors.
#[derive(Debug, Clone, Copy)]
pub struct TensorNames {
    /// Heads of queries, and of keys, whose rows are to be reordered.
    reordered: Option<(usize, usize)>,
    /// The norm behind attention: of its result, or of what goes into the feed-forward part.
    post_attention_norm: &'static str,
    /// The norm before the head.
    last_norm: &'static str,
}

const LAST_NORM: &str = "output_norm.weight";
/// Its name in files of LFM2.
const LAST_NORM_OF_LFM2: &str = "token_embd_norm.weight";

impl TensorNames {
    /// Names of a file's tensors.
    ///
    /// # Errors
    /// The architecture isn't supported, or lacks its number of heads.
    pub fn of(gguf: &Gguf<'_>) -> Result<Self, GgufError> {
        let fields = fields(gguf)?;
        let heads = |count: u64| usize::try_from(count).unwrap_or(usize::MAX);
        let reordered = match Architecture::of(gguf)?.rows {
            RopeRows::AsInCheckpoint => None,
            RopeRows::Neighbours => Some((heads(fields.heads()?), heads(fields.kv_heads()?))),
        };
        let named = gguf.has_tensor("blk.0.post_attention_norm.weight");
        let post_attention_norm = if named { "post_attention_norm" } else { "ffn_norm" };
        let last_norm = if gguf.has_tensor(LAST_NORM) { LAST_NORM } else { LAST_NORM_OF_LFM2 };
        Ok(Self { reordered, post_attention_norm, last_norm })
    }

    /// Where the file has the checkpoint's tensor `name`; `None` for a name that files have nothing
    /// for.
    pub fn find(&self, name: &str) -> Option<Source> {
        let last_norm = ("model.norm.weight", self.last_norm);
        if let Some((_, tensor)) = WHOLE.iter().chain([&last_norm]).find(|(whole, _)| *whole == name) {
            return Some(Source { tensor: (*tensor).to_owned(), expert: None, neighbours_of: None });
        }
        let (layer, rest) = name.strip_prefix("model.layers.")?.split_once('.')?;
        let (part, kind) = match rest {
            "self_attn.sinks" => return Some(Source::of_layer(layer, "attn_sinks.weight")),
            "mlp.gate.e_score_correction_bias" => return Some(Source::of_layer(layer, "exp_probs_b.bias")),
            _ => rest.rsplit_once('.')?,
        };
        let (part, expert) = without_expert(part);
        let tensor = match part.as_str() {
            "post_attention_layernorm" => self.post_attention_norm,
            part => OF_LAYER.iter().find(|(own, _)| *own == part)?.1,
        };
        let heads = self.reordered.and_then(|(queries, keys)| match tensor {
            "attn_q" => Some(queries),
            "attn_k" => Some(keys),
            _ => None,
        });
        let source = Source::of_layer(layer, &format!("{tensor}.{kind}"));
        Some(Source { expert, neighbours_of: heads, ..source })
    }

    /// Whether a tensor of the file changes results. Three kinds don't: factors of frequencies, which
    /// the configuration has; layers behind the last one, which predict tokens further ahead; and
    /// factors of inputs that are rounded to four bits, which they aren't here.
    pub fn matters(name: &str, layers: usize) -> bool {
        let layer = name.strip_prefix("blk.").and_then(|rest| rest.split('.').next()?.parse().ok());
        layer.is_none_or(|layer: usize| layer < layers)
            && !name.starts_with("rope_f")
            && !name.ends_with(".input_scale")
    }
}

impl Source {
    fn of_layer(layer: &str, tensor: &str) -> Self {
        Self { tensor: format!("blk.{layer}.{tensor}"), expert: None, neighbours_of: None }
    }
}

/// `mlp.experts.3.up_proj` as `mlp.experts.up_proj` and 3; any other name as it is.
fn without_expert(part: &str) -> (String, Option<usize>) {
    const EXPERTS: &str = "mlp.experts.";
    let split = part.strip_prefix(EXPERTS).and_then(|rest| rest.split_once('.'));
    match split.and_then(|(expert, rest)| Some((expert.parse().ok()?, rest))) {
        Some((expert, rest)) => (format!("{EXPERTS}{rest}"), Some(expert)),
        None => (part.to_owned(), None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checkpoint_names_lead_to_the_files_tensors() {
        let names = TensorNames {
            reordered: Some((8, 2)),
            post_attention_norm: "ffn_norm",
            last_norm: LAST_NORM_OF_LFM2,
        };
        for (name, tensor, expert, heads) in [
            ("lm_head.weight", "output.weight", None, None),
            ("model.norm.weight", "token_embd_norm.weight", None, None),
            ("model.layers.3.conv.conv.weight", "blk.3.shortconv.conv.weight", None, None),
            ("model.layers.3.self_attn.q_proj.weight", "blk.3.attn_q.weight", None, Some(8)),
            ("model.layers.12.self_attn.k_proj.bias", "blk.12.attn_k.bias", None, Some(2)),
            ("model.layers.0.mlp.experts.17.up_proj.weight", "blk.0.ffn_up_exps.weight", Some(17), None),
            ("model.layers.0.mlp.experts.up_proj.bias", "blk.0.ffn_up_exps.bias", None, None),
            ("model.layers.1.mlp.gate.weight", "blk.1.ffn_gate_inp.weight", None, None),
            ("model.layers.1.mlp.gate.e_score_correction_bias", "blk.1.exp_probs_b.bias", None, None),
            ("model.layers.1.post_attention_layernorm.weight", "blk.1.ffn_norm.weight", None, None),
        ] {
            let found = names.find(name).unwrap();
            assert_eq!((found.tensor.as_str(), found.expert, found.neighbours_of), (tensor, expert, heads));
        }
        assert_eq!(names.find("model.layers.0.mlp.other.weight"), None);
        assert!(
            TensorNames::matters("blk.3.attn_q.weight", 4) && !TensorNames::matters("blk.4.attn_q.weight", 4)
        );
    }
}
