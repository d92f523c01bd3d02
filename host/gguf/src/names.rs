//! Where a file has the tensors of the original checkpoint: other names, experts in one tensor,
//! rows in another order.

use super::config::{Architecture, RopeRows, fields};
use super::error::GgufError;
use super::model::Gguf;

/// Names of tensors outside of layers: the checkpoint's, and the file's.
const WHOLE: [(&str, &str); 5] = [
    ("model.embed_tokens.weight", "token_embd.weight"),
    ("lm_head.weight", "output.weight"),
    ("model.embed_tokens_per_layer.weight", "per_layer_token_embd.weight"),
    ("model.per_layer_model_projection.weight", "per_layer_model_proj.weight"),
    ("model.per_layer_projection_norm.weight", "per_layer_proj_norm.weight"),
];

/// Names within a layer, without `.weight` and `.bias`: the checkpoint's, and the file's.
const OF_LAYER: [(&str, &str); 57] = [
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
    ("mlp.experts.gate_up_proj", "ffn_gate_up_exps"),
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
    ("linear_attn.in_proj_qkv", "attn_qkv"),
    ("linear_attn.in_proj_z", "attn_gate"),
    ("linear_attn.in_proj_b", "ssm_beta"),
    ("linear_attn.in_proj_a", "ssm_alpha"),
    ("linear_attn.in_proj_qkvz", "ssm_in"),
    ("linear_attn.in_proj_ba", "ssm_ba"),
    ("linear_attn.norm", "ssm_norm"),
    ("linear_attn.out_proj", "ssm_out"),
    ("mlp.shared_expert.gate_proj", "ffn_gate_shexp"),
    ("mlp.shared_expert.up_proj", "ffn_up_shexp"),
    ("mlp.shared_expert.down_proj", "ffn_down_shexp"),
    ("mlp.shared_expert_gate", "ffn_gate_inp_shexp"),
    ("conv.conv", "shortconv.conv"),
    ("conv.in_proj", "shortconv.in_proj"),
    ("conv.out_proj", "shortconv.out_proj"),
    ("post_feedforward_layernorm_1", "post_ffw_norm_1"),
    ("post_feedforward_layernorm_2", "post_ffw_norm_2"),
    ("pre_feedforward_layernorm_2", "pre_ffw_norm_2"),
    ("per_layer_input_gate", "inp_gate"),
    ("per_layer_projection", "proj"),
    ("post_per_layer_input_norm", "post_norm"),
    ("router.proj", "ffn_gate_inp"),
    ("experts.gate_up_proj", "ffn_gate_up_exps"),
    ("experts.gate_proj", "ffn_gate_exps"),
    ("experts.up_proj", "ffn_up_exps"),
    ("experts.down_proj", "ffn_down_exps"),
];

/// Names within a layer that are other ones as a whole.
const WHOLE_OF_LAYER: [(&str, &str); 8] = [
    ("self_attn.sinks", "attn_sinks.weight"),
    ("mlp.gate.e_score_correction_bias", "exp_probs_b.bias"),
    ("linear_attn.conv1d.weight", "ssm_conv1d.weight"),
    ("linear_attn.dt_bias", "ssm_dt.bias"),
    // Minus the exponential of the checkpoint's `A_log`.
    ("linear_attn.A", "ssm_a"),
    ("layer_scalar", "layer_output_scale.weight"),
    ("router.scale", "ffn_gate_inp.scale"),
    ("router.per_expert_scale", "ffn_down_exps.scale"),
];

/// Where a file has a tensor of the checkpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// Name of the file's tensor.
    pub tensor: String,
    /// Part of the first dimension, where the file has the experts of a layer in one tensor.
    pub expert: Option<usize>,
    /// Order of the file's rows.
    pub rows: RowOrder,
}

/// Order of the rows of a file's tensor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowOrder {
    /// That of the checkpoint.
    AsInCheckpoint,
    /// Row `2 j + s` of each of so many heads is row `s · half a head + j` of the checkpoint.
    Neighbours {
        /// Number of heads.
        heads: usize,
    },
    /// The tensor has the rows of two, which have equally many: of each head first those of the one,
    /// then those of the other.
    HalfOfEachHead {
        /// Number of heads.
        heads: usize,
        /// Whether the rows are those of the second tensor.
        second: bool,
    },
}

