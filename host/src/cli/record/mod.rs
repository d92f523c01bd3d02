//! Switches of `serve` for records of answers.

pub(super) mod switches;

use std::path::PathBuf;

use anyhow::Context;
use model::record::{RecordOptions, Records};

use super::values::share;

#[derive(clap::Args)]
pub(super) struct RecordArguments {
    /// Record each answer in a file of this folder, which is made if it is missing: the request, its
    /// tokens and events, to be replayed (docs/records.md). The newest GiB is kept [default: nothing
    /// is recorded].
    #[arg(long, value_name = "DIR")]
    record: Option<PathBuf>,
    /// Keep only the records of answers that failed, or whose parser did, and of `--record-sample`.
    #[arg(long, requires = "record")]
    record_failed: bool,
    /// Share of the answers that are recorded, from 0 to 1 [default: 1; with `--record-failed` 0].
    #[arg(long, value_name = "SHARE", requires = "record", value_parser = share)]
    record_sample: Option<f64>,
    /// Leave requests, prompts, events and outputs of tools out of records. What the model wrote
    /// stays in them.
    #[arg(long, requires = "record")]
    redact: bool,
    /// Keep traces of the last 64 answers for `/admin/answers` (docs/inspector.md), as `--record`
    /// does, too.
    #[arg(long)]
    pub(super) inspect: bool,
    /// Switches on which answers depend, for the records.
    #[arg(skip)]
    pub(super) switches: Vec<String>,
}

impl RecordArguments {
    /// Opens the folder, if there is one.
    ///
    /// # Errors
    /// The folder can't be used.
    pub(super) fn open(&self) -> anyhow::Result<Option<Records>> {
        let Some(folder) = &self.record else { return Ok(None) };
        let options = RecordOptions {
            folder: folder.clone(),
            failed: self.record_failed,
            sample: self.record_sample,
            redacts: self.redact,
            switches: self.switches.clone(),
        };
        Records::open(options).map(Some).with_context(|| format!("--record {}", folder.display()))
    }
}
