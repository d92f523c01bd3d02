//! The digest of what a plugin, or the trial of grammars, is built from. Also compiled into the
//! test of the shipped plugins.
//!
//! SHA-256 over, in the order of their paths: its crate, for a plugin the SDK's (manifests and
//! `src/`) and the contract, and those lines of the root manifest and the lock file that decide
//! about the bytes; of each its path, a line feed, its length, a line feed, and its text with line
//! feeds alone.

use std::fmt::Write;
use std::io;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

/// Name of the trial of grammars, which is no plugin.
pub(crate) const TRIAL: &str = "grammar-trial";
/// Tables of the root manifest that count.
const TABLES: [&str; 3] = ["[workspace.package]", "[profile.release]", "[profile.plugin]"];
/// Dependency of plugins that counts.
const PLUGIN_DEPENDENCY: &str = "wit-bindgen ";
/// Dependency of the trial that counts, and packages of the lock file that do most of its work.
const TRIAL_DEPENDENCY: &str = "llguidance ";
const TRIAL_PACKAGES: [&str; 4] = ["derivre", "llguidance", "regex-syntax", "toktrie"];

/// The digest of the sources of plugin `name`, or of the trial, in the repository at `root`, in
/// hex.
pub(crate) fn digest(root: &Path, name: &str) -> io::Result<String> {
    let mut paths = vec![PathBuf::from("Cargo.toml")];
    let mut package = |folder: PathBuf| {
        paths.push(folder.join("Cargo.toml"));
        files(root, &folder.join("src"), &mut paths)
    };
    let dependency = if name == TRIAL {
        package(Path::new("host").join(name))?;
        paths.push("Cargo.lock".into());
        TRIAL_DEPENDENCY
    } else {
        package(Path::new("host").join("contract"))?;
        package(Path::new("plugins").join("sdk"))?;
        package(Path::new("plugins").join(name))?;
        paths.push("wit/parser-0.1/parser.wit".into());
        PLUGIN_DEPENDENCY
    };
    paths.sort();
    let mut hash = Sha256::new();
    for path in paths {
        let text = std::fs::read_to_string(root.join(&path))?.replace("\r\n", "\n");
        let text = match path.to_str() {
            Some("Cargo.toml") => decisive(&text, dependency),
            Some("Cargo.lock") => versions(&text),
            _ => text,
        };
        let path = path.to_string_lossy().replace('\\', "/");
        hash.update(format!("{path}\n{}\n{text}", text.len()));
    }
    Ok(hex(hash))
}

/// A finished digest in hex.
pub(crate) fn hex(hash: Sha256) -> String {
    hash.finalize().iter().fold(String::new(), |mut hex, byte| {
        write!(hex, "{byte:02x}").expect("a string takes all");
        hex
    })
}

/// All files under `folder`, relative to `root`.
fn files(root: &Path, folder: &Path, paths: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in std::fs::read_dir(root.join(folder))? {
        let entry = entry?;
        let path = folder.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            files(root, &path, paths)?;
        } else {
            paths.push(path);
        }
    }
    Ok(())
}

/// The lines of the root manifest that count, without comments.
fn decisive(manifest: &str, dependency: &str) -> String {
    let mut table = "";
    let mut kept = String::new();
    for line in manifest.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        if line.starts_with('[') {
            table = line;
        }
        if TABLES.contains(&table) || line.starts_with(dependency) {
            kept.push_str(line);
            kept.push('\n');
        }
    }
    kept
}

/// The names and versions of the lock file's packages that count.
fn versions(lock: &str) -> String {
    let name = |line: &str| line.strip_prefix("name = \"").map(|rest| rest.trim_end_matches('"').to_owned());
    let lines: Vec<&str> = lock.lines().collect();
    let counts = |pair: &&[&str]| name(pair[0]).is_some_and(|name| TRIAL_PACKAGES.contains(&&*name));
    lines.windows(2).filter(counts).map(|pair| pair.join("\n") + "\n").collect()
}
