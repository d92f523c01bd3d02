//! [`Backend`] on the CPU: runs the operations of `kernels::cpu` for the batch of the current step.

use std::sync::Arc;

use kernels::cpu::{
    self, AttentionParams, BLOCK_SIZE, Columns, Cpu, DeltaLayer, ExpertScratch, KvCache, MlaScratch, Routes,
    ShortConv,
};

use super::mla::MlaWeights;
use super::moe::Experts;
use super::op_clock::{OpClock, OpReads};
use super::options::CpuOptions;
use super::ropes::Ropes;
use super::states::{self, LaneStates};
use super::storage::{StackedMatrix, Storage};
use super::tensor::Tensor;
use crate::batch::{Batch, BlockTables};
use crate::models::ops::{
    AttentionSpec, DeltaShape, DeltaWeights, ExpertActivation, GateActivation, HeadNorms, MlaShape, Norm,
    RopeTable, Routing, ShortConvShape, ShortConvWeights, StoreMode, TensorRole,
};
use crate::models::{Backend, ExpertWeights, LoadError, OpKind, StoredMatrix, WeightRole, WeightTensor};

/// Threads, KV cache, and what the current step needs.
#[derive(Debug)]
pub(super) struct CpuBackend {
    cpu: Arc<Cpu>,
    pub(super) cache: KvCache,
    /// States of sequences, for a model whose layers keep them.
    pub(super) states: Option<LaneStates>,
    storage: Storage,
    /// Element types of weights, each once, the embedding's first.
    types: Vec<&'static str>,
    /// Maximum number of tokens in a step.
    pub(super) batch_tokens: usize,
    pub(super) tables: BlockTables,
    pub(super) batch: Batch,
    pub(super) ropes: Ropes,
    /// Rows of the last hidden state whose logits are wanted; `normed` has the same rows after the
    /// norm.
    gathered: Vec<f32>,
    normed: Vec<f32>,
    pub(super) logits: Vec<f32>,
    expert_scratch: ExpertScratch,
    mla_scratch: MlaScratch,
    pub(super) clock: OpClock,
}

impl CpuBackend {
    pub(super) fn new(
        cpu: Arc<Cpu>,
        (cache, states): (KvCache, Option<LaneStates>),
        storage: Storage,
        options: &CpuOptions,
    ) -> Self {
        Self {
            cpu,
            cache,
            states,
            storage,
            types: Vec::new(),
            batch_tokens: options.batch_tokens.max(1),
            tables: BlockTables::default(),
            batch: Batch::default(),
            ropes: Ropes::default(),
            gathered: Vec::new(),
            normed: Vec::new(),
            logits: Vec::new(),
            expert_scratch: ExpertScratch::default(),
            mla_scratch: MlaScratch::default(),
            clock: OpClock::default(),
        }
    }

    /// Name for people: `cpu, 2 threads, avx512, bf16`, with further types of weights at the end.
    pub(super) fn name(&self) -> String {
        let (types, threads) = (self.types.join(", "), self.cpu.threads());
        let plural = if threads == 1 { "" } else { "s" };
        format!("cpu, {threads} thread{plural}, {}, {types}", self.cpu.isa().name())
    }

    fn note_type(&mut self, matrix: &StackedMatrix) {
        if !self.types.contains(&matrix.type_name()) {
            self.types.push(matrix.type_name());
        }
    }

    pub(super) fn blocks(&self) -> usize {
        self.cache.blocks()
    }
}

impl Backend for CpuBackend {
    type Matrix = StackedMatrix;
    type Vector = Vec<f32>;
    type Tensor = Tensor;
    /// Index in `ropes`.
    type Rope = usize;
    type Experts = Experts;
    type Routes = Routes;
    type MlaWeights = MlaWeights;
    type SigmoidGate = StackedMatrix;
    type DeltaWeights = DeltaLayer;
    type ShortConv = ShortConv;

    fn matrix(&mut self, parts: &[StoredMatrix], role: WeightRole) -> Result<StackedMatrix, LoadError> {
        let matrix = self.storage.matrix(&self.cpu, parts, role)?;
        self.note_type(&matrix);
        Ok(matrix)
    }

    fn vector(&mut self, parts: &[WeightTensor]) -> Result<Vec<f32>, LoadError> {
        Ok(parts.iter().flat_map(WeightTensor::to_f32).collect())
    }

    fn tensor(&mut self, _: TensorRole, cols: usize) -> Result<Tensor, LoadError> {
        Tensor::new(self.batch_tokens, cols)
    }

