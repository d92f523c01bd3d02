//! The residual stream: layers read its norm and add their results to it.
//!
//! A model with a factor for all that layers add keeps the stream divided by that factor: then
//! results are added as they are. Norms don't see a difference, since the constant that they add is
//! divided likewise ([`Loading::stream_norm`](crate::models::loading::Loading::stream_norm)).

use crate::models::ops::{LayerInput, Norm, StoreMode, TensorRole};
use crate::models::{Backend, LoadError};

/// The stream of a step, and buffers of its width.
#[derive(Debug)]
pub(in crate::models) struct ResidualStream<B: Backend> {
    pub(in crate::models) hidden: B::Tensor,
    pub(super) normed: B::Tensor,
    /// Results that have a norm before they are added; of width one for a model without such norms.
    pub(super) result: B::Tensor,
}

impl<B: Backend> ResidualStream<B> {
    /// Allocates a stream of this width.
    pub(in crate::models) fn new(backend: &mut B, width: usize, post_norms: bool) -> Result<Self, LoadError> {
        Ok(Self {
            hidden: backend.tensor(TensorRole::Sums, width)?,
            normed: backend.tensor(TensorRole::Inputs, width)?,
            result: backend.tensor(TensorRole::Sums, if post_norms { width } else { 1 })?,
        })
    }

    /// The norm of the stream, as the input of a linear layer.
    pub(super) fn input<'a>(&'a mut self, norm: Norm<&'a B::Vector>) -> LayerInput<'a, B::Tensor, B::Vector> {
        LayerInput::Normed { x: &self.hidden, norm, normed: &mut self.normed }
    }

    /// Computes the norm of the stream, for several readers.
    pub(super) fn normalize(&mut self, backend: &mut B, norm: Norm<&B::Vector>) {
        backend.rms_norm(&self.hidden, norm, &mut self.normed);
    }

    /// Adds the result of a linear layer, or the norm of the result.
    pub(super) fn add_linear(
        &mut self,
        backend: &mut B,
        x: &B::Tensor,
        (weight, bias): (&B::Matrix, Option<&B::Vector>),
        post_norm: Option<Norm<&B::Vector>>,
    ) {
        match post_norm {
            None => backend.linear(x, weight, bias, StoreMode::Accumulate, &mut self.hidden),
            Some(norm) => {
                backend.linear(x, weight, bias, StoreMode::Overwrite, &mut self.result);
                backend.add_rms_norm(&self.result, norm, &mut self.hidden);
            }
        }
    }
}
