//! What `--parser` says: `auto`, a file or a name.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// See the module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ParserArgument {
    /// The one that claims the model.
    Auto,
    /// A file, a name, or `none`.
    Named(String),
}

impl ParserArgument {
    /// Reads the option; none is `auto`.
    pub(super) fn read(given: Option<&str>) -> Self {
        match given {
            None | Some("auto") => Self::Auto,
            Some(name) => Self::Named(name.to_owned()),
        }
    }

    /// The name of the file asked for, if it is one.
    pub(super) fn file(&self) -> Option<OsString> {
        let Self::Named(name) = self else { return None };
        Path::new(name).file_name().map(ToOwned::to_owned)
    }

    /// Folders in which a change may matter.
    pub(super) fn folders(&self, plugins: &Path) -> Vec<PathBuf> {
        let mut folders = vec![plugins.to_owned()];
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