    fn rope(&mut self, table: RopeTable) -> Result<usize, LoadError> {
        Ok(self.ropes.add(table))
    }

    fn expert_weights(
        &mut self,
        experts: &[ExpertWeights],
        per_token: usize,
        activation: ExpertActivation,
    ) -> Result<Experts, LoadError> {
        let experts = Experts::new((&self.cpu, self.storage), experts, activation)?;
        self.note_type(experts.first());
        let rows = self.batch_tokens.saturating_mul(per_token);
        if self.expert_scratch.reserve(rows, experts.hidden(), experts.intermediate()) {
            return Ok(experts);
        }
        let bytes = (rows as u64).saturating_mul(4 * experts.hidden() as u64);
        Err(LoadError::Memory { what: "activations of experts", bytes })
    }

    fn routes(&mut self, per_token: usize) -> Result<Routes, LoadError> {
        Ok(Routes { per_token, ..Routes::default() })
    }

    fn mla_weights(
        &mut self,
        shape: MlaShape,
        scale: f32,
        projection: &StoredMatrix,
    ) -> Result<MlaWeights, LoadError> {
        let weights = MlaWeights::new(&self.cpu, shape, scale, projection)?;
        if self.mla_scratch.reserve(self.batch_tokens, shape) {
            return Ok(weights);
        }
        let bytes =
            (self.batch_tokens as u64).saturating_mul(4 * shape.heads as u64 * shape.cached_width() as u64);
        Err(LoadError::Memory { what: "activations of attention", bytes })
    }

    fn sigmoid_gate(&mut self, parts: &[StoredMatrix]) -> Result<StackedMatrix, LoadError> {
        // The error of a row's only gate would be one of all its results.
        let rows: usize = parts.iter().map(|part| part.shape().0).sum();
        let role = if rows == 1 { WeightRole::Router } else { WeightRole::Linear };
        self.storage.matrix(&self.cpu, parts, role)
    }

    fn delta_weights(
        &mut self,
        shape: DeltaShape,
        weights: DeltaWeights<WeightTensor>,
    ) -> Result<DeltaLayer, LoadError> {
        Ok(states::delta_layer(shape, &weights))
    }

    fn short_conv_weights(
        &mut self,
        shape: ShortConvShape,
        weights: ShortConvWeights<WeightTensor>,
    ) -> Result<ShortConv, LoadError> {
        Ok(states::short_conv(shape, &weights))
    }

    fn embed(&mut self, table: &StackedMatrix, factor: f32, out: &mut Tensor) {
        let begun = self.clock.begin();
        cpu::embed(&self.cpu, table.table(), &self.batch.tokens, out.rows_mut(self.rows()));
        if factor.to_bits() != 1f32.to_bits() {
            scale(factor, out.rows_mut(self.rows()));
        }
        self.clock.end(OpKind::Embedding, begun);
    }

    fn rms_norm(&mut self, x: &Tensor, norm: Norm<&Vec<f32>>, out: &mut Tensor) {
        let begun = self.clock.begin();
        let n = self.rows();
        cpu::rms_norm(&self.cpu, x.rows(n), norm.map(Vec::as_slice), StoreMode::Overwrite, out.rows_mut(n));
        self.clock.end(OpKind::NormRope, begun);
    }

    fn add_rms_norm(&mut self, x: &Tensor, norm: Norm<&Vec<f32>>, out: &mut Tensor) {
        let begun = self.clock.begin();
        let n = self.rows();
        cpu::rms_norm(&self.cpu, x.rows(n), norm.map(Vec::as_slice), StoreMode::Accumulate, out.rows_mut(n));
        self.clock.end(OpKind::NormRope, begun);
    }

    fn linear(
        &mut self,
        x: &Tensor,
        w: &StackedMatrix,
        bias: Option<&Vec<f32>>,
        store: StoreMode,
        out: &mut Tensor,
    ) {
        let begun = self.clock.begin();
        let (n, bias) = (self.rows(), bias.map(Vec::as_slice));
        cpu::linear(&self.cpu, x.rows(n), &w.parts(), bias, store, out.rows_mut(n));
        self.clock.end_reading(OpKind::Linear, begun, || OpReads::weights(w.bytes()));
    }

