//! Types of the tensors that GGUF files have, for devices that run or prefer some.

use gguf::{TensorNames, TensorType};
use kernels::ggml::BlockType;

use super::{GgufWeights, latent};
use crate::models::Weights;

impl GgufWeights {
    /// Whether most bytes are in blocks.
    pub(in crate::models) fn are_blocks(&self) -> bool {
        let of = |is_wanted: fn(&TensorType) -> bool| -> usize {
            self.tensors.values().filter(|entry| is_wanted(&entry.kind)).map(|entry| entry.range.len()).sum()
        };
        2 * of(|kind| matches!(kind, TensorType::Blocks(_))) > of(|_| true)
    }
}

impl Weights {
    /// The first tensor of GGUF files by name, of those that change results of `layers` layers, in
    /// blocks that `is_taken` says false of: its file, its name and its type. Projections of
    /// compressed rows are left out, since they are widened.
    pub(crate) fn first_in_blocks(
        &self,
        layers: usize,
        is_taken: impl Fn(&str, BlockType) -> bool,
    ) -> Option<(&str, &str, BlockType)> {
        let files = self.gguf()?;
        let of_blocks = files.tensors.iter().filter_map(|(name, entry)| match entry.kind {
            TensorType::Blocks(kind) if !is_taken(name, kind) => Some((name.as_str(), kind)),
            _ => None,
        });
        let (tensor, kind) = of_blocks
            .filter(|(name, _)| TensorNames::matters(name, layers) && !latent::is_half(name))
            .min_by_key(|(name, _)| *name)?;
        Some((files.file_of(tensor), tensor, kind))
    }
}
