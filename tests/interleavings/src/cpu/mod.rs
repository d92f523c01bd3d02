//! Models of the kernels' pool. Its own tests cover tasks that panic, because a lock that a panic
//! poisons ends loom's run.

#[path = "../../../../kernels/src/cpu/pool.rs"]
mod pool;
mod sync;

use loom::sync::Arc;
use loom::sync::atomic::{AtomicUsize, Ordering};

use self::pool::Pool;
use crate::explore;

pub(crate) fn explore_all() {
    explore("pool: each task of two jobs runs once", || {
        let pool = Pool::new(2);
        for _ in 0..2 {
            let runs = [AtomicUsize::new(0), AtomicUsize::new(0)];
            pool.run(2, &|task| _ = runs[task].fetch_add(1, Ordering::Relaxed));
            // The end of the job alone makes its tasks' writes visible; the loads here are relaxed.
            assert_eq!(runs.map(|runs| runs.load(Ordering::Relaxed)), [1, 1]);
        }
    });
    explore("pool: two callers take turns", || {
        let pool = Arc::new(Pool::new(2));
        let other = Arc::clone(&pool);
        let thread = loom::thread::spawn(move || job(&other));
        job(&pool);
        thread.join().expect("it doesn't panic");
    });
}

fn job(pool: &Pool) {
    let runs = AtomicUsize::new(0);
    pool.run(2, &|_| _ = runs.fetch_add(1, Ordering::Relaxed));
    assert_eq!(runs.load(Ordering::Relaxed), 2);
}
