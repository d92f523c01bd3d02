//! Backend that wraps another one and measures its operations: the time of each kind, and the bytes
//! of weights and KV cache that it reads.
//!
//! Invariant: while nothing is measured, an operation costs one more check of a field. A time is
//! that of the call, so it is meaningful only for devices whose calls return when their work is
//! done. Used by benchmarks.

use std::time::Instant;

use super::costs::{OpCosts, OpKind};
use super::ops::{
    AttentionSpec, DeltaShape, DeltaWeights, ExpertActivation, GateActivation, HeadNorms, MlaShape, Norm,
    RopeTable, Routing, ShortConvShape, ShortConvWeights, StoreMode, TensorRole,
};
use super::stored::{ExpertWeights, StoredMatrix, WeightRole};
use super::tensor::WeightTensor;
use super::{Backend, LoadError};

/// Number of bytes that operations of the current step read.
pub(crate) trait TrafficCounter: Backend {
    /// Bytes of a matrix, in the form in which it is read.
    fn matrix_bytes(&self, matrix: &Self::Matrix) -> u64;
    /// Bytes of the head; 0 where no row's logits are wanted.
    fn head_bytes(&self, head: &Self::Matrix) -> u64;
    /// Bytes of the experts that at least one token goes to.
    fn experts_bytes(&self, experts: &Self::Experts, routes: &Self::Routes) -> u64;
    /// Bytes of the projection of compressed rows.
    fn mla_bytes(&self, weights: &Self::MlaWeights) -> u64;
    /// Bytes of the projection of gates.
    fn gate_bytes(&self, gate: &Self::SigmoidGate) -> u64;
    /// Bytes of one layer's states of the step's sequences.
    fn state_bytes(&self) -> u64;
    /// Bytes of a layer's KV cache that the step's sequences see: for each sequence its last
    /// `window` tokens, or all.
    fn cache_bytes(&self, layer: usize, window: Option<usize>) -> u64;
}

/// Backend that measures the operations of `inner`.
#[derive(Debug)]
pub(crate) struct TimedBackend<B> {
    inner: B,
    /// `None`: nothing is measured.
    costs: Option<Box<OpCosts>>,
}

impl<B> TimedBackend<B> {
    pub(crate) fn new(inner: B) -> Self {
        Self { inner, costs: None }
    }

    pub(crate) fn inner(&self) -> &B {
        &self.inner
    }

    pub(crate) fn inner_mut(&mut self) -> &mut B {
        &mut self.inner
    }

    /// Starts to measure.
    pub(crate) fn start(&mut self) {
        self.costs = Some(Box::default());
    }

    /// Ends the measurement, and returns the costs.
    pub(crate) fn stop(&mut self) -> OpCosts {
        self.costs.take().map(|costs| *costs).unwrap_or_default()
    }
}

impl<B: TrafficCounter> TimedBackend<B> {
    /// Runs an operation; `reads` returns the bytes of (weights, KV cache) that it reads, once it
    /// has run.
    fn run(&mut self, op: OpKind, reads: impl FnOnce(&B) -> (u64, u64), work: impl FnOnce(&mut B)) {
        let Some(costs) = &mut self.costs else { return work(&mut self.inner) };
        let begin = Instant::now();
        work(&mut self.inner);
        let took = begin.elapsed();
        let (weights, cache) = reads(&self.inner);
        let cost = costs.of_mut(op);
        cost.time += took;
        cost.calls += 1;
        cost.weight_bytes += weights;
        cost.cache_bytes += cache;
    }
}

impl<B: TrafficCounter> Backend for TimedBackend<B> {
    type Matrix = B::Matrix;
    type Vector = B::Vector;
    type Tensor = B::Tensor;
    type Rope = B::Rope;
    type Experts = B::Experts;
    type Routes = B::Routes;
    type MlaWeights = B::MlaWeights;
    type SigmoidGate = B::SigmoidGate;
    type DeltaWeights = B::DeltaWeights;
    type ShortConv = B::ShortConv;

