//! Readers of configuration fields that families share.

use serde_json::Value;

use super::{
    AttentionBias, ExpertLayout, Factors, GroupedConfig, LayerConfig, MlpConfig, ModelConfig,
    ProjectionLayout, Quantization,
};
use crate::models::LoadError;
use crate::models::fields::Fields;
use crate::models::ops::{QkvShape, RopeSpec};

/// Maximum number of layers in a model.
const LAYERS: usize = 4096;

/// Makes a configuration from the layers that a family has read itself, and the fields that all
/// families have.
#[expect(clippy::cast_possible_truncation, reason = "the norm's constant is rounded to f32")]
pub(super) fn decoder(fields: Fields<'_>, layers: Vec<LayerConfig>) -> Result<ModelConfig, LoadError> {
    let quantization = Quantization::from_fields(fields)?;
    let packed = |layer: &LayerConfig| matches!(&layer.mlp, MlpConfig::Experts(experts) if experts.layout == ExpertLayout::Packed);
    let stored_so = match quantization {
        Some(Quantization::Fp8 { .. }) => (!layers.iter().any(packed), "fp8"),
        Some(Quantization::Mxfp4) => (layers.iter().all(packed), "mxfp4"),
        None => (true, ""),
    };
    if let (false, name) = stored_so {
        let reason =
            format!("\"quantization_config.quant_method\" {name:?} is not supported for this architecture");
        return Err(fields.invalid(reason));
    }
    Ok(ModelConfig {
        vocab: fields.size("vocab_size", 1..=1 << 24)?,
        context: context(fields)?,
        hidden: hidden(fields)?,
        rms_norm_eps: fields.positive("rms_norm_eps")?.unwrap_or(1e-6) as f32,
        norm_offset: 0.0,
        tied: fields.flag("tie_word_embeddings")?.unwrap_or(false),
        factors: Factors::NONE,
        layers,
        quantization,
    })
}

pub(super) fn hidden(fields: Fields<'_>) -> Result<usize, LoadError> {
    fields.size("hidden_size", 1..=1 << 18)
}

pub(super) fn context(fields: Fields<'_>) -> Result<usize, LoadError> {
    fields.size("max_position_embeddings", 1..=1 << 26)
}

pub(super) fn layers(fields: Fields<'_>) -> Result<usize, LoadError> {
    fields.size("num_hidden_layers", 1..=LAYERS)
}

/// Width of a feed-forward part, from the field `name`.
pub(super) fn intermediate(fields: Fields<'_>, name: &str) -> Result<usize, LoadError> {
    fields.size(name, 1..=1 << 20)
}

/// Biases of all four projections where `attention_bias` says so, or where it is absent and
/// `default` does.
pub(super) fn all_biases(fields: Fields<'_>, default: bool) -> Result<AttentionBias, LoadError> {
    let bias = fields.flag("attention_bias")?.unwrap_or(default);
    Ok(if bias { AttentionBias::All } else { AttentionBias::None })
}

/// Reads the rotary embedding of families that rotate whole heads.
pub(super) fn rope(fields: Fields<'_>, head_dim: usize) -> Result<RopeSpec, LoadError> {
    let parameters = RopeSpec::parameters(fields)?;
    for fields in [Some(fields), parameters].into_iter().flatten() {
        fields.only_number("partial_rotary_factor", 1.0)?;
    }
    RopeSpec::from_fields(fields, context(fields)?, head_dim)
}

/// Reads the rotary embedding of families that may rotate only the first part of each head, which
/// is `default` of it where the configuration doesn't say.
#[expect(clippy::cast_precision_loss, reason = "widths are far below 2²³")]
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "at most the width of a head")]
pub(super) fn partial_rope(fields: Fields<'_>, head_dim: usize, default: f64) -> Result<RopeSpec, LoadError> {
    const NAME: &str = "partial_rotary_factor";
    let inner = RopeSpec::parameters(fields)?.map(|parameters| parameters.positive(NAME)).transpose()?;
    let part =
        inner.flatten().map_or_else(|| fields.positive(NAME), |part| Ok(Some(part)))?.unwrap_or(default);
    let rotated = (head_dim as f64 * part.min(1.0)) as usize;
    if part > 1.0 || !rotated.is_multiple_of(2) {
        let reason =
            format!("\"{NAME}\" ({part}) must rotate an even number of a head's {head_dim} dimensions");
        return Err(fields.invalid(reason));
    }
    RopeSpec::from_fields(fields, context(fields)?, rotated)
}

