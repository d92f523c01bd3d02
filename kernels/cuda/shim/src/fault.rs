//! Faults of kernels: a signal in a fiber ends that fiber instead of the process.
//!
//! Invariant: a signal that doesn't come from a kernel goes to the handler that was there before.

use std::cell::Cell;
use std::ffi::{c_int, c_void};
use std::sync::OnceLock;

use corosensei::CoroutineResult;
use corosensei::trap::CoroutineTrapHandler;

use crate::fiber::{Exit, Fiber};

const SIGNALS: [c_int; 5] = [libc::SIGSEGV, libc::SIGBUS, libc::SIGILL, libc::SIGFPE, libc::SIGTRAP];
static BEFORE: OnceLock<Vec<libc::sigaction>> = OnceLock::new();

thread_local! {
    static RUNNING: Cell<Option<CoroutineTrapHandler<Exit>>> = const { Cell::new(None) };
}

/// Resumes a fiber until it yields, returns or faults.
pub(crate) fn resume(fiber: &mut Fiber) -> CoroutineResult<(), Exit> {
    RUNNING.set(Some(fiber.trap_handler()));
    let result = fiber.resume(());
    RUNNING.set(None);
    result
}

/// Description of a signal that a kernel caused; `place` describes the address.
pub(crate) fn describe(signal: c_int, place: &str) -> String {
    match signal {
        libc::SIGILL | libc::SIGTRAP => {
            "a vector at a misaligned address, an index outside of an array, or a trap".into()
        }
        libc::SIGFPE => "an integer division by zero".into(),
        _ => format!("an access outside of memory: {place}"),
    }
}

/// Installs the signal handlers, once for the process.
#[expect(unsafe_code, reason = "handlers of signals")]
pub(crate) fn install() {
    BEFORE.get_or_init(|| {
        let replace = |signal: &c_int| {
            // SAFETY: both are plain data for which zeros are valid.
            let (mut new, mut old) = unsafe { std::mem::zeroed::<(libc::sigaction, libc::sigaction)>() };
            new.sa_sigaction = handle as *const () as usize;
            new.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
            // SAFETY: `handle` calls nothing but what handlers may.
            unsafe { libc::sigaction(*signal, &raw const new, &raw mut old) };
            old
        };
        SIGNALS.iter().map(replace).collect()
    });
}

#[expect(unsafe_code, reason = "a handler of signals")]
extern "C" fn handle(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel gives both for the length of this call.
    let (address, context) = unsafe { ((*info).si_addr() as u64, &mut *context.cast::<libc::ucontext_t>()) };
    let trap = RUNNING.get().filter(|trap| trap.stack_ptr_in_bounds(stack_pointer(context)));
    if let Some(trap) = trap {
        // SAFETY: the fiber is the one that runs, and its registers are replaced. Nothing on its
        // stack is to be dropped.
        let regs = unsafe { trap.setup_trap_handler(move || Exit::Fault { signal, address }) };
        set_registers(context, &regs);
        return;
    }
    let old = BEFORE.get().and_then(|old| old.get(SIGNALS.iter().position(|s| *s == signal)?));
    if let Some(old) = old {
        // SAFETY: what was there before; the instruction is tried again and its handler called.
        unsafe { libc::sigaction(signal, &raw const *old, std::ptr::null_mut()) };
    }
}

#[cfg(target_arch = "x86_64")]
fn stack_pointer(context: &libc::ucontext_t) -> usize {
    usize::try_from(context.uc_mcontext.gregs[libc::REG_RSP as usize]).unwrap_or_default()
}

#[cfg(target_arch = "x86_64")]
fn set_registers(context: &mut libc::ucontext_t, regs: &corosensei::trap::TrapHandlerRegs) {
    let registers = &mut context.uc_mcontext.gregs;
    registers[libc::REG_RIP as usize] = regs.rip.cast_signed();
    registers[libc::REG_RSP as usize] = regs.rsp.cast_signed();
    registers[libc::REG_RBP as usize] = regs.rbp.cast_signed();
    registers[libc::REG_RDI as usize] = regs.rdi.cast_signed();
    registers[libc::REG_RSI as usize] = regs.rsi.cast_signed();
}

#[cfg(target_arch = "aarch64")]
fn stack_pointer(context: &libc::ucontext_t) -> usize {
    usize::try_from(context.uc_mcontext.sp).unwrap_or_default()
}

#[cfg(target_arch = "aarch64")]
fn set_registers(context: &mut libc::ucontext_t, regs: &corosensei::trap::TrapHandlerRegs) {
    let registers = &mut context.uc_mcontext;
    (registers.pc, registers.sp) = (regs.pc, regs.sp);
    (registers.regs[0], registers.regs[1]) = (regs.x0, regs.x1);
    (registers.regs[29], registers.regs[30]) = (regs.x29, regs.lr);
}
