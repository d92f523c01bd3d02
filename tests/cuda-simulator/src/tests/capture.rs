//! Captures and graphs.
#![expect(unsafe_code, reason = "calls as the engine makes them")]

use std::ptr::null_mut;

use cudarc::driver::sys::{CUgraphExec, CUresult, CUstreamCaptureMode};

use super::rig::{Rig, TEXT, ok};
use crate::driver::*;

const LOCAL: CUstreamCaptureMode = CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;

fn begin(rig: &Rig) {
    // SAFETY: a stream of the test.
    ok(unsafe { cuStreamBeginCapture_v2(rig.stream, LOCAL) });
}

/// Ends a capture; the graph, ready to be launched.
fn end(rig: &Rig) -> Result<CUgraphExec, CUresult> {
    let (mut graph, mut executable) = (null_mut(), null_mut());
    // SAFETY: handles of the test, and places for the results.
    unsafe {
        match cuStreamEndCapture(rig.stream, &raw mut graph) {
            CUresult::CUDA_SUCCESS => {}
            error => return Err(error),
        }
        ok(cuGraphInstantiateWithFlags(&raw mut executable, graph, 0));
        ok(cuGraphDestroy(graph));
    }
    Ok(executable)
}

#[test]
fn captured_launches_run_at_each_launch_of_the_graph() {
    let rig = Rig::new();
    let (at, function, to) = (rig.allocate(4), rig.kernel(), rig.pinned(1));
    // SAFETY: handles of the test.
    unsafe {
        ok(cuMemsetD8Async(at, 0, 4, rig.stream));
        begin(&rig);
        ok(rig.add(function, at, 1, 5));
        let graph = end(&rig).unwrap();
        ok(rig.download(to, at));
        ok(rig.synchronize());
        assert_eq!(to, [0], "a capture does nothing");
        ok(cuGraphLaunch(graph, rig.stream));
        ok(cuGraphLaunch(graph, rig.stream));
        ok(rig.download(to, at));
        ok(rig.synchronize());
        assert_eq!(to, [10]);
        ok(cuGraphExecDestroy(graph));
        assert_eq!(cuGraphLaunch(graph, rig.stream), CUresult::CUDA_ERROR_INVALID_HANDLE);
    }
}

#[test]
fn what_cannot_be_captured_spoils_the_capture() {
    let rig = Rig::new();
    let (at, function, pinned, mut event) = (rig.allocate(4), rig.kernel(), rig.pinned(1), null_mut());
    // SAFETY: as above.
    ok(unsafe { cuEventCreate(&raw mut event, 2) });
    let words = [1u32];
    let mut place = 0;
    let calls: [&mut dyn FnMut() -> CUresult; 6] = [
        // SAFETY: as above, and places for the results.
        &mut || unsafe { cuMemAlloc_v2(&raw mut place, 4) },
        // SAFETY: as above.
        &mut || unsafe { cuMemFree_v2(at) },
        &mut || rig.synchronize(),
        // SAFETY: as above.
        &mut || unsafe { cuEventSynchronize(event) },
        // SAFETY: as above.
        &mut || unsafe { cuMemFreeHost(pinned.as_mut_ptr().cast()) },
        &mut || rig.upload(at, &words),
    ];
    for (i, call) in calls.into_iter().enumerate() {
        begin(&rig);
        ok(rig.add(function, at, 1, 1));
        assert_eq!(call(), CUresult::CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "call {i}");
        let after = rig.add(function, at, 1, 1);
        assert_eq!(after, CUresult::CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, "call {i}");
        assert_eq!(end(&rig), Err(CUresult::CUDA_ERROR_STREAM_CAPTURE_INVALIDATED), "call {i}");
    }
}

#[test]
fn kernels_first_launch_is_never_in_a_capture() {
    let rig = Rig::new();
    let (at, function) = (rig.allocate(4), rig.loaded(TEXT, "add_all").unwrap().1);
    begin(&rig);
    assert_eq!(rig.add(function, at, 1, 1), CUresult::CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    assert_eq!(end(&rig), Err(CUresult::CUDA_ERROR_STREAM_CAPTURE_INVALIDATED));
}

#[test]
fn other_threads_may_allocate_but_not_end_the_capture() {
    let rig = Rig::new();
    begin(&rig);
    let stream = rig.stream as usize;
    let other = move || {
        let mut graph = null_mut();
        let at = Rig::beside_another().allocate(4);
        // SAFETY: memory and stream of the test.
        unsafe { (cuMemFree_v2(at), cuStreamEndCapture(stream as *mut _, &raw mut graph)) }
    };
    let ended = std::thread::spawn(other).join().unwrap();
    assert_eq!(ended, (CUresult::CUDA_SUCCESS, CUresult::CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD));
    assert!(end(&rig).is_ok());
}

#[test]
fn nobody_waits_for_an_event_of_a_capture() {
    let rig = Rig::new();
    let mut event = null_mut();
    // SAFETY: handles of the test.
    unsafe {
        ok(cuEventCreate(&raw mut event, 2));
        begin(&rig);
        ok(cuEventRecord(event, rig.stream));
        end(&rig).unwrap();
        assert_eq!(cuEventSynchronize(event), CUresult::CUDA_ERROR_CAPTURED_EVENT);
    }
}
