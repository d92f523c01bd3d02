//! A model's weights by name: `model.safetensors`, or the files that `model.safetensors.index.json` lists. Mapped, not read;
//! a tensor's shape is compared with what the configuration calls for, and all its elements are finite, before anybody sees
//! its bytes.

use std::collections::{BTreeSet, HashMap};

use safetensors::tensor::Dtype as StoredDtype;
use serde::Deserialize;

use super::LoadError;
use super::finite;
use super::header::{self, Entry};
use super::random::RandomWeights;
use super::tensor::{Dtype, WeightTensor};
use crate::files::{FileBytes, ModelFiles};

const SINGLE: &str = "model.safetensors";
const INDEX: &str = "model.safetensors.index.json";

/// Where tensors come from.
#[derive(Debug)]
pub struct Weights(Source);

#[derive(Debug)]
enum Source {
    Files { described: String, files: Vec<(String, FileBytes)>, tensors: HashMap<String, (usize, Entry)> },
    Random(RandomWeights),
}

/// `model.safetensors.index.json`.
#[derive(Deserialize)]
struct Index {
    weight_map: HashMap<String, String>,
}

impl Weights {
    /// Maps the weights of a model and checks their headers.
    pub fn open(files: &ModelFiles) -> Result<Self, LoadError> {
        if let Some(bytes) = files.map(SINGLE)? {
            let name = files.describe(SINGLE);
            let entries = header::parse(&name, &bytes)?;
            let tensors = entries.into_iter().map(|(tensor, entry)| (tensor, (0, entry))).collect();
            return Ok(Self(Source::Files { described: name.clone(), files: vec![(name, bytes)], tensors }));
        }
        match files.read(INDEX)? {
            Some(index) => Self::sharded(files, &index),
            None => Err(LoadError::Missing { file: files.describe(SINGLE) }),
        }
    }

    /// Random bf16 weights of any model, the same for the same seed; tensors are made when they are asked for.
    pub fn random(seed: u64) -> Self {
        Self(Source::Random(RandomWeights { seed }))
    }

    fn sharded(files: &ModelFiles, index: &[u8]) -> Result<Self, LoadError> {
        let described = files.describe(INDEX);
        let Index { weight_map } = serde_json::from_slice(index)
            .map_err(|error| LoadError::invalid(&described, format!("no index of weights: {error}")))?;
        let shards: BTreeSet<&String> = weight_map.values().collect();
        let mut mapped = Vec::new();
        let mut tensors = HashMap::new();
        for shard in shards {
            if shard.contains(['/', '\\']) || shard.starts_with('.') {
                let reason = format!("{shard:?} is not the name of a file beside it");
                return Err(LoadError::invalid(&described, reason));
            }
            let name = files.describe(shard);
            let bytes = files.map(shard)?.ok_or_else(|| LoadError::Missing { file: name.clone() })?;
            for (tensor, entry) in header::parse(&name, &bytes)? {
                if weight_map.get(&tensor) == Some(shard) {
                    tensors.insert(tensor, (mapped.len(), entry));
                }
            }
            mapped.push((name, bytes));
        }
        Ok(Self(Source::Files { described, files: mapped, tensors }))
    }

    /// The tensor `name`, which must have this shape. All of it is read, so that no step waits for the disk.
    pub fn tensor(&self, name: &str, shape: &[usize]) -> Result<WeightTensor, LoadError> {
        let (described, files, tensors) = match &self.0 {
            Source::Files { described, files, tensors } => (described, files, tensors),
            Source::Random(weights) => return weights.tensor(name, shape),
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
            Some((index, value)) => {
                let reason = format!("tensor {name}: element {index} is {value}; get the file anew");
                Err(LoadError::invalid(file_name, reason))
            }
        }
    }
}
