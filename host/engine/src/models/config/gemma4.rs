//! Gemma 4: Gemma 3's norms and windows, layers of two widths, a factor behind each layer, and a
//! bound of logits. The small models have rows of their own in each layer, and last layers that read
//! the keys and values of earlier ones; the large ones take keys for values in layers that see all
//! tokens; 26B-A4B has experts beside its dense parts.

use serde_json::{Map, Value};

use super::common;
use super::{
    AttentionConfig, ExpertLayout, ExpertsConfig, Factors, GatedConfig, GroupedConfig, LayerConfig,
    MlpConfig, ModelConfig, PerLayerRows, ProjectionLayout,
};
use crate::models::LoadError;
use crate::models::fields::Fields;
use crate::models::ops::{ExpertActivation, GateActivation, RopeSpec, Scoring};

/// What configurations leave out where it is as in the class's defaults.
const DEFAULTS: [(&str, u64); 12] = [
    ("vocab_size", 262_144),
    ("max_position_embeddings", 131_072),
    ("hidden_size", 2304),
    ("intermediate_size", 9216),
    ("num_hidden_layers", 30),
    ("num_attention_heads", 8),
    ("num_key_value_heads", 4),
    ("head_dim", 256),
    ("global_head_dim", 512),
    ("sliding_window", 512),
    ("vocab_size_per_layer_input", 262_144),
    ("hidden_size_per_layer_input", 256),
];

/// Without a list, every sixth layer sees all tokens, and so does the last one.
const PATTERN: usize = 6;

/// The kind of a layer.
struct LayerKind {
    index: usize,
    window: Option<usize>,
    /// Layer whose keys and values it reads.
    keys_of: Option<usize>,
}

#[expect(clippy::cast_possible_truncation, reason = "the bound is rounded to f32")]
pub(super) fn read(fields: Fields<'_>) -> Result<ModelConfig, LoadError> {
    let object = fields.with_defaults(&DEFAULTS);
    let fields = fields.of(&object);
    refuse_unsupported(fields)?;
    let layers = kinds(fields)?.into_iter().map(|kind| layer(fields, &kind)).collect::<Result<_, _>>()?;
    let config = common::decoder(fields, layers)?;
    Ok(ModelConfig {
        tied: fields.flag("tie_word_embeddings")?.unwrap_or(true),
        factors: Factors { embedding: common::embedding_factor(fields, config.hidden)?, ..Factors::NONE },
        logit_cap: fields.positive("final_logit_softcapping")?.map(|cap| cap as f32),
        per_layer_rows: per_layer_rows(fields, config.vocab)?,
        layer_factors: true,
        ..config
    })
}

fn layer(fields: Fields<'_>, kind: &LayerKind) -> Result<LayerConfig, LoadError> {
    let attention = attention(fields, kind)?;
    Ok(LayerConfig {
        rope: rope(fields, kind.window.is_some(), attention.shape.head_dim)?,
        attention: AttentionConfig::Grouped(attention),
        window: kind.window,
        mlp: mlp(fields, kind)?,
    })
}

/// The kinds of all layers: the last `num_kv_shared_layers` read the keys and values of the last
/// layer of the same kind before them.
fn kinds(fields: Fields<'_>) -> Result<Vec<LayerKind>, LoadError> {
    let count = common::layers(fields)?;
    let sees_window = |i: usize| !(i + 1).is_multiple_of(PATTERN) && i + 1 < count;
    let windows = common::windows(fields, common::window(fields)?, sees_window)?;
    let shared = fields.optional_size("num_kv_shared_layers", 0..=count - 1)?.unwrap_or(0);
    let own = &windows[..count - shared];
    let kind = |(index, window): (usize, &Option<usize>)| {
        if index < own.len() {
            return Ok(LayerKind { index, window: *window, keys_of: None });
        }
        let keys_of = own.iter().rposition(|of_own| of_own == window);
        let reason = || format!("layer {index} has no layer of its kind whose keys it could share");
        let keys_of = keys_of.ok_or_else(|| fields.invalid(reason()))?;
        Ok(LayerKind { index, window: *window, keys_of: Some(keys_of) })
    };
    windows.iter().enumerate().map(kind).collect()
}

