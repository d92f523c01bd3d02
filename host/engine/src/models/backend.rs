//! The seam between models and devices: fused operations on flat batches of tokens.
//!
//! A model is written once, against trait [`Backend`]. Weights and activations are allocated at
//! load. The device's runner begins a step: it gives the batch to the backend, and then the model's
//! operations run in the order of the calls. Operations return no errors (a device reports them at
//! the end) and have no parameters that depend on the step, so that a device may record them as a
//! graph and replay it.

use super::LoadError;
use super::ops::{
    AttentionSpec, DeltaShape, DeltaWeights, ExpertActivation, GateActivation, HeadNorms, LayerInput,
    MlaShape, Norm, RopeTable, Routing, ShortConvShape, ShortConvWeights, StoreMode, TensorRole,
};
use super::stored::{ExpertWeights, StoredMatrix, WeightRole};
use super::tensor::WeightTensor;

/// A device with its KV cache. `n` is the number of tokens of the step.
///
/// ```
/// use engine::models::ops::{LayerInput, Norm, StoreMode};
/// use engine::models::Backend;
///
/// /// `x += down · up · norm(x)`, on any device.
/// struct Layer<B: Backend> {
///     norm: B::Vector,
///     up: B::Matrix,
///     down: B::Matrix,
///     normed: B::Tensor,
///     wide: B::Tensor,
/// }
///
/// impl<B: Backend> Layer<B> {
///     fn forward(&mut self, backend: &mut B, x: &mut B::Tensor) {
///         let Self { norm, up, down, normed, wide } = self;
///         let norm = Norm { weight: &*norm, eps: 1e-6 };
///         backend.linear_of(LayerInput::Normed { x, norm, normed }, up, None, StoreMode::Overwrite, wide);
///         backend.linear(wide, down, None, StoreMode::Accumulate, x);
///     }
/// }
/// ```
pub trait Backend {
    /// A weight `[out, in]` in the device's own form.
    type Matrix: std::fmt::Debug;
    /// A norm's weight or a bias, f32.
    type Vector: std::fmt::Debug;
    /// Activations `[n, cols]`.
    type Tensor: std::fmt::Debug;
    /// A rotary embedding's frequencies.
    type Rope: std::fmt::Debug;

    /// The experts of a layer.
    type Experts: std::fmt::Debug;
    /// Chosen experts of the step's tokens, and their weights in the sum.
    type Routes: std::fmt::Debug;
    /// Weights that turn rows of a compressed cache into keys and values.
    type MlaWeights: std::fmt::Debug;
    /// Projection of gates whose sigmoids are factors.
    type SigmoidGate: std::fmt::Debug;
    /// Weights of a layer with the gated delta rule, apart from its projections.
    type DeltaWeights: std::fmt::Debug;
    /// Weights of a short gated convolution, apart from its projections.
    type ShortConv: std::fmt::Debug;

    /// Loads a weight from one or several parts, stacked by rows; an embedding has one part.
    fn matrix(&mut self, parts: &[StoredMatrix], role: WeightRole) -> Result<Self::Matrix, LoadError>;
    /// Loads a vector from one or several parts, concatenated.
    fn vector(&mut self, parts: &[WeightTensor]) -> Result<Self::Vector, LoadError>;
    /// Allocates activations for the largest step; their address never changes.
    fn tensor(&mut self, role: TensorRole, cols: usize) -> Result<Self::Tensor, LoadError>;
    /// Prepares a rotary embedding.
    fn rope(&mut self, table: RopeTable) -> Result<Self::Rope, LoadError>;

    /// Loads the experts of a layer, all of one shape; at most `per_token` are chosen for a token.
    fn expert_weights(
        &mut self,
        experts: &[ExpertWeights],
        per_token: usize,
        activation: ExpertActivation,
    ) -> Result<Self::Experts, LoadError>;
    /// Allocates routes for the largest step, with `per_token` experts for each token.
    fn routes(&mut self, per_token: usize) -> Result<Self::Routes, LoadError>;
    /// Loads the projection of compressed rows `[heads * (nope + value), rank]`: for each head the
    /// rows of its key, then of its value. `scale` is the factor of scores.
    fn mla_weights(
        &mut self,
        shape: MlaShape,
        scale: f32,
        projection: &StoredMatrix,
    ) -> Result<Self::MlaWeights, LoadError>;

    /// Loads the projection of gates, one for each value that they are factors of or one for a row.
    fn sigmoid_gate(&mut self, parts: &[StoredMatrix]) -> Result<Self::SigmoidGate, LoadError>;
    /// Loads the weights of a layer with the gated delta rule.
    fn delta_weights(
        &mut self,
        shape: DeltaShape,
        weights: DeltaWeights<WeightTensor>,
    ) -> Result<Self::DeltaWeights, LoadError>;
    /// Loads the weights of a short gated convolution.
    fn short_conv_weights(
        &mut self,
        shape: ShortConvShape,
        weights: ShortConvWeights<WeightTensor>,
    ) -> Result<Self::ShortConv, LoadError>;

