//! A block of threads on the CPU: the order in which threads run, and the operations at which they
//! wait for each other.
//!
//! Invariant: a thread runs until it waits; an operation of several threads is done when the last
//! of them has arrived. So a block is deterministic. If threads wait and no thread can run, the
//! kernel is wrong. Warps run one after the other.

use std::cell::{Cell, RefCell, UnsafeCell};
use std::ffi::c_void;

use corosensei::{CoroutineResult, Yielder};

use crate::compile::Call;
use crate::context::Context;
use crate::copies::Copies;
use crate::fault;
use crate::fiber::{self, Exit, Fiber};
use crate::memory::Memory;
use crate::warp::{Arrived, Compute, Warp};

/// Number of named barriers in a block.
const BARRIERS: usize = 16;
const WARP: usize = 32;

/// Whether a thread can run, or where it waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Ready,
    AtBarrier(u32),
    InWarp,
    Ended,
}

/// A thread of the block, with its fiber.
#[derive(Default)]
pub(crate) struct Thread {
    /// Coordinates of the thread in the block.
    at: [u32; 3],
    state: Cell<Option<State>>,
    fiber: RefCell<Option<Fiber>>,
    yielder: Cell<Option<*const Yielder<(), ()>>>,
    pub(crate) copies: RefCell<Copies>,
    /// Whether the thread has waited for the launches in front (`grid_dependency_wait`).
    pub(crate) waited: Cell<bool>,
}

/// A barrier, and the threads that have arrived at it.
#[derive(Debug, Default)]
struct Barrier {
    /// Number of threads that it waits for, and the source line of its call.
    place: (usize, u32),
    arrived: Vec<usize>,
}

/// Error of a thread that ends the launch.
#[derive(Debug)]
pub(crate) struct ThreadFailure {
    pub(crate) thread: usize,
    pub(crate) reason: String,
}

/// What the threads of a block run, and how.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Body {
    pub(crate) call: Call,
    pub(crate) args: *const *mut c_void,
    /// Whether every thread must wait for the launches in front.
    pub(crate) overlaps: bool,
    /// Whether threads run in reverse order, the last first.
    pub(crate) reversed: bool,
}

/// A block while it runs.
pub(crate) struct Block {
    context: UnsafeCell<Context>,
    body: Body,
    threads: Vec<Thread>,
    warps: Vec<RefCell<Warp>>,
    barriers: [RefCell<Barrier>; BARRIERS],
    now: Cell<usize>,
    failure: RefCell<Option<ThreadFailure>>,
}

impl Block {
    /// A block of the threads that `context` asks for. It must not move after `run`.
    pub(crate) fn new(context: Context, body: Body) -> Self {
        let [x, y, z] = context.block_dim;
        let places = (0..z).flat_map(|z| (0..y).flat_map(move |y| (0..x).map(move |x| [x, y, z])));
        let all: Vec<Thread> = places.map(|at| Thread { at, ..Thread::default() }).collect();
        let threads = all.len();
        Self {
            context: UnsafeCell::new(context),
            body,
            threads: all,
            warps: (0..threads.div_ceil(WARP)).map(|_| RefCell::default()).collect(),
            barriers: std::array::from_fn(|_| RefCell::default()),
            now: Cell::new(0),
            failure: RefCell::default(),
        }
    }

    /// Runs all threads to their ends.
    #[expect(unsafe_code, reason = "the context is shared with kernels")]
    pub(crate) fn run(&self, memory: &Memory) -> Result<(), ThreadFailure> {
        // SAFETY: no kernel runs yet.
        unsafe { (*self.context.get()).runtime = std::ptr::from_ref(self).cast() };
        for thread in &self.threads {
            thread.state.set(Some(State::Ready));
        }
        let result = self.run_warps(memory);
        for thread in &self.threads {
            thread.fiber.take().into_iter().for_each(fiber::end);
        }
        result
    }

    fn run_warps(&self, memory: &Memory) -> Result<(), ThreadFailure> {
        let mut progress = true;
        while progress {
            progress = false;
            for warp in self.in_order(self.warps.len()) {
                while self.run_lanes(warp, memory)? {
                    progress = true;
                }
            }
        }
        let waits = |thread: &Thread| thread.state.get() != Some(State::Ended);
        match self.threads.iter().position(waits) {
            Some(thread) => Err(ThreadFailure { thread, reason: self.describe_wait(thread) }),
            None => Ok(()),
        }
    }

    /// Runs each lane that can run once; returns whether there was one.
    fn run_lanes(&self, warp: usize, memory: &Memory) -> Result<bool, ThreadFailure> {
        let mut progress = false;
        let first = warp * WARP;
        for lane in self.in_order(WARP.min(self.threads.len() - first)) {
            if self.threads[first + lane].state.get() == Some(State::Ready) {
                self.resume(first + lane, memory)?;
                progress = true;
            }
        }
        Ok(progress)
    }

    fn in_order(&self, len: usize) -> impl Iterator<Item = usize> + use<> {
        let reversed = self.body.reversed;
        (0..len).map(move |i| if reversed { len - 1 - i } else { i })
    }

