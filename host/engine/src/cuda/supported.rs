//! Check of a model's configuration against the kernels that exist, before any weight is loaded: an
//! unsupported size is an error of one line. A launch whose blocks need more shared memory than the
//! GPU has is an error of the start, too.

use cuda_kernels::QkNormRopeWrite;
use kernels::ggml::BlockType;

use crate::models::ops::{MlaShape, SIGMOID_EPS, Scoring};
use crate::models::{
    AttentionConfig, ExpertsConfig, LatentConfig, LoadError, MlpConfig, ModelConfig, ProjectionLayout,
    Weights,
};

/// Greatest number of experts of a layer.
pub(super) const MOST_EXPERTS: usize = 1024;
/// Greatest number of experts of a token, and of groups of experts.
const MOST_CHOSEN: usize = 32;
/// Greatest width of a compressed row, without its rotated part.
const MOST_RANK: usize = 1024;

/// What layers have that there are no kernels for.
pub(super) const DELTA: &str = "the gated delta rule (Gated DeltaNet)";
pub(super) const SHORT_CONV: &str = "short gated convolutions";
pub(super) const OUTPUT_GATES: &str = "output gates";

/// Checks that there are kernels for all layers. The width of heads is checked by `CacheShape::of`.
pub(super) fn check(config: &ModelConfig) -> Result<(), LoadError> {
    if config.per_layer_rows.is_some() {
        return Err(unsupported("per-layer embeddings"));
    }
    if config.layer_factors || config.logit_cap.is_some() {
        return Err(unsupported("factors behind layers and bounds of logits (Gemma 4)"));
    }
    config.layers.iter().try_for_each(|layer| {
        match &layer.attention {
            AttentionConfig::Delta(_) => return Err(unsupported(DELTA)),
            AttentionConfig::ShortConv(_) => return Err(unsupported(SHORT_CONV)),
            AttentionConfig::Grouped(sizes) if sizes.layout == ProjectionLayout::WithGates => {
                return Err(unsupported(OUTPUT_GATES));
            }
            AttentionConfig::Grouped(sizes) if sizes.value_norms => {
                return Err(unsupported("norms of value heads"));
            }
            AttentionConfig::Grouped(sizes) => rotated(sizes.shape.head_dim, layer.rope.rotated)?,
            AttentionConfig::Latent(sizes) => latent(sizes)?,
        }
        match &layer.mlp {
            MlpConfig::Gated(_) => Ok(()),
            MlpConfig::Both(..) => Err(unsupported("dense parts beside experts")),
            MlpConfig::Experts(sizes) if sizes.shared.is_some_and(|shared| shared.gated) => {
                Err(unsupported("gates of shared experts"))
            }
            MlpConfig::Experts(sizes) => experts(sizes, config.hidden),
        }
    })
}

/// Checks that there are kernels for all types of tensors in GGUF files: plain numbers, and experts
/// in MXFP4.
pub(super) fn check_types(config: &ModelConfig, weights: &Weights) -> Result<(), LoadError> {
    let is_taken = |tensor: &str, kind| kind == BlockType::MXFP4 && tensor.contains("_exps.");
    match weights.first_in_blocks(config.layers.len(), is_taken) {
        None => Ok(()),
        Some((file, tensor, kind)) => {
            Err(unsupported(&format!("{} blocks (tensor {tensor} of {file})", kind.name())))
        }
    }
}

/// Checks that there is a kernel that rotates this many dimensions of heads of this width.
fn rotated(head_dim: usize, rotated: usize) -> Result<(), LoadError> {
    if QkNormRopeWrite::supports(head_dim, rotated) {
        return Ok(());
    }
    Err(unsupported(&format!("the rotation of {rotated} of {head_dim} dimensions of heads")))
}

fn latent(sizes: &LatentConfig) -> Result<(), LoadError> {
    let MlaShape { rank, nope, rope, value, .. } = sizes.shape;
    let wide = [rank, nope, rope].iter().all(|width| width.is_multiple_of(8));
    if wide && value.is_multiple_of(2) && rank <= MOST_RANK {
        return Ok(());
    }
    Err(unsupported(&format!("compressed rows of {rank} for heads of {nope} + {rope} and values of {value}")))
}

fn experts(sizes: &ExpertsConfig, hidden: usize) -> Result<(), LoadError> {
    let ExpertsConfig { experts, per_token, intermediate, .. } = *sizes;
    let (groups, eps) = match sizes.scoring {
        Scoring::Sigmoid { groups, eps, .. } => (groups, eps),
        Scoring::Softmax { .. } | Scoring::SoftmaxOfChosen => (1, SIGMOID_EPS),
    };
    if eps.to_bits() != SIGMOID_EPS.to_bits() {
        return Err(unsupported(&format!("experts with {eps} beside the sum of their weights")));
    }
    if experts > MOST_EXPERTS || per_token.max(groups) > MOST_CHOSEN {
        return Err(unsupported(&format!("{per_token} of {experts} experts in {groups} groups")));
    }
    if intermediate.is_multiple_of(8) && hidden.is_multiple_of(8) {
        return Ok(());
    }
    Err(unsupported(&format!("experts of {hidden} by {intermediate}")))
}

/// What an operation does that no model needs which [`check`] lets pass.
pub(super) fn refused_at_load() -> ! {
    unreachable!("models that need it are refused at load")
}

/// Error for what no kernel supports.
pub(super) fn unsupported(what: &str) -> LoadError {
    LoadError::Unsupported { device: "cuda", what: what.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gemma4_is_refused_by_name() {
        for (kind, what) in [
            ("small", "per-layer embeddings"),
            ("large", "factors behind layers and bounds of logits (Gemma 4)"),
            ("experts", "factors behind layers and bounds of logits (Gemma 4)"),
        ] {
            let folder = format!("{}/tests/goldens/gemma4-{kind}-bf16", env!("CARGO_MANIFEST_DIR"));
            let text = std::fs::read(format!("{folder}/config.json")).unwrap();
            let error = check(&ModelConfig::parse("config.json", &text).unwrap()).unwrap_err();
            assert_eq!(error.to_string(), format!("cuda can't run {what} yet; --device cpu can"));
        }
    }
}
