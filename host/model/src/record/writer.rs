//! The thread that writes records.
//!
//! Invariant: a file is a sequence of whole zstd frames of whole lines, so it can be read wherever
//! it was cut off. What waits to be compressed is bounded for each record, and written at the latest
//! after [`FLUSH`].

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Write as _};
use std::sync::Arc;
use std::sync::mpsc::RecvTimeoutError;
use std::time::{Duration, Instant};

use zstd::bulk::Compressor;

use super::folder::RecordFolder;
use super::incomplete::Incomplete;
use super::queue::{Fate, NewRecord, QueuedLine, RecordInlet};
use super::{PLAIN_BYTES, RECORD_BYTES};

/// Longest time that a line waits to be written.
const FLUSH: Duration = Duration::from_millis(500);
/// Size of the lines that are compressed together.
const FRAME_BYTES: usize = 64 << 10;
/// Level of compression: the fastest one of zstd's own.
const LEVEL: i32 = 1;

/// The thread's state.
pub(super) struct RecordWriter {
    inlet: RecordInlet,
    folder: RecordFolder,
    open: HashMap<u64, OpenRecord>,
    compressor: Compressor<'static>,
    /// Whether a failure to write was logged.
    has_complained: bool,
}

struct OpenRecord {
    new: Arc<NewRecord>,
    /// `None`: it couldn't be written, or is full.
    file: Option<File>,
    /// Lines that aren't compressed yet.
    waiting: Vec<u8>,
    plain: usize,
    written: u64,
}

impl OpenRecord {
    /// Ends the record, which may not grow any more.
    fn end_at_limit(&mut self) {
        if self.file.take().is_some() {
            Incomplete::Size.count();
        }
    }
}

impl RecordWriter {
    pub(super) fn new(inlet: RecordInlet, folder: RecordFolder) -> io::Result<Self> {
        let (open, compressor) = (HashMap::new(), Compressor::new(LEVEL)?);
        Ok(Self { inlet, folder, open, compressor, has_complained: false })
    }

    /// Writes until no answer can be recorded any more.
    pub(super) fn run(mut self) {
        let mut flushed = Instant::now();
        loop {
            let next = self.inlet.next(FLUSH);
            let is_over = matches!(next, Err(RecvTimeoutError::Disconnected)) || self.inlet.is_closing();
            if let Ok(line) = next {
                self.take(line);
            }
            if is_over || flushed.elapsed() >= FLUSH {
                flushed = Instant::now();
                self.close_ended();
                self.flush_all();
            }
            if is_over {
                return;
            }
        }
    }

    /// Closes the records of answers that are over, once all their lines were taken.
    fn close_ended(&mut self) {
        let fates = self.inlet.fates();
        while let Some(line) = self.inlet.waiting() {
            self.take(line);
        }
        for (answer, fate) in fates {
            let Some(mut record) = self.open.remove(&answer) else { continue };
            let is_kept = match fate {
                Fate::Discarded => false,
                Fate::Left => record.new.is_sampled,
                Fate::Ended { has_failed } => has_failed || record.new.is_sampled,
            };
            if is_kept {
                self.flush(&mut record);
            } else {
                self.folder.remove(&record.new.name);
            }
        }
    }

    fn take(&mut self, QueuedLine { record: new, text }: QueuedLine) {
        let answer = new.answer;
        let mut record = match self.open.remove(&answer) {
            Some(record) => record,
            None => self.create(new),
        };
        record.plain = record.plain.saturating_add(text.len());
        if record.plain > PLAIN_BYTES {
            self.flush(&mut record);
            record.end_at_limit();
        }
        if record.file.is_some() {
            record.waiting.extend_from_slice(&text);
        }
        if record.waiting.len() >= FRAME_BYTES {
            self.flush(&mut record);
        }
        self.open.insert(answer, record);
    }

    fn create(&mut self, new: Arc<NewRecord>) -> OpenRecord {
        let file = self.folder.create(&new.name).map_err(|error| self.complain(&error)).ok();
        OpenRecord { new, file, waiting: Vec::new(), plain: 0, written: 0 }
    }

    fn flush_all(&mut self) {
        let mut open = std::mem::take(&mut self.open);
        for record in open.values_mut() {
            self.flush(record);
        }
        self.open = open;
        let is_open = |name: &str| self.open.values().any(|record| record.new.name == name);
        self.folder.prune(is_open);
    }

    /// Compresses and writes what waits. A record that would grow too large, or can't be written,
    /// ends there.
    fn flush(&mut self, record: &mut OpenRecord) {
        let waiting = std::mem::take(&mut record.waiting);
        let Some(file) = record.file.as_mut().filter(|_| !waiting.is_empty()) else { return };
        let written = self.compressor.compress(&waiting).and_then(|frame| {
            let size = frame.len() as u64;
            if record.written + size > RECORD_BYTES {
                return Ok(None);
            }
            file.write_all(&frame).map(|()| Some(size))
        });
        match written {
            Ok(Some(size)) => {
                record.written += size;
                self.folder.grow(&record.new.name, size);
            }
            Ok(None) => record.end_at_limit(),
            Err(error) => {
                // What was written of the frame can't be read.
                let _ = file.set_len(record.written);
                record.file = None;
                self.complain(&error);
            }
        }
    }

    /// Counts a record that can't be written. The log says it once.
    fn complain(&mut self, error: &io::Error) {
        Incomplete::Disk.count();
        if !std::mem::replace(&mut self.has_complained, true) {
            tracing::warn!(%error, "records can't be written to --record's folder: they are cut off or missing");
        }
    }
}
