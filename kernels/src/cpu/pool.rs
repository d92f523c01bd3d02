//! Thread pool that runs the tasks of one operation at a time.
//!
//! Tasks are claimed one by one, so a thread that the system has suspended delays only its current
//! task; the caller works, too, and never waits for a thread that has not begun. Idle threads poll
//! for work for some tens of microseconds (the next operation of a step follows at once) and then
//! sleep. A task's result must not depend on the thread that runs it.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::PoisonError;

use super::sync::{
    Arc, AtomicU64, AtomicUsize, Builder, Condvar, JoinHandle, Mutex, MutexGuard, Ordering, SPINS, spin_loop,
};

type Work<'a> = dyn Fn(usize) + Sync + 'a;

/// Pool of threads. Dropping it ends them.
#[derive(Debug)]
pub(super) struct Pool {
    shared: Arc<Shared>,
    workers: Vec<JoinHandle<()>>,
    /// Held while an operation runs, so that one runs at a time.
    running: Mutex<()>,
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    /// Counter that rises with each job. Threads that poll for work read it without the lock.
    round: AtomicU64,
    /// Index of the next task to claim.
    next: AtomicUsize,
    /// Number of workers inside the current job.
    active_workers: AtomicUsize,
    wake: Condvar,
    all_left: Condvar,
}

#[derive(Debug, Default)]
struct State {
    job: Option<Job>,
    sleepers: usize,
    panicked: bool,
    stop: bool,
}

#[derive(Clone, Copy)]
struct Job {
    work: *const Work<'static>,
    tasks: usize,
}

impl std::fmt::Debug for Job {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Job({} tasks)", self.tasks)
    }
}

#[expect(
    unsafe_code,
    reason = "the pointer is used only while `Pool::run` holds the closure that it points to"
)]
// SAFETY: the closure that the pointer points to is `Sync`, and `Pool::run` keeps it alive while a
// worker uses it.
unsafe impl Send for Job {}

impl Pool {
    /// Starts the workers. `threads` counts the caller's own thread; there are fewer if the system
    /// can't start as many.
    pub(super) fn new(threads: usize) -> Self {
        let shared = Arc::new(Shared::default());
        let workers = (1..threads)
            .map_while(|i| {
                let shared = Arc::clone(&shared);
                Builder::new().name(format!("kernel-{i}")).spawn(move || shared.serve()).ok()
            })
            .collect();
        Self { shared, workers, running: Mutex::new(()) }
    }

    pub(super) fn threads(&self) -> usize {
        self.workers.len() + 1
    }

    /// Runs `work(0) … work(tasks - 1)`, each once, and returns when all are done.
    ///
    /// # Panics
    /// If a task panics.
    pub(super) fn run(&self, tasks: usize, work: &Work<'_>) {
        if self.workers.is_empty() || tasks < 2 {
            return (0..tasks).for_each(work);
        }
        let running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        self.shared.publish(Job { work: erase(work), tasks });
        let end = EndOfJob(&self.shared);
        self.shared.claim(work, tasks);
        drop(end);
        let panicked = std::mem::take(&mut self.shared.lock().panicked);
        drop(running);
        assert!(!panicked, "a task of a kernel panicked");
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.shared.lock().stop = true;
        self.shared.round.fetch_add(1, Ordering::Release);
        self.shared.wake.notify_all();
        for worker in self.workers.drain(..) {
            // A worker catches the panics of its tasks, so its result says nothing.
            let _ = worker.join();
        }
    }
}

/// Guard that withdraws the job and waits for the workers inside it, also if a task of the caller
/// panics.
struct EndOfJob<'a>(&'a Shared);

