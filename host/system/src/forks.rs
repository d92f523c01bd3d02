//! Forks of this process. A child has the thread that called `fork` and no other, so whoever keeps
//! a thread starts it again there.

use std::io;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

/// Number of forks between the process that first watched and this one.
static FORKS: AtomicU32 = AtomicU32::new(0);

/// Proof that forks are counted.
#[derive(Debug, Clone, Copy)]
pub struct ForkWatch(());

impl ForkWatch {
    /// Begins to count, if nobody has.
    ///
    /// # Errors
    /// The system has no memory for it.
    pub fn begin() -> io::Result<Self> {
        static BEGUN: OnceLock<i32> = OnceLock::new();
        match *BEGUN.get_or_init(count_forks) {
            0 => Ok(Self(())),
            error => Err(io::Error::from_raw_os_error(error)),
        }
    }

    /// A number that differs between a process and the children that it forks.
    #[inline]
    pub fn generation(self) -> u32 {
        FORKS.load(Ordering::Relaxed)
    }
}

/// Has the C library count the forks that go through it. Returns its error, 0 for none.
#[allow(unsafe_code, reason = "neither std, rustix nor libc has it")]
fn count_forks() -> i32 {
    type Handler = Option<unsafe extern "C" fn()>;
    unsafe extern "C" {
        fn pthread_atfork(prepare: Handler, parent: Handler, child: Handler) -> i32;
    }
    unsafe extern "C" fn child() {
        FORKS.fetch_add(1, Ordering::Relaxed);
    }
    // SAFETY: the handler may run where only async-signal-safe functions may, and adds to an atomic.
    unsafe { pthread_atfork(None, None, Some(child)) }
}