    /// `out[i] = factor * table[tokens[i]]`.
    fn embed(&mut self, table: &Self::Matrix, factor: f32, out: &mut Self::Tensor);
    /// `out = x / sqrt(mean(x²) + eps) * weight`, for each row of as many values as the weight has.
    fn rms_norm(&mut self, x: &Self::Tensor, norm: Norm<&Self::Vector>, out: &mut Self::Tensor);
    /// `out += x / sqrt(mean(x²) + eps) * weight`, for such rows.
    fn add_rms_norm(&mut self, x: &Self::Tensor, norm: Norm<&Self::Vector>, out: &mut Self::Tensor);
    /// `out = x · weightᵀ + bias`, or `out += …`.
    fn linear(
        &mut self,
        x: &Self::Tensor,
        weight: &Self::Matrix,
        bias: Option<&Self::Vector>,
        store: StoreMode,
        out: &mut Self::Tensor,
    );
    /// [`Self::linear`] of an input that may need its norm, in one pass with the norm where the
    /// device can.
    fn linear_of(
        &mut self,
        x: LayerInput<'_, Self::Tensor, Self::Vector>,
        weight: &Self::Matrix,
        bias: Option<&Self::Vector>,
        store: StoreMode,
        out: &mut Self::Tensor,
    ) {
        let x = self.input_of(x);
        self.linear(x, weight, bias, store, out);
    }
    /// `out = activation(gate · x) * (up · x)`, for a weight of [`WeightRole::GateUp`], in one pass
    /// where the device can. Other devices keep the products in `gate_up`, which is undefined
    /// afterwards.
    fn gated(
        &mut self,
        x: LayerInput<'_, Self::Tensor, Self::Vector>,
        (weight, activation): (&Self::Matrix, GateActivation),
        gate_up: &mut Self::Tensor,
        out: &mut Self::Tensor,
    ) {
        self.linear_of(x, weight, None, StoreMode::Overwrite, gate_up);
        self.gate_mul(activation, gate_up, out);
    }
    /// Computes the norm of an input that needs one, and returns the tensor to read.
    fn input_of<'a>(&mut self, x: LayerInput<'a, Self::Tensor, Self::Vector>) -> &'a Self::Tensor {
        match x {
            LayerInput::Plain(x) => x,
            LayerInput::Normed { x, norm, normed } => {
                self.rms_norm(x, norm, normed);
                normed
            }
        }
    }
    /// Normalises (with `norms`) and rotates the query and key heads of `qkv`, scales queries by
    /// position where `rope` says so, and writes keys and values to the batch's slots.
    fn qk_norm_rope_write(
        &mut self,
        layer: usize,
        spec: AttentionSpec<&Self::Vector>,
        norms: Option<HeadNorms<&Self::Vector>>,
        rope: &Self::Rope,
        qkv: &mut Self::Tensor,
    );
    /// Normalises (with `norm`) and rotates `queries`, scales them by position where `rope` says so,
    /// for attention over keys that are in the cache already.
    fn q_norm_rope(
        &mut self,
        spec: AttentionSpec<&Self::Vector>,
        norm: Option<Norm<&Self::Vector>>,
        rope: &Self::Rope,
        queries: &mut Self::Tensor,
    );
    /// Causal attention of the queries at the beginning of each row of `qkv` over the cache.
    fn attention(
        &mut self,
        layer: usize,
        spec: AttentionSpec<&Self::Vector>,
        qkv: &Self::Tensor,
        out: &mut Self::Tensor,
    );
    /// `activation(gate) * up`, for rows of gate and up side by side.
    fn gate_mul(&mut self, activation: GateActivation, gate_up: &Self::Tensor, out: &mut Self::Tensor);
    /// `activation(gate) * up`, for the columns of `up` from the given one on.
    fn gate_mul_columns(
        &mut self,
        activation: GateActivation,
        gate: &Self::Tensor,
        up: (&Self::Tensor, usize),
        out: &mut Self::Tensor,
    );
    /// `out = 0`.
    fn clear(&mut self, out: &mut Self::Tensor);
    /// `out *= factor`.
    fn scale(&mut self, factor: f32, out: &mut Self::Tensor);
    /// Chooses experts for each token by the router's scores `[n, experts]`.
    fn route(&mut self, scores: &Self::Tensor, routing: Routing<&Self::Vector>, out: &mut Self::Routes);
    /// `out += Σ weight · expert(x)` over the chosen experts of each token.
    fn experts(
        &mut self,
        x: &Self::Tensor,
        routes: &Self::Routes,
        experts: &Self::Experts,
        out: &mut Self::Tensor,
    );
    /// Rotates the queries, normalises and rotates the rows of `kv` `[n, rank + rope]`, and writes
    /// these rows to the batch's slots.
    fn mla_write(
        &mut self,
        layer: usize,
        shape: MlaShape,
        norm: Norm<&Self::Vector>,
        rope: &Self::Rope,
        queries: &mut Self::Tensor,
        kv: &Self::Tensor,
    );
    /// Causal attention of the queries over the compressed cache.
    fn mla_attention(
        &mut self,
        layer: usize,
        weights: &Self::MlaWeights,
        queries: &Self::Tensor,
        out: &mut Self::Tensor,
    );
    /// `out *= sigmoid(x · gateᵀ)`; the products are kept in `gates`, which is undefined afterwards.
    fn sigmoid_mul(
        &mut self,
        x: &Self::Tensor,
        gate: &Self::SigmoidGate,
        gates: &mut Self::Tensor,
        out: &mut Self::Tensor,
    );
    /// Convolution, gated delta rule, norm and output gate over the states of layer `layer` among
    /// those with states: `projected` and `rates` are the results of the two projections.
    fn gated_delta(
        &mut self,
        layer: usize,
        weights: &Self::DeltaWeights,
        projected: &Self::Tensor,
        rates: &Self::Tensor,
        out: &mut Self::Tensor,
    );
    /// Short gated convolution over the states of layer `layer` among those with states.
    fn short_conv(
        &mut self,
        layer: usize,
        weights: &Self::ShortConv,
        projected: &Self::Tensor,
        out: &mut Self::Tensor,
    );
    /// `norm(x) · headᵀ` in f32 of the rows whose logits are wanted, or with a cap
    /// `cap * tanh(… / cap)`. The logits stay on the device, for its sampler.
    fn logits(&mut self, x: &Self::Tensor, norm: Norm<&Self::Vector>, head: &Self::Matrix, cap: Option<f32>);
}
