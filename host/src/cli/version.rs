//! `host version`: what this binary is made of: version, commit, contracts with parsers, engines.
//!
//! The commit is the one in the variable `SLUICE_COMMIT` of the build. A build script that asks Git
//! would build the binary again after each commit, and knows nothing in an archive of the sources.

use std::io::Write as _;
use std::process::ExitCode;

use engine::cpu;
use engine::cuda::CudaVersion;
use parsers::ContractVersion;
use remote::EngineKind;
use serde_json::json;

#[derive(clap::Args)]
pub(super) struct VersionArguments {
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// The commit that the binary was built from, if the build was told.
const COMMIT: Option<&str> = option_env!("SLUICE_COMMIT");

pub(super) fn run(arguments: &VersionArguments) -> anyhow::Result<ExitCode> {
    let commit = COMMIT.filter(|commit| !commit.is_empty());
    let said = if arguments.json { as_json(commit) } else { as_lines(commit) };
    std::io::stdout().lock().write_all(said.as_bytes())?;
    Ok(ExitCode::SUCCESS)
}

/// Engines that every build has, and what is to be known of each here.
fn engines() -> [(&'static str, String); 4] {
    let kinds = EngineKind::ALL.map(EngineKind::name).join(", ");
    [
        ("cpu", format!("{} on this machine", cpu::instruction_set())),
        ("cuda", format!("CUDA {} is loaded where a model is to run on a GPU", CudaVersion::NEEDED)),
        ("remote", format!("servers of the kinds {kinds}")),
        ("replay", "files of scripted outputs".to_owned()),
    ]
}

fn as_lines(commit: Option<&str>) -> String {
    let mut lines = vec![
        ("version", env!("CARGO_PKG_VERSION").to_owned()),
        ("commit", commit.unwrap_or("unknown: the build wasn't told (SLUICE_COMMIT)").to_owned()),
    ];
    lines.extend(ContractVersion::ALL.map(|contract| {
        let draft = if contract.is_draft() { ", with --draft-contracts" } else { "" };
        ("contract", format!("{contract} (sluice:parser@{}{draft})", contract.package()))
    }));
    lines.extend(engines().map(|(name, what)| ("engine", format!("{name}: {what}"))));
    let lines: Vec<_> = lines.into_iter().map(|(what, value)| format!("{what:8} {value}\n")).collect();
    lines.concat()
}

fn as_json(commit: Option<&str>) -> String {
    let contracts = ContractVersion::ALL.map(|contract| {
        json!({"version": contract.name(), "package": contract.package(), "draft": contract.is_draft()})
    });
    let engines = engines().map(|(name, what)| json!({"name": name, "detail": what}));
    let version = env!("CARGO_PKG_VERSION");
    let all = json!({"version": version, "commit": commit, "contracts": contracts, "engines": engines});
    format!("{all}\n")
}
