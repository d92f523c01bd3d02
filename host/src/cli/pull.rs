//! `host pull`: downloads models of the hub into the cache that Python's tools share.

use std::io::Write as _;
use std::process::ExitCode;

use anyhow::{Context as _, anyhow, bail};
use hub::{HubName, NeededFiles, PlannedFile, Pull, size};

use super::log::log_to_stderr;
use super::progress::LoadingLine;
use super::table::Table;

#[derive(clap::Args)]
pub(super) struct PullArguments {
    /// Models: ORG/NAME, with @REVISION for a branch, a tag or a commit, and with :QUANT or
    /// :FILE.gguf for a GGUF file of the repository.
    #[arg(required = true, value_name = "ORG/NAME[@REVISION][:QUANT]", value_parser = hub_name)]
    models: Vec<HubName>,
    /// Leave out the weights: a server in front of remote engines needs none.
    #[arg(long)]
    no_weights: bool,
    /// Say what the cache has and what would be downloaded. This downloads config.json and the index of the
    /// weights alone, or the headers of GGUF files.
    #[arg(long)]
    dry_run: bool,
}

pub(super) fn hub_name(text: &str) -> Result<HubName, String> {
    HubName::parse(text)
        .ok_or_else(|| "expected ORG/NAME, ORG/NAME@REVISION, or either with :QUANT behind it".to_owned())
}

pub(super) fn run(arguments: &PullArguments) -> anyhow::Result<ExitCode> {
    log_to_stderr(false, None, "info");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.context("can't start the runtime")?;
    for name in &arguments.models {
        runtime.block_on(pull(name, arguments))?;
    }
    Ok(ExitCode::SUCCESS)
}

async fn pull(name: &HubName, arguments: &PullArguments) -> anyhow::Result<()> {
    let need = if arguments.no_weights { NeededFiles::Prompt } else { NeededFiles::Weights };
    let pull = Pull::plan(name, need).await?;
    if arguments.no_weights && pull.is_gguf() {
        bail!("{name}: a GGUF file has weights and all else in one; --no-weights can't leave them out");
    }
    let said = if arguments.dry_run {
        plan(name, &pull)
    } else {
        let mut line = LoadingLine::default();
        let folder = pull.run(&mut |progress| line.show_download(&progress)).await?;
        format!("{}\n", folder.display())
    };
    let written = std::io::stdout().lock().write_all(said.as_bytes());
    written.map_err(|error| anyhow!(error))
}

/// The table of a dry run.
fn plan(name: &HubName, pull: &Pull) -> String {
    let mut table = Table::new(["FILE", "SIZE", "TO DOWNLOAD"]);
    let (mut all, mut missing) = (0_u64, 0_u64);
    for PlannedFile { path, bytes, missing_bytes } in pull.files() {
        (all, missing) = (all.saturating_add(bytes), missing.saturating_add(missing_bytes));
        let to_download = if missing_bytes == 0 { "-".to_owned() } else { size(missing_bytes) };
        table.row([path, size(bytes), to_download]);
    }
    let free = pull.free_bytes().map_or_else(String::new, |free| format!(", {} free", size(free)));
    let folder = pull.folder().display();
    format!(
        "{table}{name} at {}: {} to download of {}; {folder}{free}\n",
        pull.commit(),
        size(missing),
        size(all)
    )
}
