//! Factors of whole matrices, which GGUF files have beside the blocks of NVFP4: `NAME.scale` for
//! `NAME.weight`, one number for each expert or a single one.

use kernels::ggml::BlockType;

use super::{GgufWeights, Source, TensorType};
use crate::models::LoadError;

impl GgufWeights {
    /// Factor of a matrix of this type; `None` if the file has none for it.
    pub(super) fn factor(&self, source: &Source, kind: BlockType) -> Result<Option<f32>, LoadError> {
        let Some(name) = self.factor_name(&source.tensor).filter(|_| kind.has_factors_of_16()) else {
            return Ok(None);
        };
        let source = Source { tensor: name, ..source.clone() };
        let raw = self.whole(&source)?;
        if raw.shape.len() != 1 {
            return Err(self.invalid(&source, "expected one dimension"));
        }
        let all = self.plain(&source, raw)?.to_f32();
        match (all.as_slice(), source.expert) {
            ([factor], None) => Ok(Some(*factor)),
            (all, Some(expert)) if expert < all.len() => Ok(Some(all[expert])),
            (all, _) => Err(self.invalid(&source, &format!("{} numbers, which fit no matrix", all.len()))),
        }
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
