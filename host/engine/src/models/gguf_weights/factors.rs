//! Factors of whole matrices, which GGUF files have beside the blocks of NVFP4: `NAME.scale` for
//! `NAME.weight`, one number for each expert or a single one.

use kernels::ggml::BlockType;

use super::{GgufWeights, Source, TensorType};
use crate::models::LoadError;

/// Greater than every value of a block: 448, the greatest factor of its 16 neighbours, times 12.
const GREATEST_VALUE: f32 = 8192.0;

impl GgufWeights {
    /// Factor of a matrix of this type; `None` if the file has none for it.
    pub(super) fn factor(&self, source: &Source, kind: BlockType) -> Result<Option<f32>, LoadError> {
        let Some(name) = self.factor_name(&source.tensor).filter(|_| kind.has_factors_of_16()) else {
            return Ok(None);
        };
        let matrices = self.whole(source)?.shape[0];
        let source = Source { tensor: name, ..source.clone() };
        let raw = self.whole(&source)?;
        let count = source.expert.map_or(1, |_| matrices);
        if raw.shape != [count] {
            let found = &raw.shape;
            return Err(self.invalid(&source, &format!("expected shape [{count}], found {found:?}")));
        }
        let factor = self.plain(&source, raw)?.to_f32()[source.expert.unwrap_or(0)];
        if (factor * GREATEST_VALUE).is_finite() {
            return Ok(Some(factor));
        }
        Err(self.invalid(&source, &format!("{factor} is too large for a factor of {}", kind.name())))
    }

    /// Refuses two matrices whose rows are to alternate, with different factors.
    pub(super) fn check_same_factor(
        &self,
        one: &Source,
        other: &Source,
        dtype: TensorType,
    ) -> Result<(), LoadError> {
        let TensorType::Blocks(kind) = dtype else { return Ok(()) };
        let bits = |source| Ok::<_, LoadError>(self.factor(source, kind)?.map(f32::to_bits));
        if bits(one)? == bits(other)? {
            return Ok(());
        }
        Err(self.invalid(other, &format!("its factor isn't that of {}, which is not supported", one.tensor)))
    }

    /// Name of the tensor with the factor of a tensor that needs one, if the file has it.
    pub(super) fn factor_name(&self, tensor: &str) -> Option<String> {
        let of_16 = |kind| matches!(kind, TensorType::Blocks(kind) if kind.has_factors_of_16());
        self.tensors.get(tensor).filter(|entry| of_16(entry.kind))?;
        let name = format!("{}.scale", tensor.strip_suffix(".weight")?);
        self.tensors.contains_key(&name).then_some(name)
    }
}
