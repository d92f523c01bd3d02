//! LFM2 and LFM2.5: layers without key and value heads are short gated convolutions.

use serde_json::{Map, Value, json};

use super::{Fields, KV_HEADS, experts};
use crate::error::GgufError;

/// Models without experts. The file has the width of feed-forward parts as it is.
pub(super) fn dense(fields: &Fields<'_, '_>, config: &mut Map<String, Value>) -> Result<(), GgufError> {
    experts::none(fields, config)?;
    config.insert("block_auto_adjust_ff_dim".to_owned(), json!(false));
    shared(fields, config)
}

/// Models with experts, which a sigmoid scores, behind dense layers.
pub(super) fn experts(fields: &Fields<'_, '_>, config: &mut Map<String, Value>) -> Result<(), GgufError> {
    experts::counts(fields, config, "num_experts")?;
    let scale = fields.number("expert_weights_scale")?.filter(|scale| *scale > 0.0);
    for (name, value) in [
        ("moe_intermediate_size", json!(fields.needed_size("expert_feed_forward_length")?)),
        ("num_dense_layers", json!(fields.needed_size("leading_dense_block_count")?)),
        ("norm_topk_prob", json!(true)),
        ("routed_scaling_factor", json!(scale)),
    ] {
        config.insert(name.to_owned(), value);
    }
    shared(fields, config)
}

fn shared(fields: &Fields<'_, '_>, config: &mut Map<String, Value>) -> Result<(), GgufError> {
    let keys = &fields.gguf.keys;
    if keys.flag(&fields.key("attention.causal"))? == Some(false) {
        return Err(keys.error("models that see the tokens behind them (encoders) are not supported"));
    }
    if fields.size("attention.sliding_window")?.is_some_and(|window| window > 0) {
        return Err(keys.error(format!("windows of architecture {} are not supported", fields.prefix)));
    }
    let kinds: Option<Vec<&str>> = keys
        .sizes(&fields.key(KV_HEADS), 0..=1 << 32)?
        .filter(|heads| heads.len() > 1)
        .map(|heads| heads.iter().map(|heads| if *heads > 0 { "full_attention" } else { "conv" }).collect());
    config.insert("layer_types".to_owned(), json!(kinds));
    config.insert("conv_L_cache".to_owned(), json!(fields.needed_size("shortconv.l_cache")?));
    let eps = config.get("rms_norm_eps").cloned().unwrap_or_default();
    config.insert("norm_eps".to_owned(), eps);
    Ok(())
}
