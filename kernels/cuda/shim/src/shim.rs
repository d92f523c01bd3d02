//! Interface of the device: memory, and launches one after the other.

use std::sync::{Mutex, MutexGuard, PoisonError};

use bytemuck::{NoUninit, Pod};
use cuda_kernels::{DevicePtr, Launch};

use crate::ShimError;
use crate::block::{Block, Body};
use crate::compile;
use crate::context::Context;
use crate::fault;
use crate::hooks::HOOKS;
use crate::memory::{Buffer, Memory};

/// Order in which threads run. A kernel that lacks a barrier may give the right result in one of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Order {
    /// First block, warp and lane first.
    #[default]
    Forward,
    /// Last block, warp and lane first.
    Backward,
}

/// A device with memory and one stream, whose launches are done when `launch` returns.
#[derive(Debug, Default)]
pub struct Shim {
    memory: Mutex<Memory>,
    order: Order,
}

/// Greatest shared memory of a block on compute capability 9.0.
const SHARED_BYTES: u32 = 227 << 10;

impl Shim {
    /// A device without buffers that runs threads forward.
    pub fn new() -> Self {
        Self::default()
    }

    /// A device that runs threads in this order.
    pub fn with_order(order: Order) -> Self {
        Self { order, ..Self::default() }
    }

    fn memory(&self) -> MutexGuard<'_, Memory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Allocates a buffer of `bytes` bytes, filled with NaN.
    pub fn alloc(&self, bytes: usize) -> Result<DevicePtr, ShimError> {
        self.memory().alloc(bytes)
    }

    /// Frees a buffer.
    pub fn free(&self, pointer: DevicePtr) -> Result<(), ShimError> {
        self.memory().free(pointer)
    }

    /// Copies values to the device.
    #[expect(unsafe_code, reason = "memory of the device is memory of this process")]
    pub fn upload<T: NoUninit>(&self, to: DevicePtr, values: &[T]) -> Result<(), ShimError> {
        let bytes: &[u8] = bytemuck::cast_slice(values);
        let memory = self.memory();
        let to = memory.range(to, bytes.len())?;
        // SAFETY: the range is in a buffer, and nothing else touches it while the lock is held.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), to, bytes.len()) };
        Ok(())
    }

    /// Copies values from the device.
    #[expect(unsafe_code, reason = "memory of the device is memory of this process")]
    pub fn download<T: Pod>(&self, from: DevicePtr, values: &mut [T]) -> Result<(), ShimError> {
        let bytes: &mut [u8] = bytemuck::cast_slice_mut(values);
        let memory = self.memory();
        let from = memory.range(from, bytes.len())?;
        // SAFETY: as in `upload`.
        unsafe { std::ptr::copy_nonoverlapping(from, bytes.as_mut_ptr(), bytes.len()) };
        Ok(())
    }

    /// Copies bytes on the device; the ranges may overlap.
    #[expect(unsafe_code, reason = "memory of the device is memory of this process")]
    pub fn copy(&self, to: DevicePtr, from: DevicePtr, bytes: usize) -> Result<(), ShimError> {
        let memory = self.memory();
        let (to, from) = (memory.range(to, bytes)?, memory.range(from, bytes)?);
        // SAFETY: as in `upload`; ranges may overlap.
        unsafe { std::ptr::copy(from, to, bytes) };
        Ok(())
    }

    /// Sets `bytes` bytes to `byte`.
    #[expect(unsafe_code, reason = "memory of the device is memory of this process")]
    pub fn fill(&self, to: DevicePtr, byte: u8, bytes: usize) -> Result<(), ShimError> {
        let memory = self.memory();
        let to = memory.range(to, bytes)?;
        // SAFETY: as in `upload`.
        unsafe { std::ptr::write_bytes(to, byte, bytes) };
        Ok(())
    }

    /// Allocates a buffer with these values.
    pub fn alloc_with<T: NoUninit>(&self, values: &[T]) -> Result<DevicePtr, ShimError> {
        let pointer = self.alloc(size_of_val(values))?;
        self.upload(pointer, values)?;
        Ok(pointer)
    }

    /// Reads `len` values from the device.
    pub fn read<T: Pod>(&self, from: DevicePtr, len: usize) -> Result<Vec<T>, ShimError> {
        let mut values = vec![T::zeroed(); len];
        self.download(from, &mut values)?;
        Ok(values)
    }

    /// Runs a launch to its end.
    pub fn launch(&self, launch: &Launch) -> Result<(), ShimError> {
        let error = |reason| ShimError::Launch { kernel: launch.kernel.to_string(), reason };
        check(launch).map_err(error)?;
        let entry = compile::entry(&launch.kernel)?;
        let sizes: Vec<u32> = launch.args.kinds().iter().map(|kind| kind.size()).collect();
        if sizes != entry.sizes {
            return Err(error(format!("arguments of {sizes:?} bytes, parameters of {:?}", entry.sizes)));
        }
        fault::install();
        let memory = self.memory();
        let shared = Buffer::new(launch.shared_bytes as usize).map_err(|e| error(e.to_string()))?;
        let args = launch.args.pointers();
        let reversed = self.order == Order::Backward;
        let body = Body { call: entry.call, args: args.as_ptr(), overlaps: launch.overlaps, reversed };
        for block in blocks(launch.grid, reversed) {
            shared.poison();
            run(launch, body, block, &shared, &memory)?;
        }
        if shared.is_intact() {
            Ok(())
        } else {
            Err(error("something was written around shared memory".into()))
        }
    }
}

/// Runs one block.
fn run(
    launch: &Launch,
    body: Body,
    block: [u32; 3],
    shared: &Buffer,
    memory: &Memory,
) -> Result<(), ShimError> {
    let context = Context {
        thread: [0; 3],
        block,
        block_dim: launch.block,
        grid_dim: launch.grid,
        shared: shared.address(),
        hooks: (&raw const HOOKS).cast(),
        runtime: std::ptr::null(),
    };
    let threads = Block::new(context, body);
    threads.run(memory).map_err(|failure| ShimError::Thread {
        kernel: launch.kernel.to_string(),
        block,
        thread: threads.coordinates(failure.thread),
        reason: failure.reason,
    })
}

/// Checks the limits that every device has.
fn check(launch: &Launch) -> Result<(), String> {
    let Launch { grid, block, shared_bytes, .. } = launch;
    let threads = block.iter().map(|n| u64::from(*n)).product::<u64>();
    if threads == 0 || threads > 1024 || block[2] > 64 {
        return Err(format!("a block of {block:?} threads"));
    }
    if grid.contains(&0) || grid[0] > i32::MAX.cast_unsigned() || grid[1] > 65535 || grid[2] > 65535 {
        return Err(format!("a grid of {grid:?} blocks"));
    }
    if *shared_bytes > SHARED_BYTES {
        return Err(format!("{shared_bytes} bytes of shared memory; a block has at most {SHARED_BYTES}"));
    }
    Ok(())
}

fn blocks([x, y, z]: [u32; 3], reversed: bool) -> impl Iterator<Item = [u32; 3]> {
    let (x, y, z) = (u64::from(x), u64::from(y), u64::from(z));
    let all = x * y * z;
    #[expect(clippy::cast_possible_truncation, reason = "each is below a u32")]
    (0..all)
        .map(move |i| if reversed { all - 1 - i } else { i })
        .map(move |i| [(i % x) as u32, (i / x % y) as u32, (i / (x * y)) as u32])
}
