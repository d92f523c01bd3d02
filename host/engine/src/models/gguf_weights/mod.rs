//! Weights in GGUF files, by the names of the original checkpoint. Rows that the file has in
//! another order are copied; all else stays where the file has it.
//!
//! Invariant: what is returned has the shape that the configuration calls for, the order of rows
//! that layers expect, and finite values only.

mod factors;
mod latent;
mod rows;
mod types;

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use gguf::{RowOrder, Source, TensorNames, TensorType};
use kernels::ggml::BlockType;

use self::rows::{alternate, half_of_each_head, mxfp4, without_neighbours};
use super::LoadError;
use super::finite;
use super::stored::StoredMatrix;
use super::tensor::{BlockDtype, BlockTensor, CodeKind, Codes, Dtype, StoredTensor, WeightTensor};
use crate::file_bytes::FileBytes;
use crate::gguf_files::GgufFiles;
use crate::parallel;

/// Tensors of GGUF files.
#[derive(Debug)]
pub(super) struct GgufWeights {
    /// The file, or the first part, for messages.
    described: String,
    files: Vec<(String, FileBytes)>,
    names: TensorNames,
    /// By the files' own names.
    tensors: HashMap<String, PlacedTensor>,
}

#[derive(Debug)]
struct PlacedTensor {
    part: usize,
    kind: TensorType,
    shape: Vec<usize>,
    range: Range<usize>,
}

/// A tensor as a file has it.
type RawTensor = StoredTensor<TensorType>;

impl GgufWeights {
    pub(super) fn open(files: &GgufFiles) -> Result<Self, LoadError> {
        let (names, tensors) = files.parsed(|gguf| {
            let entry = |(part, tensor): &(usize, gguf::TensorInfo<'_>)| {
                let gguf::TensorInfo { name, kind, shape, range } = tensor.clone();
                (name.to_owned(), PlacedTensor { part: *part, kind, shape, range })
            };
            Ok((TensorNames::of(gguf)?, gguf.tensors().map(entry).collect()))
        })?;
        let (described, files) = (files.path().display().to_string(), files.parts().to_vec());
        Ok(Self { described, files, names, tensors })
    }

    pub(super) fn files(&self) -> &[(String, FileBytes)] {
        &self.files
    }

    pub(super) fn file_bytes(&self) -> u64 {
        self.files.iter().map(|(_, bytes)| bytes.len() as u64).sum()
    }

    /// Number of elements of all tensors.
    pub(super) fn parameters(&self) -> u64 {
        let elements = |tensor: &PlacedTensor| tensor.shape.iter().map(|n| *n as u64).product::<u64>();
        self.tensors.values().map(elements).sum()
    }

    /// The tensor `name` of plain numbers, which must have this shape.
    pub(super) fn tensor(&self, name: &str, shape: &[usize]) -> Result<WeightTensor, LoadError> {
        let (source, raw) = self.raw(name, shape)?;
        self.plain(&source, raw)
    }

    /// The matrix `name`, which must have this shape.
    pub(super) fn matrix(&self, name: &str, shape: (usize, usize)) -> Result<StoredMatrix, LoadError> {
        if let Some(projection) = self.joined_projection(name, shape)? {
            return Ok(StoredMatrix::Plain(projection));
        }
        let (source, raw) = self.raw(name, &[shape.0, shape.1])?;
        self.stored(&source, raw)
    }

    /// Two matrices of this shape as one whose rows alternate: the first has the even ones.
    pub(super) fn alternating_matrix(
        &self,
        names: [&str; 2],
        shape: (usize, usize),
    ) -> Result<StoredMatrix, LoadError> {
        let (source, raw) = self.alternating(names, &[shape.0, shape.1])?;
        self.stored(&source, raw)
    }

    /// Two vectors of this length as one whose elements alternate.
    pub(super) fn alternating_vector(
        &self,
        names: [&str; 2],
        length: usize,
    ) -> Result<WeightTensor, LoadError> {
        let (source, raw) = self.alternating(names, &[length])?;
        self.plain(&source, raw)
    }

