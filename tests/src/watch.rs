//! Measurements of other clients meanwhile: the slowest answer of `/health`, and the longest gap
//! between chunks of a paced stream.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Time between two requests of `/health`.
const POLL: Duration = Duration::from_millis(5);
/// Time after which the server counts as silent.
const SILENCE: Duration = Duration::from_mins(2);

/// Thread that measures times, and the longest of them.
struct Watch {
    longest_us: Arc<AtomicU64>,
    stopped: Arc<AtomicBool>,
    /// It returns whether the server was gone.
    thread: JoinHandle<bool>,
}

impl Watch {
    /// Calls `wait` repeatedly in a thread; it returns the time it took, or `None` if the server is
    /// gone, which counts as `SILENCE`. Returns after the first call.
    fn start(mut wait: impl FnMut() -> Option<Duration> + Send + 'static) -> Self {
        let (longest_us, stopped) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicBool::new(false)));
        let (begun, first) = mpsc::sync_channel(1);
        let shared = (longest_us.clone(), stopped.clone());
        let thread = std::thread::spawn(move || {
            let (longest_us, stopped) = shared;
            while !stopped.load(Ordering::Acquire) {
                let time = wait();
                let micros = time.unwrap_or_default().as_micros();
                longest_us.fetch_max(u64::try_from(micros).unwrap_or(u64::MAX), Ordering::AcqRel);
                let _ = begun.try_send(());
                if time.is_none() {
                    return true;
                }
            }
            false
        });
        first.recv().expect("the thread waits once at least");
        Self { longest_us, stopped, thread }
    }

    fn reset(&self) {
        self.longest_us.store(0, Ordering::Release);
    }

    /// Stops after the running measurement; returns the longest time since `reset`, or `SILENCE` if
    /// the server is gone, since whenever.
    fn stop(self) -> Duration {
        self.stopped.store(true, Ordering::Release);
        let is_gone = self.thread.join().expect("it doesn't panic");
        if is_gone { SILENCE } else { Duration::from_micros(self.longest_us.load(Ordering::Acquire)) }
    }
}

/// Watch that requests `/health` repeatedly on one connection.
pub struct Health(Watch);

impl Health {
    /// Starts to request; returns after the first answer.
    ///
    /// # Panics
    /// If the server can't be reached.
    pub fn start(address: SocketAddr) -> Self {
        let mut socket = connect(address);
        Self(Watch::start(move || {
            std::thread::sleep(POLL);
            let began = Instant::now();
            let mut answer = [0; 4096];
            socket.write_all(b"GET /health HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n").ok()?;
            let count = socket.read(&mut answer).ok()?;
            answer[..count].starts_with(b"HTTP/1.1 200").then(|| began.elapsed())
        }))
    }

    /// Forgets what was measured.
    pub fn reset(&self) {
        self.0.reset();
    }

    /// Stops; returns the longest time since `reset`.
    ///
    /// # Panics
    /// If the thread panicked.
    pub fn stop(self) -> Duration {
        self.0.stop()
    }
}

/// Watch that reads one long answer.
pub struct PacedStream(Watch);

impl PacedStream {
    /// Requests a paced answer to `message`; returns when its first chunks have arrived.
    ///
    /// # Panics
    /// If the server doesn't answer.
    pub fn start(address: SocketAddr, message: &str) -> Self {
        let mut socket = connect(address);
        let body = serde_json::json!({
            "model": "bench", "stream": true, "messages": [{"role": "user", "content": message}],
        });
        let body = body.to_string();
        let request = format!(
            "POST /v1/chat/completions HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n\
             content-length: {}\r\n\r\n{body}",
            body.len()
        );
        socket.write_all(request.as_bytes()).expect("the server reads");
        let mut part = [0; 1 << 13];
        let mut next = move || {
            let began = Instant::now();
            let count = socket.read(&mut part).ok()?;
            let ended = count == 0 || part[..count].windows(6).any(|bytes| bytes == b"[DONE]");
            (!ended).then(|| began.elapsed())
        };
        for _ in 0..4 {
            next().expect("the answer has begun");
        }
        Self(Watch::start(next))
    }

    /// Forgets what was measured.
    pub fn reset(&self) {
        self.0.reset();
    }

    /// Stops; returns the longest time since `reset`.
    ///
    /// # Panics
    /// If the thread panicked.
    pub fn stop(self) -> Duration {
        self.0.stop()
    }
}

fn connect(address: SocketAddr) -> TcpStream {
    let socket = TcpStream::connect(address).expect("the server listens");
    socket.set_read_timeout(Some(SILENCE)).expect("a time above zero");
    socket.set_nodelay(true).expect("a TCP socket");
    socket
}
