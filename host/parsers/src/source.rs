//! Sources of parsers: resolves `--parser FILE|NAME|none` and `--plugins DIR` to a
//! [`PluginSource`].

use std::borrow::Cow;
use std::fs::{File, FileType};
use std::io::Read as _;
use std::os::unix::fs::{FileTypeExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use super::digest::digest;
use super::error::LoadProblem;

/// Parsers in the binary: the name (`qwen3`) and the bytes of each.
pub type Shipped = [(&'static str, &'static [u8])];

/// Maximum number of files that are listed of a plugins folder.
const PLUGINS: usize = 256;

/// Source of a plugin that isn't loaded yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PluginSource {
    /// No parser: all text is content.
    None,
    /// A file.
    File(PathBuf),
    /// Bytes in memory.
    Bytes {
        /// Name for messages.
        name: String,
        /// The component.
        bytes: Cow<'static, [u8]>,
    },
    /// A table, and the component that reads tables.
    Table(TableSource),
}

/// A table and the component that reads it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableSource {
    /// Name for messages: that of a shipped table, or the file's path.
    pub(super) name: String,
    /// Content of the file.
    pub(super) text: Cow<'static, str>,
    /// The component that reads tables.
    pub(super) reader: Box<PluginSource>,
}

impl PluginSource {
    /// Name of the plugin for messages.
    pub fn name(&self) -> Cow<'_, str> {
        match self {
            Self::None => Cow::Borrowed("none"),
            Self::File(path) => path.to_string_lossy(),
            Self::Bytes { name, .. } | Self::Table(TableSource { name, .. }) => Cow::Borrowed(name),
        }
    }

    /// SHA-256 of bytes in memory, in lower-case hex; of a table that of its component and, behind
    /// it, its text. `None` for other sources.
    pub fn digest(&self) -> Option<String> {
        match self {
            Self::Bytes { bytes, .. } => Some(digest(bytes)),
            Self::Table(TableSource { text, reader, .. }) => match &**reader {
                Self::Bytes { bytes, .. } => Some(digest(&[&**bytes, text.as_bytes()].concat())),
                _ => None,
            },
            Self::None | Self::File(_) => None,
        }
    }

    /// The table, if the source is one.
    pub fn table(&self) -> Option<&TableSource> {
        if let Self::Table(table) = self { Some(table) } else { None }
    }

    /// Size of the component in bytes; 0 if it can't be read, which loading it reports.
    #[cfg(feature = "conformance")]
    pub(crate) fn size(&self) -> u64 {
        match self {
            Self::None => 0,
            Self::File(path) => path.metadata().map_or(0, |file| file.len()),
            Self::Bytes { bytes, .. } => bytes.len() as u64,
            Self::Table(TableSource { reader, .. }) => reader.size(),
        }
    }

    /// Returns the component's bytes, at most `limit` of them.
    pub(super) fn read(&self, limit: u64) -> Result<Cow<'_, [u8]>, LoadProblem> {
        let bytes = match self {
            Self::None => Cow::Borrowed(&[][..]),
            Self::File(path) => Cow::Owned(read_file(path, limit)?),
            Self::Bytes { bytes, .. } => Cow::Borrowed(&**bytes),
            Self::Table(TableSource { reader, .. }) => return reader.read(limit),
        };
        if bytes.len() as u64 > limit { Err(LoadProblem::TooLarge { limit }) } else { Ok(bytes) }
    }
}

/// Reads a file of at most `limit` bytes. The limit holds while it is read, too, since files may
/// grow. Anything but a plain file is opened without waiting for its other end, and not read.
pub(super) fn read_file(path: &Path, limit: u64) -> Result<Vec<u8>, LoadProblem> {
    let file = File::options().read(true).custom_flags(libc::O_NONBLOCK).open(path);
    let file = file.map_err(LoadProblem::Unreadable)?;
    let metadata = file.metadata().map_err(LoadProblem::Unreadable)?;
    if let Some(what) = other_file_kind(metadata.file_type()) {
        return Err(LoadProblem::NotAFile(what));
    }
    if metadata.len() > limit {
        return Err(LoadProblem::TooLarge { limit });
    }
    let mut bytes = Vec::new();
    file.take(limit.saturating_add(1)).read_to_end(&mut bytes).map_err(LoadProblem::Unreadable)?;
    Ok(bytes)
}

/// Kind of what is found in a file's place; `None` for a file.
fn other_file_kind(kind: FileType) -> Option<&'static str> {
    match kind {
        _ if kind.is_file() => None,
        _ if kind.is_dir() => Some("a directory"),
        _ if kind.is_fifo() => Some("a FIFO"),
        _ if kind.is_socket() => Some("a socket"),
        _ => Some("a device"),
    }
}

