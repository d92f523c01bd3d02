//! Steps over a paged cache: the KV blocks of sequences are scattered, and all places that no
//! sequence has are NaN.

use cuda_kernels::{Attention, PagedCache, kv_index};
use ops::{AttentionSpec, QkvShape, reference};

use super::device::{Device, values};

/// Sequences of a step, and the shape of the layer.
#[derive(Debug, Clone)]
pub(crate) struct Step {
    /// For each sequence: (tokens in the cache after this step, rows of the step).
    pub(crate) sequences: Vec<(usize, usize)>,
    pub(crate) shape: QkvShape,
    pub(crate) window: Option<usize>,
    pub(crate) sinks: bool,
}

/// Attention of a step on a device, and its reference results.
pub(crate) struct Prepared {
    pub(crate) attention: Attention,
    pub(crate) wanted: Vec<f64>,
    pub(crate) positions: Vec<u32>,
}

impl Step {
    fn table_width(&self) -> usize {
        self.sequences.iter().map(|(len, _)| len.div_ceil(64)).max().unwrap_or(0) + 1
    }

    /// Block tables of all lanes, and the number of blocks. Blocks are given out from the last one
    /// on, one to each sequence in turn. Sequence `s` has lane `sequences - 1 - s`.
    fn tables(&self) -> (Vec<u32>, usize) {
        let (count, width) = (self.sequences.len(), self.table_width());
        let mut tables = vec![u32::MAX; count * width];
        let all: usize = self.sequences.iter().map(|(len, _)| len.div_ceil(64)).sum();
        let mut next = all;
        for at in 0..width {
            for (s, (len, _)) in self.sequences.iter().enumerate() {
                if at < len.div_ceil(64) {
                    next -= 1;
                    tables[(count - 1 - s) * width + at] = next as u32;
                }
            }
        }
        (tables, all)
    }

    /// For each row: (sequence, position).
    fn rows(&self) -> Vec<(usize, usize)> {
        let rows = |(s, (len, rows)): (usize, &(usize, usize))| (len - rows..*len).map(move |at| (s, at));
        self.sequences.iter().enumerate().flat_map(rows).collect()
    }

    /// Key or value (by `seed`) of head `head` at a position.
    fn vector(&self, seed: usize, s: usize, at: usize, head: usize) -> Vec<f32> {
        values(self.shape.head_dim, (seed + s * 1_000_003 + at * 131 + head * 7) as u32)
    }

    fn plane(
        &self,
        device: &Device,
        seed: usize,
        (tables, blocks): &(Vec<u32>, usize),
    ) -> cuda_kernels::DevicePtr {
        let mut plane = vec![f32::NAN; blocks * self.shape.kv_heads * 64 * self.shape.head_dim];
        for (s, (len, _)) in self.sequences.iter().enumerate() {
            let table = &tables[(self.sequences.len() - 1 - s) * self.table_width()..];
            for at in 0..*len {
                let slot = table[at / 64] as usize * 64 + at % 64;
                for head in 0..self.shape.kv_heads {
                    for (dim, x) in self.vector(seed, s, at, head).into_iter().enumerate() {
                        plane[kv_index(slot, head, dim, self.shape.kv_heads, self.shape.head_dim)] = x;
                    }
                }
            }
        }
        device.bf16(&plane)
    }

    pub(crate) fn prepare(&self, device: &Device) -> Prepared {
        let tables = self.tables();
        let rows = self.rows();
        let lanes: Vec<u32> = rows.iter().map(|(s, _)| (self.sequences.len() - 1 - s) as u32).collect();
        let positions: Vec<u32> = rows.iter().map(|(_, at)| *at as u32).collect();
        let width = self.shape.width();
        let qkv: Vec<f32> = values(rows.len() * width, 5).iter().map(|x| x * 4.0).collect();
        let sinks = values(self.shape.heads, 6);
        let scale = 1.0 / (self.shape.head_dim as f32).sqrt();
        let attention = Attention {
            qkv: device.bf16(&qkv),
            cache: PagedCache {
                keys: self.plane(device, 11, &tables),
                values: self.plane(device, 12, &tables),
                tables: device.u32(&tables.0),
                table_width: self.table_width() as u32,
            },
            lanes: device.u32(&lanes),
            positions: device.u32(&positions),
            out: device.out::<u16>(rows.len() * self.shape.out_width()),
            rows: rows.len() as u32,
            spec: AttentionSpec {
                shape: self.shape,
                scale,
                window: self.window,
                sinks: self.sinks.then(|| device.f32(&sinks)),
            },
        };
        let mut wanted = Vec::new();
        for (row, (s, at)) in rows.iter().enumerate() {
            let first = self.window.map_or(0, |window| (at + 1).saturating_sub(window));
            for kv_head in 0..self.shape.kv_heads {
                let vectors = |seed| -> Vec<Vec<f32>> {
                    (first..=*at).map(|at| self.vector(seed, *s, at, kv_head)).collect()
                };
                let (keys, values) = (vectors(11), vectors(12));
                let seen = keys.iter().map(Vec::as_slice).zip(values.iter().map(Vec::as_slice));
                let group = self.shape.group();
                for head in kv_head * group..(kv_head + 1) * group {
                    let query = &qkv[row * width + head * self.shape.head_dim..][..self.shape.head_dim];
                    let sink = self.sinks.then(|| sinks[head]);
                    wanted.extend(reference::attention(query, seen.clone(), sink, scale));
                }
            }
        }
        Prepared { attention, wanted, positions }
    }
}
