//! Streams: queues of work, and captures into graphs.
#![expect(unsafe_code, reason = "C functions")]

use std::collections::VecDeque;
use std::ffi::c_uint;
use std::ptr::null_mut;
use std::thread::ThreadId;

use cudarc::driver::sys::{CUgraph, CUresult, CUstream, CUstreamCaptureMode};

use crate::call::{context, outside_capture};
use crate::context::Context;
use crate::outcome::{Outcome, put, wrong};
use crate::work::Work;

/// A stream's work that isn't done yet, and its capture.
#[derive(Debug, Default)]
pub(crate) struct Stream {
    pub(crate) queue: VecDeque<Work>,
    pub(crate) capture: Option<Capture>,
}

/// Work that is recorded instead of being done.
#[derive(Debug)]
pub(crate) struct Capture {
    mode: CUstreamCaptureMode,
    thread: ThreadId,
    work: Vec<Work>,
    /// Whether a call was made that can't be captured.
    is_invalid: bool,
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cuStreamCreate(stream: *mut CUstream, flags: c_uint) -> CUresult {
    const NAME: &str = "cuStreamCreate";
    context(NAME, |context| {
        if flags > 1 {
            return Err(wrong(NAME, CUresult::CUDA_ERROR_INVALID_VALUE, format!("flags {flags}")));
        }
        put(NAME, stream, context.streams.add(Stream::default()))
    })
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cuStreamDestroy_v2(stream: CUstream) -> CUresult {
    const NAME: &str = "cuStreamDestroy_v2";
    context(NAME, |context| {
        context.stream(NAME, stream)?;
        context.run(stream as usize, |_| false)?;
        context.streams.remove(stream);
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cuStreamSynchronize(stream: CUstream) -> CUresult {
    const NAME: &str = "cuStreamSynchronize";
    outside_capture(NAME, |context| {
        context.stream(NAME, stream)?;
        context.run(stream as usize, |_| false)
    })
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cuStreamBeginCapture_v2(
    stream: CUstream,
    mode: CUstreamCaptureMode,
) -> CUresult {
    const NAME: &str = "cuStreamBeginCapture_v2";
    context(NAME, |context| {
        let stream = context.stream(NAME, stream)?;
        if stream.capture.is_some() {
            return Err(wrong(NAME, CUresult::CUDA_ERROR_ILLEGAL_STATE, "the stream is captured already"));
        }
        let thread = std::thread::current().id();
        stream.capture = Some(Capture { mode, thread, work: Vec::new(), is_invalid: false });
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cuStreamEndCapture(stream: CUstream, graph: *mut CUgraph) -> CUresult {
    const NAME: &str = "cuStreamEndCapture";
    context(NAME, |context| {
        let found = context.stream(NAME, stream)?;
        let missing = || wrong(NAME, CUresult::CUDA_ERROR_ILLEGAL_STATE, "the stream isn't captured");
        let capture = found.capture.as_ref().ok_or_else(missing)?;
        if capture.thread != std::thread::current().id() {
            let error = CUresult::CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
            return Err(wrong(NAME, error, "another thread began the capture"));
        }
        if let Some(Capture { work, is_invalid: false, .. }) = found.capture.take() {
            return put(NAME, graph, context.graphs.add(work.into()));
        }
        put(NAME, graph, null_mut())?;
        Err(CUresult::CUDA_ERROR_STREAM_CAPTURE_INVALIDATED)
    })
}

impl Context {
    pub(crate) fn stream(&mut self, name: &str, stream: CUstream) -> Result<&mut Stream, CUresult> {
        let unknown = || wrong(name, CUresult::CUDA_ERROR_INVALID_HANDLE, format!("no stream {stream:p}"));
        self.streams.get_mut(stream).ok_or_else(unknown)
    }

    /// Enqueues work, or records it where the stream is captured.
    pub(crate) fn enqueue(&mut self, name: &str, stream: CUstream, work: Work) -> Outcome {
        let stream = self.stream(name, stream)?;
        match &mut stream.capture {
            None => stream.queue.push_back(work),
            Some(Capture { is_invalid: true, .. }) => {
                return Err(CUresult::CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
            }
            Some(capture) => capture.work.push(work),
        }
        Ok(())
    }

    /// Does a stream's work, until a condition holds or no work is left.
    pub(crate) fn run(&mut self, stream: usize, is_enough: impl Fn(&Self) -> bool) -> Outcome {
        while !is_enough(self) {
            let next = self.streams.get_mut(stream as CUstream).and_then(|stream| stream.queue.pop_front());
            let Some(work) = next else { return Ok(()) };
            self.perform(&work)?;
        }
        Ok(())
    }

    /// Refuses a call that can't be captured while the calling thread captures, or any thread in
    /// global mode; such a call spoils the captures.
    pub(crate) fn refuse_in_capture(&mut self, name: &str) -> Outcome {
        let mut is_refused = false;
        for capture in self.streams.all_mut().filter_map(|stream| stream.capture.as_mut()) {
            let concerns = match capture.mode {
                CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_GLOBAL => true,
                CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL => {
                    capture.thread == std::thread::current().id()
                }
                CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED => false,
            };
            capture.is_invalid |= concerns;
            is_refused |= concerns;
        }
        if is_refused {
            let error = CUresult::CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
            return Err(wrong(name, error, "called while a stream is captured"));
        }
        Ok(())
    }
}