/// What is added to norms that are stored without the one; GGUF files have it in their weights.
pub(super) fn norm_offset(fields: Fields<'_>) -> Result<f32, LoadError> {
    Ok(if fields.flag("norms_have_one_added")?.unwrap_or(false) { 0.0 } else { 1.0 })
}

/// Reads grouped-query attention without biases or norms; `head_dim` gives the width of a head from
/// the number of heads, where the configuration has none.
#[expect(clippy::cast_precision_loss, reason = "widths are far below 2²³")]
pub(super) fn grouped(
    fields: Fields<'_>,
    head_dim: impl FnOnce(usize) -> Result<usize, LoadError>,
) -> Result<GroupedConfig, LoadError> {
    let heads = fields.size("num_attention_heads", 1..=4096)?;
    let kv_heads = fields.optional_size("num_key_value_heads", 1..=4096)?.unwrap_or(heads);
    if !heads.is_multiple_of(kv_heads) {
        let reason = format!(
            "\"num_attention_heads\" ({heads}) must be a multiple of \"num_key_value_heads\" ({kv_heads})"
        );
        return Err(fields.invalid(reason));
    }
    let head_dim = match fields.optional_size("head_dim", 2..=4096)? {
        Some(head_dim) => head_dim,
        None => head_dim(heads)?,
    };
    if !head_dim.is_multiple_of(2) {
        return Err(fields.invalid(format!("\"head_dim\" must be even, found {head_dim}")));
    }
    Ok(GroupedConfig {
        shape: QkvShape { heads, kv_heads, head_dim },
        scale: (head_dim as f32).sqrt().recip(),
        bias: AttentionBias::None,
        layout: ProjectionLayout::Separate,
        head_norms: false,
        sinks: false,
        post_norm: false,
    })
}

/// Default width of a head in Llama and Mistral: `hidden_size` divided by the number of heads.
pub(super) fn hidden_by_heads(fields: Fields<'_>, heads: usize) -> Result<usize, LoadError> {
    let hidden = hidden(fields)?;
    if hidden.is_multiple_of(heads) && hidden / heads <= 4096 {
        return Ok(hidden / heads);
    }
    let reason =
        format!("\"hidden_size\" ({hidden}) must be a multiple of \"num_attention_heads\" ({heads})");
    Err(fields.invalid(reason))
}

/// Reads (number of experts, experts of a token); `names` are the possible names of the first
/// field, the published one first.
pub(super) fn experts(fields: Fields<'_>, names: [&str; 2]) -> Result<(usize, usize), LoadError> {
    let name = names.into_iter().find(|name| fields.get(name).is_some()).unwrap_or(names[0]);
    let experts = fields.size(name, 1..=1 << 16)?;
    let per_token = fields.size("num_experts_per_tok", 1..=experts)?;
    Ok((experts, per_token))
}

/// Window of each layer, from `layer_types`. Without that field, `default` says which layers have
/// one.
pub(super) fn windows(
    fields: Fields<'_>,
    window: Option<usize>,
    default: impl Fn(usize) -> bool,
) -> Result<Vec<Option<usize>>, LoadError> {
    let count = layers(fields)?;
    let Some(kinds) = fields.get("layer_types") else {
        return Ok((0..count).map(|i| window.filter(|_| default(i))).collect());
    };
    let expected = format!("{count} of \"full_attention\" and \"sliding_attention\"");
    let names = kinds.as_array().filter(|kinds| kinds.len() == count);
    let names = names.ok_or_else(|| fields.error("layer_types", &expected, kinds))?;
    let seen = |kind: &Value| match kind.as_str() {
        Some("full_attention") => Ok(None),
        Some("sliding_attention") => window.map(Some).ok_or_else(|| fields.absent("sliding_window")),
        _ => Err(fields.error("layer_types", &expected, kind)),
    };
    names.iter().map(seen).collect()
}

/// Width of the window, where layers have one.
pub(super) fn window(fields: Fields<'_>) -> Result<Option<usize>, LoadError> {
    fields.optional_size("sliding_window", 1..=1 << 26)
}

/// Refuses layers that don't see all tokens, for families where these aren't supported.
pub(super) fn only_full_attention(fields: Fields<'_>) -> Result<(), LoadError> {
    if let Some(Value::Array(kinds)) = fields.get("layer_types")
        && let Some(kind) = kinds.iter().find(|kind| kind.as_str() != Some("full_attention"))
    {
        return Err(fields.error("layer_types", "\"full_attention\" for every layer", kind));
    }
    Ok(())
}