/// Names of an architecture's tensors.
#[derive(Debug, Clone, Copy)]
pub struct TensorNames {
    /// Heads of queries, and of keys, whose rows are to be reordered.
    reordered: Option<(usize, usize)>,
    /// Key heads, by which a layer's update rates and decays lie in one tensor.
    rates_of: Option<usize>,
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
        let by_key_heads = gguf.has_tensor("blk.0.ssm_ba.weight");
        let rates_of = by_key_heads.then(|| fields.key_heads().map(heads)).transpose()?;
        let named = gguf.has_tensor("blk.0.post_attention_norm.weight");
        let post_attention_norm = if named { "post_attention_norm" } else { "ffn_norm" };
        let last_norm = if gguf.has_tensor(LAST_NORM) { LAST_NORM } else { LAST_NORM_OF_LFM2 };
        Ok(Self { reordered, rates_of, post_attention_norm, last_norm })
    }

    /// Where the file has the checkpoint's tensor `name`; `None` for a name that files have nothing
    /// for.
    pub fn find(&self, name: &str) -> Option<Source> {
        let last_norm = ("model.norm.weight", self.last_norm);
        if let Some((_, tensor)) = WHOLE.iter().chain([&last_norm]).find(|(whole, _)| *whole == name) {
            return Some(Source::whole((*tensor).to_owned()));
        }
        let (layer, rest) = name.strip_prefix("model.layers.")?.split_once('.')?;
        if let Some((_, tensor)) = WHOLE_OF_LAYER.iter().find(|(own, _)| *own == rest) {
            return Some(Source::of_layer(layer, tensor));
        }
        let (part, kind) = rest.rsplit_once('.')?;
        let (part, expert) = without_expert(part);
        let tensor = match part.as_str() {
            "post_attention_layernorm" => self.post_attention_norm,
            part => OF_LAYER.iter().find(|(own, _)| *own == part)?.1,
        };
        let (tensor, rows) = self.rows(tensor);
        let source = Source::of_layer(layer, &format!("{tensor}.{kind}"));
        Some(Source { expert, rows, ..source })
    }

    /// The tensor that has the rows of another, and their order.
    fn rows(&self, tensor: &'static str) -> (&'static str, RowOrder) {
        let half = |heads, second| ("ssm_ba", RowOrder::HalfOfEachHead { heads, second });
        match (tensor, self.reordered, self.rates_of) {
            ("attn_q", Some((heads, _)), _) | ("attn_k", Some((_, heads)), _) => {
                (tensor, RowOrder::Neighbours { heads })
            }
            ("ssm_beta", _, Some(heads)) => half(heads, false),
            ("ssm_alpha", _, Some(heads)) => half(heads, true),
            _ => (tensor, RowOrder::AsInCheckpoint),
        }
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
        Self::whole(format!("blk.{layer}.{tensor}"))
    }

    fn whole(tensor: String) -> Self {
        Self { tensor, expert: None, rows: RowOrder::AsInCheckpoint }
    }
}

/// `mlp.experts.3.up_proj` as `mlp.experts.up_proj` and 3; any other name as it is.
fn without_expert(part: &str) -> (String, Option<usize>) {
    let split = || {
        let (before, rest) = part.split_once("experts.")?;
        let (expert, rest) = rest.split_once('.')?;
        Some((format!("{before}experts.{rest}"), Some(expert.parse().ok()?)))
    };
    split().unwrap_or_else(|| (part.to_owned(), None))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checkpoint_names_lead_to_the_files_tensors() {
        let names = TensorNames {
            reordered: Some((8, 2)),
            rates_of: Some(16),
            post_attention_norm: "ffn_norm",
            last_norm: LAST_NORM_OF_LFM2,
        };
        let neighbours = |heads| RowOrder::Neighbours { heads };
        let decays = RowOrder::HalfOfEachHead { heads: 16, second: true };
        let same = RowOrder::AsInCheckpoint;
        for (name, tensor, expert, rows) in [
            ("lm_head.weight", "output.weight", None, same),
            ("model.norm.weight", "token_embd_norm.weight", None, same),
            ("model.layers.3.conv.conv.weight", "blk.3.shortconv.conv.weight", None, same),
            ("model.layers.3.self_attn.q_proj.weight", "blk.3.attn_q.weight", None, neighbours(8)),
            ("model.layers.12.self_attn.k_proj.bias", "blk.12.attn_k.bias", None, neighbours(2)),
            ("model.layers.0.mlp.experts.17.up_proj.weight", "blk.0.ffn_up_exps.weight", Some(17), same),
            ("model.layers.0.mlp.experts.up_proj.bias", "blk.0.ffn_up_exps.bias", None, same),
            ("model.layers.1.mlp.gate.weight", "blk.1.ffn_gate_inp.weight", None, same),
            ("model.layers.1.mlp.gate.e_score_correction_bias", "blk.1.exp_probs_b.bias", None, same),
            ("model.layers.0.linear_attn.in_proj_a.weight", "blk.0.ssm_ba.weight", None, decays),
            ("model.layers.0.linear_attn.A", "blk.0.ssm_a", None, same),
            ("model.layers.1.post_attention_layernorm.weight", "blk.1.ffn_norm.weight", None, same),
            (
                "model.layers.2.mlp.experts.5.gate_up_proj.weight",
                "blk.2.ffn_gate_up_exps.weight",
                Some(5),
                same,
            ),
            ("model.layers.0.experts.3.gate_up_proj.weight", "blk.0.ffn_gate_up_exps.weight", Some(3), same),
            ("model.layers.1.router.per_expert_scale", "blk.1.ffn_down_exps.scale", None, same),
        ] {
            let found = names.find(name).unwrap();
            assert_eq!((found.tensor.as_str(), found.expert, found.rows), (tensor, expert, rows));
        }
        assert_eq!(names.find("model.layers.0.mlp.other.weight"), None);
        assert!(
            TensorNames::matters("blk.3.attn_q.weight", 4) && !TensorNames::matters("blk.4.attn_q.weight", 4)
        );
    }
}
