//! Records of answers: everything that an answer followed from, so that it can be replayed
//! (docs/records.md).
//!
//! Invariants: recording never waits and never changes an answer; a record holds no header of a
//! request and no key of the server; what is read of a record is bounded, whoever wrote it.
//!
//! Lines go from an answer's [`Recorder`] through a bounded queue (`queue`) to one thread
//! (`writer`), which writes them into a folder (`folder`). [`Record`] reads a file, and
//! [`Playback`] hands its inputs to the code that took them the first time.
#![doc = include_str!("DESIGN.md")]

mod digests;
mod folder;
mod generation;
mod incomplete;
pub mod line;
mod playback;
mod queue;
mod raw_output;
mod reader;
mod recorder;
mod records;
mod reparse;
mod step;
mod weight;
mod writer;

pub(crate) use digests::FileDigests;
pub use folder::EXTENSION;
pub(crate) use generation::{played, recorded, resumed};
pub use incomplete::register_metric;
pub use playback::{Playback, RecordedInput};
pub use raw_output::RawOutput;
pub use reader::{MAGIC, PARSED_STEP, Record, RecordError};
pub use recorder::{Recorder, digest, word_of};
pub use records::{RecordOptions, Records};
pub use reparse::Reparsed;
pub use weight::json_weight;

/// Largest file of a record, in bytes.
pub const RECORD_BYTES: u64 = 64 << 20;
/// Most bytes of a record's lines before they are compressed.
pub const PLAIN_BYTES: usize = 256 << 20;
/// Most bytes of all records together.
pub const FOLDER_BYTES: u64 = 1 << 30;
