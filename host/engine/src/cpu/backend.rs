//! [`Backend`] on the CPU: buffers that keep their capacity from step to step, around the operations of `kernels::cpu`.

use kernels::cpu::{self, Cpu, KvCache, QkvShape, RopeAngles, RopeNorms, Sequence, Store};

use super::storage::StackedMatrix;
use crate::batch::{Batch, RunError};
use crate::models::{Backend, Dtype, HeadNorms, LoadError, Rope, WeightTensor};

/// Threads, KV cache, and what the current step needs.
#[derive(Debug)]
pub(super) struct CpuBackend {
    cpu: Cpu,
    cache: KvCache,
    dtype: Option<Dtype>,
    batch: Batch,
    angles: RopeAngles,
    heads: QkvShape,
    logits: Vec<f32>,
}

/// Activations `[rows, cols]`.
#[derive(Debug, Default)]
pub(super) struct Tensor {
    data: Vec<f32>,
    cols: usize,
}

impl Tensor {
    fn shaped(&mut self, rows: usize, cols: usize) -> &mut [f32] {
        self.cols = cols;
        self.data.resize(rows * cols, 0.0);
        &mut self.data
    }

    fn rows(&self) -> usize {
        self.data.len() / self.cols
    }
}

impl CpuBackend {
    pub(super) fn new(cpu: Cpu, cache: KvCache) -> Self {
        let heads = QkvShape { heads: 1, kv_heads: 1, head_dim: 1 };
        let (batch, angles) = (Batch::default(), RopeAngles::default());
        Self { cpu, cache, dtype: None, batch, angles, heads, logits: Vec::new() }
    }

    /// For people: `cpu, 2 threads, avx512, bf16`.
    pub(super) fn name(&self) -> String {
        let dtype = match self.dtype {
            Some(Dtype::Bf16) => "bf16",
            Some(Dtype::F16) => "f16",
            Some(Dtype::F32) | None => "f32",
        };
        let threads = self.cpu.threads();
        let plural = if threads == 1 { "" } else { "s" };
        format!("cpu, {threads} thread{plural}, {}, {dtype}", self.cpu.isa().name())
    }

    pub(super) fn blocks(&self) -> usize {
        self.cache.shape().blocks
    }
}

impl Backend for CpuBackend {
    type Matrix = StackedMatrix;
    type Vector = Vec<f32>;
    type Tensor = Tensor;

    fn matrix(&mut self, parts: &[WeightTensor]) -> Result<StackedMatrix, LoadError> {
        let matrix = StackedMatrix::new(parts)?;
        self.dtype.get_or_insert(matrix.dtype());
        Ok(matrix)
    }

    fn vector(&mut self, parts: &[WeightTensor]) -> Result<Vec<f32>, LoadError> {
        Ok(parts.iter().flat_map(WeightTensor::to_f32).collect())
    }

    fn begin(&mut self, batch: &Batch, rope: &Rope, heads: QkvShape) {
        self.batch.clone_from(batch);
        let (frequencies, scale) = rope.frequencies(heads.head_dim);
        self.angles.fill(&batch.positions, &frequencies, scale);
        self.heads = heads;
    }

    fn embed(&mut self, table: &StackedMatrix, out: &mut Tensor) {
        let out = out.shaped(self.batch.tokens.len(), table.cols());
        cpu::embed(&self.cpu, table.parts()[0], &self.batch.tokens, out);
    }

    fn rms_norm(&mut self, x: &Tensor, weight: &Vec<f32>, eps: f32, out: &mut Tensor) {
        cpu::rms_norm(&self.cpu, &x.data, weight, eps, out.shaped(x.rows(), x.cols));
    }

    fn linear(
        &mut self,
        x: &Tensor,
        w: &StackedMatrix,
        bias: Option<&Vec<f32>>,
        store: Store,
        out: &mut Tensor,
    ) {
        let out = out.shaped(x.rows(), w.rows());
        cpu::linear(&self.cpu, &x.data, &w.parts(), bias.map(Vec::as_slice), store, out);
    }

    fn qk_norm_rope_write(&mut self, layer: usize, qkv: &mut Tensor, norms: HeadNorms<'_, Vec<f32>>) {
        let norms = RopeNorms { q: norms.q, k: norms.k, eps: norms.eps };
        let cache = self.cache.layer_mut(layer);
        let slots = &self.batch.slots;
        cpu::qk_norm_rope_write(&self.cpu, self.heads, &mut qkv.data, norms, &self.angles, slots, cache);
    }

    fn attention(&mut self, layer: usize, qkv: &Tensor, out: &mut Tensor) {
        let out = out.shaped(qkv.rows(), self.heads.heads * self.heads.head_dim);
        let sequences = sequences(&self.batch);
        cpu::attention(&self.cpu, self.heads, &qkv.data, &sequences, self.cache.layer(layer), out);
    }

    fn silu_mul(&mut self, gate_up: &Tensor, out: &mut Tensor) {
        let width = gate_up.cols / 2;
        cpu::silu_mul(&self.cpu, &gate_up.data, width, out.shaped(gate_up.rows(), width));
    }

    fn logit_rows(&mut self, x: &Tensor, out: &mut Tensor) {
        let rows = &self.batch.logit_rows;
        let to = out.shaped(rows.len(), x.cols);
        for (row, to) in rows.iter().zip(to.chunks_exact_mut(x.cols)) {
            to.copy_from_slice(&x.data[*row as usize * x.cols..][..x.cols]);
        }
    }

    fn logits(&mut self, x: &Tensor, head: &StackedMatrix) -> Result<&[f32], RunError> {
        self.logits.resize(x.rows() * head.rows(), 0.0);
        cpu::linear(&self.cpu, &x.data, &head.parts(), None, Store::Set, &mut self.logits);
        Ok(&self.logits)
    }
}

fn sequences(batch: &Batch) -> Vec<Sequence<'_>> {
    let one = |i: usize| {
        let (first_row, end) = (batch.starts[i] as usize, batch.starts[i + 1] as usize);
        let blocks = &batch.block_tables[i * batch.table_width..][..batch.table_width];
        Sequence { first_row, rows: end - first_row, context: batch.context_lens[i] as usize, blocks }
    };
    (0..batch.sequences()).map(one).collect()
}
