//! Attention over grouped heads: the choice of a kernel for each row of a step.
//!
//! Rows that decode are computed by spans and rows of prompts by tiles, and both by the simple
//! kernel where no other supports the model's heads. Spans and tiles add in different orders, and a
//! token may be computed either way: as part of a prompt, too, after its sequence was preempted. So
//! a deterministic engine computes all rows by tiles, in which a row's sums are the same wherever
//! the row is.

use cuda_kernels::{Attention, AttentionDecode, AttentionPrefill, PagedCache, size};

use crate::cuda::attention_work::TiledRows;
use crate::cuda::backend::{CudaBackend, Tensor};
use crate::cuda::step::StepArray;
use crate::cuda::weights::DeviceVector;
use crate::models::ops::AttentionSpec;

impl CudaBackend {
    /// Causal attention of the queries in `qkv` over the KV cache.
    pub(super) fn attend(
        &mut self,
        layer: usize,
        spec: AttentionSpec<&DeviceVector>,
        qkv: &Tensor,
        out: &mut Tensor,
    ) {
        let attention = self.all_rows(layer, spec, qkv, out);
        let (tiles, count) = self.work.tiles();
        if count > 0 {
            self.launch(&AttentionPrefill { attention, tiles, count }.launch());
        }
        let simple = match self.work.tiled() {
            Some(TiledRows::All) => 0,
            _ if self.work.has_lists() => return self.attend_by_spans(attention),
            Some(TiledRows::Prompts) => size(self.step.decoding),
            None => self.tokens(),
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
        for work in self.work.lists(attention.spec.window.map(size)) {
            self.launch(&AttentionDecode { attention, work, partials, counters, blocks }.launch());
        }
    }

    /// Number of blocks in the grid of a kernel that shares out a list: two for each
    /// multiprocessor, as many as the device runs at once.
    pub(super) fn blocks(&self) -> u32 {
        self.driver.device().multiprocessors.max(1) * 2
    }

    fn all_rows(
        &self,
        layer: usize,
        spec: AttentionSpec<&DeviceVector>,
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
            out: out.at,
            rows: self.tokens(),
            spec: spec.map(|sinks| sinks.at),
        }
    }
}
