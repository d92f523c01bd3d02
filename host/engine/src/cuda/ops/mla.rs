//! Attention over a compressed cache (MLA) as launches, in its absorbed form: queries are projected
//! into the latent space, attention is computed there, and its results are projected to values.
//!
//! Invariant: the buffers between the launches are sized for the largest step, allocated at load
//! and shared by all layers.

use cuda_kernels::{DevicePtr, MlaAttention, MlaDecode, MlaPrefill, MlaProject, MlaSide, MlaWrite, size};

use crate::cuda::backend::{CudaBackend, Tensor};
use crate::cuda::content::Content;
use crate::cuda::scratch::LatentScratch;
use crate::cuda::step::StepArray;
use crate::cuda::weights::{DeviceVector, Rope};
use crate::models::ops::{MlaShape, Norm};
use crate::models::{LoadError, StoredMatrix};

/// A layer's projection between latent rows and heads, and the buffers of its attention.
#[derive(Debug)]
pub(in crate::cuda) struct DeviceMla {
    shape: MlaShape,
    /// Factor of scores.
    scale: f32,
    /// `[heads, nope + value, rank]` bf16.
    projection: DevicePtr,
    room: LatentScratch,
}

impl CudaBackend {
    pub(super) fn load_mla(
        &mut self,
        shape: MlaShape,
        scale: f32,
        projection: &StoredMatrix,
    ) -> Result<DeviceMla, LoadError> {
        let room = self.latent_scratch(shape)?;
        let (driver, weights) = self.upload();
        let projection = weights.put(driver, &[Content::bf16(projection)?])?;
        Ok(DeviceMla { shape, scale, projection, room })
    }

    /// Buffers for the latent space: the ones that an earlier layer allocated, since all layers
    /// have one shape.
    fn latent_scratch(&mut self, shape: MlaShape) -> Result<LatentScratch, LoadError> {
        if let Some(room) = self.latent_scratch {
            return Ok(room);
        }
        let rows = self.rows();
        let mut make =
            |width| self.driver.allocate("activations of attention", rows * shape.heads * width * 2);
        let room = LatentScratch { queries: make(shape.cached_width())?, results: make(shape.rank)? };
        self.latent_scratch = Some(room);
        Ok(room)
    }

    pub(super) fn launch_mla_write(
        &mut self,
        layer: usize,
        shape: MlaShape,
        norm: Norm<&DeviceVector>,
        rope: &Rope,
        (queries, kv): (&Tensor, &Tensor),
    ) {
        let launch = MlaWrite {
            queries: queries.at,
            kv: kv.at,
            norm: Norm { weight: norm.weight.at, eps: norm.eps },
            frequencies: rope.frequencies.at,
            rope_factor: rope.factor,
            positions: self.input(StepArray::Positions),
            slots: self.input(StepArray::Slots),
            cache: self.cache.latent(layer),
            rows: self.tokens(),
            shape,
        };
        self.launch(&launch.launch());
    }

    pub(super) fn launch_mla_attention(
        &mut self,
        layer: usize,
        weights: &DeviceMla,
        queries: &Tensor,
        out: &Tensor,
    ) {
        let DeviceMla { shape, scale, projection, room } = *weights;
        let rows = self.tokens();
        let into =
            MlaProject { x: queries.at, projection, out: room.queries, rows, shape, side: MlaSide::Queries };
        self.launch(&into.launch());
        let attention = MlaAttention {
            queries: room.queries,
            cache: self.cache.latent(layer),
            tables: self.tables.at(),
            table_width: size(self.tables.width()),
            lanes: self.input(StepArray::RowLanes),
            positions: self.input(StepArray::Positions),
            out: room.results,
            rows,
            shape,
            scale,
        };
        self.attend_latent(attention);
        let back =
            MlaProject { x: room.results, projection, out: out.at, rows, shape, side: MlaSide::Values };
        self.launch(&back.launch());
    }

    /// Computes rows by spans and by tiles as in [`super::attention`], or all of them with the
    /// simple kernel where no other supports the model's shape.
    fn attend_latent(&mut self, attention: MlaAttention) {
        if self.work.tiled().is_none() {
            return self.launch(&attention.launch());
        }
        let (tiles, count) = self.work.tiles();
        if count > 0 {
            let block_shared_bytes = self.driver.device().block_shared_bytes;
            self.launch(&MlaPrefill { attention, tiles, count, block_shared_bytes }.launch());
        }
        if self.work.has_lists() && self.step.decoding > 0 {
            let (partials, counters, blocks) = (self.work.partials(), self.work.counters(), self.blocks());
            for work in self.work.lists(None) {
                self.launch(&MlaDecode { attention, work, partials, counters, blocks }.launch());
            }
        }
    }
}
