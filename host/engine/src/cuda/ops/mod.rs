//! The operations of models as launches: [`Backend`] for a GPU.

mod attention;
mod linear;

use cuda_kernels::{Embed, LastSamples, QkNormRopeWrite, RmsNorm, SiluMul};

pub(super) use attention::work_kinds;
use linear::linear;

use super::backend::{CudaBackend, Head, Tensor};
use super::step::StepArray;
use super::weights::{DeviceMatrix, DeviceVector, unsupported};
use crate::models::ops::{
    AttentionSpec, ExpertActivation, HeadNorms, MlaSpec, Norm, RopeSpec, Routing, Store, TensorRole,
};
use crate::models::{Backend, ExpertWeights, LoadError, StoredMatrix, WeightRole, WeightTensor};

impl Backend for CudaBackend {
    type Matrix = DeviceMatrix;
    type Vector = DeviceVector;
    type Tensor = Tensor;
    type Rope = Rope;
    type Experts = Never;
    type Routes = ();
    type MlaWeights = Never;

    fn matrix(&mut self, parts: &[StoredMatrix], _: WeightRole) -> Result<DeviceMatrix, LoadError> {
        let (driver, weights) = self.upload();
        weights.matrix(driver, parts)
    }

    fn vector(&mut self, parts: &[WeightTensor]) -> Result<DeviceVector, LoadError> {
        let (driver, weights) = self.upload();
        weights.vector(driver, parts)
    }

    fn tensor(&mut self, role: TensorRole, cols: usize) -> Result<Tensor, LoadError> {
        self.activations(role, cols)
    }

    fn rope(&mut self, spec: &RopeSpec, head_dim: usize) -> Result<Rope, LoadError> {
        let (frequencies, scale) = spec.frequencies(head_dim);
        let (driver, weights) = self.upload();
        Ok(Rope { frequencies: weights.values(driver, &frequencies)?, scale })
    }

    fn expert_weights(
        &mut self,
        _: &[ExpertWeights],
        _: usize,
        _: ExpertActivation,
    ) -> Result<Never, LoadError> {
        Err(unsupported("mixtures of experts"))
    }

    fn routes(&mut self, _: usize) -> Result<(), LoadError> {
        Ok(())
    }

    fn mla_weights(&mut self, _: MlaSpec, _: &StoredMatrix) -> Result<Never, LoadError> {
        Err(unsupported("attention over a compressed cache"))
    }

    fn embed(&mut self, table: &DeviceMatrix, out: &mut Tensor) {
        let launch = Embed {
            tokens: self.input(StepArray::Tokens),
            last: Some(LastSamples { samples: self.samples, lanes: self.input(StepArray::RowLanes) }),
            table: table.at,
            out: out.at,
            rows: self.tokens(),
            cols: size(table.cols),
            vocab: size(table.rows),
        };
        self.launch(&launch.launch());
    }

    fn rms_norm(&mut self, x: &Tensor, norm: Norm<'_, DeviceVector>, out: &mut Tensor) {
        let Norm { weight, eps } = norm;
        let (rows, cols) = (self.tokens(), size(x.cols));
        self.launch(&RmsNorm { x: x.at, weight: weight.at, out: out.at, rows, cols, eps }.launch());
    }

    fn linear(
        &mut self,
        x: &Tensor,
        weight: &DeviceMatrix,
        bias: Option<&DeviceVector>,
        store: Store,
        out: &mut Tensor,
    ) {
        self.multiply(&linear(x, weight, bias, store, out, self.tokens()));
    }

    fn qk_norm_rope_write(
        &mut self,
        layer: usize,
        spec: AttentionSpec<'_, DeviceVector>,
        norms: Option<HeadNorms<'_, DeviceVector>>,
        rope: &Rope,
        qkv: &mut Tensor,
    ) {
        let launch = QkNormRopeWrite {
            qkv: qkv.at,
            norms: norms.map(|HeadNorms { q, k, eps }| cuda_kernels::HeadNorms { q: q.at, k: k.at, eps }),
            frequencies: rope.frequencies.at,
            rope_factor: rope.scale,
            positions: self.input(StepArray::Positions),
            slots: self.input(StepArray::Slots),
            keys: self.cache.keys(layer),
            values: self.cache.values(layer),
            rows: self.tokens(),
            heads: size(spec.heads),
            kv_heads: size(spec.kv_heads),
            head_dim: size(spec.head_dim),
        };
        self.launch(&launch.launch());
    }

    fn attention(
        &mut self,
        layer: usize,
        spec: AttentionSpec<'_, DeviceVector>,
        qkv: &Tensor,
        out: &mut Tensor,
    ) {
        self.attend(layer, spec, qkv, out);
    }

    fn silu_mul(&mut self, gate_up: &Tensor, out: &mut Tensor) {
        let (rows, cols) = (self.tokens(), size(out.cols));
        self.launch(&SiluMul { gate_up: gate_up.at, out: out.at, rows, cols, group: cols }.launch());
    }

    fn route(&mut self, _: &Tensor, _: Routing<'_, DeviceVector>, (): &mut ()) {}

    fn experts(&mut self, _: &Tensor, (): &(), experts: &Never, _: &mut Tensor) {
        match *experts {}
    }

    fn mla_write(
        &mut self,
        _: usize,
        _: MlaSpec,
        _: Norm<'_, DeviceVector>,
        _: &Rope,
        _: &mut Tensor,
        _: &Tensor,
    ) {
    }

    fn mla_attention(&mut self, _: usize, weights: &Never, _: &Tensor, _: &mut Tensor) {
        match *weights {}
    }

    fn logits(&mut self, x: &Tensor, norm: Norm<'_, DeviceVector>, head: &DeviceMatrix) {
        let rows = size(self.step.logit_rows);
        if rows == 0 {
            return;
        }
        let (gathered, Norm { weight, eps }) = (self.gather(x), norm);
        let Head { normed, logits, .. } = self.head;
        let cols = size(x.cols);
        self.launch(&RmsNorm { x: gathered, weight: weight.at, out: normed, rows, cols, eps }.launch());
        let normed = Tensor { at: normed, cols: x.cols, role: TensorRole::Inputs };
        let mut logits = Tensor { at: logits, cols: head.rows, role: TensorRole::Sums };
        self.multiply(&linear(&normed, head, None, Store::Overwrite, &mut logits, rows));
    }
}

/// What a model whose load succeeded doesn't have.
#[derive(Debug)]
pub(super) enum Never {}

/// A rotary embedding.
#[derive(Debug)]
pub(super) struct Rope {
    /// Radians per position of each pair.
    pub(super) frequencies: DeviceVector,
    /// Factor of cosines and sines.
    pub(super) scale: f32,
}

/// A size as kernels take it.
pub(super) fn size(size: usize) -> u32 {
    u32::try_from(size).expect("sizes of models are below 2³²")
}
