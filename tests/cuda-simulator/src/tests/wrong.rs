//! Calls with wrong arguments, and what isn't freed.
#![expect(unsafe_code, reason = "calls as the engine makes them")]

use std::ptr::null_mut;

use cudarc::driver::sys::CUresult;

use super::rig::{Rig, ok};
use crate::context::Context;
use crate::driver::*;
use crate::work::Work;

#[test]
fn a_thread_without_a_context_can_do_nothing() {
    let _rig = Rig::new();
    let call = || {
        let mut at = 0;
        // SAFETY: a place for the result.
        unsafe { cuMemAlloc_v2(&raw mut at, 4) }
    };
    assert_eq!(std::thread::spawn(call).join().unwrap(), CUresult::CUDA_ERROR_INVALID_CONTEXT);
}

#[test]
fn memory_is_what_was_allocated_and_not_yet_freed() {
    let rig = Rig::new();
    let (at, mut words) = (rig.allocate(8), [0u32; 3]);
    assert_eq!(rig.upload(at, &words), CUresult::CUDA_ERROR_INVALID_VALUE);
    assert_eq!(rig.upload(at, &[]), CUresult::CUDA_ERROR_INVALID_VALUE);
    assert_eq!(rig.download(&mut words[..1], at + 8), CUresult::CUDA_ERROR_INVALID_VALUE);
    // SAFETY: any address will do, and places for the results.
    unsafe {
        assert_eq!(cuMemcpyDtoDAsync_v2(at, at + 4, 8, rig.stream), CUresult::CUDA_ERROR_INVALID_VALUE);
        assert_eq!(cuMemFree_v2(at + 4), CUresult::CUDA_ERROR_INVALID_VALUE);
        ok(cuMemFree_v2(at));
        assert_eq!(cuMemFree_v2(at), CUresult::CUDA_ERROR_INVALID_VALUE);
        assert_eq!(cuMemFreeHost(words.as_mut_ptr().cast()), CUresult::CUDA_ERROR_INVALID_VALUE);
    }
    assert_eq!(rig.upload(at, &words), CUresult::CUDA_ERROR_INVALID_VALUE);
}

#[test]
fn more_memory_than_the_device_has_is_not_given() {
    let _rig = Rig::new();
    let (mut at, mut free, mut total) = (0, 0, 0);
    // SAFETY: places for the results.
    unsafe {
        ok(cuMemGetInfo_v2(&raw mut free, &raw mut total));
        assert_eq!(cuMemAlloc_v2(&raw mut at, total + 1), CUresult::CUDA_ERROR_OUT_OF_MEMORY);
        assert_eq!(cuMemAlloc_v2(&raw mut at, 0), CUresult::CUDA_ERROR_INVALID_VALUE);
    }
    assert!(free <= total && total == 2 << 30);
}

#[test]
fn event_never_recorded_is_waited_for_in_vain() {
    let _rig = Rig::new();
    let mut event = null_mut();
    // SAFETY: a place for the result, and the event.
    unsafe {
        ok(cuEventCreate(&raw mut event, 2));
        assert_eq!(cuEventSynchronize(event), CUresult::CUDA_ERROR_INVALID_VALUE);
    }
}

#[test]
fn what_was_not_freed_is_counted() {
    let mut context = Context::new();
    assert_eq!(context.leaks(), Vec::<String>::new());
    context.events.add::<u8>(Event::default());
    context.pinned.insert(16, Vec::new());
    assert_eq!(context.leaks(), ["1 allocations of pinned memory", "1 events"]);
    context.lost = Some(CUresult::CUDA_ERROR_ILLEGAL_ADDRESS);
    assert_eq!(context.leaks(), Vec::<String>::new());
}

#[test]
fn a_fault_of_the_device_loses_the_context() {
    let mut context = Context::new();
    let fault = Work::Fill { at: 64, byte: 0, bytes: 4 };
    assert_eq!(context.perform(&fault), Err(CUresult::CUDA_ERROR_ILLEGAL_ADDRESS));
    assert_eq!(context.lost, Some(CUresult::CUDA_ERROR_ILLEGAL_ADDRESS));
}
