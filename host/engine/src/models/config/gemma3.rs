//! Gemma 3: norms before and behind both parts of a layer and on heads, a window in five layers of
//! six, whose rotary embedding has a base of its own, GELU, and a factor of the embedding.

use super::common;
use super::{AttentionConfig, Factors, GatedConfig, GroupedConfig, LayerConfig, MlpConfig, ModelConfig};
use crate::models::LoadError;
use crate::models::fields::Fields;
use crate::models::ops::{GateActivation, RopeSpec};

/// What configurations leave out where it is as in the class's defaults, as those with more parts
/// than text do.
const DEFAULTS: [(&str, u64); 11] = [
    ("vocab_size", 262_208),
    ("max_position_embeddings", 131_072),
    ("hidden_size", 2304),
    ("intermediate_size", 9216),
    ("num_hidden_layers", 26),
    ("num_attention_heads", 8),
    ("num_key_value_heads", 4),
    ("head_dim", 256),
    ("query_pre_attn_scalar", 256),
    ("sliding_window", 4096),
    ("sliding_window_pattern", 6),
];

pub(super) fn read(fields: Fields<'_>) -> Result<ModelConfig, LoadError> {
    let object = fields.with_defaults(&DEFAULTS);
    let fields = fields.of(&object);
    refuse_unsupported(fields)?;
    let grouped = attention(fields)?;
    let mlp = GatedConfig {
        activation: GateActivation::GeluTanh,
        post_norm: true,
        ..GatedConfig::swiglu(common::intermediate(fields, "intermediate_size")?)
    };
    let pattern = fields.size("sliding_window_pattern", 1..=1 << 16)?;
    let windows = common::windows(fields, common::window(fields)?, |i| !(i + 1).is_multiple_of(pattern))?;
    let (full, local) = ropes(fields, grouped.shape.head_dim)?;
    let layer = |window: Option<usize>| LayerConfig {
        attention: AttentionConfig::Grouped(grouped),
        rope: if window.is_some() { local.clone() } else { full.clone() },
        window,
        mlp: MlpConfig::Gated(mlp),
    };
    let config = common::decoder(fields, windows.into_iter().map(layer).collect())?;
    Ok(ModelConfig {
        norm_offset: common::norm_offset(fields)?,
        tied: fields.flag("tie_word_embeddings")?.unwrap_or(true),
        factors: Factors { embedding: common::embedding_factor(fields, config.hidden)?, ..Factors::NONE },
        ..config
    })
}

#[expect(clippy::cast_possible_truncation, reason = "the factor is rounded to f32")]
fn attention(fields: Fields<'_>) -> Result<GroupedConfig, LoadError> {
    let grouped = common::grouped(fields, |heads| common::hidden_by_heads(fields, heads))?;
    let scale = fields.required_positive("query_pre_attn_scalar")?.powf(-0.5) as f32;
    let bias = common::all_biases(fields, false)?;
    Ok(GroupedConfig { scale, bias, head_norms: true, post_norm: true, ..grouped })
}

/// Rotary embeddings of layers that see all tokens, and of those with a window.
fn ropes(fields: Fields<'_>, head_dim: usize) -> Result<(RopeSpec, RopeSpec), LoadError> {
    let context = common::context(fields)?;
    let theta = |name, default| Ok::<_, LoadError>(fields.positive(name)?.unwrap_or(default));
    let full = RopeSpec::plain(head_dim, theta("rope_theta", 1e6)?);
    let local = RopeSpec::plain(head_dim, theta("rope_local_base_freq", 1e4)?);
    // Either an object for each kind of layer, or one that is for layers that see all tokens.
    let parameters = RopeSpec::parameters(fields)?;
    let inner = |name, path| match parameters {
        Some(parameters) => parameters.object(name, path),
        None => Ok(None),
    };
    let inner_full = inner("full_attention", "rope_parameters.full_attention.")?;
    let inner_local = inner("sliding_attention", "rope_parameters.sliding_attention.")?;
    let of_full = if inner_full.is_some() || inner_local.is_some() { inner_full } else { parameters };
    let with = |rope: RopeSpec, parameters: Option<Fields<'_>>| match parameters {
        Some(parameters) => rope.with_parameters(parameters, context, fields),
        None => Ok(rope),
    };
    Ok((with(full, of_full)?, with(local, inner_local)?))
}

/// Refuses features that would change results and aren't supported.
fn refuse_unsupported(fields: Fields<'_>) -> Result<(), LoadError> {
    for name in ["hidden_activation", "hidden_act"] {
        fields.only_text(name, "gelu_pytorch_tanh")?;
    }
    fields.refuse_flag("use_bidirectional_attention")?;
    for name in ["final_logit_softcapping", "attn_logit_softcapping"] {
        if let Some(value) = fields.get(name) {
            return Err(fields.error(name, "null, the only value supported", value));
        }
    }
    Ok(())
}
