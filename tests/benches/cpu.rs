//! A CPU clock and a way to repeat, for benchmarks.

use std::time::Duration;

/// CPU time of this thread: what counts on a machine that others use too.
pub(crate) fn thread_cpu() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is to a live timespec, which the call fills.
    #[expect(unsafe_code, reason = "the C library's clock")]
    let status = unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    assert_eq!(status, 0, "the thread has a CPU clock");
    Duration::new(time.tv_sec.try_into().expect("positive"), time.tv_nsec.try_into().expect("below 1e9"))
}

/// The median CPU time of `runs` runs, after one that isn't counted.
pub(crate) fn median_cpu(runs: usize, mut run: impl FnMut()) -> Duration {
    run();
    let mut times: Vec<Duration> = (0..runs)
        .map(|_| {
            let began = thread_cpu();
            run();
            thread_cpu().saturating_sub(began)
        })
        .collect();
    times.sort_unstable();
    times[runs / 2]
}
