//! Tensors on their way from a checkpoint to a backend: by name, fused where the backend wants them together, counted.

use super::{Backend, LoadError, Progress, WeightTensor, Weights};

/// What a model's parts are loaded with.
pub(super) struct Loading<'a, B> {
    pub(super) backend: &'a mut B,
    weights: &'a Weights,
    progress: &'a mut dyn FnMut(Progress),
    done: Progress,
}

/// Named tensors that become one: (name, rows).
pub(super) type Parts = Vec<(String, usize)>;

impl<'a, B: Backend> Loading<'a, B> {
    /// The loading of a model of `of` parts.
    pub(super) fn new(
        backend: &'a mut B,
        weights: &'a Weights,
        of: usize,
        progress: &'a mut dyn FnMut(Progress),
    ) -> Self {
        Self { backend, weights, progress, done: Progress { parts: 0, of, bytes: 0 } }
    }

    /// One tensor `[rows, cols]`.
    pub(super) fn matrix(&mut self, name: &str, rows: usize, cols: usize) -> Result<B::Matrix, LoadError> {
        self.stacked(&vec![(name.to_owned(), rows)], cols)
    }

    /// Several, stacked by rows.
    pub(super) fn stacked(&mut self, parts: &Parts, cols: usize) -> Result<B::Matrix, LoadError> {
        let tensors = self.tensors(parts, &[cols])?;
        self.backend.matrix(&tensors)
    }

    /// One vector.
    pub(super) fn vector(&mut self, name: &str, length: usize) -> Result<B::Vector, LoadError> {
        self.joined(&vec![(name.to_owned(), length)])
    }

    /// Several, one after the other.
    pub(super) fn joined(&mut self, parts: &Parts) -> Result<B::Vector, LoadError> {
        let tensors = self.tensors(parts, &[])?;
        self.backend.vector(&tensors)
    }

    /// One more part of the model is there.
    pub(super) fn part_done(&mut self) {
        self.done.parts += 1;
        (self.progress)(self.done);
    }

    fn tensors(&mut self, parts: &Parts, rest: &[usize]) -> Result<Vec<WeightTensor>, LoadError> {
        let mut tensors = Vec::new();
        for (name, first) in parts {
            let tensor = self.weights.tensor(name, &[&[*first], rest].concat())?;
            self.done.bytes += tensor.bytes().len() as u64;
            tensors.push(tensor);
        }
        Ok(tensors)
    }
}
