//! Everything that the process writes to stderr. A thread of its own writes it, so nobody waits for
//! whoever reads stderr, and nothing fails with it: what stderr doesn't take is lost and counted,
//! and once it takes lines again, a line says how many were lost.
//!
//! Invariants: the queue holds at most `LOG_BYTES`; callers only copy into it; lines stay whole and
//! in order. `log`, `progress` and `main` write here; nothing else in the process may use
//! `eprintln!`, which panics where stderr is closed.

use std::io::{self, Write};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use server::server_metrics::LOG_LINES_LOST;

/// Maximum size of log lines that wait for stderr, in bytes; further lines are lost and counted.
const LOG_BYTES: usize = 1 << 20;

/// Time that the end of the process waits for stderr to take the last lines.
const LAST_LINES: Duration = Duration::from_secs(1);
/// Time that it waits for the thread to begin with them, which says nothing about stderr: a crowded
/// machine may not have run it yet.
const THREAD_START: Duration = Duration::from_secs(30);
/// Pause before another attempt if stderr is a non-blocking pipe that is full.
const FULL_PIPE: Duration = Duration::from_millis(5);

/// The queue of this process; none if its thread couldn't start, and then everything is lost.
fn queue() -> Option<&'static LineQueue> {
    static QUEUE: OnceLock<Option<LineQueue>> = OnceLock::new();
    QUEUE.get_or_init(|| LineQueue::start(io::stderr(), report).ok()).as_ref()
}

/// Writes whole lines to stderr, as soon as it takes them.
pub(super) fn write(lines: &[u8]) {
    if let Some(queue) = queue() {
        queue.push(lines);
    }
}

/// Waits until stderr has taken everything, for at most a second once the thread has begun.
pub(super) fn flush() {
    if let Some(queue) = queue() {
        queue.flush(LAST_LINES);
    }
}

fn report(lost: usize) {
    tracing::warn!(lines = lost, "log lines were lost: stderr did not take them");
}

/// Lines that wait for a thread to write them. Cheap to clone.
#[derive(Clone)]
struct LineQueue(Arc<Shared>);

struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    waiting: Vec<u8>,
    /// Whether the thread holds lines that aren't written yet.
    writing: bool,
    /// Number of lines lost since the last report.
    lost: usize,
}

