//! Value of `--parser`: `auto`, a file or a name.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Value of `--parser`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ParserArgument {
    /// The parser that claims the model.
    Auto,
    /// A file, a name, or `none`.
    Named(String),
}

impl ParserArgument {
    /// Reads the option; `None` is `auto`.
    pub(super) fn read(given: Option<&str>) -> Self {
        match given {
            None | Some("auto") => Self::Auto,
            Some(name) => Self::Named(name.to_owned()),
        }
    }

    /// Whether the model is to be served without a parser.
    pub(super) fn is_none(&self) -> bool {
        matches!(self, Self::Named(name) if name == "none")
    }

    /// The file or name that is asked for, without its folder; `None` for `auto`.
    pub(super) fn file(&self) -> Option<OsString> {
        let Self::Named(name) = self else { return None };
        Path::new(name).file_name().map(ToOwned::to_owned)
    }

    /// Folders to watch: the plugins folder, that of its tables, and the file's own folder, if a
    /// file is asked for.
    pub(super) fn folders(&self, plugins: &Path) -> Vec<PathBuf> {
        let mut folders = vec![plugins.to_owned()];
        folders.extend(Some(plugins.join("tables")).filter(|tables| tables.is_dir()));
        if let Self::Named(name) = self
            && Path::new(name).is_file()
        {
            let parent = Path::new(name).parent().filter(|parent| !parent.as_os_str().is_empty());
            folders.push(parent.unwrap_or(Path::new(".")).to_owned());
        }
        folders.dedup();
        folders
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_folder_of_a_file_is_watched_too() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a=b.wasm");
        std::fs::write(&file, "x").unwrap();
        let file = file.to_str().unwrap();
        let argument = ParserArgument::read(Some(file));
        assert_eq!(argument, ParserArgument::Named(file.to_owned()));
        assert_eq!(argument.folders(Path::new("plugins")), [Path::new("plugins"), folder.path()]);
        for auto in [None, Some("auto")] {
            assert_eq!(ParserArgument::read(auto).folders(Path::new("plugins")), [Path::new("plugins")]);
        }
    }
}
