//! Names of tensors: which are the language model's, and what they are called in a model of text
//! alone.

use std::borrow::Cow;

/// Beginnings of the names of tensors that text doesn't need: parts that see or hear, and those that
/// predict tokens further ahead.
const OTHER_PARTS: [&str; 9] = [
    "audio_tower.",
    "embed_audio.",
    "embed_vision.",
    "model.visual.",
    "mtp.",
    "multi_modal_projector.",
    "vision_model.",
    "vision_tower.",
    "visual.",
];

/// Beginnings of names within a larger model, and those of the same tensors in a model of text.
const LANGUAGE_MODEL: [(&str, &str); 3] = [
    ("model.language_model.", "model."),
    ("language_model.model.", "model."),
    ("language_model.lm_head.", "lm_head."),
];

/// Parts of LFM2's and Mixtral's names, and what other families call the same tensors, in the order
/// in which they are replaced.
const OTHER_NAMES: [(&str, &str); 12] = [
    ("model.embedding_norm.", "model.norm."),
    (".operator_norm.", ".input_layernorm."),
    (".ffn_norm.", ".post_attention_layernorm."),
    (".self_attn.out_proj.", ".self_attn.o_proj."),
    (".self_attn.q_layernorm.", ".self_attn.q_norm."),
    (".self_attn.k_layernorm.", ".self_attn.k_norm."),
    (".feed_forward.expert_bias", ".mlp.gate.e_score_correction_bias"),
    (".feed_forward.", ".mlp."),
    (".block_sparse_moe.", ".mlp."),
    (".w1.", ".gate_proj."),
    (".w2.", ".down_proj."),
    (".w3.", ".up_proj."),
];

/// The name that a tensor has in a model of text alone; `None` if text doesn't need it.
pub(super) fn of_text(name: &str) -> Option<Cow<'_, str>> {
    let inner = name.strip_prefix("model.").unwrap_or(name);
    if OTHER_PARTS.iter().any(|part| name.starts_with(part) || inner.starts_with(part)) {
        return None;
    }
    let renamed =
        LANGUAGE_MODEL.iter().find_map(|(from, to)| Some(format!("{to}{}", name.strip_prefix(from)?)));
    Some(with_common_names(renamed.map_or(Cow::Borrowed(name), Cow::Owned)))
}

/// The name that other families give to a tensor of LFM2 or Mixtral; any other name as it is.
fn with_common_names(name: Cow<'_, str>) -> Cow<'_, str> {
    if !OTHER_NAMES.iter().any(|(from, _)| name.contains(from)) {
        return name;
    }
    Cow::Owned(OTHER_NAMES.iter().fold(name.into_owned(), |name, (from, to)| name.replace(from, to)))
}

/// Whether a tensor of a model of text changes results. Three kinds don't: rotary frequencies, which
/// are computed; a tied head, which is the embedding; and layers behind the last one, which predict
/// tokens further ahead.
pub(super) fn matters(name: &str, layers: usize) -> bool {
    let layer = name.strip_prefix("model.layers.").and_then(|rest| rest.split('.').next()?.parse().ok());
    layer.is_none_or(|layer: usize| layer < layers)
        && !name.ends_with(".rotary_emb.inv_freq")
        && name != "lm_head.weight"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_within_a_larger_model_are_those_of_text() {
        for (name, wanted) in [
            ("model.layers.0.mlp.up_proj.weight", Some("model.layers.0.mlp.up_proj.weight")),
            ("model.language_model.norm.weight", Some("model.norm.weight")),
            ("language_model.model.embed_tokens.weight", Some("model.embed_tokens.weight")),
            ("language_model.lm_head.weight", Some("lm_head.weight")),
            ("lm_head.weight", Some("lm_head.weight")),
            ("model.visual.blocks.0.norm1.weight", None),
            ("vision_tower.vision_model.embeddings.weight", None),
            ("model.vision_tower.patch_conv.weight", None),
            ("model.multi_modal_projector.linear_1.weight", None),
            ("audio_tower.layers.0.weight", None),
            ("mtp.fc.weight", None),
            ("model.language_model.embedding_norm.weight", Some("model.norm.weight")),
            (
                "model.layers.1.feed_forward.experts.5.w3.weight",
                Some("model.layers.1.mlp.experts.5.up_proj.weight"),
            ),
            (
                "model.layers.1.feed_forward.expert_bias",
                Some("model.layers.1.mlp.gate.e_score_correction_bias"),
            ),
            (
                "model.layers.1.block_sparse_moe.experts.5.w2.weight",
                Some("model.layers.1.mlp.experts.5.down_proj.weight"),
            ),
            ("model.layers.1.block_sparse_moe.gate.weight", Some("model.layers.1.mlp.gate.weight")),
            ("model.layers.1.self_attn.out_proj.weight", Some("model.layers.1.self_attn.o_proj.weight")),
        ] {
            assert_eq!(of_text(name).as_deref(), wanted, "{name}");
        }
    }
}
