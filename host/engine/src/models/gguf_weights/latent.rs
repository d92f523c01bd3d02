//! The projection of compressed rows (MLA), which GGUF files have in two tensors for the absorbed
//! form of attention: that of keys transposed, that of values as it is. Joined in f32, since layers
//! widen it anyway.

use kernels::ggml::{Block, BlockType};

use super::{GgufWeights, RawTensor, Source, TensorType};
use crate::models::LoadError;
use crate::models::tensor::{Dtype, WeightTensor};

impl GgufWeights {
    /// The projection `[heads * (nope + value), rank]` of a layer, if the files have it in two
    /// tensors; `name` is the checkpoint's name of it.
    pub(super) fn joined_projection(
        &self,
        name: &str,
        (rows, rank): (usize, usize),
    ) -> Result<Option<WeightTensor>, LoadError> {
        let Some(names) = halves(name) else { return Ok(None) };
        let [Some(keys), Some(values)] = names.map(|name| self.names.find(&name)) else { return Ok(None) };
        if self.tensors.contains_key(&self.names.find(name).map(|source| source.tensor).unwrap_or_default()) {
            return Ok(None);
        }
        let [keys, values] = [keys, values].map(|source| self.whole(&source).map(|raw| (source, raw)));
        let ((key_source, keys), (value_source, values)) = (keys?, values?);
        let ([heads, _, nope], [_, value, _]) =
            (self.three(&key_source, &keys)?, self.three(&value_source, &values)?);
        let expected = [heads, value, rank];
        if heads * (nope + value) != rows || keys.shape != [heads, rank, nope] || values.shape != expected {
            return Err(LoadError::Shape {
                file: self.file_of(&key_source.tensor).to_owned(),
                tensor: key_source.tensor,
                expected: vec![heads, rank, nope],
                found: keys.shape,
            });
        }
        let (keys, values) = (self.widened(&key_source, &keys)?, self.widened(&value_source, &values)?);
        let mut joined = super::rows::memory(rows * rank * size_of::<f32>())?;
        let (to, _) = joined.as_chunks_mut();
        for (head, to) in to.chunks_exact_mut((nope + value) * rank).enumerate() {
            let (of_keys, of_values) = to.split_at_mut(nope * rank);
            for (at, to) in of_keys.iter_mut().enumerate() {
                let (row, col) = (at / rank, at % rank);
                *to = keys[(head * rank + col) * nope + row].to_le_bytes();
            }
            for (to, value) in of_values.iter_mut().zip(&values[head * value * rank..]) {
                *to = value.to_le_bytes();
            }
        }
        let file = super::rows::copied(joined);
        let range = 0..file.len();
        Ok(Some(WeightTensor { dtype: Dtype::F32, shape: vec![rows, rank], file, range }))
    }

    fn three(&self, source: &Source, raw: &RawTensor) -> Result<[usize; 3], LoadError> {
        let error = || self.invalid(source, "expected three dimensions");
        raw.shape.as_slice().try_into().map_err(|_| error())
    }

    /// All values of a tensor, which are checked.
    fn widened(&self, source: &Source, raw: &RawTensor) -> Result<Vec<f32>, LoadError> {
        match raw.dtype {
            TensorType::Blocks(kind) => {
                self.check_blocks(source, kind, raw.bytes())?;
                Ok(values_of(kind, raw.bytes()))
            }
            _ => Ok(self.plain(source, raw.clone())?.to_f32()),
        }
    }
}

/// Names of the projections of keys and of values, for the name of both.
pub(super) fn halves(name: &str) -> Option<[String; 2]> {
    let prefix = name.strip_suffix("kv_b_proj.weight")?;
    Some(["k_b_proj.weight", "v_b_proj.weight"].map(|part| format!("{prefix}{part}")))
}

/// Whether a file's tensor is the projection of keys or of values alone.
pub(super) fn is_half(tensor: &str) -> bool {
    [".attn_k_b.weight", ".attn_v_b.weight"].iter().any(|half| tensor.ends_with(half))
}

fn values_of(kind: BlockType, bytes: &[u8]) -> Vec<f32> {
    let mut values = vec![0.0; bytes.len() / kind.block_bytes() * kind.block_len()];
    let mut block = Block::default();
    let to = values.chunks_exact_mut(kind.block_len());
    for (bytes, to) in bytes.chunks_exact(kind.block_bytes()).zip(to) {
        kind.decode(bytes, &mut block);
        block.values(kind, to);
    }
    values
}
