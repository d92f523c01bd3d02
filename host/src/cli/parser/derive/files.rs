//! Writes a derived parser: a table, or a crate that is built on request.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail, ensure};
use fit::Derivation;

use super::DeriveArguments;

/// Target of parsers.
const TARGET: &str = "wasm32-unknown-unknown";

/// A parser that was written.
pub(super) struct ParserFiles {
    /// The parser; none for a crate that wasn't built.
    pub(super) file: Option<PathBuf>,
    /// The folder of its cases, which for a crate is the crate.
    pub(super) folder: PathBuf,
}

/// Writes the parser `name`; the inner error says why neither a table nor a crate can say the format.
pub(super) fn write(
    derived: &Derivation,
    name: &str,
    arguments: &DeriveArguments,
) -> anyhow::Result<Result<ParserFiles, String>> {
    let folder = arguments.out.join(name);
    let table = derived.table.as_ref().ok().filter(|_| !arguments.component.as_crate);
    if let Some(table) = table {
        let file = arguments.out.join(name).with_extension("json");
        ensure!(!file.exists(), "{} exists already: choose another --name or --out", file.display());
        save(&file, &(serde_json::to_string_pretty(table)? + "\n"))?;
        return Ok(Ok(ParserFiles { file: Some(file), folder }));
    }
    let source = match (&derived.source, &derived.table) {
        (Ok(source), _) => source,
        (Err(reason), Err(table)) => {
            return Ok(Err(format!("a table can't say the format: {table}; nor can a crate: {reason}")));
        }
        (Err(reason), Ok(_)) => return Ok(Err(format!("a crate can't say the format: {reason}"))),
    };
    crate::cli::parser::new::create(&folder, name, Some(source))?;
    let file = if arguments.component.build { Some(build(&folder, name)?) } else { None };
    Ok(Ok(ParserFiles { file, folder }))
}

/// Builds the crate, and puts the component beside it.
fn build(folder: &Path, name: &str) -> anyhow::Result<PathBuf> {
    let mut cargo = Command::new("cargo");
    // In the crate's own folder, whatever the user's cargo is told.
    cargo.args(["build", "--release", "--target", TARGET, "--target-dir", "target"]).current_dir(folder);
    let output = cargo.output().context("--build: cargo can't be run")?;
    if !output.status.success() {
        let words = String::from_utf8_lossy(&output.stderr);
        let error = words.lines().find(|line| line.starts_with("error")).unwrap_or("cargo failed").to_owned();
        bail!("--build: {error} (cargo build --release --target {TARGET} in {})", folder.display());
    }
    let built = format!("target/{TARGET}/release/{}_parser.wasm", name.replace('-', "_"));
    let file = folder.with_extension("wasm");
    std::fs::copy(folder.join(&built), &file).with_context(|| format!("--build: {built}"))?;
    Ok(file)
}

/// Writes a file and the folders that it lies in.
pub(super) fn save(file: &Path, text: &str) -> anyhow::Result<()> {
    let place = || file.display().to_string();
    std::fs::create_dir_all(file.parent().unwrap_or(Path::new("."))).with_context(place)?;
    std::fs::write(file, text).with_context(place)
}
