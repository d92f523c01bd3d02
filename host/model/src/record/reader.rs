//! Reads a record's file. It may come from anybody: it is bounded, and each error is one line.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read};
use std::path::Path;

use serde::Deserialize;

use system::bounded::open_regular;

use super::line::{EndLine, FORMAT, Line, PromptLine, RecordHead};
use super::queue::QUEUE_BYTES;
use super::weight::{EVENTS, line_weight};
use super::{PLAIN_BYTES, RECORD_BYTES};

/// Largest window of a frame, as a power of two in bytes: zstd's memory for reading.
const WINDOW_LOG: u32 = 23;
/// Largest line, in bytes: as much as the writer's queue holds.
const LINE_BYTES: u64 = QUEUE_BYTES as u64;
/// Memory that a whole record may take, in bytes. The lines that the writer makes of an answer take
/// less, up to [`PLAIN_BYTES`] of them.
const MEMORY_BYTES: usize = 2 << 30;
/// Most tokens of a record that is only parsed: as many as a text that is parsed has bytes.
const PARSED_TOKENS: usize = 256 << 10;
/// Most tokens of a step that is parsed, since a step is one line of a trace.
pub const PARSED_STEP: usize = 4096;
/// Zstandard's magic number, by which a record's file is known.
pub const MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// A record.
#[derive(Debug)]
pub struct Record {
    /// The first line.
    pub head: RecordHead,
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

/// Bounds of reading.
struct Reading<'a> {
    /// Pays for the memory of a line; false if it can't.
    pay: &'a mut dyn FnMut(usize) -> bool,
    /// Whether only what a parser needs is read.
    is_parsed: bool,
    /// Tokens so far.
    tokens: usize,
    /// The last step of each generation: its index among the record's lines.
    steps: HashMap<u32, usize>,
}

impl Record {
    /// Reads the file.
    ///
    /// # Errors
    /// It can't be read, is no record, is too large, or is of another version.
    pub fn load(path: &Path) -> Result<Self, RecordError> {
        let mut left = MEMORY_BYTES;
        let mut pay = |bytes| left.checked_sub(bytes).map(|rest| left = rest).is_some();
        let read = Reading { pay: &mut pay, is_parsed: false, tokens: 0, steps: HashMap::new() };
        let read = open(path).and_then(|file| read.record(file));
        read.map_err(|reason| RecordError { file: path.display().to_string(), reason })
    }

    /// Reads what a parser needs of the file. `pay` is told the memory, in bytes, of each line
    /// before it is read.
    ///
    /// # Errors
    /// As of [`Self::load`], in one line; `pay` refuses; or there are more tokens than are parsed.
    pub fn load_to_parse(path: &Path, pay: &mut dyn FnMut(usize) -> bool) -> Result<Self, String> {
        Reading { pay, is_parsed: true, tokens: 0, steps: HashMap::new() }.record(open(path)?)
    }

    /// As [`Self::load_to_parse`], of a record that is in memory.
    ///
    /// # Errors
    /// The same.
    pub fn read_to_parse(bytes: &[u8], pay: &mut dyn FnMut(usize) -> bool) -> Result<Self, String> {
        Reading { pay, is_parsed: true, tokens: 0, steps: HashMap::new() }.record(bytes)
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

impl Reading<'_> {
    /// Reads compressed lines. The error is a reason.
    fn record(mut self, file: impl Read) -> Result<Record, String> {
        let mut decoder = zstd::Decoder::new(file).map_err(|error| error.to_string())?;
        decoder.window_log_max(WINDOW_LOG).map_err(|error| error.to_string())?;
        let mut lines = BufReader::new(decoder.take(PLAIN_BYTES as u64 + 1));
        let head = next_line(&mut lines, 1)?.ok_or("it is empty, or cut off in its first line")?;
        self.pay(&head)?;
        let mut record =
            Record { head: read_head(&head)?, prompts: BTreeMap::new(), lines: Vec::new(), end: None };
        let (mut number, mut bytes) = (1, head.len());
        while record.end.is_none() {
            number += 1;
            let Some(text) = next_line(&mut lines, number)? else { break };
            bytes += text.len();
            if bytes > PLAIN_BYTES {
                return Err(format!("it has more than {} MiB of lines", PLAIN_BYTES >> 20));
            }
            // A parser doesn't need them.
            if self.is_parsed && text.starts_with(EVENTS) {
                continue;
            }
            self.pay(&text)?;
            let line = serde_json::from_slice(&text).map_err(|error| format!("line {number}: {error}"))?;
            let checked = self.check(&line).and_then(|()| self.take_back(&mut record, &line));
            let added = checked.and_then(|()| record.add(line).map_err(str::to_owned));
            added.map_err(|error| format!("line {number}: {error}"))?;
        }
        Ok(record)
    }

    fn pay(&mut self, line: &[u8]) -> Result<(), String> {
        let refusal = || format!("its lines take more than {} MiB of memory", MEMORY_BYTES >> 20);
        (self.pay)(line_weight(line)).then_some(()).ok_or_else(refusal)
    }

    /// Takes from the generation's step before a line what the line says is no part of the turn.
    fn take_back(&mut self, record: &mut Record, line: &Line) -> Result<(), String> {
        let Line::Step(step) = line else { return Ok(()) };
        let before = self.steps.insert(step.generation, record.lines.len());
        if step.dropped == 0 {
            return Ok(());
        }
        let Some(Line::Step(before)) = before.and_then(|at| record.lines.get_mut(at)) else {
            return Err("it drops tokens of no step".to_owned());
        };
        let kept = before.ids.len().checked_sub(step.dropped);
        let kept = kept.ok_or("it drops more tokens than the step before has")?;
        before.ids.truncate(kept);
        before.logprobs.truncate(kept);
        (before.finish, before.stop_logprobs) = (None, None);
        Ok(())
    }

    /// Checks that a line's tokens may be parsed.
    fn check(&mut self, line: &Line) -> Result<(), String> {
        let Line::Step(step) = line else { return Ok(()) };
        self.tokens += step.ids.len();
        if self.is_parsed && step.ids.len() > PARSED_STEP {
            return Err(format!("a step has more than {PARSED_STEP} tokens"));
        }
        if self.is_parsed && self.tokens > PARSED_TOKENS {
            return Err(format!(
                "the record has more than {PARSED_TOKENS} tokens: see `{} replay --parser`",
                system::program::name()
            ));
        }
        Ok(())
    }
}

/// Opens a record's file, which must be a regular one.
fn open(path: &Path) -> Result<BufReader<File>, String> {
    let opened = open_regular(path).map_err(|error| error.to_string())?;
    let size = opened.metadata().map_err(|error| error.to_string())?.len();
    if size > 2 * RECORD_BYTES {
        return Err(format!("it has {size} bytes, which is more than records have"));
    }
    Ok(BufReader::new(opened))
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

fn read_head(text: &[u8]) -> Result<RecordHead, String> {
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
