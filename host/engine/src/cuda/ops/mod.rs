//! The operations of models as launches: implements [`Backend`] for a GPU.

mod attention;
mod linear;
mod mla;
mod moe;

use std::convert::Infallible;

use cuda_kernels::{Embed, LastSamples, LinearInput, LinearStore, QkNormRopeWrite, size};

#[cfg(test)]
pub(super) use linear::LIBRARY_ROWS;
use linear::linear_store;

use super::backend::{CudaBackend, Head, Tensor};
use super::step::StepArray;
use super::supported;
use super::weights::{DeviceMatrix, DeviceVector, INTERLEAVED, Rope};
use crate::models::ops::{
    AttentionSpec, DeltaShape, DeltaWeights, ExpertActivation, GateActivation, HeadNorms, LayerInput,
    MlaShape, Norm, RopeTable, Routing, ShortConvShape, ShortConvWeights, StoreMode, TensorRole,
};
use crate::models::{Backend, ExpertWeights, LoadError, StoredMatrix, WeightRole, WeightTensor};
use mla::DeviceMla;
use moe::{DeviceExperts, DeviceRoutes};

impl Backend for CudaBackend {
    type Matrix = DeviceMatrix;
    type Vector = DeviceVector;
    type Tensor = Tensor;
    type Rope = Rope;
    type Experts = DeviceExperts;
    type Routes = DeviceRoutes;
    type MlaWeights = DeviceMla;
    // There are no kernels for these yet, so there is nothing to load.
    type SigmoidGate = Infallible;
    type DeltaWeights = Infallible;
    type ShortConv = Infallible;

    fn matrix(&mut self, parts: &[StoredMatrix], role: WeightRole) -> Result<DeviceMatrix, LoadError> {
        let (driver, weights) = self.upload();
        let matrix = weights.matrix(driver, parts, role)?;
        if matrix.weight.fp8.is_some() {
            self.note_type("fp8");
        }
        Ok(matrix)
    }

    fn vector(&mut self, parts: &[WeightTensor]) -> Result<DeviceVector, LoadError> {
        let (driver, weights) = self.upload();
        weights.vector(driver, parts)
    }

    fn tensor(&mut self, role: TensorRole, cols: usize) -> Result<Tensor, LoadError> {
        self.activations(role, cols)
    }

    fn rope(&mut self, table: RopeTable) -> Result<Rope, LoadError> {
        let RopeTable { mut frequencies, factor, query_scaling } = table;
        let pairs = frequencies.len();
        // A kernel's parameter is an address in any case.
        frequencies.resize(pairs.max(1), 0.0);
        let (driver, weights) = self.upload();
        Ok(Rope { frequencies: weights.values(driver, &frequencies)?, pairs, factor, query_scaling })
    }

    fn expert_weights(
        &mut self,
        experts: &[ExpertWeights],
        per_token: usize,
        activation: ExpertActivation,
    ) -> Result<DeviceExperts, LoadError> {
        self.load_experts(experts, per_token, activation)
    }

    fn routes(&mut self, per_token: usize) -> Result<DeviceRoutes, LoadError> {
        self.make_routes(per_token)
    }

    fn mla_weights(
        &mut self,
        shape: MlaShape,
        scale: f32,
        projection: &StoredMatrix,
    ) -> Result<DeviceMla, LoadError> {
        self.load_mla(shape, scale, projection)
    }

    fn sigmoid_gate(&mut self, _: &[StoredMatrix]) -> Result<Infallible, LoadError> {
        Err(supported::unsupported(supported::OUTPUT_GATES))
    }

    fn delta_weights(
        &mut self,
        _: DeltaShape,
        _: DeltaWeights<WeightTensor>,
    ) -> Result<Infallible, LoadError> {
        Err(supported::unsupported(supported::DELTA))
    }

    fn short_conv_weights(
        &mut self,
        _: ShortConvShape,
        _: ShortConvWeights<WeightTensor>,
    ) -> Result<Infallible, LoadError> {
        Err(supported::unsupported(supported::SHORT_CONV))
    }

    fn embed(&mut self, table: &DeviceMatrix, factor: f32, out: &mut Tensor) {
        let launch = Embed {
            tokens: self.input(StepArray::Tokens),
            last: Some(LastSamples { samples: self.samples, lanes: self.input(StepArray::RowLanes) }),
            table: table.weight.at,
            out: out.at,
            rows: self.tokens(),
            cols: size(table.cols),
            vocab: size(table.rows),
            factor,
        };
        self.launch(&launch.launch());
    }

    fn rms_norm(&mut self, x: &Tensor, norm: Norm<&DeviceVector>, out: &mut Tensor) {
        self.rms_norm_rows(self.tokens(), x, norm, StoreMode::Overwrite, out);
    }

    fn add_rms_norm(&mut self, x: &Tensor, norm: Norm<&DeviceVector>, out: &mut Tensor) {
        self.rms_norm_rows(self.tokens(), x, norm, StoreMode::Accumulate, out);
    }

    fn linear(
        &mut self,
        x: &Tensor,
        weight: &DeviceMatrix,
        bias: Option<&DeviceVector>,
        store: StoreMode,
        out: &mut Tensor,
    ) {
        let x = LinearInput::Bf16(x.at);
        self.multiply(x, weight, bias.map(|bias| bias.at), linear_store(out.role, store), out.at);
    }