    fn matrix(&mut self, parts: &[StoredMatrix], role: WeightRole) -> Result<B::Matrix, LoadError> {
        self.inner.matrix(parts, role)
    }

    fn vector(&mut self, parts: &[WeightTensor]) -> Result<B::Vector, LoadError> {
        self.inner.vector(parts)
    }

    fn tensor(&mut self, role: TensorRole, cols: usize) -> Result<B::Tensor, LoadError> {
        self.inner.tensor(role, cols)
    }

    fn rope(&mut self, table: RopeTable) -> Result<B::Rope, LoadError> {
        self.inner.rope(table)
    }

    fn expert_weights(
        &mut self,
        experts: &[ExpertWeights],
        per_token: usize,
        activation: ExpertActivation,
    ) -> Result<B::Experts, LoadError> {
        self.inner.expert_weights(experts, per_token, activation)
    }

    fn routes(&mut self, per_token: usize) -> Result<B::Routes, LoadError> {
        self.inner.routes(per_token)
    }

    fn mla_weights(
        &mut self,
        shape: MlaShape,
        scale: f32,
        projection: &StoredMatrix,
    ) -> Result<B::MlaWeights, LoadError> {
        self.inner.mla_weights(shape, scale, projection)
    }

    fn sigmoid_gate(&mut self, parts: &[StoredMatrix]) -> Result<B::SigmoidGate, LoadError> {
        self.inner.sigmoid_gate(parts)
    }

    fn delta_weights(
        &mut self,
        shape: DeltaShape,
        weights: DeltaWeights<WeightTensor>,
    ) -> Result<B::DeltaWeights, LoadError> {
        self.inner.delta_weights(shape, weights)
    }

    fn short_conv_weights(
        &mut self,
        shape: ShortConvShape,
        weights: ShortConvWeights<WeightTensor>,
    ) -> Result<B::ShortConv, LoadError> {
        self.inner.short_conv_weights(shape, weights)
    }

    fn embed(&mut self, table: &B::Matrix, factor: f32, out: &mut B::Tensor) {
        self.run(OpKind::Embedding, |_| (0, 0), |inner| inner.embed(table, factor, out));
    }

    fn rms_norm(&mut self, x: &B::Tensor, norm: Norm<&B::Vector>, out: &mut B::Tensor) {
        self.run(OpKind::NormRope, |_| (0, 0), |inner| inner.rms_norm(x, norm, out));
    }

    fn add_rms_norm(&mut self, x: &B::Tensor, norm: Norm<&B::Vector>, out: &mut B::Tensor) {
        self.run(OpKind::NormRope, |_| (0, 0), |inner| inner.add_rms_norm(x, norm, out));
    }

    fn linear(
        &mut self,
        x: &B::Tensor,
        weight: &B::Matrix,
        bias: Option<&B::Vector>,
        store: StoreMode,
        out: &mut B::Tensor,
    ) {
        let reads = |inner: &B| (inner.matrix_bytes(weight), 0);
        self.run(OpKind::Linear, reads, |inner| inner.linear(x, weight, bias, store, out));
    }

    fn qk_norm_rope_write(
        &mut self,
        layer: usize,
        spec: AttentionSpec<&B::Vector>,
        norms: Option<HeadNorms<&B::Vector>>,
        rope: &B::Rope,
        qkv: &mut B::Tensor,
    ) {
        let work = |inner: &mut B| inner.qk_norm_rope_write(layer, spec, norms, rope, qkv);
        self.run(OpKind::NormRope, |_| (0, 0), work);
    }

    fn q_norm_rope(
        &mut self,
        spec: AttentionSpec<&B::Vector>,
        norm: Option<Norm<&B::Vector>>,
        rope: &B::Rope,
        queries: &mut B::Tensor,
    ) {
        self.run(OpKind::NormRope, |_| (0, 0), |inner| inner.q_norm_rope(spec, norm, rope, queries));
    }

