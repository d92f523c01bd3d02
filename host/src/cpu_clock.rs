//! CPU clocks: what counts of a thread or a process on a machine that others use too.

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

fn read(clock: ClockId) -> Duration {
    let time = clock_gettime(clock);
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn the_clock_of_a_thread_moves_with_its_work_and_the_clock_of_the_process_with_it() {
        let (thread, process) = (thread_cpu_time(), process_cpu_time());
        while thread_cpu_time() < thread + 20 * MS {}
        assert!(process_cpu_time() >= process + 20 * MS);
    }

    #[test]
    fn the_clock_of_a_thread_stands_while_it_sleeps() {
        let start = thread_cpu_time();
        std::thread::sleep(30 * MS);
        assert!(thread_cpu_time() < start + 20 * MS);
    }
}
