//! A CPU clock, medians and resident memory, for benchmarks.

use std::process::Command;
use std::time::Duration;

/// Returns the CPU time of this thread, which depends less than wall time on what else the machine
/// runs.
pub fn thread_cpu() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is to a live timespec, which the call fills.
    #[expect(unsafe_code, reason = "the C library's clock")]
    let status = unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    assert_eq!(status, 0, "the thread has a CPU clock");
    Duration::new(time.tv_sec.try_into().expect("positive"), time.tv_nsec.try_into().expect("below 1e9"))
}

/// Returns the CPU time that the living threads of this process have used so far (Linux).
pub fn processor_time() -> Duration {
    let tasks = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let nanoseconds = tasks.filter_map(|task| {
        let text = std::fs::read_to_string(task.path().join("schedstat")).ok()?;
        text.split_whitespace().next()?.parse::<u64>().ok()
    });
    Duration::from_nanos(nanoseconds.sum())
}

/// Returns the median of the times that `runs` runs measure, after a first run that isn't counted.
pub fn median(runs: usize, mut run: impl FnMut() -> Duration) -> Duration {
    run();
    let mut times: Vec<Duration> = (0..runs).map(|_| run()).collect();
    times.sort_unstable();
    times[runs / 2]
}

/// Returns the median CPU time of `runs` runs, after a first run that isn't counted.
pub fn median_cpu(runs: usize, mut run: impl FnMut()) -> Duration {
    median(runs, || {
        let began = thread_cpu();
        run();
        thread_cpu().saturating_sub(began)
    })
}

/// Returns this process's memory in KiB (proportional set size): a page shared with other processes
/// counts in part, a page mapped twice counts once.
pub fn resident_kib() -> u64 {
    let maps = std::fs::read_to_string("/proc/self/smaps_rollup").expect("Linux");
    let line = maps.lines().find_map(|line| line.strip_prefix("Pss:")).expect("Pss");
    line.trim().trim_end_matches(" kB").trim().parse().expect("a number")
}

/// Whether this process runs the test `name` of its binary and no other. If not, another process
/// does so now, and the caller returns: what a process's memory says isn't true of a test while
/// others run beside it.
///
/// # Panics
/// If the test fails in the other process.
pub fn runs_alone(name: &str) -> bool {
    const ALONE: &str = "SLUICE_TEST_ALONE";
    if std::env::var_os(ALONE).is_some_and(|alone| alone == name) {
        return true;
    }
    let binary = std::env::current_exe().expect("the path of this test");
    let output = Command::new(binary).args(["--exact", name]).env(ALONE, name).output().expect("this test");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains("1 passed"), "{name}, alone:\n{text}");
    false
}

/// Returns by how many bytes this process's memory grows to its peak while `work` runs.
///
/// # Panics
/// If there is no `/proc`.
pub async fn growth(work: impl Future<Output = ()>) -> usize {
    let field = |name| {
        let status = std::fs::read_to_string("/proc/self/status").expect("Linux");
        let kib = status.lines().find_map(|line| line.strip_prefix(name)?.trim().strip_suffix(" kB"));
        kib.and_then(|kib| kib.parse::<usize>().ok()).expect("a number") << 10
    };
    // Resets the peak.
    std::fs::write("/proc/self/clear_refs", "5").expect("Linux");
    let before = field("VmRSS:");
    work.await;
    field("VmHWM:").saturating_sub(before)
}
