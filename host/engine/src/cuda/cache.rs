//! KV cache on the device. A layer has a plane of keys and one of values,
//! `[block of 64][kv head][token][dim]` bf16, or one plane of compressed rows,
//! `[block of 64][token][width]` bf16.

use cuda_kernels::DevicePtr;

use super::driver::Driver;
use super::memory::{kv_blocks, retry};
use crate::models::{LayerCache, LoadError};

/// Tokens of a block.
pub(super) const BLOCK: usize = 64;

/// Memory that a model's KV block takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct CacheShape {
    layers: usize,
    /// Planes of a layer: two for keys and values, one for compressed rows.
    planes: usize,
    /// Bytes that a token takes in one plane.
    token_bytes: usize,
}

/// The planes of all layers, in one allocation.
#[derive(Debug, Clone, Copy)]
pub(super) struct DeviceCache {
    at: DevicePtr,
    plane_bytes: usize,
    layers: usize,
    /// Planes of a layer.
    planes: usize,
}

impl CacheShape {
    /// All layers must have cache rows of one shape. Layers with a window keep all tokens.
    pub(super) fn of(layers: &[LayerCache]) -> Result<Self, LoadError> {
        let first = planes(layers.first().ok_or(LoadError::Layers)?)?;
        for layer in layers {
            if planes(layer)? != first {
                return Err(LoadError::Layers);
            }
        }
        let (planes, token_bytes) = first;
        Ok(Self { layers: layers.len(), planes, token_bytes })
    }

    fn block_bytes(self) -> u64 {
        (self.planes * self.layers * self.token_bytes * BLOCK) as u64
    }
}

impl DeviceCache {
    /// A cache without memory, for launches that are collected and never done.
    pub(super) fn nowhere() -> Self {
        Self { at: DevicePtr(1 << 20), plane_bytes: 1 << 20, layers: 0, planes: 2 }
    }

    /// Allocates as many blocks as the memory allows, filled with zeros. Returns the number of
    /// blocks without the last one, which is for rows that pad a step.
    pub(super) fn allocate(
        driver: &mut dyn Driver,
        shape: CacheShape,
        limit: Option<u64>,
    ) -> Result<(usize, Self), LoadError> {
        let most = kv_blocks(driver.memory()?, shape.block_bytes(), limit)?;
        let CacheShape { layers, planes, token_bytes } = shape;
        let plane = |blocks: usize| (blocks + 1) * token_bytes * BLOCK;
        let bytes = |blocks| plane(blocks) * planes * layers;
        let (blocks, at) = retry(most, |blocks| driver.allocate("keys and values", bytes(blocks)))?;
        // Positions that were never written are masked, and must still hold numbers.
        driver.zero(at, bytes(blocks))?;
        Ok((blocks, Self { at, plane_bytes: plane(blocks), layers, planes }))
    }

    /// Address and bytes of the whole cache.
    pub(super) fn memory(&self) -> (DevicePtr, usize) {
        (self.at, self.layers * self.planes * self.plane_bytes)
    }

    fn plane(&self, layer: usize, plane: usize) -> DevicePtr {
        self.at.offset(((self.planes * layer + plane) * self.plane_bytes) as u64)
    }

    /// Compressed rows of a layer.
    pub(super) fn latent(&self, layer: usize) -> DevicePtr {
        self.plane(layer, 0)
    }

    /// Keys of a layer.
    pub(super) fn keys(&self, layer: usize) -> DevicePtr {
        self.plane(layer, 0)
    }

    /// Values of a layer.
    pub(super) fn values(&self, layer: usize) -> DevicePtr {
        self.plane(layer, 1)
    }
}

/// Number of planes of a layer, and bytes of a token in one plane.
fn planes(layer: &LayerCache) -> Result<(usize, usize), LoadError> {
    match *layer {
        LayerCache::Full { kv_heads, head_dim } | LayerCache::Window { kv_heads, head_dim, .. } => {
            Ok((2, kv_heads * heads_of(head_dim)? * 2))
        }
        LayerCache::Latent { width } => Ok((1, width * 2)),
    }
}

/// Checks that there are kernels for heads of this width, and returns it.
fn heads_of(head_dim: usize) -> Result<usize, LoadError> {
    let narrow = head_dim <= 64 && head_dim.is_multiple_of(2);
    if head_dim > 0 && head_dim <= 256 && (narrow || head_dim.is_multiple_of(16)) {
        return Ok(head_dim);
    }
    Err(super::supported::unsupported(&format!("heads of {head_dim}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_without_kernels_are_refused_at_load() {
        let of = |head_dim| CacheShape::of(&[LayerCache::Full { kv_heads: 2, head_dim }]);
        for head_dim in [12, 64, 80, 128, 256] {
            assert_eq!(of(head_dim).unwrap().token_bytes, 4 * head_dim);
        }
        for head_dim in [7, 72, 320] {
            let error = of(head_dim).unwrap_err().to_string();
            assert_eq!(error, format!("cuda can't run heads of {head_dim} yet; --device cpu can"));
        }
    }
}
