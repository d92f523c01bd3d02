//! A model's weights by name: `model.safetensors`, the files that `model.safetensors.index.json`
//! lists, or GGUF files (`gguf_weights`). Files are mapped into memory. A tensor is returned only if its shape is the one that the
//! configuration calls for and all its elements are finite.

use std::collections::{BTreeSet, HashMap, HashSet};

use safetensors::tensor::Dtype as StoredDtype;
use serde::Deserialize;

use super::finite;
use super::gguf_weights::GgufWeights;
use super::header::{self, Entry};
use super::names;
use super::random::RandomWeights;
use super::tensor::{CodeKind, Codes, Dtype, WeightTensor};
use super::{LoadError, Quantization};
use crate::file_bytes::FileBytes;
use crate::files::ModelFiles;

/// File of the weights, where they are in one.
pub const WEIGHTS_FILE: &str = "model.safetensors";
/// File that lists the files of the weights, where there are several.
pub const WEIGHTS_INDEX: &str = "model.safetensors.index.json";

/// Source of a model's tensors: files, or random numbers.
#[derive(Debug)]
pub struct Weights(WeightSource);

#[derive(Debug)]
enum WeightSource {
    Files { described: String, files: Vec<(String, FileBytes)>, tensors: HashMap<String, (usize, Entry)> },
    Gguf(GgufWeights),
    Random(RandomWeights),
}

/// `model.safetensors.index.json`.
#[derive(Deserialize)]
struct Index {
    weight_map: HashMap<String, String>,
}

impl Index {
    /// Reads the index, whose files must be beside it.
    fn parse(files: &ModelFiles, text: &[u8]) -> Result<Self, LoadError> {
        let invalid = |reason| LoadError::invalid(files.describe(WEIGHTS_INDEX), reason);
        let index: Self =
            serde_json::from_slice(text).map_err(|error| invalid(format!("no index of weights: {error}")))?;
        let is_foreign = |c: char| matches!(c, '/' | '\\') || c.is_control();
        match index.weight_map.values().find(|file| file.contains(is_foreign) || file.starts_with('.')) {
            Some(file) => Err(invalid(format!("{file:?} is not the name of a file beside it"))),
            None => Ok(index),
        }
    }
}

impl Weights {
    /// Names of the files that hold the weights, which needn't be there.
    ///
    /// # Errors
    /// There is neither [`WEIGHTS_FILE`] nor a [`WEIGHTS_INDEX`], or the latter names a file that isn't beside
    /// it.
    pub fn file_names(files: &ModelFiles) -> Result<Vec<String>, LoadError> {
        if files.map(WEIGHTS_FILE)?.is_some() {
            return Ok(vec![WEIGHTS_FILE.to_owned()]);
        }
        match files.read(WEIGHTS_INDEX)? {
            Some(index) => {
                let Index { weight_map } = Index::parse(files, &index)?;
                Ok(weight_map.into_values().collect::<BTreeSet<_>>().into_iter().collect())
            }
            None => Err(LoadError::Missing { file: files.describe(WEIGHTS_FILE) }),
        }
    }

    /// Maps the weights of a model and checks their headers.
    pub fn open(files: &ModelFiles) -> Result<Self, LoadError> {
        if let ModelFiles::Gguf(files) = files {
            return Ok(Self(WeightSource::Gguf(GgufWeights::open(files)?)));
        }
        if let Some(bytes) = files.map(WEIGHTS_FILE)? {
            let name = files.describe(WEIGHTS_FILE);
            let entries = header::parse(&name, &bytes)?;
            let mut tensors = HashMap::new();
            for (tensor, entry) in entries {
                keep(&mut tensors, &name, &tensor, (0, entry))?;
            }
            return Ok(Self(WeightSource::Files {
                described: name.clone(),
                files: vec![(name, bytes)],
                tensors,
            }));
        }
        match files.read(WEIGHTS_INDEX)? {
            Some(index) => Self::sharded(files, &index),
            None => Err(LoadError::Missing { file: files.describe(WEIGHTS_FILE) }),
        }
    }

    /// Random bf16 weights of any model, the same for the same seed; tensors are made when they are
    /// asked for.
    pub fn random(seed: u64) -> Self {
        Self::random_as(None, seed)
    }

    /// Random weights like those of [`Self::random`], with linear layers in the format
    /// `quantization`.
    pub fn random_as(quantization: Option<Quantization>, seed: u64) -> Self {
        Self(WeightSource::Random(RandomWeights { seed, quantization }))
    }