/// Error of a parser that wasn't found: where it was looked for, and which ones exist.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ResolveError {
    /// The name is a path, and no file has it.
    #[error("parser {0}: no such file")]
    NoFile(String),
    /// The path is that of something other than a file.
    #[error("parser {path}: is {what}, not a parser file")]
    NotAFile {
        /// The path.
        path: String,
        /// Kind of what is there.
        what: &'static str,
    },
    /// The file of a table can't be read.
    #[error("parser {path}: {problem}")]
    Table {
        /// The path.
        path: String,
        /// Reason, in one line.
        problem: String,
    },
    /// The name isn't a path, and no parser has it.
    #[error(
        "parser {wanted}: found neither as a file here, nor in {dir} ({in_folder}), nor among the shipped ones ({shipped})"
    )]
    NotFound {
        /// Name that was asked for.
        wanted: String,
        /// The plugins folder.
        dir: String,
        /// Names of the plugins in the folder.
        in_folder: String,
        /// Names of the plugins in the binary.
        shipped: String,
    },
    /// The name isn't a path, and no parser inside the program has it.
    #[error("parser {wanted}: not among the shipped ones ({shipped}); a file is named by its path")]
    NotShipped {
        /// Name that was asked for.
        wanted: String,
        /// Names of the plugins in the program.
        shipped: String,
    },
}

/// Finds the parser that `wanted` names: `none`; a path (anything with a separator, or a file that
/// exists); a file of `dir`, as given and with `.wasm` added; one of `shipped`, with or without
/// `.wasm`.
///
/// # Errors
/// Nothing has that name; the error says where it was looked for and which names exist.
pub fn resolve(wanted: &str, dir: &Path, shipped: &'static Shipped) -> Result<PluginSource, ResolveError> {
    if wanted == "none" {
        return Ok(PluginSource::None);
    }
    let is_path = wanted.contains(std::path::is_separator);
    let candidates = [PathBuf::from(wanted), dir.join(wanted), dir.join(format!("{wanted}.wasm"))];
    let looked_at = if is_path { &candidates[..1] } else { &candidates[..] };
    if let Some(path) = looked_at.iter().find(|path| path.is_file()) {
        return Ok(PluginSource::File(path.clone()));
    }
    let other = looked_at.iter().find_map(|path| {
        let what = other_file_kind(path.metadata().ok()?.file_type())?;
        Some(ResolveError::NotAFile { path: path.display().to_string(), what })
    });
    if is_path {
        return Err(other.unwrap_or_else(|| ResolveError::NoFile(wanted.to_owned())));
    }
    let bare = wanted.strip_suffix(".wasm").unwrap_or(wanted);
    if let Some((name, bytes)) = shipped.iter().find(|(name, _)| *name == bare) {
        return Ok(PluginSource::Bytes { name: (*name).to_owned(), bytes: Cow::Borrowed(bytes) });
    }
    Err(other.unwrap_or_else(|| ResolveError::NotFound {
        wanted: wanted.to_owned(),
        dir: dir.display().to_string(),
        in_folder: names_in(dir),
        shipped: joined(shipped.iter().map(|(name, _)| (*name).to_owned()).collect()),
    }))
}

/// Names of the `.wasm` files in `dir`, the first few of them.
fn names_in(dir: &Path) -> String {
    let Ok(paths) = plugins_in(dir) else { return "which can't be read".to_owned() };
    let names = paths.iter().filter_map(|path| Some(path.file_stem()?.to_string_lossy().into_owned()));
    joined(names.take(32).collect())
}

/// Lists the `.wasm` files in `dir` by name; of very many, only the first.
///
/// # Errors
/// The folder can't be read.
pub fn plugins_in(dir: &Path) -> std::io::Result<Vec<PathBuf>> {
    files_in(dir, "wasm")
}

/// Lists the files in `dir` with this extension by name; of very many, only the first.
pub(super) fn files_in(dir: &Path, extension: &str) -> std::io::Result<Vec<PathBuf>> {
    let paths = dir.read_dir()?.filter_map(Result::ok).map(|entry| entry.path());
    let is_listed =
        |path: &PathBuf| path.extension().is_some_and(|ending| ending == extension) && path.is_file();
    let mut paths: Vec<_> = paths.filter(is_listed).collect();
    paths.sort_unstable();
    paths.truncate(PLUGINS);
    Ok(paths)
}

