//! A driver that computes nothing: it records calls, keeps what is copied to it, and fails where a
//! test wants it to.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cuda_kernels::{DevicePtr, Launch, Variant};

use crate::cuda::driver::{DeviceMemory, Driver, Event, Graph, HostMemory};
use crate::cuda::{CudaError, DeviceInfo};

/// A recorded call of a driver.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Call {
    Upload { to: DevicePtr, bytes: usize },
    Download { bytes: usize },
    Copy,
    Zero,
    Prepare(usize),
    Launch(&'static str),
    Record(usize),
    Wait(usize),
    Synchronize,
    BeginCapture,
    EndCapture,
    Replay(usize),
}

/// A failure to come: of a call that the function accepts, after so many such calls, with this
/// error.
pub(super) type Failure = (fn(&Call) -> bool, usize, CudaError);

/// Record of a [`FakeDriver`]'s calls, and settings that a test makes.
#[derive(Debug, Default)]
pub(super) struct Log {
    pub(super) calls: Vec<Call>,
    /// The failure to come. A sticky error makes all later calls fail, too.
    pub(super) fails: Option<Failure>,
    /// Bytes that may still be allocated.
    pub(super) room: u64,
    /// Kernels that `prepare` was called with.
    pub(super) prepared: Vec<Variant>,
    pub(super) memory: BTreeMap<u64, Vec<u8>>,
    lost: Option<CudaError>,
}

impl Log {
    /// Reads `words` u32 of the device's memory.
    pub(super) fn words(&self, at: DevicePtr, words: usize) -> Vec<u32> {
        let (start, bytes) = self.memory.range(..=at.0).next_back().expect("an allocation");
        let offset = usize::try_from(at.0 - start).expect("a size");
        bytes[offset..][..words * 4].as_chunks().0.iter().map(|word| u32::from_le_bytes(*word)).collect()
    }

    fn piece(&mut self, at: DevicePtr, bytes: usize) -> &mut [u8] {
        let (start, found) = self.memory.range_mut(..=at.0).next_back().expect("an allocation");
        let offset = usize::try_from(at.0 - start).expect("a size");
        &mut found[offset..][..bytes]
    }

    fn note(&mut self, call: Call) -> Result<(), CudaError> {
        if let Some(lost) = &self.lost {
            return Err(lost.clone());
        }
        if let Some((matches, after, error)) = self.fails.take() {
            match (matches(&call), after) {
                (true, 0) => {
                    self.lost = error.is_sticky().then(|| error.clone());
                    return Err(error);
                }
                (true, after) => self.fails = Some((matches, after - 1, error)),
                (false, _) => self.fails = Some((matches, after, error)),
            }
        }
        self.calls.push(call);
        Ok(())
    }
}

/// Driver without a device, for tests of the order of calls.
#[derive(Debug)]
pub(super) struct FakeDriver {
    info: DeviceInfo,
    log: Arc<Mutex<Log>>,
    events: usize,
    graphs: usize,
}

pub(super) fn gpu() -> DeviceInfo {
    DeviceInfo {
        index: 0,
        name: "fake".into(),
        memory_bytes: 4 << 30,
        compute: (9, 0),
        multiprocessors: 4,
        block_shared_bytes: 227 << 10,
        exclusive: false,
    }
}

impl FakeDriver {
    /// A driver with 4 GiB of memory, and its log.
    pub(super) fn new() -> (Self, Arc<Mutex<Log>>) {
        let log = Arc::new(Mutex::new(Log { room: 4 << 30, ..Log::default() }));
        (Self { info: gpu(), log: Arc::clone(&log), events: 0, graphs: 0 }, log)
    }

    /// The driver of a GPU whose blocks have this much shared memory.
    pub(super) fn with_shared(self, block_shared_bytes: u32) -> Self {
        Self { info: DeviceInfo { block_shared_bytes, ..self.info }, ..self }
    }

    fn log(&self) -> MutexGuard<'_, Log> {
        lock(&self.log)
    }
}

