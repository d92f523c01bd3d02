//! What dense architectures have of their own: factors of activations, scores and queries, windows.

use serde_json::{Map, Value, json};

use super::{Fields, experts};
use crate::error::GgufError;

/// Layers of Gemma 3 27B, whose scores have a factor of their own, which the file doesn't say.
const GEMMA3_27B_LAYERS: u64 = 62;

/// Gemma 3: five layers of six have a window, and a rotary embedding with a base of its own. Norms
/// are stored with the one added.
pub(super) fn gemma3(fields: &Fields<'_, '_>, config: &mut Map<String, Value>) -> Result<(), GgufError> {
    experts::none(fields, config)?;
    let width = if fields.layers()? == GEMMA3_27B_LAYERS {
        fields.needed_size("embedding_length")? / fields.heads()?.max(1)
    } else {
        fields.head_dim()?
    };
    let theta = fields.number("rope.freq_base")?.unwrap_or(1e6);
    let mut set = |name: &str, value: Value| config.insert(name.to_owned(), value);
    set("query_pre_attn_scalar", json!(width));
    set("sliding_window", json!(fields.size("attention.sliding_window")?));
    set("rope_theta", json!(theta));
    set("rope_local_base_freq", json!(fields.number("rope.freq_base_swa")?));
    set("final_logit_softcapping", json!(fields.number("final_logit_softcapping")?));
    set("norms_have_one_added", json!(true));
    Ok(())
}

/// Granite: factors of scores, of the embedding, of what layers add, and of the logits.
pub(super) fn granite(fields: &Fields<'_, '_>, config: &mut Map<String, Value>) -> Result<(), GgufError> {
    experts::none(fields, config)?;
    for (name, key) in [
        ("attention_multiplier", "attention.scale"),
        ("embedding_multiplier", "embedding_scale"),
        ("residual_multiplier", "residual_scale"),
        ("logits_scaling", "logit_scale"),
    ] {
        config.insert(name.to_owned(), json!(fields.number(key)?));
    }
    Ok(())
}

/// Mistral Small 3 and Ministral 3; only the latter scales queries by their position.
pub(super) fn mistral3(fields: &Fields<'_, '_>, config: &mut Map<String, Value>) -> Result<(), GgufError> {
    experts::none(fields, config)?;
    let Some(beta) = fields.number("attention.temperature_scale")? else { return Ok(()) };
    config.insert("architectures".to_owned(), json!(["Ministral3ForCausalLM"]));
    config.insert("model_type".to_owned(), json!("ministral3"));
    if let Some(Value::Object(scaling)) = config.get_mut("rope_scaling") {
        scaling.insert("llama_4_scaling_beta".to_owned(), json!(beta));
        if let Some(all) = fields.number("rope.scaling.yarn_log_multiplier")? {
            scaling.insert("mscale".to_owned(), json!(1.0));
            scaling.insert("mscale_all_dim".to_owned(), json!(all));
        }
    }
    Ok(())
}

/// Phi-3 and Phi-4-mini.
pub(super) fn phi3(fields: &Fields<'_, '_>, config: &mut Map<String, Value>) -> Result<(), GgufError> {
    experts::none(fields, config)?;
    config.insert(
        "sliding_window".to_owned(),
        json!(fields.size("attention.sliding_window")?.filter(|n| *n > 0)),
    );
    Ok(())
}
