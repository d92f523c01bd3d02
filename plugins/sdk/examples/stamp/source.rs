//! The digest of what a plugin is built from. Also compiled into the test of the shipped plugins.
//!
//! SHA-256 over, in the order of their paths: the plugin's crate, the SDK's (manifests and `src/`), the contract, and those lines of the root
//! manifest that decide about the bytes; of each its path, a line feed, its length, a line feed, and its text with line feeds alone.

use std::fmt::Write;
use std::io;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

/// Tables of the root manifest that count, and the dependency that does.
const TABLES: [&str; 3] = ["[workspace.package]", "[profile.release]", "[profile.plugin]"];
const DEPENDENCY: &str = "wit-bindgen ";

/// The digest of plugin `name`'s sources in the repository at `root`, in hex.
pub(crate) fn digest(root: &Path, name: &str) -> io::Result<String> {
    let mut paths = vec![PathBuf::from("Cargo.toml"), PathBuf::from("wit/parser-0.1/parser.wit")];
    for package in ["sdk", name] {
        let folder = Path::new("plugins").join(package);
        paths.push(folder.join("Cargo.toml"));
        files(root, &folder.join("src"), &mut paths)?;
    }
    paths.sort();
    let mut hash = Sha256::new();
    for path in paths {
        let text = std::fs::read_to_string(root.join(&path))?.replace("\r\n", "\n");
        let text = if path == Path::new("Cargo.toml") { decisive(&text) } else { text };
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
fn decisive(manifest: &str) -> String {
    let mut table = "";
    let mut kept = String::new();
    for line in manifest.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        if line.starts_with('[') {
            table = line;
        }
        if TABLES.contains(&table) || line.starts_with(DEPENDENCY) {
            kept.push_str(line);
            kept.push('\n');
        }
    }
    kept
}