pub(super) fn lock(log: &Mutex<Log>) -> MutexGuard<'_, Log> {
    log.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Driver for FakeDriver {
    fn device(&self) -> &DeviceInfo {
        &self.info
    }

    fn memory(&self) -> Result<DeviceMemory, CudaError> {
        Ok(DeviceMemory { free: self.log().room, total: 4 << 30 })
    }

    fn allocate(&mut self, what: &'static str, bytes: usize) -> Result<DevicePtr, CudaError> {
        let mut log = self.log();
        if bytes as u64 > log.room {
            return Err(CudaError::Memory { what, needed: bytes as u64, free: log.room, total: 4 << 30 });
        }
        log.room -= bytes as u64;
        let next = |(at, bytes): (&u64, &Vec<u8>)| at + bytes.len().next_multiple_of(256) as u64;
        let at = log.memory.last_key_value().map_or(1 << 32, next);
        log.memory.insert(at, vec![0; bytes.max(1)]);
        Ok(DevicePtr(at))
    }

    fn pinned(&mut self, bytes: usize) -> Result<Box<dyn HostMemory>, CudaError> {
        Ok(Box::new(vec![0u64; bytes.div_ceil(8).max(1)]))
    }

    fn upload(&mut self, from: &dyn HostMemory, part: Range<usize>, to: DevicePtr) -> Result<(), CudaError> {
        let mut log = self.log();
        log.note(Call::Upload { to, bytes: part.len() })?;
        log.piece(to, part.len()).copy_from_slice(&from.bytes()[part]);
        Ok(())
    }

    fn download(&mut self, from: DevicePtr, bytes: usize, to: &mut dyn HostMemory) -> Result<(), CudaError> {
        let mut log = self.log();
        log.note(Call::Download { bytes })?;
        to.bytes_mut()[..bytes].copy_from_slice(log.piece(from, bytes));
        Ok(())
    }

    fn copy(&mut self, from: DevicePtr, bytes: usize, to: DevicePtr) -> Result<(), CudaError> {
        let mut log = self.log();
        log.note(Call::Copy)?;
        let piece = log.piece(from, bytes).to_vec();
        log.piece(to, bytes).copy_from_slice(&piece);
        Ok(())
    }

    fn zero(&mut self, at: DevicePtr, bytes: usize) -> Result<(), CudaError> {
        let mut log = self.log();
        log.note(Call::Zero)?;
        log.piece(at, bytes).fill(0);
        Ok(())
    }

    fn prepare(&mut self, variants: &[Variant], progress: &mut dyn FnMut(usize)) -> Result<(), CudaError> {
        let mut log = self.log();
        log.note(Call::Prepare(variants.len()))?;
        log.prepared.extend(variants);
        progress(variants.len());
        Ok(())
    }

    fn launch(&mut self, launch: &Launch) -> Result<(), CudaError> {
        self.log().note(Call::Launch(launch.kernel.entry))
    }

    fn event(&mut self) -> Result<Event, CudaError> {
        self.events += 1;
        Ok(Event(self.events - 1))
    }

    fn record(&mut self, event: Event) -> Result<(), CudaError> {
        self.log().note(Call::Record(event.0))
    }

    fn wait(&mut self, event: Event) -> Result<(), CudaError> {
        self.log().note(Call::Wait(event.0))
    }

    fn synchronize(&mut self) -> Result<(), CudaError> {
        self.log().note(Call::Synchronize)
    }

    fn begin_capture(&mut self) -> Result<(), CudaError> {
        self.log().note(Call::BeginCapture)
    }

    fn end_capture(&mut self) -> Result<Graph, CudaError> {
        self.log().note(Call::EndCapture)?;
        self.graphs += 1;
        Ok(Graph(self.graphs - 1))
    }

    fn replay(&mut self, graph: Graph) -> Result<(), CudaError> {
        self.log().note(Call::Replay(graph.0))
    }
}

/// Takes the calls recorded since the last `calls`.
pub(super) fn calls(log: &Mutex<Log>) -> Vec<Call> {
    std::mem::take(&mut lock(log).calls)
}
