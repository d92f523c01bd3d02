//! Device memory: buffers of host memory between wide ranges of addresses without access.
//!
//! Invariant: an access up to [`GUARD`] bytes before or behind a buffer faults, whatever else the
//! process has mapped. The few bytes that alignment leaves beside a buffer can be written; that is
//! found when the buffer is read or freed. Memory begins as NaN, so that values which no kernel
//! wrote show.

use std::collections::BTreeMap;
use std::ptr::NonNull;

use cuda_kernels::DevicePtr;

use crate::ShimError;

/// Byte that memory is filled with at first: NaN in all types of floats, and no valid index.
pub(crate) const POISON: u8 = 0xff;
/// Byte that the memory around a buffer is filled with.
const AROUND: u8 = 0x5a;
/// Alignment of a buffer's address in bytes.
const ALIGN: usize = 16;
/// Bytes of addresses without access on each side of a buffer. The size exceeds the error of a
/// wrong stride, is a multiple of every page size, and takes no memory.
const GUARD: usize = 64 << 20;

/// A buffer between two guards.
#[derive(Debug)]
pub(crate) struct Buffer {
    map: NonNull<u8>,
    mapped: usize,
    /// Offset of the buffer from the begin of the mapping.
    start: usize,
    len: usize,
}

#[expect(unsafe_code, reason = "the buffer owns its pages")]
// SAFETY: nothing about the pages belongs to a thread.
unsafe impl Send for Buffer {}

#[expect(unsafe_code, reason = "pages without access, and raw bytes between them")]
impl Buffer {
    pub(crate) fn new(len: usize) -> std::io::Result<Self> {
        // SAFETY: asks for a number.
        let page = usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(4096);
        let room = len.max(1).next_multiple_of(ALIGN);
        let inner = room.next_multiple_of(page);
        let mapped = inner + 2 * GUARD;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        // SAFETY: a new mapping at no given address.
        let map = unsafe { libc::mmap(std::ptr::null_mut(), mapped, libc::PROT_NONE, flags, -1, 0) };
        if map == libc::MAP_FAILED {
            return Err(std::io::Error::last_os_error());
        }
        let map = NonNull::new(map.cast::<u8>()).ok_or(std::io::ErrorKind::OutOfMemory)?;
        let buffer = Self { map, mapped, start: GUARD + inner - room, len };
        // SAFETY: the pages between the guards are in the mapping.
        unsafe {
            let inside = map.add(GUARD);
            if libc::mprotect(inside.as_ptr().cast(), inner, libc::PROT_READ | libc::PROT_WRITE) != 0 {
                return Err(std::io::Error::last_os_error());
            }
            std::ptr::write_bytes(inside.as_ptr(), AROUND, inner);
        }
        buffer.poison();
        Ok(buffer)
    }

    pub(crate) fn address(&self) -> *mut u8 {
        // SAFETY: within the mapping.
        unsafe { self.map.as_ptr().add(self.start) }
    }

    /// Fills the buffer with NaN again.
    pub(crate) fn poison(&self) {
        // SAFETY: the buffer's own bytes.
        unsafe { std::ptr::write_bytes(self.address(), POISON, self.len) };
    }

    /// Whether the bytes around the buffer are unchanged.
    pub(crate) fn is_intact(&self) -> bool {
        // SAFETY: the pages between the guards can be read.
        let (before, behind) = unsafe {
            let before = std::slice::from_raw_parts(self.map.as_ptr().add(GUARD), self.start - GUARD);
            let rest = self.mapped - GUARD - self.start - self.len;
            (before, std::slice::from_raw_parts(self.address().add(self.len), rest))
        };
        before.iter().chain(behind).all(|byte| *byte == AROUND)
    }
}

impl Drop for Buffer {
    #[expect(unsafe_code, reason = "unmaps what `new` mapped")]
    fn drop(&mut self) {
        // SAFETY: the mapping is this buffer's.
        unsafe { libc::munmap(self.map.as_ptr().cast(), self.mapped) };
    }
}

/// All buffers of a device, by their addresses.
#[derive(Debug, Default)]
pub(crate) struct Memory(BTreeMap<u64, Buffer>);

impl Memory {
    pub(crate) fn alloc(&mut self, bytes: usize) -> Result<DevicePtr, ShimError> {
        let failed = |error: std::io::Error| ShimError::Memory { address: 0, reason: error.to_string() };
        let buffer = Buffer::new(bytes).map_err(failed)?;
        let address = buffer.address() as u64;
        self.0.insert(address, buffer);
        Ok(DevicePtr(address))
    }

    pub(crate) fn free(&mut self, pointer: DevicePtr) -> Result<(), ShimError> {
        let unknown = || Self::error(pointer.0, "no buffer begins here".into());
        let buffer = self.0.remove(&pointer.0).ok_or_else(unknown)?;
        Self::check(&buffer)
    }

    /// Host address of `bytes` bytes of a buffer.
    pub(crate) fn range(&self, pointer: DevicePtr, bytes: usize) -> Result<*mut u8, ShimError> {
        let found = self.0.range(..=pointer.0).next_back();
        let Some((address, buffer)) = found else {
            return Err(Self::error(pointer.0, "not in any buffer".into()));
        };
        let offset = usize::try_from(pointer.0 - address).unwrap_or(usize::MAX);
        if offset.checked_add(bytes).is_none_or(|end| end > buffer.len) {
            let reason = format!("{bytes} bytes from byte {offset} of a buffer of {}", buffer.len);
            return Err(Self::error(pointer.0, reason));
        }
        Self::check(buffer)?;
        Ok(buffer.address().wrapping_add(offset))
    }

    /// Describes where an address lies: in a buffer, near one, or far from all.
    pub(crate) fn describe(&self, address: u64) -> String {
        match self.0.range(..=address).next_back() {
            Some((start, buffer)) if address - start < (buffer.len + GUARD) as u64 => {
                format!("byte {} of a buffer of {}", address - start, buffer.len)
            }
            _ => match self.0.range(address..).next() {
                Some((start, buffer)) if start - address < GUARD as u64 => {
                    format!("{} bytes before a buffer of {}", start - address, buffer.len)
                }
                _ => "far from every buffer".into(),
            },
        }
    }

    fn check(buffer: &Buffer) -> Result<(), ShimError> {
        let reason = || format!("something was written around a buffer of {} bytes", buffer.len);
        if buffer.is_intact() { Ok(()) } else { Err(Self::error(buffer.address() as u64, reason())) }
    }

    fn error(address: u64, reason: String) -> ShimError {
        ShimError::Memory { address, reason }
    }
}
