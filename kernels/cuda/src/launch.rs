//! A kernel's launch as data: kernel, grid, block, and arguments.

use std::ffi::c_void;
use std::fmt;

use crate::{Defines, DevicePtr, KernelSource, Variant};

/// Greatest number of arguments of a kernel.
pub const MAX_ARGS: usize = 24;

/// Identifies a kernel: an entry of a compiled variant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct KernelId {
    /// File that has the kernel.
    pub source: &'static KernelSource,
    /// Constants that the file is compiled with.
    pub defines: Defines,
    /// Name of the kernel's function in the file.
    pub entry: &'static str,
}

impl KernelId {
    /// Variant that has to be compiled for the kernel.
    pub fn variant(&self) -> Variant {
        Variant { source: self.source, defines: self.defines }
    }
}

impl fmt::Display for KernelId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {}", self.entry, self.variant())
    }
}

/// A kernel's launch.
#[derive(Debug, Clone, Copy)]
pub struct Launch {
    /// Kernel that runs.
    pub kernel: KernelId,
    /// Number of blocks in each dimension.
    pub grid: [u32; 3],
    /// Threads of a block in each dimension.
    pub block: [u32; 3],
    /// Bytes of dynamic shared memory of a block. A device gives more than 48 kB only to kernels
    /// whose attribute allows it.
    pub shared_bytes: u32,
    /// The kernel's arguments.
    pub args: Args,
    /// Whether the kernel may begin before the launch in front of it has ended (programmatic
    /// dependent launch). Then every thread of the kernel waits for that launch before it reads
    /// anything but weights, and before it writes. So weights must be complete before the first
    /// launch that reads them is enqueued.
    pub overlaps: bool,
}

/// Type of a kernel's argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArgKind {
    /// Address of device memory.
    Pointer,
    /// `unsigned`.
    U32,
    /// `unsigned long long`.
    U64,
    /// `int`.
    I32,
    /// `float`.
    F32,
}

impl ArgKind {
    /// Bytes of the argument.
    pub fn size(self) -> u32 {
        if matches!(self, Self::Pointer | Self::U64) { 8 } else { 4 }
    }
}

/// Arguments of a kernel in order, each in a slot of eight bytes.
#[derive(Clone, Copy)]
pub struct Args {
    slots: [u64; MAX_ARGS],
    kinds: [ArgKind; MAX_ARGS],
    len: usize,
}

impl Default for Args {
    fn default() -> Self {
        Self { slots: [0; MAX_ARGS], kinds: [ArgKind::Pointer; MAX_ARGS], len: 0 }
    }
}

impl Args {
    /// Empty list of arguments.
    pub fn new() -> Self {
        Self::default()
    }

    /// Appends an address.
    #[must_use]
    pub fn ptr(self, pointer: DevicePtr) -> Self {
        self.with(ArgKind::Pointer, pointer.0)
    }

    /// Appends an address; null for `None`.
    #[must_use]
    pub fn optional(self, pointer: Option<DevicePtr>) -> Self {
        self.ptr(pointer.unwrap_or(DevicePtr::NULL))
    }

    /// Appends an `unsigned`.
    #[must_use]
    pub fn u32(self, value: u32) -> Self {
        self.with(ArgKind::U32, value.into())
    }

    /// Appends an `unsigned long long`.
    #[must_use]
    pub fn u64(self, value: u64) -> Self {
        self.with(ArgKind::U64, value)
    }

    /// Appends an `int`.
    #[must_use]
    pub fn i32(self, value: i32) -> Self {
        self.with(ArgKind::I32, value.cast_unsigned().into())
    }

    /// Appends a `float`.
    #[must_use]
    pub fn f32(self, value: f32) -> Self {
        self.with(ArgKind::F32, value.to_bits().into())
    }

    fn with(mut self, kind: ArgKind, slot: u64) -> Self {
        assert!(self.len < MAX_ARGS, "more than {MAX_ARGS} arguments");
        // Little-endian: a number of four bytes is in the first four bytes of its slot.
        (self.slots[self.len], self.kinds[self.len]) = (slot, kind);
        self.len += 1;
        self
    }

    /// Types of the arguments.
    pub fn kinds(&self) -> &[ArgKind] {
        &self.kinds[..self.len]
    }

    /// The arguments, each in the first bytes of its slot.
    pub fn slots(&self) -> &[u64] {
        &self.slots[..self.len]
    }

    /// Addresses of the arguments, as `cuLaunchKernel` takes them. They point into this value,
    /// which must outlive the call. Drivers read as many of them as the kernel has parameters.
    pub fn pointers(&self) -> [*mut c_void; MAX_ARGS] {
        let mut pointers = [std::ptr::null_mut(); MAX_ARGS];
        for (pointer, slot) in pointers.iter_mut().zip(&self.slots[..self.len]) {
            *pointer = std::ptr::from_ref(slot).cast_mut().cast();
        }
        pointers
    }
}

impl fmt::Debug for Args {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let args = self.kinds().iter().zip(&self.slots);
        f.debug_list().entries(args.map(|(kind, slot)| format!("{kind:?} {slot:#x}"))).finish()
    }
}
