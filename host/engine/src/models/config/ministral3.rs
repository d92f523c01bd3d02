//! Ministral 3: as Mistral, with queries that are scaled by their position beyond the context that
//! the model was trained on.

use super::llama;
use super::{LayerConfig, ModelConfig};
use crate::models::LoadError;
use crate::models::fields::Fields;
use crate::models::ops::{QueryScaling, RopeSpec};

#[expect(clippy::cast_possible_truncation, reason = "contexts are below 2³², factors are rounded to f32")]
pub(super) fn read(fields: Fields<'_>) -> Result<ModelConfig, LoadError> {
    let config = llama::read_mistral(fields)?;
    let Some(parameters) = RopeSpec::parameters(fields)? else { return Ok(config) };
    let Some(beta) = parameters.positive("llama_4_scaling_beta")? else { return Ok(config) };
    let original = parameters.size("original_max_position_embeddings", 1..=1 << 26)?;
    let scaling = QueryScaling { beta: beta as f32, original: original as u32 };
    let scaled = |layer: LayerConfig| {
        let rope = RopeSpec { query_scaling: Some(scaling), ..layer.rope };
        LayerConfig { rope, ..layer }
    };
    Ok(ModelConfig { layers: config.layers.into_iter().map(scaled).collect(), ..config })
}
