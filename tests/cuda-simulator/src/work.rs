//! Work of a stream: done in order, when someone waits for it.

use std::sync::Arc;

use cuda_shim::KernelLaunch;

use crate::cublaslt::product::Product;

/// One piece of work. Addresses of host memory are read or written when the work is done.
#[derive(Debug, Clone)]
pub(crate) enum Work {
    /// Copy from pinned memory.
    Upload {
        from: usize,
        to: u64,
        bytes: usize,
    },
    /// Copy from ordinary memory, whose bytes were taken at once.
    UploadStaged {
        from: Arc<[u8]>,
        to: u64,
    },
    Download {
        from: u64,
        to: usize,
        bytes: usize,
    },
    Copy {
        from: u64,
        to: u64,
        bytes: usize,
    },
    Fill {
        at: u64,
        byte: u8,
        bytes: usize,
    },
    Launch(KernelLaunch),
    Product(Product),
    /// The handle of an event, and which of its records this is.
    Record {
        event: usize,
        number: u64,
    },
    Graph(Arc<[Work]>),
}
