//! Load of many concurrent streams, read by a separate process, so that the clients' CPU time isn't
//! counted as the server's.
//!
//! A benchmark that uses it calls [`run_clients_if_asked`] first: the clients' process runs the
//! same program.

use std::io::{BufRead, BufReader, Write};
use std::net::SocketAddr;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use crate::process::CpuTime;

/// Number of concurrent streams, and the tokens of each.
#[derive(Clone, Copy)]
pub struct Load {
    /// Name of the load, which the clients also send as the user's message.
    pub name: &'static str,
    /// Number of concurrent streams.
    pub streams: u32,
    /// Number of tokens in each stream.
    pub tokens: usize,
    /// Milliseconds between two tokens; 0: tokens come without pauses.
    pub pace_ms: u64,
}

/// The clients' process, with its streams running.
pub struct Clients {
    child: Child,
    stdout: BufReader<ChildStdout>,
}

/// Delays of events, in milliseconds after the tick at which they were sent.
#[derive(Clone, Copy)]
pub struct Delays {
    /// Median.
    pub p50: f64,
    /// 99th percentile.
    pub p99: f64,
    /// Number of all words `a` behind a blank that came, a token each but a stream's first.
    pub words: f64,
}

impl Clients {
    /// Starts the clients' process, which opens the streams of `load`.
    ///
    /// # Panics
    /// If the program can't be started.
    pub fn start(server: SocketAddr, load: Load, path: &str) -> Self {
        let mut child = Command::new(std::env::current_exe().expect("this program has a path"))
            .args(["--clients", &server.to_string(), path, load.name])
            .args([load.streams.to_string(), load.pace_ms.to_string()])
            .stdout(Stdio::piped())
            .spawn()
            .expect("this program starts");
        let stdout = BufReader::new(child.stdout.take().expect("piped"));
        Self { child, stdout }
    }

    fn line<const N: usize>(&mut self) -> [f64; N] {
        let mut line = String::new();
        self.stdout.read_line(&mut line).expect("it writes text");
        let numbers: Vec<f64> = line.split_whitespace().map(|word| word.parse().expect("a number")).collect();
        numbers.try_into().expect("as many numbers as were asked for")
    }

    /// Waits for the process's next mark and returns the number of events until then. There are two
    /// marks: when all streams have begun, and when all have ended.
    ///
    /// # Panics
    /// If the process died.
    pub fn mark(&mut self) -> u64 {
        let [events] = self.line();
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it was a count")]
        let events = events as u64;
        events
    }

    /// Returns the delays of the events. It must be called after the second mark.
    ///
    /// # Panics
    /// If the process died.
    pub fn delays(mut self) -> Delays {
        let [p50, p99, words] = self.line();
        Delays { p50, p99, words }
    }
}

impl Drop for Clients {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Microseconds of CPU time per token.
#[derive(Clone, Copy)]
pub struct Cost {
    /// CPU time in the program's own code.
    pub user: f64,
    /// CPU time in the kernel.
    pub system: f64,
}

impl Cost {
    /// Divides the CPU time between two readings by the number of events.
    ///
    /// # Panics
    /// If there are more than `u32::MAX` events.
    pub fn new(before: CpuTime, after: CpuTime, events: u64) -> Self {
        let events = f64::from(u32::try_from(events).expect("not so many"));
        let each = |after: Duration, before| after.saturating_sub(before).as_secs_f64() * 1e6 / events;
        Self { user: each(after.user, before.user), system: each(after.system, before.system) }
    }

    /// CPU time in the program's own code and in the kernel.
    pub fn sum(self) -> f64 {
        self.user + self.system
    }
}

/// Number of buckets for delays, and the width of each in microseconds.
const BUCKETS: usize = 2000;
const BUCKET_US: u128 = 50;

/// State of the streams in the clients' process.
struct Progress {
    streams: usize,
    pace: Duration,
    begun: AtomicUsize,
    events: AtomicU64,
    words: AtomicU64,
    delays: Vec<AtomicU64>,
}

impl Progress {
    /// Records the time since the last tick. Ticks are multiples of the pace since 1970.
    fn note_delay(&self) {
        if self.pace.is_zero() {
            return;
        }
        let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("later than 1970");
        let delay = (now.as_micros() % self.pace.as_micros()) / BUCKET_US;
        let bucket = usize::try_from(delay).map_or(BUCKETS - 1, |bucket| bucket.min(BUCKETS - 1));
        self.delays[bucket].fetch_add(1, Ordering::Relaxed);
    }

    /// Percentile of the delays in milliseconds, rounded down to the beginning of its bucket.
    fn percentile(&self, percent: u64) -> f64 {
        let counts: Vec<u64> = self.delays.iter().map(|count| count.load(Ordering::Relaxed)).collect();
        let wanted = counts.iter().sum::<u64>() * percent / 100;
        let mut seen = 0;
        let bucket = counts.iter().position(|count| {
            seen += count;
            seen > wanted
        });
        let bucket = u32::try_from(bucket.unwrap_or(0)).expect("few buckets");
        f64::from(bucket) * 0.05
    }
}

/// Reads one stream to its end.
async fn read(address: String, request: Arc<str>, progress: Arc<Progress>) {
    let mut socket = TcpStream::connect(address).await.expect("the server listens");
    socket.write_all(request.as_bytes()).await.expect("it reads");
    let (mut buffer, mut begun, mut last) = (vec![0; 64 << 10], false, 0);
    loop {
        let count = socket.read(&mut buffer).await.expect("it isn't cut off");
        if count == 0 {
            return;
        }
        let (mut ends, mut words) = (0, 0);
        for byte in &buffer[..count] {
            ends += u64::from(*byte == b'\n' && last == b'\n');
            words += u64::from(*byte == b'a' && last == b' ');
            last = *byte;
        }
        progress.words.fetch_add(words, Ordering::Relaxed);
        let events = progress.events.fetch_add(ends, Ordering::AcqRel) + ends;
        if begun {
            progress.note_delay();
        } else if ends > 0 {
            begun = true;
            if progress.begun.fetch_add(1, Ordering::AcqRel) + 1 == progress.streams {
                print_line(&events.to_string());
            }
        }
    }
}

fn print_line(line: &str) {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{line}").and_then(|()| out.flush()).expect("somebody listens");
}

/// Returns whether this process was started as the clients' process. If so, it first reads all
/// streams to their ends.
///
/// # Panics
/// If a stream is cut off.
pub fn run_clients_if_asked() -> bool {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [word, address, path, name, streams, pace_ms] = &arguments[..] else { return false };
    if word != "--clients" {
        return false;
    }
    let progress = Arc::new(Progress {
        streams: streams.parse().expect("a number"),
        pace: Duration::from_millis(pace_ms.parse().expect("a number")),
        begun: AtomicUsize::new(0),
        events: AtomicU64::new(0),
        words: AtomicU64::new(0),
        delays: (0..BUCKETS).map(|_| AtomicU64::new(0)).collect(),
    });
    let body = json!({ "model": "bench", "input": name, "messages": [{ "role": "user", "content": name }], "stream": true }).to_string();
    let request: Arc<str> = format!(
        "POST {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
    .into();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let mut readers = JoinSet::new();
        for _ in 0..progress.streams {
            readers.spawn(read(address.clone(), Arc::clone(&request), Arc::clone(&progress)));
        }
        readers.join_all().await;
        print_line(&progress.events.load(Ordering::Acquire).to_string());
        let words = progress.words.load(Ordering::Acquire);
        print_line(&format!("{} {} {words}", progress.percentile(50), progress.percentile(99)));
    });
    true
}