impl Drop for EndOfJob<'_> {
    fn drop(&mut self) {
        let shared = self.0;
        shared.lock().job = None;
        for _ in 0..SPINS {
            if shared.active_workers.load(Ordering::Acquire) == 0 {
                return;
            }
            spin_loop();
        }
        let mut state = shared.lock();
        while shared.active_workers.load(Ordering::Acquire) > 0 {
            state = shared.all_left.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn publish(&self, job: Job) {
        let mut state = self.lock();
        self.next.store(0, Ordering::Relaxed);
        state.job = Some(job);
        // If the caller's own task panicked in the last job, `run` left without taking the flag.
        state.panicked = false;
        self.round.fetch_add(1, Ordering::Release);
        let sleepers = state.sleepers;
        drop(state);
        if sleepers > 0 {
            self.wake.notify_all();
        }
    }

    fn claim(&self, work: &Work<'_>, tasks: usize) {
        loop {
            let task = self.next.fetch_add(1, Ordering::Relaxed);
            if task >= tasks {
                return;
            }
            work(task);
        }
    }

    /// Runs jobs on a worker until the pool ends.
    fn serve(&self) {
        let mut seen = 0;
        while let Some(job) = self.join(&mut seen) {
            let outcome = catch_unwind(AssertUnwindSafe(|| {
                #[expect(unsafe_code, reason = "the closure's life was erased in `Pool::run`")]
                // SAFETY: `join` counted this worker inside while the job was there, under the
                // lock; `EndOfJob` withdraws the job under the same lock and waits until no worker
                // is inside before `Pool::run` releases the closure.
                let work = unsafe { &*job.work };
                self.claim(work, job.tasks);
            }));
            if outcome.is_err() {
                self.lock().panicked = true;
            }
            if self.active_workers.fetch_sub(1, Ordering::Release) == 1 {
                let _state = self.lock();
                self.all_left.notify_one();
            }
        }
    }

    /// Waits for a job that this worker has not seen, and enters it; `None` if the pool ends.
    fn join(&self, seen: &mut u64) -> Option<Job> {
        loop {
            self.spin(*seen);
            let mut state = self.lock();
            while self.round.load(Ordering::Acquire) == *seen && !state.stop {
                state.sleepers += 1;
                state = self.wake.wait(state).unwrap_or_else(PoisonError::into_inner);
                state.sleepers -= 1;
            }
            if state.stop {
                return None;
            }
            *seen = self.round.load(Ordering::Acquire);
            if let Some(job) = state.job {
                self.active_workers.fetch_add(1, Ordering::Relaxed);
                return Some(job);
            }
        }
    }

    fn spin(&self, seen: u64) {
        for _ in 0..SPINS {
            if self.round.load(Ordering::Acquire) != seen {
                return;
            }
            spin_loop();
        }
    }
}

#[expect(unsafe_code, reason = "workers outlive the borrow; `Pool::run` doesn't return while one uses it")]
#[expect(clippy::transmute_ptr_to_ptr, reason = "a cast may not lengthen the lifetime of a trait object")]
fn erase(work: &Work<'_>) -> *const Work<'static> {
    let short: *const Work<'_> = work;
    // SAFETY: only the lifetime changes; `Shared::serve` says why the pointer is never used after
    // its end.
    unsafe { std::mem::transmute(short) }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::Barrier;
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::Pool;

    #[test]
    fn every_task_runs_once_in_many_short_jobs() {
        const JOBS: usize = if cfg!(miri) { 20 } else { 200 };
        for threads in [1, 2, 3, 8] {
            let pool = Pool::new(threads);
            for tasks in (0..JOBS).chain([5 * JOBS]) {
                let counts: Vec<AtomicU32> = (0..tasks).map(|_| AtomicU32::new(0)).collect();
                pool.run(tasks, &|i| {
                    counts[i].fetch_add(1, Ordering::Relaxed);
                });
                assert!(
                    counts.iter().all(|c| c.load(Ordering::Relaxed) == 1),
                    "{threads} threads, {tasks} tasks"
                );
            }
        }
    }

    #[test]
    fn panicking_task_is_reported_and_the_pool_lives_on() {
        let pool = Pool::new(2);
        let run = || pool.run(64, &|i| assert!(i != 40, "task 40"));
        assert!(catch_unwind(AssertUnwindSafe(run)).is_err());
        let sum = AtomicU32::new(0);
        pool.run(64, &|_| {
            sum.fetch_add(1, Ordering::Relaxed);
        });
        assert_eq!(sum.into_inner(), 64);
    }

    #[test]
    fn double_panic_of_a_job_is_not_the_next_ones_fault() {
        let pool = Pool::new(2);
        let both = Barrier::new(2);
        let run = || {
            pool.run(2, &|i| {
                both.wait();
                panic!("task {i}");
            });
        };
        assert!(catch_unwind(AssertUnwindSafe(run)).is_err());
        pool.run(2, &|_| {});
    }

    #[test]
    fn sleeping_threads_wake_and_callers_jobs_take_turns() {
        let pool = Pool::new(2);
        std::thread::sleep(std::time::Duration::from_millis(5));
        let sum = AtomicU32::new(0);
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    for _ in 0..50 {
                        pool.run(7, &|_| {
                            sum.fetch_add(1, Ordering::Relaxed);
                        });
                    }
                });
            }
        });
        assert_eq!(sum.into_inner(), 3 * 50 * 7);
    }
}