fn attention(fields: Fields<'_>, kind: &LayerKind) -> Result<GroupedConfig, LoadError> {
    let takes_keys_for_values = kind.window.is_none() && fields.flag("attention_k_eq_v")?.unwrap_or(false);
    let object = layer_fields(fields, kind, takes_keys_for_values)?;
    let grouped = common::grouped(fields.of(&object), |heads| common::hidden_by_heads(fields, heads))?;
    let layout = match kind.keys_of {
        Some(keys_of) => ProjectionLayout::Queries { keys_of },
        None if takes_keys_for_values => ProjectionLayout::KeysAsValues,
        None => ProjectionLayout::Separate,
    };
    Ok(GroupedConfig { scale: 1.0, layout, head_norms: true, value_norms: true, post_norm: true, ..grouped })
}

/// The fields with the heads of one layer: those of `per_layer_config` where it has the layer, or
/// else, for layers that see all tokens, the fields that are for these.
fn layer_fields(
    fields: Fields<'_>,
    kind: &LayerKind,
    takes_keys_for_values: bool,
) -> Result<Map<String, Value>, LoadError> {
    let mut object = fields.with_defaults(&[]);
    let index = kind.index.to_string();
    if let Some(layers) = fields.object("per_layer_config", "per_layer_config.")? {
        if let Some(own) = layers.object(&index, "per_layer_config.")? {
            object.extend(own.with_defaults(&[]));
        }
    } else if kind.window.is_none() {
        let mut take = |name: &str, from| {
            if let Some(value) = fields.get(from) {
                object.insert(name.to_owned(), value.clone());
            }
        };
        take("head_dim", "global_head_dim");
        if takes_keys_for_values {
            take("num_key_value_heads", "num_global_key_value_heads");
        }
    }
    Ok(object)
}

fn rope(fields: Fields<'_>, has_window: bool, head_dim: usize) -> Result<RopeSpec, LoadError> {
    let (theta, name, path) = if has_window {
        (1e4, "sliding_attention", "rope_parameters.sliding_attention.")
    } else {
        (1e6, "full_attention", "rope_parameters.full_attention.")
    };
    let plain = RopeSpec::plain(head_dim, theta);
    let parameters = match fields.object("rope_parameters", "rope_parameters.")? {
        Some(parameters) => parameters.object(name, path)?,
        None => None,
    };
    match parameters {
        Some(parameters) => plain.with_parameters(parameters, common::context(fields)?, fields),
        None if has_window => Ok(plain),
        None => Ok(plain.proportional(0.25, 1.0)),
    }
}

fn mlp(fields: Fields<'_>, kind: &LayerKind) -> Result<MlpConfig, LoadError> {
    let is_double = kind.keys_of.is_some() && fields.flag("use_double_wide_mlp")?.unwrap_or(false);
    let width = common::intermediate(fields, "intermediate_size")?;
    let gated = GatedConfig {
        activation: GateActivation::GeluTanh,
        post_norm: true,
        ..GatedConfig::swiglu(if is_double { 2 * width } else { width })
    };
    if !fields.flag("enable_moe_block")?.unwrap_or(false) {
        return Ok(MlpConfig::Gated(gated));
    }
    let experts = fields.size("num_experts", 1..=1 << 16)?;
    let experts = ExpertsConfig {
        experts,
        per_token: fields.size("top_k_experts", 1..=experts)?,
        intermediate: common::intermediate(fields, "moe_intermediate_size")?,
        scoring: Scoring::Softmax { normalize: true },
        activation: ExpertActivation::GeGlu,
        layout: ExpertLayout::Separate { correction: false },
        shared: None,
    };
    Ok(MlpConfig::Both(gated, experts))
}

/// Rows that layers have of their own; a width of 0 means that there are none.
fn per_layer_rows(fields: Fields<'_>, vocab: usize) -> Result<Option<PerLayerRows>, LoadError> {
    let width = fields.size("hidden_size_per_layer_input", 0..=1 << 16)?;
    if width == 0 {
        return Ok(None);
    }
    let tokens = fields.size("vocab_size_per_layer_input", vocab..=1 << 24)?;
    Ok(Some(PerLayerRows { width, tokens, factor: common::embedding_factor(fields, width)? }))
}

/// Refuses features that would change results and aren't supported.
fn refuse_unsupported(fields: Fields<'_>) -> Result<(), LoadError> {
    fields.only_text("hidden_activation", "gelu_pytorch_tanh")?;
    fields.refuse_flag("attention_bias")?;
    // Text sees what is before it, whatever images do.
    fields.only_text("use_bidirectional_attention", "vision")
}