    fn alternating(&self, names: [&str; 2], shape: &[usize]) -> Result<(Source, RawTensor), LoadError> {
        let (source, even) = self.raw(names[0], shape)?;
        let (other, odd) = self.raw(names[1], shape)?;
        if even.dtype != odd.dtype {
            let (a, b) = (even.dtype.name(), odd.dtype.name());
            let reason = format!("type {b}, but {} is {a}: they must be of one type", source.tensor);
            return Err(self.invalid(&other, &reason));
        }
        self.check_same_factor(&source, &other, even.dtype)?;
        let file = alternate(even.bytes(), odd.bytes(), even.len() / shape[0])?;
        let (shape, range) = ([&[2 * shape[0]], &shape[1..]].concat(), 0..file.len());
        Ok((source, RawTensor { dtype: even.dtype, shape, file, range }))
    }

    /// A matrix as layers take it.
    fn stored(&self, source: &Source, raw: RawTensor) -> Result<StoredMatrix, LoadError> {
        match raw.dtype {
            TensorType::Blocks(kind) => {
                self.check_blocks(source, kind, raw.bytes())?;
                let factor = self.factor(source, kind)?;
                let RawTensor { shape, file, range, .. } = raw;
                let blocks = StoredTensor { dtype: BlockDtype { kind, factor }, shape, file, range };
                if kind == BlockType::MXFP4 {
                    separate_scales(&blocks)
                } else {
                    Ok(StoredMatrix::Blocks(blocks))
                }
            }
            _ => Ok(StoredMatrix::Plain(self.plain(source, raw)?)),
        }
    }

    fn plain(&self, source: &Source, raw: RawTensor) -> Result<WeightTensor, LoadError> {
        let dtype = match raw.dtype {
            TensorType::F32 => Dtype::F32,
            TensorType::F16 => Dtype::F16,
            TensorType::Bf16 => Dtype::Bf16,
            TensorType::Blocks(kind) => {
                let reason = format!("{} is not supported here; supported: F32, BF16, F16", kind.name());
                return Err(self.invalid(source, &reason));
            }
        };
        let RawTensor { shape, file, range, .. } = raw;
        let tensor = WeightTensor { dtype, shape, file, range };
        match finite::first_that_is_not(tensor.bytes(), dtype) {
            None => Ok(tensor),
            Some((index, value)) => {
                let file = self.file_of(&source.tensor);
                Err(finite::not_a_number(file, &source.tensor, index, &value.to_string()))
            }
        }
    }

    /// The tensor `name` of this shape, its rows in the order of the checkpoint. Files lack dimensions
    /// of one.
    fn raw(&self, name: &str, shape: &[usize]) -> Result<(Source, RawTensor), LoadError> {
        let source = self.names.find(name).ok_or_else(|| self.no_tensor(name))?;
        let whole = self.whole(&source)?;
        let raw = match source.expert {
            Some(expert) if expert < whole.shape[0] && whole.shape.len() > 1 => whole.index(expert),
            Some(_) => return Err(self.no_tensor(name)),
            None => whole,
        };
        let mut expected = shape.to_vec();
        if let RowOrder::HalfOfEachHead { .. } = source.rows {
            expected[0] *= 2;
        }
        let without_ones =
            |shape: &[usize]| -> Vec<usize> { shape.iter().copied().filter(|size| *size != 1).collect() };
        if without_ones(&raw.shape) != without_ones(&expected) {
            return Err(LoadError::Shape {
                file: self.file_of(&source.tensor).to_owned(),
                tensor: source.tensor,
                expected,
                found: raw.shape,
            });
        }
        let raw = RawTensor { shape: shape.to_vec(), ..raw };
        let file = match source.rows {
            RowOrder::AsInCheckpoint => return Ok((source, raw)),
            RowOrder::Neighbours { heads } => without_neighbours(raw.bytes(), shape[0], heads)?,
            RowOrder::HalfOfEachHead { heads, second } => half_of_each_head(raw.bytes(), heads, second)?,
        };
        let range = 0..file.len();
        Ok((source, RawTensor { file, range, ..raw }))
    }

