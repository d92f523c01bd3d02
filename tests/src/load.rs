//! Many streams at a time, read by a process of their own, so that the server's CPU time is its own.
//!
//! A benchmark that uses them calls [`is_clients_process`] first: the clients are the same program once more.

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

/// Streams at one time, and the tokens of each.
#[derive(Clone, Copy)]
pub struct Load {
    /// What it is called, which is what the clients ask.
    pub name: &'static str,
    /// Streams at one time.
    pub streams: u32,
    /// Tokens of each.
    pub tokens: usize,
    /// Milliseconds between two tokens; 0: none.
    pub pace_ms: u64,
}

/// The other process, with its streams under way.
pub struct Clients {
    child: Child,
    stdout: BufReader<ChildStdout>,
}

/// How late events came, in milliseconds behind the tick that they were sent at.
#[derive(Clone, Copy)]
pub struct Delays {
    /// Median.
    pub p50: f64,
    /// All but one of a hundred.
    pub p99: f64,
}

impl Clients {
    /// Starts the streams of a load.
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

    /// Events that have come at the next of its two marks: all streams have begun, all have ended.
    ///
    /// # Panics
    /// If the process died.
    pub fn mark(&mut self) -> u64 {
        let [events] = self.line();
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it was a count")]
        let events = events as u64;
        events
    }

    /// How late they came, after the second mark.
    ///
    /// # Panics
    /// If the process died.
    pub fn delays(mut self) -> Delays {
        let [p50, p99] = self.line();
        Delays { p50, p99 }
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
    /// In the program's own code.
    pub user: f64,
    /// In the kernel.
    pub system: f64,
}

impl Cost {
    /// Of so many events.
    ///
    /// # Panics
    /// If they are more than four billion.
    pub fn new(before: CpuTime, after: CpuTime, events: u64) -> Self {
        let events = f64::from(u32::try_from(events).expect("not so many"));
        let each = |after: Duration, before| after.saturating_sub(before).as_secs_f64() * 1e6 / events;
        Self { user: each(after.user, before.user), system: each(after.system, before.system) }
    }

    /// Both.
    pub fn sum(self) -> f64 {
        self.user + self.system
    }
}

/// Buckets of delays, 0.05 ms each.
const BUCKETS: usize = 2000;
const BUCKET_US: u128 = 50;

/// The streams of the other process, and what has come of them.
struct Progress {
    streams: usize,
    pace: Duration,
    begun: AtomicUsize,
    events: AtomicU64,
    delays: Vec<AtomicU64>,
}

impl Progress {
    /// Notes how long ago the last tick was. Ticks are multiples of the pace since 1970.
    fn note_delay(&self) {
        if self.pace.is_zero() {
            return;
        }
        let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("later than 1970");
        let delay = (now.as_micros() % self.pace.as_micros()) / BUCKET_US;
        let bucket = usize::try_from(delay).map_or(BUCKETS - 1, |bucket| bucket.min(BUCKETS - 1));
        self.delays[bucket].fetch_add(1, Ordering::Relaxed);
    }

    /// The delay that so many percent of the events keep below, in milliseconds.
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
        let mut ends = 0;
        for byte in &buffer[..count] {
            ends += u64::from(*byte == b'\n' && last == b'\n');
            last = *byte;
        }
        let events = progress.events.fetch_add(ends, Ordering::AcqRel) + ends;
        if begun {
            progress.note_delay();
        } else if ends > 0 {
            begun = true;
            if progress.begun.fetch_add(1, Ordering::AcqRel) + 1 == progress.streams {
                say(&events.to_string());
            }
        }
    }
}

fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{line}").and_then(|()| out.flush()).expect("somebody listens");
}

/// Whether this process is the clients, whose streams have been read then, from first to last.
///
/// # Panics
/// If a stream is cut off.
pub fn is_clients_process() -> bool {
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
        say(&progress.events.load(Ordering::Acquire).to_string());
        say(&format!("{} {}", progress.percentile(50), progress.percentile(99)));
    });
    true
}
