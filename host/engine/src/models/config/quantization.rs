//! `quantization_config`: how a checkpoint stores the weights of its linear layers.

use serde_json::Value;

use crate::models::LoadError;
use crate::models::fields::Fields;

/// Supported formats of quantised weights.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quantization {
    /// E4M3, with a scale for each quantisation block of rows and columns. A tensor's element type
    /// says whether it is FP8.
    Fp8 {
        /// Rows and columns of a quantisation block.
        block: (usize, usize),
    },
    /// Experts are MXFP4.
    Mxfp4,
}

impl Quantization {
    pub(super) fn from_fields(fields: Fields<'_>) -> Result<Option<Self>, LoadError> {
        const PATH: &str = "quantization_config.";
        let Some(fields) = fields.object("quantization_config", PATH)? else { return Ok(None) };
        match fields.text("quant_method")? {
            Some("fp8") => Self::fp8(fields).map(Some),
            Some("mxfp4") => Ok(Some(Self::Mxfp4)),
            Some(other) => {
                let reason = format!(
                    "\"{PATH}quant_method\" {other:?} is not supported; supported: \"fp8\" in blocks, \"mxfp4\", and plain bf16, f16, f32"
                );
                Err(fields.invalid(reason))
            }
            None => Err(fields.absent("quant_method")),
        }
    }

    /// Reads FP8 in blocks. `activation_scheme` is ignored: activations are never rounded to FP8
    /// here.
    fn fp8(fields: Fields<'_>) -> Result<Self, LoadError> {
        fields.only_text("fmt", "e4m3")?;
        let expected = "two sizes of a block, from 1 to 65536";
        let Some(sizes) = fields.get("weight_block_size") else {
            return Err(fields.absent("weight_block_size"));
        };
        let size = |value: &Value| {
            value.as_u64().and_then(|n| usize::try_from(n).ok()).filter(|n| (1..=1 << 16).contains(n))
        };
        match sizes.as_array().map(Vec::as_slice) {
            Some([rows, cols]) => match (size(rows), size(cols)) {
                (Some(rows), Some(cols)) => Ok(Self::Fp8 { block: (rows, cols) }),
                _ => Err(fields.error("weight_block_size", expected, sizes)),
            },
            _ => Err(fields.error("weight_block_size", expected, sizes)),
        }
    }
}
