//! Functions that kernels call: the C interface of [`Block`].
//!
//! Invariant: every function is called on a fiber of the context's block, by the block's current
//! thread.

use std::ffi::{CStr, c_char, c_void};

use crate::block::Block;
use crate::context::Context;
use crate::warp::Compute;

/// The functions, in the order of `Hooks` in runtime.hpp.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct Hooks {
    barrier: unsafe extern "C" fn(*const Context, u32, u32, u32),
    warp: unsafe extern "C" fn(*const Context, u32, *mut c_void, Compute),
    copy: unsafe extern "C" fn(*const Context, *mut u8, *const u8, u32, u32),
    commit: unsafe extern "C" fn(*const Context),
    wait: unsafe extern "C" fn(*const Context, u32),
    dependency: unsafe extern "C" fn(*const Context),
    fail: unsafe extern "C" fn(*const Context, *const c_char),
}

pub(crate) static HOOKS: Hooks = Hooks { barrier, warp, copy, commit, wait, dependency, fail };

#[expect(unsafe_code, reason = "the context is the runtime's own")]
fn block<'a>(context: *const Context) -> &'a Block {
    // SAFETY: `Block::run` made the context, and the block outlives its fibers.
    unsafe { &*(*context).runtime.cast() }
}

extern "C" fn barrier(context: *const Context, id: u32, threads: u32, line: u32) {
    block(context).barrier(id, threads, line);
}

extern "C" fn warp(context: *const Context, mask: u32, slot: *mut c_void, compute: Compute) {
    block(context).warp(mask, slot, compute);
}

extern "C" fn copy(context: *const Context, to: *mut u8, from: *const u8, size: u32, bytes: u32) {
    block(context).copy(to, from, size as usize, bytes as usize);
}

extern "C" fn commit(context: *const Context) {
    block(context).current().copies.borrow_mut().commit();
}

extern "C" fn wait(context: *const Context, pending: u32) {
    block(context).wait(pending as usize);
}

extern "C" fn dependency(context: *const Context) {
    block(context).current().waited.set(true);
}

#[expect(unsafe_code, reason = "a sentence of the header")]
extern "C" fn fail(context: *const Context, reason: *const c_char) {
    // SAFETY: the header gives string literals.
    let reason = unsafe { CStr::from_ptr(reason) };
    block(context).fail(reason.to_string_lossy().into_owned());
}