    fn linear_of(
        &mut self,
        x: LayerInput<'_, Tensor, DeviceVector>,
        weight: &DeviceMatrix,
        bias: Option<&DeviceVector>,
        store: StoreMode,
        out: &mut Tensor,
    ) {
        let x = self.normed_or_fused(x, weight);
        self.multiply(x, weight, bias.map(|bias| bias.at), linear_store(out.role, store), out.at);
    }

    fn gated(
        &mut self,
        x: LayerInput<'_, Tensor, DeviceVector>,
        (weight, activation): (&DeviceMatrix, GateActivation),
        gate_up: &mut Tensor,
        out: &mut Tensor,
    ) {
        let x = self.normed_or_fused(x, weight);
        if weight.is_interleaved && activation == GateActivation::Silu {
            return self.fused_swiglu(x, weight, gate_up, out);
        }
        self.multiply(x, weight, None, LinearStore::Bf16, gate_up.at);
        let group = if weight.is_interleaved { INTERLEAVED } else { out.cols };
        self.gate_mul_groups(activation, gate_up, out, group);
    }

    fn qk_norm_rope_write(
        &mut self,
        layer: usize,
        spec: AttentionSpec<&DeviceVector>,
        norms: Option<HeadNorms<&DeviceVector>>,
        rope: &Rope,
        qkv: &mut Tensor,
    ) {
        let launch = QkNormRopeWrite {
            qkv: qkv.at,
            norms: norms.map(|norms| norms.map(|weight| weight.at)),
            frequencies: rope.frequencies.at,
            pairs: size(rope.pairs),
            rope_factor: rope.factor,
            query_scaling: rope.query_scaling,
            positions: self.input(StepArray::Positions),
            slots: self.input(StepArray::Slots),
            keys: self.cache.keys(layer),
            values: self.cache.values(layer),
            rows: self.tokens(),
            shape: spec.shape,
        };
        self.launch(&launch.launch());
    }

    fn q_norm_rope(
        &mut self,
        _: AttentionSpec<&DeviceVector>,
        _: Option<Norm<&DeviceVector>>,
        _: &Rope,
        _: &mut Tensor,
    ) {
        supported::refused_at_load()
    }

    fn attention(
        &mut self,
        layer: usize,
        spec: AttentionSpec<&DeviceVector>,
        qkv: &Tensor,
        out: &mut Tensor,
    ) {
        self.attend(layer, spec, qkv, out);
    }

    fn gate_mul(&mut self, activation: GateActivation, gate_up: &Tensor, out: &mut Tensor) {
        self.gate_mul_groups(activation, gate_up, out, out.cols);
    }

    fn gate_mul_columns(&mut self, _: GateActivation, _: &Tensor, _: (&Tensor, usize), _: &mut Tensor) {
        supported::refused_at_load()
    }

    fn clear(&mut self, _: &mut Tensor) {
        supported::refused_at_load()
    }

    fn scale(&mut self, _: f32, _: &mut Tensor) {
        supported::refused_at_load()
    }

    fn route(&mut self, scores: &Tensor, routing: Routing<&DeviceVector>, out: &mut DeviceRoutes) {
        self.launch_route(scores, routing, out);
    }

    fn experts(&mut self, x: &Tensor, routes: &DeviceRoutes, experts: &DeviceExperts, out: &mut Tensor) {
        self.launch_experts(x, routes, experts, out);
    }

    fn mla_write(
        &mut self,
        layer: usize,
        shape: MlaShape,
        norm: Norm<&DeviceVector>,
        rope: &Rope,
        queries: &mut Tensor,
        kv: &Tensor,
    ) {
        self.launch_mla_write(layer, shape, norm, rope, (queries, kv));
    }

    fn mla_attention(&mut self, layer: usize, weights: &DeviceMla, queries: &Tensor, out: &mut Tensor) {
        self.launch_mla_attention(layer, weights, queries, out);
    }

    fn sigmoid_mul(&mut self, _: &Tensor, gate: &Infallible, _: &mut Tensor, _: &mut Tensor) {
        match *gate {}
    }

    fn gated_delta(&mut self, _: usize, weights: &Infallible, _: &Tensor, _: &Tensor, _: &mut Tensor) {
        match *weights {}
    }

    fn short_conv(&mut self, _: usize, weights: &Infallible, _: &Tensor, _: &mut Tensor) {
        match *weights {}
    }

    fn logits(&mut self, x: &Tensor, norm: Norm<&DeviceVector>, head: &DeviceMatrix, cap: Option<f32>) {
        if cap.is_some() {
            supported::refused_at_load();
        }
        if self.step.logit_rows == 0 {
            return;
        }
        let Head { gathered, normed, logits } = self.head;
        let rows = size(self.step.logit_rows);
        let x = Tensor { at: self.gather(x, gathered), cols: x.cols, role: TensorRole::Sums };
        let mut normed = Tensor { at: normed, cols: x.cols, role: TensorRole::Inputs };
        let x = self.normed_or_fused_of(rows, LayerInput::Normed { x: &x, norm, normed: &mut normed }, head);
        self.multiply_rows(rows, x, head, None, LinearStore::F32, logits);
    }
}
