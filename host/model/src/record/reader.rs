//! Reads a record's file. It may come from anybody: it is bounded, and each error is one line.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read};
use std::path::Path;

use serde::Deserialize;

use super::line::{EndLine, FORMAT, Head, Line, PromptLine};
use super::queue::QUEUE_BYTES;
use super::{PLAIN_BYTES, RECORD_BYTES};

/// Largest window of a frame, as a power of two in bytes: zstd's memory for reading.
const WINDOW_LOG: u32 = 23;
/// Largest line, in bytes: as much as the writer's queue holds.
const LINE_BYTES: u64 = QUEUE_BYTES as u64;
/// Zstandard's magic number, by which a record's file is known.
pub const MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// A record.
#[derive(Debug)]
pub struct Record {
    /// The first line.
    pub head: Head,
    /// Generations by number.
    pub prompts: BTreeMap<u32, PromptLine>,
    /// All other lines, in order.
    pub lines: Vec<Line>,
    /// The last line; none if the file was cut off.
    pub end: Option<EndLine>,
}

/// Error of a record that can't be used: the file, and the reason in one line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("record {file}: {reason}")]
pub struct RecordError {
    /// The file as the operator named it.
    pub file: String,
    /// What is wrong.
    pub reason: String,
}

/// The part of the first line that any version has.
#[derive(Deserialize)]
struct AnyHead {
    head: AnyFormat,
}

#[derive(Deserialize)]
struct AnyFormat {
    format: u32,
    sluice: String,
}

impl Record {
    /// Reads the file.
    ///
    /// # Errors
    /// It can't be read, is no record, is too large, or is of another version.
    pub fn load(path: &Path) -> Result<Self, RecordError> {
        let file = path.display().to_string();
        let read = || {
            let opened = File::open(path).map_err(|error| error.to_string())?;
            let size = opened.metadata().map_err(|error| error.to_string())?.len();
            if size > 2 * RECORD_BYTES {
                return Err(format!("it has {size} bytes, which is more than records have"));
            }
            Self::read(BufReader::new(opened))
        };
        read().map_err(|reason| RecordError { file, reason })
    }

    /// Reads a record that is in memory.
    ///
    /// # Errors
    /// In one line: it is no record, is too large, or is of another version.
    pub fn of_bytes(bytes: &[u8]) -> Result<Self, String> {
        Self::read(bytes)
    }

    /// Reads compressed lines. The error is a reason.
    fn read(file: impl Read) -> Result<Self, String> {
        let mut decoder = zstd::Decoder::new(file).map_err(|error| error.to_string())?;
        decoder.window_log_max(WINDOW_LOG).map_err(|error| error.to_string())?;
        let mut lines = BufReader::new(decoder.take(PLAIN_BYTES as u64 + 1));
        let head = next_line(&mut lines, 1)?.ok_or("it is empty, or cut off in its first line")?;
        let mut record =
            Self { head: read_head(&head)?, prompts: BTreeMap::new(), lines: Vec::new(), end: None };
        let (mut number, mut bytes) = (1, head.len());
        while record.end.is_none() {
            number += 1;
            let Some(text) = next_line(&mut lines, number)? else { break };
            bytes += text.len();
            if bytes > PLAIN_BYTES {
                return Err(format!("it has more than {} MiB of lines", PLAIN_BYTES >> 20));
            }
            let line = serde_json::from_slice(&text).map_err(|error| format!("line {number}: {error}"))?;
            record.add(line).map_err(|error| format!("line {number}: {error}"))?;
        }
        Ok(record)
    }

    fn add(&mut self, line: Line) -> Result<(), &'static str> {
        match line {
            Line::Head(_) => return Err("there is a second head"),
            Line::Prompt(prompt) => {
                if self.prompts.insert(prompt.generation, *prompt).is_some() {
                    return Err("there is a second prompt of this generation");
                }
            }
            Line::End(end) => self.end = Some(end),
            line => self.lines.push(line),
        }
        Ok(())
    }

    /// Number of lines that the record lacks.
    pub fn lost(&self) -> u64 {
        let lost = self.lines.iter().map(|line| match line {
            Line::Lost(lost) => lost.lines,
            _ => 0,
        });
        lost.sum::<u64>().max(self.end.as_ref().map_or(0, |end| end.lost))
    }
}

/// The next whole line; none at the end, or where the file was cut off.
fn next_line(lines: &mut impl io::BufRead, number: usize) -> Result<Option<Vec<u8>>, String> {
    let mut line = Vec::new();
    match lines.by_ref().take(LINE_BYTES + 1).read_until(b'\n', &mut line) {
        Ok(_) if line.len() as u64 > LINE_BYTES => {
            Err(format!("line {number} has more than {} MiB", LINE_BYTES >> 20))
        }
        Ok(_) if line.last() == Some(&b'\n') => Ok(Some(line)),
        Ok(_) => Ok(None),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(None),
        Err(error) if number == 1 => Err(format!("it is no record: {error}")),
        Err(error) => Err(format!("it is damaged at line {number}: {error}")),
    }
}

fn read_head(text: &[u8]) -> Result<Head, String> {
    let AnyHead { head: AnyFormat { format, sluice } } =
        serde_json::from_slice(text).map_err(|error| format!("its first line is no head: {error}"))?;
    if format != FORMAT {
        return Err(format!("it has format {format}, of Sluice {sluice}; this one reads format {FORMAT}"));
    }
    match serde_json::from_slice(text) {
        Ok(Line::Head(head)) => Ok(*head),
        Ok(_) => Err("its first line is no head".to_owned()),
        Err(error) => Err(format!("its head can't be read: {error}")),
    }
}