    /// Whether the files have a tensor for this name.
    pub(super) fn has(&self, name: &str) -> bool {
        self.names.find(name).is_some_and(|source| self.tensors.contains_key(&source.tensor))
    }

    /// A tensor as a file has it.
    fn whole(&self, source: &Source) -> Result<RawTensor, LoadError> {
        let entry = self.tensors.get(&source.tensor).ok_or_else(|| self.no_tensor(&source.tensor))?;
        let PlacedTensor { part, kind, shape, range } = entry;
        let file = self.files[*part].1.clone();
        Ok(RawTensor { dtype: *kind, shape: shape.clone(), file, range: range.clone() })
    }

    /// Checks that all values of blocks are finite. All of them are read, so that no step waits for
    /// the disk.
    fn check_blocks(&self, source: &Source, kind: BlockType, bytes: &[u8]) -> Result<(), LoadError> {
        let size = kind.block_bytes();
        let first = |offset: usize, chunk: &[u8]| {
            // Chunks begin anywhere; a block belongs to the one that has its first byte.
            let begin = offset.next_multiple_of(size);
            let blocks = bytes[begin..(offset + chunk.len()).max(begin)].len().div_ceil(size);
            let mut blocks = (0..blocks).map(|i| begin + i * size);
            blocks.find(|at| !kind.is_finite(&bytes[*at..*at + size]))
        };
        match parallel::map_chunks(bytes, first).into_iter().flatten().next() {
            None => Ok(()),
            Some(at) => {
                let reason = format!("block {} is not of numbers; get the file anew", at / size);
                Err(self.invalid(source, &reason))
            }
        }
    }

    /// The first tensor of the files that none of the names `used` leads to, though it makes a
    /// difference to the result of `layers` layers.
    pub(super) fn left_over(&self, used: &HashSet<String>, layers: usize) -> Option<&str> {
        let halves = used.iter().filter_map(|name| latent::halves(name)).flatten();
        let used = used.iter().cloned().chain(halves);
        let used = used.filter_map(|name| self.names.find(&name)).map(|source| source.tensor);
        let used: HashSet<String> =
            used.flat_map(|tensor| [self.factor_name(&tensor), Some(tensor)]).flatten().collect();
        let unused = self.tensors.keys().filter(|name| !used.contains(*name));
        unused.filter(|name| TensorNames::matters(name, layers)).min().map(String::as_str)
    }

    pub(super) fn no_tensor(&self, name: &str) -> LoadError {
        LoadError::NoTensor { files: self.described.clone(), tensor: name.to_owned() }
    }

    pub(super) fn file_of(&self, tensor: &str) -> &str {
        self.tensors.get(tensor).map_or(&self.described, |entry| &self.files[entry.part].0)
    }

    fn invalid(&self, Source { tensor, .. }: &Source, reason: &str) -> LoadError {
        LoadError::invalid(self.file_of(tensor), format!("tensor {tensor}: {reason}"))
    }
}

/// MXFP4 as other checkpoints store it: neighbours in a byte, scales for themselves.
fn separate_scales(blocks: &BlockTensor) -> Result<StoredMatrix, LoadError> {
    let (codes, scales) = mxfp4(blocks.bytes())?;
    let (rows, groups) = (blocks.shape[0], scales.len() / blocks.shape[0]);
    let tensor = |dtype, file: FileBytes, shape| {
        let range = 0..file.len();
        Codes { dtype, shape, file, range }
    };
    Ok(StoredMatrix::Mxfp4 {
        codes: tensor(CodeKind::E2m1Pairs, codes, vec![rows, groups, 16]),
        scales: tensor(CodeKind::E8m0, scales, vec![rows, groups]),
    })
}
