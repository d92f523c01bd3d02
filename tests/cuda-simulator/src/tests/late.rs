//! Work is done when someone waits for it, and not before.
#![expect(unsafe_code, reason = "calls as the engine makes them")]

use std::ptr::null_mut;

use super::rig::{Rig, ok};
use crate::driver::*;

#[test]
fn copies_touch_host_memory_when_someone_waits() {
    let rig = Rig::new();
    let (at, from, to) = (rig.allocate(8), rig.pinned(2), rig.pinned(2));
    from.copy_from_slice(&[1, 2]);
    ok(rig.upload(at, from));
    ok(rig.download(to, at));
    // Too early: the copy sees it.
    from[0] = 7;
    assert_eq!(to, [0, 0]);
    ok(rig.synchronize());
    assert_eq!(to, [7, 2]);
}

#[test]
fn an_event_comes_with_the_work_in_front_of_it_alone() {
    let rig = Rig::new();
    let (at, function, to, mut event) = (rig.allocate(4), rig.kernel(), rig.pinned(2), null_mut());
    // SAFETY: handles of this test.
    unsafe {
        ok(cuEventCreate(&raw mut event, 2));
        ok(cuMemsetD8Async(at, 0, 4, rig.stream));
        ok(rig.download(&mut to[..1], at));
        ok(cuEventRecord(event, rig.stream));
        ok(rig.add(function, at, 1, 5));
        ok(rig.download(&mut to[1..], at));
        to.fill(9);
        ok(cuEventSynchronize(event));
        assert_eq!(to, [0, 9]);
        ok(rig.synchronize());
        assert_eq!(to, [0, 5]);
        ok(cuEventDestroy_v2(event));
    }
}

#[test]
fn freeing_pinned_memory_waits_for_the_device() {
    let rig = Rig::new();
    let (at, from, to) = (rig.allocate(4), rig.pinned(1), rig.pinned(1));
    from[0] = 3;
    ok(rig.upload(at, from));
    // SAFETY: nobody uses it any more.
    ok(unsafe { cuMemFreeHost(from.as_mut_ptr().cast()) });
    ok(rig.download(to, at));
    ok(rig.synchronize());
    assert_eq!(to, [3]);
}

#[test]
fn ordinary_memory_is_copied_before_the_call_returns() {
    let rig = Rig::new();
    let (at, mut words, mut read) = (rig.allocate(4), [4u32], [0u32]);
    ok(rig.upload(at, &words));
    words[0] = 5;
    ok(rig.download(&mut read, at));
    assert_eq!((words, read), ([5], [4]));
}
