//! The records of a server: which answers are recorded, and the thread that writes them.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread::JoinHandle;

use seeded::unit;
use system::private::PrivateError;
use system::{Clock, random};

use super::FOLDER_BYTES;
use super::folder::{EXTENSION, RecordFolder};
use super::line::Line;
use super::queue::{NewRecord, RecordQueue, record_queue};
use super::recorder::Recorder;
use super::writer::RecordWriter;

/// What a server records.
#[derive(Debug, Clone, PartialEq)]
pub struct RecordOptions {
    /// The folder.
    pub folder: PathBuf,
    /// Whether the records of answers that failed are kept, and of the others only the sample.
    pub failed: bool,
    /// Share of the answers that are recorded, from 0 to 1; none: all, or with `failed` those that
    /// failed.
    pub sample: Option<f64>,
    /// Whether body, prompts, events and outputs of tools are left out.
    pub redacts: bool,
    /// Switches of the server on which an answer depends.
    pub switches: Vec<String>,
}

/// The records of a server.
#[derive(Debug)]
pub struct Records {
    options: RecordOptions,
    /// Number of the next answer.
    next: AtomicU64,
    queue: RecordQueue,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Records {
    /// Opens the folder and starts the thread.
    ///
    /// # Errors
    /// The folder can't be used.
    pub fn open(options: RecordOptions) -> Result<Self, PrivateError> {
        let folder = RecordFolder::open(&options.folder, FOLDER_BYTES)?;
        let (queue, inlet) = record_queue();
        let writer = RecordWriter::new(inlet, folder)?;
        let thread = std::thread::Builder::new().name("records".to_owned()).spawn(|| writer.run())?;
        Ok(Self { options, next: AtomicU64::default(), queue, thread: Mutex::new(Some(thread)) })
    }

    /// Folder of the records.
    pub fn folder(&self) -> &Path {
        &self.options.folder
    }

    /// Switches that records name.
    pub fn switches(&self) -> &[String] {
        &self.options.switches
    }

    /// Whether body, prompts, events and outputs of tools are left out.
    pub fn redacts(&self) -> bool {
        self.options.redacts
    }

    /// A recorder for an answer that begins now, by this clock; none if it isn't recorded. `head`
    /// makes the first line.
    pub fn begin(&self, clock: &Clock, head: impl FnOnce() -> Line) -> Option<Recorder> {
        let drawn = unit(u64::from_le_bytes(random::bytes()));
        let is_sampled = drawn < self.options.sample.unwrap_or(if self.options.failed { 0.0 } else { 1.0 });
        if !is_sampled && !self.options.failed {
            return None;
        }
        let answer = self.next.fetch_add(1, Ordering::Relaxed);
        let name = format!("{:013}-{}.{EXTENSION}", clock.millis(), random::hex::<6>());
        let record = NewRecord { answer, name, is_sampled };
        let recorder = Recorder::new(self.queue.clone(), record, clock.clone(), self.options.redacts);
        recorder.line(&head());
        Some(recorder)
    }

    /// Ends recording: what waits is written. Answers that go on are cut off in their records.
    pub fn close(&self) {
        self.queue.close();
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        // A writer that panicked has written what it could.
        let _ = thread.map(JoinHandle::join);
    }
}
