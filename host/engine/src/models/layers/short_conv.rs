//! The short gated convolution between its projections, loaded by the tensor names of published
//! checkpoints.

use super::stream::ResidualStream;
use crate::models::config::ShortConvConfig;
use crate::models::loading::Loading;
use crate::models::ops::{Norm, ShortConvShape, ShortConvWeights, StoreMode, TensorRole};
use crate::models::{Backend, LoadError};

/// Weights of one layer.
#[derive(Debug)]
pub(super) struct ShortConvMixer<B: Backend> {
    /// Projection of both gates and of the inputs.
    projection: B::Matrix,
    projection_bias: Option<B::Vector>,
    weights: B::ShortConv,
    out: B::Matrix,
    out_bias: Option<B::Vector>,
}

/// Activations of a step.
#[derive(Debug)]
pub(super) struct ShortConvScratch<T> {
    projected: T,
    results: T,
}

impl<T> ShortConvScratch<T> {
    /// Allocates activations, of width one for a model without such layers.
    pub(super) fn new<B: Backend<Tensor = T>>(
        backend: &mut B,
        shape: Option<ShortConvShape>,
    ) -> Result<Self, LoadError> {
        let mut tensor = |width| backend.tensor(TensorRole::Inputs, width);
        let (projected, results) = shape.map_or((1, 1), |shape| (shape.projected_width(), shape.channels));
        Ok(Self { projected: tensor(projected)?, results: tensor(results)? })
    }
}

impl<B: Backend> ShortConvMixer<B> {
    /// Loads tensors whose names begin with `prefix`.
    pub(super) fn load(
        loading: &mut Loading<'_, B>,
        prefix: &str,
        ShortConvConfig { shape, bias }: ShortConvConfig,
    ) -> Result<Self, LoadError> {
        let name = |part: &str| format!("{prefix}.{part}");
        let ShortConvShape { channels, taps } = shape;
        // GGUF files leave out dimensions of one.
        let factors = if loading.is_gguf() { vec![channels, taps] } else { vec![channels, 1, taps] };
        let weights = ShortConvWeights {
            factors: loading.tensor(&name("conv.weight"), &factors)?,
            bias: bias.then(|| loading.tensor(&name("conv.bias"), &[channels])).transpose()?,
        };
        let mut vector = |part: &str, length| bias.then(|| loading.vector(&name(part), length)).transpose();
        let projection_bias = vector("in_proj.bias", shape.projected_width())?;
        let out_bias = vector("out_proj.bias", channels)?;
        Ok(Self {
            projection: loading.matrix(&name("in_proj.weight"), shape.projected_width(), channels)?,
            projection_bias,
            weights: loading.backend.short_conv_weights(shape, weights)?,
            out: loading.matrix(&name("out_proj.weight"), channels, channels)?,
            out_bias,
        })
    }

    /// Computes the layer of the norm of the stream with states of layer `layer`, and adds it to the
    /// stream.
    pub(super) fn forward(
        &self,
        backend: &mut B,
        (layer, norm): (usize, Norm<&B::Vector>),
        ShortConvScratch { projected, results }: &mut ShortConvScratch<B::Tensor>,
        stream: &mut ResidualStream<B>,
    ) {
        let bias = self.projection_bias.as_ref();
        backend.linear_of(stream.input(norm), &self.projection, bias, StoreMode::Overwrite, projected);
        backend.short_conv(layer, &self.weights, projected, results);
        stream.add_linear(backend, results, (&self.out, self.out_bias.as_ref()), None);
    }
}