impl LineQueue {
    /// Starts the thread, which writes to `out`, and calls `report` with the number of lines that
    /// were lost before `out` took lines again.
    fn start(out: impl Write + Send + 'static, report: impl Fn(usize) + Send + 'static) -> io::Result<Self> {
        let queue = Self(Arc::new(Shared { state: Mutex::default(), changed: Condvar::new() }));
        let writer = queue.clone();
        std::thread::Builder::new().name("stderr".to_owned()).spawn(move || writer.run(out, report))?;
        Ok(queue)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn push(&self, lines: &[u8]) {
        let mut state = self.lock();
        if state.waiting.len() + lines.len() > LOG_BYTES {
            drop(state);
            return self.lose(lines);
        }
        state.waiting.extend_from_slice(lines);
        drop(state);
        self.0.changed.notify_all();
    }

    /// Counts lines as lost.
    fn lose(&self, lines: &[u8]) {
        let count = lines.split_inclusive(|byte| *byte == b'\n').count();
        self.lock().lost += count;
        metrics::counter!(LOG_LINES_LOST.name()).increment(count as u64);
    }

    /// Waits until everything is written, for at most `time` once the thread has begun.
    fn flush(&self, time: Duration) {
        let is_unread = |state: &mut State| !state.writing && !state.waiting.is_empty();
        let Ok((state, _)) = self.0.changed.wait_timeout_while(self.lock(), THREAD_START, is_unread) else {
            return;
        };
        let is_busy = |state: &mut State| state.writing || !state.waiting.is_empty();
        let _ = self.0.changed.wait_timeout_while(state, time, is_busy);
    }

    /// Writes lines as they come, for as long as the process lives.
    fn run(&self, mut out: impl Write, report: impl Fn(usize)) {
        let mut lines = Vec::new();
        let mut is_torn = false;
        loop {
            self.take(&mut lines);
            let result = write_lines(&mut out, &lines, &mut is_torn);
            if let Err(unwritten) = result {
                self.lose(&lines[unwritten..]);
                lines.clear();
                continue;
            }
            lines.clear();
            // Lines that wait are taken first, so that there is room for the report.
            let mut state = self.lock();
            let lost = std::mem::take(&mut state.lost);
            std::mem::swap(&mut state.waiting, &mut lines);
            drop(state);
            if lost > 0 {
                report(lost);
            }
            if let Err(unwritten) = write_lines(&mut out, &lines, &mut is_torn) {
                self.lose(&lines[unwritten..]);
            }
            lines.clear();
        }
    }

    /// Waits for lines and moves them into `lines`, which is empty.
    fn take(&self, lines: &mut Vec<u8>) {
        let mut state = self.lock();
        state.writing = false;
        self.0.changed.notify_all();
        let state = self.0.changed.wait_while(state, |state| state.waiting.is_empty());
        let mut state = state.unwrap_or_else(PoisonError::into_inner);
        std::mem::swap(&mut state.waiting, lines);
        state.writing = true;
        self.0.changed.notify_all();
    }
}

/// Writes `lines`, after the end of a line that is torn. On failure returns the number of bytes
/// that were written.
fn write_lines(out: &mut impl Write, lines: &[u8], is_torn: &mut bool) -> Result<(), usize> {
    if *is_torn && !lines.is_empty() {
        write_all(out, b"\n").map_err(|_| 0_usize)?;
        *is_torn = false;
    }
    write_all(out, lines).inspect_err(|written| {
        *is_torn = *written > 0 && lines[written - 1] != b'\n';
    })
}

/// Like `Write::write_all`, but says how many bytes were written before it failed.
fn write_all(out: &mut impl Write, bytes: &[u8]) -> Result<(), usize> {
    let mut written = 0;
    while written < bytes.len() {
        match out.write(&bytes[written..]) {
            Ok(0) => return Err(written),
            Ok(count) => written += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => std::thread::sleep(FULL_PIPE),
            Err(_) => return Err(written),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::io::{self, Write};
    use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
    use std::time::Duration;

    use super::{LOG_BYTES, LineQueue};

    /// Output that takes as many bytes as it is told to, one permission after the other, and fails
    /// at 0.
    struct Told {
        permissions: Receiver<usize>,
        written: SyncSender<Vec<u8>>,
    }

    impl Write for Told {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let most = self.permissions.recv().map_err(io::Error::other)?.min(bytes.len());
            if most == 0 {
                return Err(io::ErrorKind::StorageFull.into());
            }
            self.written.send(bytes[..most].to_vec()).map_err(io::Error::other)?;
            Ok(most)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    struct Test {
        queue: LineQueue,
        permit: SyncSender<usize>,
        written: Receiver<Vec<u8>>,
        reported: Receiver<usize>,
    }

    fn start() -> Test {
        let (permit, permissions) = sync_channel(64);
        let (written_sender, written) = sync_channel(64);
        let (report, reported) = sync_channel(64);
        let out = Told { permissions, written: written_sender };
        let queue = LineQueue::start(out, move |lost| report.send(lost).unwrap()).unwrap();
        Test { queue, permit, written, reported }
    }

    #[test]
    fn failed_line_is_lost_and_reported_once_afterwards() {
        let Test { queue, permit, written, reported } = start();
        for (line, most) in [("one\n", 99), ("two\n", 0), ("three\n", 0), ("four\n", 99), ("five\n", 99)] {
            permit.send(most).unwrap();
            queue.push(line.as_bytes());
            queue.flush(Duration::from_mins(1));
        }
        assert_eq!(
            written.try_iter().collect::<Vec<_>>(),
            [b"one\n".to_vec(), b"four\n".to_vec(), b"five\n".to_vec()]
        );
        assert_eq!(reported.try_iter().collect::<Vec<_>>(), [2]);
    }

    #[test]
    fn a_line_that_breaks_off_is_ended_before_the_next() {
        let Test { queue, permit, written, reported: _reported } = start();
        for most in [2, 0, 99, 99] {
            permit.send(most).unwrap();
        }
        queue.push(b"one\n");
        queue.flush(Duration::from_mins(1));
        queue.push(b"two\n");
        queue.flush(Duration::from_mins(1));
        assert_eq!(written.try_iter().collect::<Vec<_>>().concat(), b"on\ntwo\n");
    }

    #[test]
    fn unread_queue_keeps_its_bound_and_counts_the_rest() {
        let Test { queue, permit, written, reported } = start();
        queue.push(b"held\n");
        while !queue.lock().writing {
            std::thread::yield_now();
        }
        let line = [[b'x'; 1023].as_slice(), b"\n"].concat();
        for _ in 0..LOG_BYTES / 1024 + 7 {
            queue.push(&line);
        }
        assert_eq!(queue.lock().waiting.len(), LOG_BYTES);
        for _ in 0..2 {
            permit.send(usize::MAX).unwrap();
        }
        queue.flush(Duration::from_mins(1));
        assert_eq!(written.try_iter().map(|bytes| bytes.len()).collect::<Vec<_>>(), [5, LOG_BYTES]);
        assert_eq!(reported.try_iter().collect::<Vec<_>>(), [7]);
    }
}
