//! Loads tensors from a checkpoint to a backend: by name, fused where a layer wants them as one
//! weight, and counted.

use std::collections::HashSet;

use super::gguf_weights::GgufWeights;
use super::ops::Norm;
use super::stored::{StoredMatrix, WeightRole};
use super::tensor::{CodeKind, Codes};
use super::{Backend, EngineProgress, LoadError, ModelConfig, Quantization, WeightTensor, Weights};

/// Loader of a model's parts.
pub(super) struct Loading<'a, B> {
    pub(super) backend: &'a mut B,
    weights: &'a Weights,
    quantization: Option<Quantization>,
    norms: NormConstants,
    progress: &'a mut dyn FnMut(EngineProgress),
    parts: usize,
    bytes: u64,
    layers: usize,
    /// Names of the tensors that were read.
    used: HashSet<String>,
}

/// What is done to norms when they are loaded.
#[derive(Debug, Clone, Copy)]
struct NormConstants {
    /// Added to weights.
    offset: f32,
    /// Added to the mean square.
    eps: f32,
    /// Added to the mean square of the residual stream, as the stream is kept.
    stream_eps: f32,
}

/// Named tensors that become one: (name, rows).
pub(super) type Parts = Vec<(String, usize)>;

impl<'a, B: Backend> Loading<'a, B> {
    /// Loader of a model, whose parts are the embedding, each layer and the head.
    pub(super) fn new(
        backend: &'a mut B,
        config: &ModelConfig,
        weights: &'a Weights,
        progress: &'a mut dyn FnMut(EngineProgress),
    ) -> Self {
        let eps = config.rms_norm_eps;
        let stream_eps = eps / config.factors.residual.powi(2);
        Self {
            backend,
            weights,
            quantization: config.quantization,
            norms: NormConstants { offset: config.norm_offset, eps, stream_eps },
            progress,
            parts: 0,
            bytes: 0,
            layers: config.layers.len(),
            used: HashSet::new(),
        }
    }

    /// Whether the checkpoint has this tensor; false for random weights.
    pub(super) fn has(&self, name: &str) -> bool {
        self.weights.has(name)
    }

    /// Format of quantised weights; `None`: weights are plain numbers.
    pub(super) fn quantization(&self) -> Option<Quantization> {
        self.quantization
    }

    /// Loads one tensor `[rows, cols]` for a linear layer.
    pub(super) fn matrix(&mut self, name: &str, rows: usize, cols: usize) -> Result<B::Matrix, LoadError> {
        self.matrix_for(WeightRole::Linear, name, rows, cols)
    }

    /// Loads one tensor `[rows, cols]` for any role.
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

    /// Loads several tensors as one matrix, stacked by rows.
    pub(super) fn stacked(
        &mut self,
        role: WeightRole,
        parts: &Parts,
        cols: usize,
    ) -> Result<B::Matrix, LoadError> {
        let stored = self.stored(parts, cols)?;
        self.backend.matrix(&stored, role)
    }

    /// Reads several matrices as they are stored.
    pub(super) fn stored(&mut self, parts: &Parts, cols: usize) -> Result<Vec<StoredMatrix>, LoadError> {
        parts.iter().map(|(name, rows)| self.stored_matrix(name, *rows, cols)).collect()
    }

    /// Reads a tensor `[parts * rows, cols]` as `parts` matrices.
    pub(super) fn stored_parts(
        &mut self,
        name: &str,
        parts: usize,
        rows: usize,
        cols: usize,
    ) -> Result<Vec<StoredMatrix>, LoadError> {
        let reason = || format!("its rows can't be cut into parts of {rows}");
        let whole = self.stored_matrix(name, parts * rows, cols)?;
        whole.row_parts(parts).ok_or_else(|| self.weights.invalid(name, &reason()))
    }

    fn stored_matrix(&mut self, name: &str, rows: usize, cols: usize) -> Result<StoredMatrix, LoadError> {
        if let Some(gguf) = self.weights.gguf() {
            let stored = gguf.matrix(name, (rows, cols))?;
            self.count(name, stored.stored_bytes());
            return Ok(stored);
        }
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

    /// Whether the weights are in GGUF files.
    pub(super) fn is_gguf(&self) -> bool {
        self.weights.gguf().is_some()
    }

    /// Reads two matrices as one whose rows alternate, from GGUF files.
    pub(super) fn alternating_matrix(
        &mut self,
        names: [&str; 2],
        shape: (usize, usize),
    ) -> Result<StoredMatrix, LoadError> {
        let stored = self.in_gguf(names)?.alternating_matrix(names, shape)?;
        self.count_all(names, stored.stored_bytes());
        Ok(stored)
    }

    /// Reads two vectors as one whose elements alternate, from GGUF files.
    pub(super) fn alternating_vector(
        &mut self,
        names: [&str; 2],
        length: usize,
    ) -> Result<WeightTensor, LoadError> {
        let tensor = self.in_gguf(names)?.alternating_vector(names, length)?;
        self.count_all(names, tensor.len());
        Ok(tensor)
    }

    fn in_gguf(&self, names: [&str; 2]) -> Result<&'a GgufWeights, LoadError> {
        self.weights.gguf().ok_or_else(|| self.weights.invalid(names[0], "only GGUF files have it"))
    }