fn joined(mut names: Vec<String>) -> String {
    names.sort_unstable();
    if names.is_empty() { "none there".to_owned() } else { names.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHIPPED: &Shipped = &[("qwen3", b"shipped")];

    fn plugins() -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("mine.wasm"), b"mine").unwrap();
        std::fs::create_dir(dir.path().join("folder")).unwrap();
        dir
    }

    #[test]
    fn name_is_looked_up_as_given_and_with_its_ending() {
        let dir = plugins();
        for wanted in ["mine", "mine.wasm"] {
            let found = resolve(wanted, dir.path(), SHIPPED).unwrap();
            assert_eq!(found, PluginSource::File(dir.path().join("mine.wasm")));
            assert_eq!(&*found.read(4).unwrap(), b"mine");
        }
    }

    #[test]
    fn folder_comes_before_shipped_ones_found_anywhere() {
        let dir = plugins();
        for wanted in ["qwen3", "qwen3.wasm"] {
            let found = resolve(wanted, Path::new("/nowhere"), SHIPPED).unwrap();
            assert_eq!(found.name(), "qwen3");
            assert_eq!(&*found.read(7).unwrap(), b"shipped");
        }
        std::fs::write(dir.path().join("qwen3.wasm"), b"newer").unwrap();
        let found = resolve("qwen3", dir.path(), SHIPPED).unwrap();
        assert_eq!(found, PluginSource::File(dir.path().join("qwen3.wasm")));
    }

    #[test]
    fn a_path_is_taken_as_it_is_and_nothing_else_is_tried() {
        let dir = plugins();
        let path = dir.path().join("mine.wasm");
        assert_eq!(
            resolve(path.to_str().unwrap(), Path::new("/nowhere"), SHIPPED),
            Ok(PluginSource::File(path))
        );
        let error = resolve("./qwen3", dir.path(), SHIPPED).unwrap_err();
        assert_eq!(error.to_string(), "parser ./qwen3: no such file");
    }

    #[test]
    fn none_is_none_and_unknown_names_get_the_known_ones() {
        let dir = plugins();
        assert_eq!(resolve("none", dir.path(), SHIPPED), Ok(PluginSource::None));
        let error = resolve("nobody", dir.path(), SHIPPED).unwrap_err().to_string();
        let at = dir.path().display();
        assert_eq!(
            error,
            format!(
                "parser nobody: found neither as a file here, nor in {at} (mine), nor among the shipped ones (qwen3)"
            )
        );
        let error = resolve("x", Path::new("/nowhere"), &[]).unwrap_err().to_string();
        assert!(error.ends_with("/nowhere (which can't be read), nor among the shipped ones (none there)"));
    }

    #[test]
    fn a_file_is_read_no_further_than_the_limit() {
        let dir = plugins();
        let four = PluginSource::File(dir.path().join("mine.wasm"));
        assert!(matches!(four.read(3), Err(LoadProblem::TooLarge { limit: 3 })));
        let missing = PluginSource::File(PathBuf::from("/nowhere/x.wasm"));
        assert!(matches!(missing.read(1), Err(LoadProblem::Unreadable(_))));
    }

    /// Creates what is no file: a directory, a FIFO that nobody writes to, a socket, and a device;
    /// each with the name of its kind.
    fn others(dir: &Path) -> [(PathBuf, &'static str); 4] {
        let [fifo, socket] = ["fifo", "socket"].map(|name| dir.join(name));
        assert!(std::process::Command::new("mkfifo").arg(&fifo).status().unwrap().success());
        std::os::unix::net::UnixListener::bind(&socket).unwrap();
        [
            (dir.join("folder"), "a directory"),
            (fifo, "a FIFO"),
            (socket, "a socket"),
            (PathBuf::from("/dev/zero"), "a device"),
        ]
    }

    #[test]
    fn what_is_no_file_is_named_and_never_waited_for() {
        let dir = plugins();
        for (path, what) in others(dir.path()) {
            let said = format!("parser {}: is {what}, not a parser file", path.display());
            let error = resolve(path.to_str().unwrap(), Path::new("/nowhere"), SHIPPED).unwrap_err();
            assert_eq!(error.to_string(), said);
            if what != "a socket" {
                let read = PluginSource::File(path).read(1 << 16).unwrap_err();
                assert_eq!(read.to_string(), format!("is {what}, not a parser file"));
            }
        }
        let error = resolve("folder", dir.path(), SHIPPED).unwrap_err().to_string();
        assert_eq!(
            error,
            format!("parser {}: is a directory, not a parser file", dir.path().join("folder").display())
        );
        std::fs::create_dir(dir.path().join("qwen3")).unwrap();
        assert_eq!(resolve("qwen3", dir.path(), SHIPPED).unwrap().name(), "qwen3");
    }
}
