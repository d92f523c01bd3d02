//! Switches of `serve` for records of answers.

pub(super) mod switches;

use std::path::PathBuf;

use anyhow::{Context, bail, ensure};
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
    #[arg(long)]
    record_failed: bool,
    /// Share of the answers that are recorded, from 0 to 1 [default: 1; with `--record-failed` 0].
    #[arg(long, value_name = "SHARE", value_parser = share)]
    record_sample: Option<f64>,
    /// Leave requests, prompts, events and outputs of tools out of records. What the model wrote
    /// stays in them.
    #[arg(long)]
    redact: bool,
    /// Keep traces of the last 64 answers for `--admin-listen` (docs/inspector.md), as `--record`
    /// does, too.
    #[arg(long)]
    pub(super) inspect: bool,
    /// Switches on which answers depend, for the records.
    #[arg(skip)]
    pub(super) switches: Vec<String>,
}

impl RecordArguments {
    /// Checks that no switch is given which does nothing. It isn't clap that checks, since what a
    /// switch needs may stand in the configuration file.
    ///
    /// # Errors
    /// One line.
    pub(super) fn check(&self, has_admin_address: bool) -> anyhow::Result<()> {
        ensure!(
            has_admin_address || !self.inspect,
            "--inspect keeps traces that nobody could read: give --admin-listen an address for them"
        );
        let of_records = [
            ("--record-failed", self.record_failed),
            ("--record-sample", self.record_sample.is_some()),
            ("--redact", self.redact),
        ];
        let given = of_records.into_iter().find(|(_, is_given)| *is_given && self.record.is_none());
        given
            .map_or(Ok(()), |(switch, _)| bail!("{switch} is about records: give --record a folder for them"))
    }

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