    fn count_all(&mut self, names: [&str; 2], bytes: usize) {
        self.used.extend(names.map(str::to_owned));
        self.bytes += bytes as u64;
    }

    /// Reads one tensor of any shape, and counts it.
    pub(super) fn tensor(&mut self, name: &str, shape: &[usize]) -> Result<WeightTensor, LoadError> {
        let tensor = self.weights.tensor(name, shape)?;
        self.count(name, tensor.len());
        Ok(tensor)
    }

    /// Reads codes of any shape, and counts them.
    pub(super) fn codes(&mut self, name: &str, shape: &[usize], kind: CodeKind) -> Result<Codes, LoadError> {
        let codes = self.weights.codes(name, shape, kind)?;
        self.count(name, codes.len());
        Ok(codes)
    }

    fn count(&mut self, name: &str, bytes: usize) {
        if self.used.insert(name.to_owned()) {
            self.bytes += bytes as u64;
        }
    }

    /// Passes over a tensor that checkpoints may have without any use.
    pub(super) fn ignore(&mut self, name: String) {
        self.used.insert(name);
    }

    /// Ends the loading. A tensor that wasn't read is an error: it means that the model has another
    /// architecture.
    pub(super) fn finish(self) -> Result<(), LoadError> {
        match self.weights.left_over(&self.used, self.layers) {
            None => Ok(()),
            Some(name) => Err(self.weights.left_over_error(name)),
        }
    }

    /// Loads one vector.
    pub(super) fn vector(&mut self, name: &str, length: usize) -> Result<B::Vector, LoadError> {
        self.joined(&vec![(name.to_owned(), length)])
    }

    /// Loads a norm.
    pub(super) fn norm(&mut self, name: &str, width: usize) -> Result<Norm<B::Vector>, LoadError> {
        let weight = self.norm_weight(name, width, 1.0)?;
        Ok(Norm { weight, eps: self.norms.eps })
    }

    /// Loads a norm whose results are multiplied by `factor`; `eps_factor` is that of the constant
    /// added to the mean square.
    pub(super) fn scaled_norm(
        &mut self,
        name: &str,
        width: usize,
        factor: f32,
        eps_factor: f32,
    ) -> Result<Norm<B::Vector>, LoadError> {
        let weight = self.norm_weight(name, width, factor)?;
        Ok(Norm { weight, eps: self.norms.eps * eps_factor })
    }

    /// Loads a norm of the residual stream, which is kept divided by the factor of all that layers
    /// add to it.
    pub(super) fn stream_norm(&mut self, name: &str, width: usize) -> Result<Norm<B::Vector>, LoadError> {
        self.scaled_stream_norm(name, width, 1.0)
    }

    /// Loads a norm of the residual stream whose results are multiplied by `factor`.
    pub(super) fn scaled_stream_norm(
        &mut self,
        name: &str,
        width: usize,
        factor: f32,
    ) -> Result<Norm<B::Vector>, LoadError> {
        let weight = self.norm_weight(name, width, factor)?;
        Ok(Norm { weight, eps: self.norms.stream_eps })
    }

    fn norm_weight(&mut self, name: &str, width: usize, factor: f32) -> Result<B::Vector, LoadError> {
        let offset = self.norms.offset;
        let weight = self.tensor(name, &[width])?.map(|weight| (weight + offset) * factor);
        self.backend.vector(&[weight])
    }

    /// Loads a norm whose weight nothing is added to.
    pub(super) fn plain_norm(&mut self, name: &str, width: usize) -> Result<(WeightTensor, f32), LoadError> {
        Ok((self.tensor(name, &[width])?, self.norms.eps))
    }

    /// Loads several vectors as one, concatenated.
    pub(super) fn joined(&mut self, parts: &Parts) -> Result<B::Vector, LoadError> {
        let tensors: Vec<WeightTensor> =
            parts.iter().map(|(name, length)| self.tensor(name, &[*length])).collect::<Result<_, _>>()?;
        self.backend.vector(&tensors)
    }

    /// Reports that one more part of the model is loaded.
    pub(super) fn part_done(&mut self) {
        self.parts += 1;
        let Self { parts, bytes, .. } = *self;
        // Two parts beside the layers: the embedding and the head.
        (self.progress)(EngineProgress::Weights { parts, of: self.layers + 2, bytes });
    }
}