    fn qk_norm_rope_write(
        &mut self,
        layer: usize,
        spec: AttentionSpec<&Vec<f32>>,
        norms: Option<HeadNorms<&Vec<f32>>>,
        rope: &usize,
        qkv: &mut Tensor,
    ) {
        let begun = self.clock.begin();
        let norms = norms.map(|norms| norms.map(Vec::as_slice));
        let (qkv, angles) = (qkv.rows_mut(self.rows()), self.ropes.angles(*rope));
        let cache = self.cache.layer_mut(layer);
        cpu::qk_norm_rope_write(&self.cpu, spec.shape, qkv, norms, angles, &self.batch.slots, cache);
        self.clock.end(OpKind::NormRope, begun);
    }

    fn q_norm_rope(
        &mut self,
        spec: AttentionSpec<&Vec<f32>>,
        norm: Option<Norm<&Vec<f32>>>,
        rope: &usize,
        queries: &mut Tensor,
    ) {
        let begun = self.clock.begin();
        let norm = norm.map(|norm| norm.map(Vec::as_slice));
        let (queries, angles) = (queries.rows_mut(self.rows()), self.ropes.angles(*rope));
        cpu::q_norm_rope(&self.cpu, spec.shape, queries, norm, angles);
        self.clock.end(OpKind::NormRope, begun);
    }

    fn attention(&mut self, layer: usize, spec: AttentionSpec<&Vec<f32>>, qkv: &Tensor, out: &mut Tensor) {
        let begun = self.clock.begin();
        let n = self.rows();
        let window = spec.window;
        let params =
            AttentionParams { query_stride: qkv.cols, ..AttentionParams::of_qkv(spec.map(Vec::as_slice)) };
        let (sequences, cache) = (self.sequences(), self.cache.layer(layer));
        cpu::attention(&self.cpu, params, qkv.rows(n), &sequences, cache, out.rows_mut(n));
        self.clock.end_reading(OpKind::Attention, begun, || {
            OpReads::cache(seen_bytes(&self.cache, &self.batch, layer, window))
        });
    }

    fn gate_mul(&mut self, activation: GateActivation, gate_up: &Tensor, out: &mut Tensor) {
        let begun = self.clock.begin();
        let (n, width) = (self.rows(), out.cols);
        cpu::gate_mul(&self.cpu, activation, gate_up.rows(n), width, out.rows_mut(n));
        self.clock.end(OpKind::Activation, begun);
    }

    fn gate_mul_columns(
        &mut self,
        activation: GateActivation,
        gate: &Tensor,
        (up, first): (&Tensor, usize),
        out: &mut Tensor,
    ) {
        let begun = self.clock.begin();
        let n = self.rows();
        let columns = |tensor, first| Columns { rows: Tensor::rows(tensor, n), stride: tensor.cols, first };
        let columns = [columns(gate, 0), columns(up, first)];
        cpu::gate_mul_columns(&self.cpu, activation, columns, out.cols, out.rows_mut(n));
        self.clock.end(OpKind::Activation, begun);
    }

    fn clear(&mut self, out: &mut Tensor) {
        let begun = self.clock.begin();
        out.rows_mut(self.rows()).fill(0.0);
        self.clock.end(OpKind::NormRope, begun);
    }

    fn scale(&mut self, factor: f32, out: &mut Tensor) {
        let begun = self.clock.begin();
        scale(factor, out.rows_mut(self.rows()));
        self.clock.end(OpKind::NormRope, begun);
    }

    fn route(&mut self, scores: &Tensor, routing: Routing<&Vec<f32>>, out: &mut Routes) {
        let begun = self.clock.begin();
        cpu::route(routing.map(Vec::as_slice), scores.rows(self.rows()), out);
        self.clock.end(OpKind::Experts, begun);
    }

    fn experts(&mut self, x: &Tensor, routes: &Routes, experts: &Experts, out: &mut Tensor) {
        let begun = self.clock.begin();
        let (n, scratch) = (self.batch.tokens.len(), &mut self.expert_scratch);
        experts.run(&self.cpu, x.rows(n), routes, scratch, out.rows_mut(n));
        self.clock.end_reading(OpKind::Experts, begun, || OpReads::weights(experts.chosen_bytes(routes)));
    }

    fn mla_write(
        &mut self,
        layer: usize,
        shape: MlaShape,
        norm: Norm<&Vec<f32>>,
        rope: &usize,
        queries: &mut Tensor,
        kv: &Tensor,
    ) {
        let begun = self.clock.begin();
        let n = self.rows();
        let (norm, angles) = (norm.map(Vec::as_slice), self.ropes.angles(*rope));
        let (rows, cache) = ((queries.rows_mut(n), kv.rows(n)), self.cache.layer_mut(layer));
        cpu::mla_write(&self.cpu, shape, norm, angles, &self.batch.slots, rows, cache);
        self.clock.end(OpKind::NormRope, begun);
    }

