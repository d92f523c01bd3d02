//! A launch as data: which kernel, on how many threads, with which arguments.

use std::ffi::c_void;
use std::fmt;

use crate::{Defines, DevicePtr, Source, Variant};

/// The most arguments of a kernel.
pub const MAX_ARGS: usize = 24;

/// A kernel of a variant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct KernelId {
    /// The file.
    pub source: &'static Source,
    /// Its constants.
    pub defines: Defines,
    /// The kernel's name in it.
    pub entry: &'static str,
}

impl KernelId {
    /// What is compiled for it.
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
    /// What runs.
    pub kernel: KernelId,
    /// Blocks.
    pub grid: [u32; 3],
    /// Threads of a block.
    pub block: [u32; 3],
    /// Dynamic shared memory of a block. Above 48 kB a device gives it only to kernels whose attribute allows so much.
    pub shared_bytes: u32,
    /// The kernel's arguments.
    pub args: Args,
    /// Whether it may begin before the launch in front of it has ended (programmatic dependent launch): the kernel waits for that
    /// by itself, in every thread, before it reads anything but weights and before it writes. So whoever writes weights waits for
    /// that to end before the first launch that reads them.
    pub overlaps: bool,
}

/// What an argument is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArgKind {
    /// An address.
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
    /// Bytes that the kernel reads.
    pub fn size(self) -> u32 {
        if matches!(self, Self::Pointer | Self::U64) { 8 } else { 4 }
    }
}

/// A kernel's arguments in order, each in a place of eight bytes.
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
    /// None yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// And an address.
    #[must_use]
    pub fn ptr(self, pointer: DevicePtr) -> Self {
        self.with(ArgKind::Pointer, pointer.0)
    }

    /// And an address, or null.
    #[must_use]
    pub fn optional(self, pointer: Option<DevicePtr>) -> Self {
        self.ptr(pointer.unwrap_or(DevicePtr::NULL))
    }

    /// And a number.
    #[must_use]
    pub fn u32(self, value: u32) -> Self {
        self.with(ArgKind::U32, value.into())
    }

    /// And a number.
    #[must_use]
    pub fn u64(self, value: u64) -> Self {
        self.with(ArgKind::U64, value)
    }

    /// And a number.
    #[must_use]
    pub fn i32(self, value: i32) -> Self {
        self.with(ArgKind::I32, value.cast_unsigned().into())
    }

    /// And a number.
    #[must_use]
    pub fn f32(self, value: f32) -> Self {
        self.with(ArgKind::F32, value.to_bits().into())
    }

    fn with(mut self, kind: ArgKind, slot: u64) -> Self {
        assert!(self.len < MAX_ARGS, "more than {MAX_ARGS} arguments");
        // Little-endian: the first four bytes of a place are its number.
        (self.slots[self.len], self.kinds[self.len]) = (slot, kind);
        self.len += 1;
        self
    }

    /// What each is.
    pub fn kinds(&self) -> &[ArgKind] {
        &self.kinds[..self.len]
    }

    /// The address of each, as `cuLaunchKernel` takes them. They point into this value, which has to outlive the call; drivers
    /// read through them, and read as many as the kernel has parameters.
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