    fn sharded(files: &ModelFiles, index: &[u8]) -> Result<Self, LoadError> {
        let described = files.describe(WEIGHTS_INDEX);
        let Index { weight_map } = Index::parse(files, index)?;
        let shards: BTreeSet<&String> = weight_map.values().collect();
        let mut mapped = Vec::new();
        let mut tensors = HashMap::new();
        for shard in shards {
            let name = files.describe(shard);
            let bytes = files.map(shard)?.ok_or_else(|| LoadError::Missing { file: name.clone() })?;
            for (tensor, entry) in header::parse(&name, &bytes)? {
                if weight_map.get(&tensor) == Some(shard) {
                    keep(&mut tensors, &name, &tensor, (mapped.len(), entry))?;
                }
            }
            mapped.push((name, bytes));
        }
        Ok(Self(WeightSource::Files { described, files: mapped, tensors }))
    }

    /// Size of the files, in bytes; 0 without files.
    pub fn file_bytes(&self) -> u64 {
        match &self.0 {
            WeightSource::Files { files, .. } => files.iter().map(|(_, bytes)| bytes.len() as u64).sum(),
            WeightSource::Gguf(weights) => weights.file_bytes(),
            WeightSource::Random(_) => 0,
        }
    }

    /// Number of elements of all tensors in GGUF files; 0 without such.
    pub(crate) fn parameters(&self) -> u64 {
        self.gguf().map_or(0, GgufWeights::parameters)
    }

    /// Releases the files' pages from this process's memory, for a caller that has copied most of
    /// the weights.
    pub(crate) fn release_pages(&self) {
        let files = match &self.0 {
            WeightSource::Files { files, .. } => files,
            WeightSource::Gguf(weights) => weights.files(),
            WeightSource::Random(_) => return,
        };
        for (_, bytes) in files {
            bytes.release_pages();
        }
    }

    /// The GGUF files, if the weights are in such.
    pub(super) fn gguf(&self) -> Option<&GgufWeights> {
        if let WeightSource::Gguf(weights) = &self.0 { Some(weights) } else { None }
    }

    /// Whether most matrices are in blocks, which are repacked whatever the options are.
    pub(crate) fn are_blocks(&self) -> bool {
        self.gguf().is_some_and(GgufWeights::are_blocks)
    }

    /// Whether the files have this tensor; false without files.
    pub(super) fn has(&self, name: &str) -> bool {
        match &self.0 {
            WeightSource::Files { tensors, .. } => tensors.contains_key(name),
            WeightSource::Gguf(weights) => weights.has(name),
            WeightSource::Random(_) => false,
        }
    }

    /// Whether a tensor is stored as FP8 codes; false for a tensor that isn't there.
    pub(super) fn is_fp8(&self, name: &str) -> bool {
        match &self.0 {
            WeightSource::Files { tensors, .. } => {
                tensors.get(name).is_some_and(|(_, entry)| entry.dtype == StoredDtype::F8_E4M3)
            }
            WeightSource::Gguf(_) => false,
            WeightSource::Random(weights) => weights.is_fp8(name),
        }
    }

    /// The tensor `name`, which must have this shape. All of it is read, so that no step waits for
    /// the disk.
    pub fn tensor(&self, name: &str, shape: &[usize]) -> Result<WeightTensor, LoadError> {
        if let Some(gguf) = self.gguf() {
            return gguf.tensor(name, shape);
        }
        let LocatedTensor { file_name, file, entry } = match self.find(name, shape)? {
            Ok(found) => found,
            Err(random) => return random.tensor(name, shape),
        };
        let dtype = match entry.dtype {
            StoredDtype::F32 => Dtype::F32,
            StoredDtype::BF16 => Dtype::Bf16,
            StoredDtype::F16 => Dtype::F16,
            other => {
                let reason = format!("tensor {name}: {other:?} is not supported; supported: F32, BF16, F16");
                return Err(LoadError::invalid(file_name, reason));
            }
        };
        let tensor =
            WeightTensor { dtype, shape: shape.to_vec(), file: file.clone(), range: entry.range.clone() };
        match finite::first_that_is_not(tensor.bytes(), dtype) {
            None => Ok(tensor),
            Some((index, value)) => Err(finite::not_a_number(file_name, name, index, &value.to_string())),
        }
    }