    fn mla_attention(&mut self, layer: usize, weights: &MlaWeights, queries: &Tensor, out: &mut Tensor) {
        let begun = self.clock.begin();
        let n = self.rows();
        let mut scratch = std::mem::take(&mut self.mla_scratch);
        let (sequences, cache) = (self.sequences(), self.cache.layer(layer));
        weights.attend(&self.cpu, queries.rows(n), &sequences, cache, &mut scratch, out.rows_mut(n));
        self.mla_scratch = scratch;
        self.clock.end_reading(OpKind::Attention, begun, || OpReads {
            weights: weights.bytes(),
            cache: seen_bytes(&self.cache, &self.batch, layer, None),
        });
    }

    fn sigmoid_mul(&mut self, x: &Tensor, gate: &StackedMatrix, gates: &mut Tensor, out: &mut Tensor) {
        let begun = self.clock.begin();
        let (n, cols) = (self.rows(), out.cols);
        cpu::linear(&self.cpu, x.rows(n), &gate.parts(), None, StoreMode::Overwrite, gates.rows_mut(n));
        cpu::sigmoid_mul(&self.cpu, gates.rows(n), out.rows_mut(n), cols);
        self.clock.end_reading(OpKind::Linear, begun, || OpReads::weights(gate.bytes()));
    }

    fn gated_delta(
        &mut self,
        layer: usize,
        weights: &DeltaLayer,
        projected: &Tensor,
        rates: &Tensor,
        out: &mut Tensor,
    ) {
        let begun = self.clock.begin();
        let n = self.rows();
        let (sequences, state) = LaneStates::of_layer(&mut self.states, layer);
        let inputs = (projected.rows(n), rates.rows(n));
        cpu::gated_delta(&self.cpu, weights, inputs, sequences, state, out.rows_mut(n));
        self.clock.end_reading(OpKind::Attention, begun, || {
            OpReads::cache(LaneStates::step_bytes(self.states.as_ref(), &self.batch))
        });
    }

    fn short_conv(&mut self, layer: usize, weights: &ShortConv, projected: &Tensor, out: &mut Tensor) {
        let begun = self.clock.begin();
        let n = self.rows();
        let (sequences, state) = LaneStates::of_layer(&mut self.states, layer);
        cpu::short_conv(&self.cpu, weights, projected.rows(n), sequences, state, out.rows_mut(n));
        self.clock.end_reading(OpKind::Attention, begun, || {
            OpReads::cache(LaneStates::step_bytes(self.states.as_ref(), &self.batch))
        });
    }

    fn logits(&mut self, x: &Tensor, norm: Norm<&Vec<f32>>, head: &StackedMatrix, cap: Option<f32>) {
        let begun = self.clock.begin();
        self.gathered.clear();
        for row in &self.batch.logit_rows {
            self.gathered.extend_from_slice(&x.data[*row as usize * x.cols..][..x.cols]);
        }
        self.normed.resize(self.gathered.len(), 0.0);
        cpu::rms_norm(
            &self.cpu,
            &self.gathered,
            norm.map(Vec::as_slice),
            StoreMode::Overwrite,
            &mut self.normed,
        );
        self.logits.resize(self.batch.logit_rows.len() * head.rows(), 0.0);
        cpu::linear(&self.cpu, &self.normed, &head.parts(), None, StoreMode::Overwrite, &mut self.logits);
        if let Some(cap) = cap {
            cpu::soft_cap(&self.cpu, cap, &mut self.logits);
        }
        self.clock.end_reading(OpKind::Head, begun, || {
            OpReads::weights(if self.batch.logit_rows.is_empty() { 0 } else { head.bytes() })
        });
    }
}

fn scale(factor: f32, values: &mut [f32]) {
    for x in values {
        *x *= factor;
    }
}

/// Bytes of a layer's KV cache that the step's sequences see: of each its last `window` tokens, or
/// all.
fn seen_bytes(cache: &KvCache, batch: &Batch, layer: usize, window: Option<usize>) -> usize {
    let row = cache.layer(layer).shape().block_bytes().unwrap_or(0) / BLOCK_SIZE;
    let seen = |context: &u32| (*context as usize).min(window.unwrap_or(usize::MAX));
    batch.context_lens.iter().map(|context| seen(context) * row).sum()
}