    fn attention(
        &mut self,
        layer: usize,
        spec: AttentionSpec<&B::Vector>,
        qkv: &B::Tensor,
        out: &mut B::Tensor,
    ) {
        let window = spec.window;
        let reads = |inner: &B| (0, inner.cache_bytes(layer, window));
        self.run(OpKind::Attention, reads, |inner| inner.attention(layer, spec, qkv, out));
    }

    fn gate_mul(&mut self, activation: GateActivation, gate_up: &B::Tensor, out: &mut B::Tensor) {
        self.run(OpKind::Activation, |_| (0, 0), |inner| inner.gate_mul(activation, gate_up, out));
    }

    fn gate_mul_columns(
        &mut self,
        activation: GateActivation,
        gate: &B::Tensor,
        up: (&B::Tensor, usize),
        out: &mut B::Tensor,
    ) {
        let work = |inner: &mut B| inner.gate_mul_columns(activation, gate, up, out);
        self.run(OpKind::Activation, |_| (0, 0), work);
    }

    fn clear(&mut self, out: &mut B::Tensor) {
        self.run(OpKind::NormRope, |_| (0, 0), |inner| inner.clear(out));
    }

    fn scale(&mut self, factor: f32, out: &mut B::Tensor) {
        self.run(OpKind::NormRope, |_| (0, 0), |inner| inner.scale(factor, out));
    }

    fn route(&mut self, scores: &B::Tensor, routing: Routing<&B::Vector>, out: &mut B::Routes) {
        self.run(OpKind::Experts, |_| (0, 0), |inner| inner.route(scores, routing, out));
    }

    fn experts(&mut self, x: &B::Tensor, routes: &B::Routes, experts: &B::Experts, out: &mut B::Tensor) {
        let reads = |inner: &B| (inner.experts_bytes(experts, routes), 0);
        self.run(OpKind::Experts, reads, |inner| inner.experts(x, routes, experts, out));
    }

    fn mla_write(
        &mut self,
        layer: usize,
        shape: MlaShape,
        norm: Norm<&B::Vector>,
        rope: &B::Rope,
        queries: &mut B::Tensor,
        kv: &B::Tensor,
    ) {
        self.run(
            OpKind::NormRope,
            |_| (0, 0),
            |inner| inner.mla_write(layer, shape, norm, rope, queries, kv),
        );
    }

    fn mla_attention(
        &mut self,
        layer: usize,
        weights: &B::MlaWeights,
        queries: &B::Tensor,
        out: &mut B::Tensor,
    ) {
        let reads = |inner: &B| (inner.mla_bytes(weights), inner.cache_bytes(layer, None));
        self.run(OpKind::Attention, reads, |inner| inner.mla_attention(layer, weights, queries, out));
    }

    fn sigmoid_mul(
        &mut self,
        x: &B::Tensor,
        gate: &B::SigmoidGate,
        gates: &mut B::Tensor,
        out: &mut B::Tensor,
    ) {
        let work = |inner: &mut B| inner.sigmoid_mul(x, gate, gates, out);
        self.run(OpKind::Linear, |inner| (inner.gate_bytes(gate), 0), work);
    }

    fn gated_delta(
        &mut self,
        layer: usize,
        weights: &B::DeltaWeights,
        projected: &B::Tensor,
        rates: &B::Tensor,
        out: &mut B::Tensor,
    ) {
        let reads = |inner: &B| (0, inner.state_bytes());
        self.run(OpKind::Attention, reads, |inner| inner.gated_delta(layer, weights, projected, rates, out));
    }

    fn short_conv(
        &mut self,
        layer: usize,
        weights: &B::ShortConv,
        projected: &B::Tensor,
        out: &mut B::Tensor,
    ) {
        let reads = |inner: &B| (0, inner.state_bytes());
        self.run(OpKind::Attention, reads, |inner| inner.short_conv(layer, weights, projected, out));
    }

    fn logits(&mut self, x: &B::Tensor, norm: Norm<&B::Vector>, head: &B::Matrix, cap: Option<f32>) {
        let reads = |inner: &B| (inner.head_bytes(head), 0);
        self.run(OpKind::Head, reads, |inner| inner.logits(x, norm, head, cap));
    }
}
