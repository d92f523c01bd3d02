//! Attention of the rows of a step over the paged KV cache, the simple way: heads of any width, one
//! warp for each row and head.

mod decode;
mod prefill;

pub use decode::{AttentionDecode, SPAN, decode_spans, decode_work, write_decode_work};
pub use prefill::{AttentionPrefill, PrefillRows, prefill_tiles, write_prefill_tiles};

use ops::{AttentionSpec, QkvShape};

use crate::check;
use crate::{Args, Defines, DevicePtr, KernelId, KernelSource, Launch, Variant, size};

static SOURCE: KernelSource = KernelSource {
    name: "attention.cu",
    text: concat!(
        "#line 1 \"softmax.cuh\"\n",
        include_str!("../../softmax.cuh"),
        "\n#line 1 \"attention.cu\"\n",
        include_str!("../../attention.cu")
    ),
};

/// A layer's keys and values, and the block tables of the lanes.
#[derive(Debug, Clone, Copy)]
pub struct PagedCache {
    /// `[blocks, kv_heads, 64, head_dim]` bf16, chunks swizzled ([`crate::kv_index`]).
    pub keys: DevicePtr,
    /// Values, in the layout of `keys`.
    pub values: DevicePtr,
    /// `[lanes, table_width]` u32: the KV block of each 64 positions of a lane.
    pub tables: DevicePtr,
    /// Entries of a lane's table.
    pub table_width: u32,
}

/// `out = softmax(scale * q · keys) · values` for each row and head, over the positions up to the
/// row's own.
#[derive(Debug, Clone, Copy)]
pub struct Attention {
    /// `[rows, spec.shape.width()]` bf16; only the queries are read.
    pub qkv: DevicePtr,
    /// Keys and values, those of the rows included.
    pub cache: PagedCache,
    /// `[rows]` u32: the lane of each row.
    pub lanes: DevicePtr,
    /// `[rows]` u32: the position of each row in its sequence.
    pub positions: DevicePtr,
    /// `[rows, spec.shape.out_width()]` bf16.
    pub out: DevicePtr,
    /// Number of rows.
    pub rows: u32,
    /// Parameters of the layer; a head is at most 256 wide, and sinks are f32.
    pub spec: AttentionSpec<DevicePtr>,
}

impl Attention {
    /// # Panics
    /// Where there is nothing to do, a pointer is null or misaligned, or the heads don't fit.
    pub fn launch(&self) -> Launch {
        let [heads, _, head_dim] = self.checked("attention");
        let items = self.rows.checked_mul(heads).expect("rows and heads of a grid");
        Launch {
            kernel: Self::kernel(head_dim),
            grid: [items.div_ceil(4), 1, 1],
            block: [128, 1, 1],
            shared_bytes: 4 * 4 * (head_dim + 64),
            args: self.args(),
            overlaps: true,
        }
    }

    /// Checks the parameters that all kernels share; returns the numbers of query and key heads and
    /// their width, as kernels take them.
    fn checked(&self, operation: &str) -> [u32; 3] {
        let AttentionSpec { shape: QkvShape { heads, kv_heads, head_dim }, scale, window, .. } = self.spec;
        let PagedCache { keys, values, tables, table_width } = self.cache;
        let pointers = [self.qkv, keys, values, tables, self.lanes, self.positions, self.out];
        check::shape(operation, self.rows, size(head_dim) * table_width, &pointers);
        assert!(kv_heads > 0 && heads > 0 && heads.is_multiple_of(kv_heads), "{operation}: heads");
        assert!(
            [self.qkv, keys, values, self.out].iter().all(|p| p.is_wide()),
            "{operation}: a pointer is misaligned"
        );
        assert!(window != Some(0), "{operation}: a window of nothing");
        assert!(scale > 0.0 && scale.is_finite(), "{operation}: scores times {scale}");
        [heads, kv_heads, head_dim].map(size)
    }

    /// First arguments of all attention kernels.
    fn args(&self) -> Args {
        let PagedCache { keys, values, tables, table_width } = self.cache;
        let args =
            Args::new().ptr(self.qkv).ptr(keys).ptr(values).ptr(tables).ptr(self.lanes).ptr(self.positions);
        let AttentionSpec { shape: QkvShape { heads, kv_heads, .. }, scale, window, sinks } = self.spec;
        args.optional(sinks)
            .ptr(self.out)
            .u32(self.rows)
            .u32(size(heads))
            .u32(size(kv_heads))
            .u32(table_width)
            .u32(window.map_or(0, size))
            .f32(scale)
    }

    fn kernel(head_dim: u32) -> KernelId {
        assert!((1..=256).contains(&head_dim), "attention: heads of {head_dim}");
        let width = if head_dim.is_multiple_of(8) { 8 } else { 1 };
        let defines = Defines::new(&[("HEAD_DIM", head_dim), ("WIDTH", width)]);
        KernelId { source: &SOURCE, defines, entry: "attention" }
    }

    pub(crate) fn variants() -> Vec<Variant> {
        [12, 16, 32, 64, 80, 96, 128, 256].map(|dim| Self::kernel(dim).variant()).to_vec()
    }
}
