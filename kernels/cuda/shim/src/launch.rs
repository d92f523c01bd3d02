//! Launch of a compiled kernel: its checks, and its blocks one after the other.

use std::ffi::c_void;

use cuda_kernels::Launch;

use crate::ShimError;
use crate::block::{Block, Body};
use crate::compile::{self, Kernel};
use crate::context::Context;
use crate::fault;
use crate::hooks::HOOKS;
use crate::memory::{Buffer, Memory};
use crate::program::MAX_THREADS;

/// Greatest shared memory of a block on compute capability 9.0.
const SHARED_BYTES: u32 = 227 << 10;

/// Launch of a compiled kernel, with a copy of its arguments.
#[derive(Debug, Clone)]
pub struct KernelLaunch {
    /// Kernel that runs.
    pub kernel: Kernel,
    /// Number of blocks in each dimension.
    pub grid: [u32; 3],
    /// Threads of a block in each dimension.
    pub block: [u32; 3],
    /// Bytes of dynamic shared memory of a block.
    pub shared_bytes: u32,
    /// Arguments, each in the first bytes of a slot, as many as the kernel has parameters.
    pub args: Vec<u64>,
    /// Whether the kernel may begin before the launch in front of it has ended; then each of its
    /// threads must wait for that launch.
    pub overlaps: bool,
}

impl KernelLaunch {
    /// Launch whose kernel is compiled unless the cache has it.
    pub(crate) fn new(launch: &Launch) -> Result<Self, ShimError> {
        let Launch { kernel, grid, block, shared_bytes, args, overlaps } = launch;
        check(*grid, *block, *shared_bytes, MAX_THREADS)
            .map_err(|reason| ShimError::Launch { kernel: kernel.to_string(), reason })?;
        let compiled = compile::kernel(kernel)?;
        let sizes: Vec<u32> = args.kinds().iter().map(|kind| kind.size()).collect();
        if sizes != compiled.parameters() {
            let reason = format!("arguments of {sizes:?} bytes, parameters of {:?}", compiled.parameters());
            return Err(ShimError::Launch { kernel: kernel.to_string(), reason });
        }
        Ok(Self {
            kernel: compiled,
            grid: *grid,
            block: *block,
            shared_bytes: *shared_bytes,
            args: args.slots().to_vec(),
            overlaps: *overlaps,
        })
    }

    /// Checks the limits that every device has, and the kernel's own.
    ///
    /// # Errors
    /// What is too large or zero.
    pub fn check(&self) -> Result<(), String> {
        check(self.grid, self.block, self.shared_bytes, self.kernel.threads)
    }

    /// Runs all blocks, in reverse order if asked.
    pub(crate) fn run(&self, reversed: bool, memory: &Memory) -> Result<(), ShimError> {
        let error = |reason| ShimError::Launch { kernel: self.kernel.name.to_string(), reason };
        self.check().map_err(error)?;
        let sizes = self.kernel.parameters();
        if self.args.len() != sizes.len() || sizes.iter().any(|size| *size > 8) {
            return Err(error(format!("{} arguments, parameters of {sizes:?} bytes", self.args.len())));
        }
        fault::install();
        let shared = Buffer::new(self.shared_bytes as usize).map_err(|e| error(e.to_string()))?;
        let args: Vec<*mut c_void> =
            self.args.iter().map(|slot| std::ptr::from_ref(slot).cast_mut().cast()).collect();
        let body = Body { call: self.kernel.call, args: args.as_ptr(), overlaps: self.overlaps, reversed };
        for block in blocks(self.grid, reversed) {
            shared.poison();
            self.run_block(body, block, &shared, memory)?;
        }
        if shared.is_intact() {
            Ok(())
        } else {
            Err(error("something was written around shared memory".into()))
        }
    }

    fn run_block(
        &self,
        body: Body,
        block: [u32; 3],
        shared: &Buffer,
        memory: &Memory,
    ) -> Result<(), ShimError> {
        let context = Context {
            thread: [0; 3],
            block,
            block_dim: self.block,
            grid_dim: self.grid,
            shared: shared.address(),
            hooks: (&raw const HOOKS).cast(),
            runtime: std::ptr::null(),
        };
        let threads = Block::new(context, body);
        threads.run(memory).map_err(|failure| ShimError::Thread {
            kernel: self.kernel.name.to_string(),
            block,
            thread: threads.coordinates(failure.thread),
            reason: failure.reason,
        })
    }
}

/// Checks a launch of a kernel whose blocks have at most `most` threads.
fn check(grid: [u32; 3], block: [u32; 3], shared_bytes: u32, most: u32) -> Result<(), String> {
    let threads = block.iter().map(|n| u64::from(*n)).product::<u64>();
    if threads == 0 || threads > most.into() || block[2] > 64 {
        return Err(format!("a block of {block:?} threads, {most} at most"));
    }
    if grid.contains(&0) || grid[0] > i32::MAX.cast_unsigned() || grid[1] > 65535 || grid[2] > 65535 {
        return Err(format!("a grid of {grid:?} blocks"));
    }
    if shared_bytes > SHARED_BYTES {
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
