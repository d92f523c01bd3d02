//! Events.
#![expect(unsafe_code, reason = "C functions")]

use std::ffi::c_uint;

use cudarc::driver::sys::{CUevent, CUresult, CUstream};

use crate::call::{context, outside_capture};
use crate::context::Context;
use crate::outcome::{put, wrong};
use crate::work::Work;

/// An event, with the numbers of its records.
#[derive(Debug, Default)]
pub(crate) struct Event {
    recorded: u64,
    /// The last record that the device has come to.
    pub(crate) done: u64,
    /// Handle of the stream in which it was recorded last.
    stream: usize,
    /// Whether the last record is part of a graph, so that nobody can wait for it.
    is_captured: bool,
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cuEventCreate(event: *mut CUevent, flags: c_uint) -> CUresult {
    const NAME: &str = "cuEventCreate";
    context(NAME, |context| {
        if flags > 7 {
            return Err(wrong(NAME, CUresult::CUDA_ERROR_INVALID_VALUE, format!("flags {flags}")));
        }
        put(NAME, event, context.events.add(Event::default()))
    })
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cuEventDestroy_v2(event: CUevent) -> CUresult {
    const NAME: &str = "cuEventDestroy_v2";
    context(NAME, |context| {
        context.event(NAME, event)?;
        context.events.remove(event);
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cuEventRecord(event: CUevent, stream: CUstream) -> CUresult {
    const NAME: &str = "cuEventRecord";
    context(NAME, |context| {
        let is_captured = context.stream(NAME, stream)?.capture.is_some();
        let found = context.event(NAME, event)?;
        found.recorded += 1;
        (found.stream, found.is_captured) = (stream as usize, is_captured);
        let number = found.recorded;
        context.enqueue(NAME, stream, Work::Record { event: event as usize, number })
    })
}

/// Waits for an event. The driver takes an event that was never recorded for one that has come;
/// here that is an error, since whoever waits for it waits for nothing.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cuEventSynchronize(event: CUevent) -> CUresult {
    const NAME: &str = "cuEventSynchronize";
    outside_capture(NAME, |context| {
        let &mut Event { recorded, stream, is_captured, .. } = context.event(NAME, event)?;
        if recorded == 0 {
            return Err(wrong(NAME, CUresult::CUDA_ERROR_INVALID_VALUE, "the event was never recorded"));
        }
        if is_captured {
            return Err(wrong(NAME, CUresult::CUDA_ERROR_CAPTURED_EVENT, "the event belongs to a capture"));
        }
        context.run(stream, |context| context.events.get(event).is_none_or(|event| event.done >= recorded))
    })
}

impl Context {
    fn event(&mut self, name: &str, event: CUevent) -> Result<&mut Event, CUresult> {
        let unknown = || wrong(name, CUresult::CUDA_ERROR_INVALID_HANDLE, format!("no event {event:p}"));
        self.events.get_mut(event).ok_or_else(unknown)
    }
}