    #[expect(unsafe_code, reason = "the context is shared with kernels")]
    fn resume(&self, index: usize, memory: &Memory) -> Result<(), ThreadFailure> {
        let failure = |reason| ThreadFailure { thread: index, reason };
        self.now.set(index);
        // SAFETY: kernels look at it only while they run.
        unsafe { (*self.context.get()).thread = self.coordinates(index) };
        let thread = &self.threads[index];
        let mut fiber = match thread.fiber.take() {
            Some(fiber) => fiber,
            None => self.start().map_err(|error| failure(format!("no stack: {error}")))?,
        };
        let result = fault::resume(&mut fiber);
        if let Some(failure) = self.failure.take() {
            fiber::end(fiber);
            return Err(failure);
        }
        match result {
            CoroutineResult::Yield(()) => {
                *thread.fiber.borrow_mut() = Some(fiber);
                return Ok(());
            }
            CoroutineResult::Return(Exit::Fault { signal, address }) => {
                fiber::end(fiber);
                return Err(failure(fault::describe(signal, &memory.describe(address))));
            }
            CoroutineResult::Return(Exit::Returned) => fiber::end(fiber),
        }
        thread.state.set(Some(State::Ended));
        if self.body.overlaps && !thread.waited.get() {
            return Err(failure("ended without grid_dependency_wait, in a launch that overlaps".into()));
        }
        Ok(())
    }

    #[expect(unsafe_code, reason = "calls the kernel")]
    fn start(&self) -> std::io::Result<Fiber> {
        let (block, context, body) = (std::ptr::from_ref(self), self.context.get(), self.body);
        fiber::start(move |yielder| {
            // SAFETY: the block outlives its fibers (`run`), and the call has its kernel's
            // arguments (`Shim::launch`).
            unsafe {
                (*block).current().yielder.set(Some(yielder));
                (body.call)(context, body.args);
            }
            Exit::Returned
        })
    }

    /// The thread that runs now.
    pub(crate) fn current(&self) -> &Thread {
        &self.threads[self.now.get()]
    }

    #[expect(unsafe_code, reason = "the fiber's own way out")]
    fn suspend(&self, state: State) {
        let thread = self.current();
        thread.state.set(Some(state));
        if let Some(yielder) = thread.yielder.get() {
            // SAFETY: it lies on the stack of the fiber that runs.
            unsafe { (*yielder).suspend(()) };
        }
    }

    /// Ends the block with an error; doesn't return to the kernel.
    pub(crate) fn fail(&self, reason: String) {
        *self.failure.borrow_mut() = Some(ThreadFailure { thread: self.now.get(), reason });
        self.suspend(State::Ended);
    }

    pub(crate) fn barrier(&self, id: u32, threads: u32, line: u32) {
        let all = self.threads.len();
        let wanted = if threads == 0 { all } else { threads as usize };
        if id as usize >= BARRIERS || wanted > all || !wanted.is_multiple_of(WARP) && wanted != all {
            return self.fail(format!("barrier {id} of {wanted} threads, in a block of {all}"));
        }
        let mut barrier = self.barriers[id as usize].borrow_mut();
        if barrier.arrived.is_empty() {
            barrier.place = (wanted, line);
        }
        let (expected, other) = barrier.place;
        if (expected, other) != (wanted, line) {
            drop(barrier);
            let reason = format!(
                "barrier {id} at line {line} of {wanted} threads; others wait for {expected} at line {other}"
            );
            return self.fail(reason);
        }
        barrier.arrived.push(self.now.get());
        if barrier.arrived.len() < wanted {
            drop(barrier);
            return self.suspend(State::AtBarrier(id));
        }
        for thread in barrier.arrived.drain(..) {
            self.threads[thread].state.set(Some(State::Ready));
        }
    }

    #[expect(unsafe_code, reason = "computes for all lanes")]
    pub(crate) fn warp(&self, mask: u32, slot: *mut c_void, compute: Compute) {
        let (warp, lane) = (self.now.get() / WARP, self.now.get() % WARP);
        #[expect(clippy::cast_possible_truncation, reason = "below 32")]
        let arrived = self.warps[warp].borrow_mut().arrive(lane as u32, mask, slot, compute);
        match arrived {
            Arrived::Wrong(reason) => self.fail(reason.into()),
            Arrived::Waits => self.suspend(State::InWarp),
            Arrived::Complete { compute, slots } => {
                // SAFETY: all lanes of the mask have come to this operation and wait with their
                // slots on their stacks.
                unsafe { compute(slots.as_ptr(), mask) };
                for lane in (0..WARP).filter(|lane| mask >> lane & 1 == 1) {
                    self.threads[warp * WARP + lane].state.set(Some(State::Ready));
                }
            }
        }
    }

    pub(crate) fn wait(&self, pending: usize) {
        self.current().copies.borrow_mut().wait(pending);
    }

    pub(crate) fn copy(&self, to: *mut u8, from: *const u8, size: usize, bytes: usize) {
        if !(to as usize).is_multiple_of(size) || !(from as usize).is_multiple_of(size) || bytes > size {
            return self.fail(format!("cp.async of {bytes} of {size} bytes from {from:p} to {to:p}"));
        }
        self.current().copies.borrow_mut().begin(to, from, size, bytes);
    }

    fn describe_wait(&self, thread: usize) -> String {
        let ended = self.threads.iter().position(|thread| thread.state.get() == Some(State::Ended));
        let ended = ended
            .map_or(String::new(), |thread| format!("; thread {:?} has ended", self.coordinates(thread)));
        if let Some(State::AtBarrier(id)) = self.threads[thread].state.get() {
            let barrier = self.barriers[id as usize].borrow();
            let ((wanted, line), arrived) = (barrier.place, barrier.arrived.len());
            return format!(
                "waits at barrier {id} (line {line}), where {arrived} of {wanted} threads have come{ended}"
            );
        }
        let missing = self.warps[thread / WARP].borrow().missing();
        format!("waits for an operation of its warp; lanes {missing:#010x} have not come{ended}")
    }

    /// Coordinates of a thread in the block.
    pub(crate) fn coordinates(&self, index: usize) -> [u32; 3] {
        self.threads[index].at
    }
}
