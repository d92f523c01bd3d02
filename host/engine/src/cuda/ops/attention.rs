//! Attention over grouped heads: the choice of a kernel for each row of a step.
//!
//! Rows that decode are computed by spans and rows of prompts by tiles, and both by the simple kernel where no other supports the model's
//! heads. Spans and tiles add in different orders, and a token may be computed either way: as part of a prompt, too, after its sequence was
//! preempted. So a deterministic engine computes all rows by tiles, in which a row's sums are the same wherever the row is.

use cuda_kernels::{Attention, AttentionDecode, AttentionPrefill, MlaDecode, PagedCache};

use super::{mla, size};
use crate::cuda::attention_work::{DecodeKind, TiledRows, WorkKinds};
use crate::cuda::backend::{CudaBackend, Tensor};
use crate::cuda::step::StepArray;
use crate::cuda::weights::DeviceVector;
use crate::models::ops::AttentionSpec;
use crate::models::{AttentionConfig, LatentConfig, ModelConfig};

/// Lists of work that the attention kernels of a model need.
pub(in crate::cuda) fn work_kinds(config: &ModelConfig, deterministic: bool) -> WorkKinds {
    let sizes = match &config.attention {
        AttentionConfig::Grouped(sizes) => sizes,
        AttentionConfig::Latent(sizes) => return latent_kinds(sizes, deterministic),
    };
    let (heads, kv_heads, head_dim) = (size(sizes.heads), size(sizes.kv_heads), size(sizes.head_dim));
    let tiles = match AttentionPrefill::supports(head_dim) && heads <= 65_535 {
        true if deterministic => TiledRows::All,
        true => TiledRows::Prompts,
        false => TiledRows::None,
    };
    let by_spans = tiles == TiledRows::Prompts && AttentionDecode::supports(heads, kv_heads, head_dim);
    let mut windows: Vec<_> = config.layers.iter().map(|layer| layer.window.map(size)).collect();
    windows.sort_unstable();
    windows.dedup();
    let part_bytes = AttentionDecode::partial_bytes(1, heads, head_dim);
    let decode = by_spans.then_some(DecodeKind { windows, part_bytes, counters: sizes.kv_heads });
    WorkKinds { decode, tiles }
}

/// Lists for attention over a compressed cache. Rows of prompts have no tiled kernel; rows that decode are computed by spans, but not by a
/// deterministic engine.
fn latent_kinds(sizes: &LatentConfig, deterministic: bool) -> WorkKinds {
    let shape = mla::shape(sizes.spec());
    let kind = DecodeKind {
        windows: vec![None],
        part_bytes: MlaDecode::partial_bytes(1, shape),
        counters: sizes.heads.div_ceil(16),
    };
    let by_spans = MlaDecode::supports(shape) && !deterministic;
    WorkKinds { decode: by_spans.then_some(kind), tiles: TiledRows::None }
}

impl CudaBackend {
    /// Causal attention of the queries in `qkv` over the KV cache.
    pub(super) fn attend(
        &mut self,
        layer: usize,
        spec: AttentionSpec<'_, DeviceVector>,
        qkv: &Tensor,
        out: &mut Tensor,
    ) {
        let attention = self.all_rows(layer, spec, qkv, out);
        let (tiles, count) = self.work.tiles();
        if count > 0 {
            self.launch(&AttentionPrefill { attention, tiles, count }.launch());
        }
        let simple = match self.work.tiled() {
            TiledRows::All => 0,
            _ if self.work.has_lists() => return self.attend_by_spans(attention),
            TiledRows::Prompts => size(self.step.decoding),
            TiledRows::None => self.tokens(),
        };
        if simple > 0 {
            self.launch(&Attention { rows: simple, ..attention }.launch());
        }
    }

    fn attend_by_spans(&mut self, attention: Attention) {
        if self.step.decoding == 0 {
            return;
        }
        let (partials, counters) = (self.work.partials(), self.work.counters());
        let blocks = self.blocks();
        for work in self.work.lists(attention.window) {
            self.launch(&AttentionDecode { attention, work, partials, counters, blocks }.launch());
        }
    }

    /// Number of blocks in the grid of a kernel that shares out a list: two for each multiprocessor, as many as the device runs at once.
    pub(super) fn blocks(&self) -> u32 {
        self.driver.device().multiprocessors.max(1) * 2
    }

    fn all_rows(
        &self,
        layer: usize,
        spec: AttentionSpec<'_, DeviceVector>,
        qkv: &Tensor,
        out: &Tensor,
    ) -> Attention {
        let cache = PagedCache {
            keys: self.cache.keys(layer),
            values: self.cache.values(layer),
            tables: self.tables.at(),
            table_width: size(self.tables.width()),
        };
        Attention {
            qkv: qkv.at,
            cache,
            lanes: self.input(StepArray::RowLanes),
            positions: self.input(StepArray::Positions),
            sinks: spec.sinks.map(|sinks| sinks.at),
            out: out.at,
            rows: self.tokens(),
            heads: size(spec.heads),
            kv_heads: size(spec.kv_heads),
            head_dim: size(spec.head_dim),
            window: spec.window.map(size),
            scale: spec.scale,
        }
    }
}
