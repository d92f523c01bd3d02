//! Tensors on their way from a checkpoint to a backend: by name, fused where the backend wants them together, counted.

use std::collections::HashSet;

use super::stored::{CodeKind, Codes, StoredMatrix, WeightRole};
use super::{Backend, LoadError, ModelConfig, Progress, Quantization, WeightTensor, Weights};

/// What a model's parts are loaded with.
pub(super) struct Loading<'a, B> {
    pub(super) backend: &'a mut B,
    weights: &'a Weights,
    quantization: Option<Quantization>,
    progress: &'a mut dyn FnMut(Progress),
    parts: usize,
    bytes: u64,
    layers: usize,
    /// Tensors that were asked for.
    used: HashSet<String>,
}

/// Named tensors that become one: (name, rows).
pub(super) type Parts = Vec<(String, usize)>;

impl<'a, B: Backend> Loading<'a, B> {
    /// The loading of a model: its parts are the embedding, each layer and the head.
    pub(super) fn new(
        backend: &'a mut B,
        config: &ModelConfig,
        weights: &'a Weights,
        progress: &'a mut dyn FnMut(Progress),
    ) -> Self {
        let (layers, quantization) = (config.layers.len(), config.quantization);
        Self { backend, weights, quantization, progress, parts: 0, bytes: 0, layers, used: HashSet::new() }
    }

    /// How experts and linear layers are stored, where not as plain numbers.
    pub(super) fn quantization(&self) -> Option<Quantization> {
        self.quantization
    }

    /// One tensor `[rows, cols]`, for a linear layer.
    pub(super) fn matrix(&mut self, name: &str, rows: usize, cols: usize) -> Result<B::Matrix, LoadError> {
        self.matrix_for(WeightRole::Linear, name, rows, cols)
    }

    /// The same, for whatever it is.
    pub(super) fn matrix_for(
        &mut self,
        role: WeightRole,
        name: &str,
        rows: usize,
        cols: usize,
    ) -> Result<B::Matrix, LoadError> {
        let stored = self.stored_matrix(name, rows, cols)?;
        self.backend.matrix(&[stored], role)
    }

    /// Several, stacked by rows.
    pub(super) fn stacked(
        &mut self,
        role: WeightRole,
        parts: &Parts,
        cols: usize,
    ) -> Result<B::Matrix, LoadError> {
        let stored = self.stored(parts, cols)?;
        self.backend.matrix(&stored, role)
    }

    /// Several, as they are stored.
    pub(super) fn stored(&mut self, parts: &Parts, cols: usize) -> Result<Vec<StoredMatrix>, LoadError> {
        parts.iter().map(|(name, rows)| self.stored_matrix(name, *rows, cols)).collect()
    }

    fn stored_matrix(&mut self, name: &str, rows: usize, cols: usize) -> Result<StoredMatrix, LoadError> {
        if !self.weights.is_fp8(name) {
            return Ok(StoredMatrix::Plain(self.tensor(name, &[rows, cols])?));
        }
        let Some(Quantization::Fp8 { block }) = self.quantization else {
            let reason = "F8_E4M3 needs \"quantization_config\" with \"quant_method\" \"fp8\" in config.json";
            return Err(self.weights.invalid(name, reason));
        };
        let codes = self.codes(name, &[rows, cols], CodeKind::E4m3)?;
        let scales = format!("{name}_scale_inv");
        let shape = [rows.div_ceil(block.0), cols.div_ceil(block.1)];
        let tensor = self.tensor(&scales, &shape)?;
        if let Some(scale) = tensor.to_f32().into_iter().find(|scale| !(scale * 448.0).is_finite()) {
            return Err(self.weights.invalid(&scales, &format!("{scale} is too large for a scale")));
        }
        Ok(StoredMatrix::Fp8 { codes, scales: tensor, block })
    }

    /// One tensor of any shape, counted.
    pub(super) fn tensor(&mut self, name: &str, shape: &[usize]) -> Result<WeightTensor, LoadError> {
        let tensor = self.weights.tensor(name, shape)?;
        self.count(name, tensor.len());
        Ok(tensor)
    }

    /// Codes of any shape, counted.
    pub(super) fn codes(&mut self, name: &str, shape: &[usize], kind: CodeKind) -> Result<Codes, LoadError> {
        let codes = self.weights.codes(name, shape, kind)?;
        self.count(name, codes.len());
        Ok(codes)
    }

    fn count(&mut self, name: &str, bytes: usize) {
        self.used.insert(name.to_owned());
        self.bytes += bytes as u64;
    }

    /// All is loaded: a tensor that nobody asked for means that the model is another one.
    pub(super) fn finish(self) -> Result<(), LoadError> {
        match self.weights.left_over(&self.used, self.layers) {
            None => Ok(()),
            Some(name) => Err(self.weights.left_over_error(name)),
        }
    }

    /// One vector.
    pub(super) fn vector(&mut self, name: &str, length: usize) -> Result<B::Vector, LoadError> {
        self.joined(&vec![(name.to_owned(), length)])
    }

    /// Several, one after the other.
    pub(super) fn joined(&mut self, parts: &Parts) -> Result<B::Vector, LoadError> {
        let tensors: Vec<WeightTensor> =
            parts.iter().map(|(name, length)| self.tensor(name, &[*length])).collect::<Result<_, _>>()?;
        self.backend.vector(&tensors)
    }

    /// One more part of the model is there.
    pub(super) fn part_done(&mut self) {
        self.parts += 1;
        let Self { parts, bytes, .. } = *self;
        // The embedding and the head, too.
        (self.progress)(Progress::Weights { parts, of: self.layers + 2, bytes });
    }
}
