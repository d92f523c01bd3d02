//! CPU clocks of threads and processes, which don't count the time of others on the machine, and
//! page faults, which the kernel counts with them.

use std::mem::MaybeUninit;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// CPU time that this thread has used.
pub fn thread_cpu_time() -> Duration {
    read(ClockId::ThreadCPUTime)
}

/// CPU time that all threads of this process have used.
pub fn process_cpu_time() -> Duration {
    read(ClockId::ProcessCPUTime)
}

/// The kernel's counts for one thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ThreadUsage {
    /// CPU time.
    pub cpu: Duration,
    /// Minor and major page faults.
    pub page_faults: i64,
}

impl ThreadUsage {
    /// Counts of this thread since its start.
    pub fn now() -> Self {
        let mut usage = MaybeUninit::<libc::rusage>::zeroed();
        // SAFETY: `usage` has room for an rusage, which is all that the call writes; zeros are a
        // valid rusage if the call fails.
        #[allow(unsafe_code, reason = "neither std nor rustix has it")]
        let usage = unsafe {
            let status = libc::getrusage(libc::RUSAGE_THREAD, usage.as_mut_ptr());
            debug_assert_eq!(status, 0, "Linux has had this since 2.6.26");
            usage.assume_init()
        };
        Self { cpu: thread_cpu_time(), page_faults: usage.ru_minflt + usage.ru_majflt }
    }
}

fn read(clock: ClockId) -> Duration {
    let time = clock_gettime(clock);
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn thread_and_process_clocks_move_with_the_work() {
        // The process's clock is read first and last: it has counted what this thread's clock has.
        let (process, thread) = (process_cpu_time(), thread_cpu_time());
        while thread_cpu_time() < thread + 20 * MS {}
        assert!(process_cpu_time() >= process + 20 * MS);
    }

    #[test]
    fn first_touched_pages_are_faults_of_their_thread() {
        let before = ThreadUsage::now();
        let pages = std::hint::black_box(vec![1_u8; 64 << 20]);
        assert!(ThreadUsage::now().page_faults > before.page_faults, "{}", pages.len());
    }

    #[test]
    fn the_clock_of_a_thread_stands_while_it_sleeps() {
        let start = thread_cpu_time();
        std::thread::sleep(30 * MS);
        assert!(thread_cpu_time() < start + 20 * MS);
    }
}