    /// The codes of tensor `name`, which must have this shape and none of the codes that mean no
    /// number.
    pub(crate) fn codes(&self, name: &str, shape: &[usize], kind: CodeKind) -> Result<Codes, LoadError> {
        let LocatedTensor { file_name, file, entry } = match self.find(name, shape)? {
            Ok(found) => found,
            Err(random) => return random.codes(name, shape, kind),
        };
        let stored = kind.stored_as();
        if entry.dtype != stored {
            let reason = format!("tensor {name}: expected {stored:?}, found {:?}", entry.dtype);
            return Err(LoadError::invalid(file_name, reason));
        }
        let codes =
            Codes { dtype: kind, shape: shape.to_vec(), file: file.clone(), range: entry.range.clone() };
        match kind.first_that_is_no_number(codes.bytes()) {
            None => Ok(codes),
            Some(index) => {
                let code = format!("the code {:#04x}", codes.bytes()[index]);
                Err(finite::not_a_number(file_name, name, index, &code))
            }
        }
    }

    /// Finds a tensor of this shape in the files; the inner error is the source of random tensors.
    fn find(
        &self,
        name: &str,
        shape: &[usize],
    ) -> Result<Result<LocatedTensor<'_>, &RandomWeights>, LoadError> {
        let (described, files, tensors) = match &self.0 {
            WeightSource::Files { described, files, tensors } => (described, files, tensors),
            WeightSource::Random(weights) => return Ok(Err(weights)),
            WeightSource::Gguf(weights) => return Err(weights.no_tensor(name)),
        };
        let Some((file, entry)) = tensors.get(name) else {
            return Err(LoadError::NoTensor { files: described.clone(), tensor: name.to_owned() });
        };
        let (file_name, file) = &files[*file];
        if entry.shape != shape {
            return Err(LoadError::Shape {
                file: file_name.clone(),
                tensor: name.to_owned(),
                expected: shape.to_vec(),
                found: entry.shape.clone(),
            });
        }
        Ok(Ok(LocatedTensor { file_name, file, entry }))
    }

    /// The first tensor, by name, that isn't among those `used` and makes a difference to the
    /// result of `layers` layers.
    pub(super) fn left_over(&self, used: &HashSet<String>, layers: usize) -> Option<&str> {
        let tensors = match &self.0 {
            WeightSource::Files { tensors, .. } => tensors,
            WeightSource::Gguf(weights) => return weights.left_over(used, layers),
            WeightSource::Random(_) => return None,
        };
        let unused = tensors.keys().filter(|name| !used.contains(*name));
        unused.filter(|name| names::matters(name, layers)).min().map(String::as_str)
    }

    /// Error for a tensor, with the name of its file.
    pub(super) fn invalid(&self, name: &str, reason: &str) -> LoadError {
        LoadError::invalid(self.file_of(name), format!("tensor {name}: {reason}"))
    }

    /// The error for what [`Self::left_over`] finds.
    pub(super) fn left_over_error(&self, name: &str) -> LoadError {
        let shown = header::shortened(name);
        let reason =
            format!("tensor {shown} belongs to no layer of this architecture; config.json may name another");
        LoadError::invalid(self.file_of(name), reason)
    }

    fn file_of(&self, name: &str) -> &str {
        match &self.0 {
            WeightSource::Files { files, tensors, described } => {
                tensors.get(name).map_or(described, |(file, _)| &files[*file].0)
            }
            WeightSource::Gguf(weights) => weights.file_of(name),
            WeightSource::Random(_) => "random weights",
        }
    }
}

/// Keeps a tensor of `file` under the name that it has in a model of text, if text needs it.
fn keep(
    tensors: &mut HashMap<String, (usize, Entry)>,
    file: &str,
    tensor: &str,
    entry: (usize, Entry),
) -> Result<(), LoadError> {
    let Some(name) = names::of_text(tensor) else { return Ok(()) };
    match tensors.insert(name.clone().into_owned(), entry) {
        None => Ok(()),
        Some(_) => Err(LoadError::invalid(file, format!("two tensors are {}", header::shortened(&name)))),
    }
}

/// A tensor in a file.
struct LocatedTensor<'a> {
    file_name: &'a str,
    file: &'a FileBytes,
    entry: &'a Entry,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_mean_the_same_tensor_are_an_error() {
        let entry = Entry { dtype: StoredDtype::F32, shape: vec![1], range: 0..4 };
        let mut tensors = HashMap::new();
        let mut add = |name: &str| keep(&mut tensors, "f", name, (0, entry.clone()));
        add("model.norm.weight").unwrap();
        add("model.visual.norm.weight").unwrap();
        let error = add("language_model.model.norm.weight").unwrap_err().to_string();
        assert_eq!(error, "f: two tensors are model.norm.weight");
        assert_eq!(tensors.len(), 1);
    }
}
