//! The primary context: all that belongs to it, the execution of its work, and the report of what
//! wasn't freed.

use std::collections::BTreeMap;
use std::sync::Arc;

use cuda_kernels::DevicePtr;
use cuda_shim::{Shim, ShimError};
use cudarc::driver::sys::CUresult;

use crate::driver::{Event, Function, Stream};
use crate::handles::{Handles, unique};
use crate::outcome::{Outcome, wrong};
use crate::work::Work;

/// Context of the device.
#[derive(Debug)]
pub(crate) struct Context {
    /// Its handle as a number.
    pub(crate) id: usize,
    /// How often it was retained and not yet released.
    pub(crate) retained: usize,
    /// The error after which every call fails.
    pub(crate) lost: Option<CUresult>,
    /// Memory of the device, which runs the kernels.
    pub(crate) shim: Shim,
    /// Allocations of the device: addresses and sizes.
    pub(crate) allocations: BTreeMap<u64, usize>,
    /// Pinned memory of the host: addresses and contents.
    pub(crate) pinned: BTreeMap<usize, Vec<u64>>,
    pub(crate) streams: Handles<Stream>,
    pub(crate) events: Handles<Event>,
    /// Captured graphs, and graphs that can be launched.
    pub(crate) graphs: Handles<Arc<[Work]>>,
    pub(crate) executables: Handles<Arc<[Work]>>,
    /// Loaded modules and their functions. They stay as long as the context: the engine unloads
    /// none.
    pub(crate) modules: Handles<cuda_shim::Module>,
    pub(crate) functions: Handles<Function>,
}

impl Context {
    pub(crate) fn new() -> Self {
        Self {
            id: unique(),
            retained: 1,
            lost: None,
            shim: Shim::new(),
            allocations: BTreeMap::new(),
            pinned: BTreeMap::new(),
            streams: Handles::default(),
            events: Handles::default(),
            graphs: Handles::default(),
            executables: Handles::default(),
            modules: Handles::default(),
            functions: Handles::default(),
        }
    }

    /// Checks that a range is within one allocation of the device.
    pub(crate) fn check_range(&self, name: &str, at: u64, bytes: usize) -> Outcome {
        let found = self.allocations.range(..=at).next_back();
        let is_inside =
            found.is_some_and(|(start, len)| at + bytes as u64 <= start + *len as u64 && bytes > 0);
        if is_inside {
            return Ok(());
        }
        let reason = format!("{bytes} bytes at {at:#x} are not in one allocation of the device");
        Err(wrong(name, CUresult::CUDA_ERROR_INVALID_VALUE, reason))
    }

    /// Whether a range is within one allocation of pinned memory.
    pub(crate) fn is_pinned(&self, at: usize, bytes: usize) -> bool {
        let found = self.pinned.range(..=at).next_back();
        found.is_some_and(|(start, memory)| at + bytes <= start + memory.len() * 8)
    }

    /// Does a piece of work. After a failure every call fails.
    pub(crate) fn perform(&mut self, work: &Work) -> Outcome {
        let done = match work {
            Work::Graph(all) => return all.iter().try_for_each(|work| self.perform(work)),
            Work::Record { event, number } => {
                if let Some(event) = self.events.get_mut(*event as *mut Event) {
                    event.done = event.done.max(*number);
                }
                Ok(())
            }
            Work::Launch(launch) => self.shim.run(launch),
            Work::Product(product) => product.compute(&self.shim),
            Work::Fill { at, byte, bytes } => self.shim.fill(DevicePtr(*at), *byte, *bytes),
            Work::Copy { from, to, bytes } => self.shim.copy(DevicePtr(*to), DevicePtr(*from), *bytes),
            Work::UploadStaged { from, to } => self.shim.upload(DevicePtr(*to), from),
            Work::Upload { from, to, bytes } => self.upload(*from, *to, *bytes),
            Work::Download { from, to, bytes } => self.download(*from, *to, *bytes),
        };
        done.map_err(|error| self.lose(&error))
    }

    fn lose(&mut self, error: &ShimError) -> CUresult {
        let text = error.to_string();
        let code = if text.contains("outside of memory") || matches!(error, ShimError::Memory { .. }) {
            CUresult::CUDA_ERROR_ILLEGAL_ADDRESS
        } else if text.contains("misaligned") {
            CUresult::CUDA_ERROR_MISALIGNED_ADDRESS
        } else {
            CUresult::CUDA_ERROR_LAUNCH_FAILED
        };
        *self.lost.insert(wrong("the device", code, text))
    }

    /// Does all work of all streams.
    pub(crate) fn drain(&mut self) -> Outcome {
        self.streams.keys().into_iter().try_for_each(|stream| self.run(stream, |_| false))
    }

    /// What a context's owner has not freed. A lost context can't free anything.
    pub(crate) fn leaks(&self) -> Vec<String> {
        if self.lost.is_some() {
            return Vec::new();
        }
        let counts = [
            (self.allocations.len(), "allocations of device memory"),
            (self.pinned.len(), "allocations of pinned memory"),
            (self.streams.len(), "streams"),
            (self.events.len(), "events"),
            (self.graphs.len(), "graphs"),
            (self.executables.len(), "executable graphs"),
            (crate::cublaslt::descriptors::objects(), "objects of cuBLASLt"),
        ];
        counts.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}")).collect()
    }
}
