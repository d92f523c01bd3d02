//! Fibers, whose stacks are reused.

use std::cell::RefCell;
use std::ffi::c_int;

use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, Yielder};

/// A thread of a kernel, as a coroutine that yields where it has to wait.
pub(crate) type Fiber = Coroutine<(), (), Exit>;

/// How a thread ended.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Exit {
    /// The kernel returned.
    Returned,
    /// A signal stopped the kernel.
    Fault { signal: c_int, address: u64 },
}

/// Size of a stack; pages that no thread touches take no memory.
const STACK_BYTES: usize = 128 << 10;

thread_local! {
    static STACKS: RefCell<Vec<DefaultStack>> = const { RefCell::new(Vec::new()) };
}

/// Creates a fiber that runs `body` when it is resumed.
pub(crate) fn start(body: impl FnOnce(&Yielder<(), ()>) -> Exit + 'static) -> std::io::Result<Fiber> {
    let stack = STACKS.with_borrow_mut(Vec::pop).map_or_else(|| DefaultStack::new(STACK_BYTES), Ok)?;
    Ok(Coroutine::with_stack(stack, move |yielder, ()| body(yielder)))
}

/// Ends a fiber, wherever it stopped, and keeps its stack for reuse.
#[expect(unsafe_code, reason = "kernels have nothing to drop")]
pub(crate) fn end(mut fiber: Fiber) {
    // SAFETY: on the stack are frames of a kernel and of hooks, which own nothing while they wait.
    unsafe { fiber.force_reset() };
    STACKS.with_borrow_mut(|stacks| stacks.push(fiber.into_stack()));
}
