//! What `--parser` says: `auto`, a file or a name, or one of these for a served model (`MODEL=FILE`).

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

/// A parser for a model that isn't served.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("--parser {given}: no model {model} is served here, only {}; with one model --parser FILE is enough", .served.join(", "))]
pub struct UnknownModel {
    given: String,
    model: String,
    served: Vec<String>,
}

impl ParserArgument {
    /// Reads the option; none is `auto`. A file whose own name has a `=` in it is that file.
    ///
    /// # Errors
    /// `MODEL=…` of a model that isn't among `served`.
    pub(super) fn read(given: Option<&str>, served: &[String]) -> Result<Self, UnknownModel> {
        let given = given.unwrap_or("auto");
        let parser = match given.split_once('=') {
            Some(_) if Path::new(given).exists() => given,
            Some((model, parser)) if served.iter().any(|name| name == model) => parser,
            Some((model, _)) => {
                let (given, model) = (given.to_owned(), model.to_owned());
                return Err(UnknownModel { given, model, served: served.to_vec() });
            }
            None => given,
        };
        Ok(if parser == "auto" { Self::Auto } else { Self::Named(parser.to_owned()) })
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

    fn read(given: &str) -> Result<ParserArgument, String> {
        let served = ["a".to_owned(), "org/b".to_owned()];
        ParserArgument::read(Some(given), &served).map_err(|error| error.to_string())
    }

    #[test]
    fn a_model_may_be_named_if_it_is_served() {
        let named = |name: &str| Ok(ParserArgument::Named(name.to_owned()));
        assert_eq!(ParserArgument::read(None, &[]), Ok(ParserArgument::Auto));
        assert_eq!(read("auto"), Ok(ParserArgument::Auto));
        assert_eq!(read("a=auto"), Ok(ParserArgument::Auto));
        assert_eq!(read("qwen3.wasm"), named("qwen3.wasm"));
        assert_eq!(read("a=qwen3.wasm"), named("qwen3.wasm"));
        assert_eq!(read("org/b=./x=y.wasm"), named("./x=y.wasm"));
        let line = read("c=qwen3.wasm").unwrap_err();
        assert!(line.contains("no model c is served here, only a, org/b"), "{line}");
    }

    #[test]
    fn a_file_whose_name_has_an_equals_sign_is_that_file_and_its_folder_is_watched() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a=b.wasm");
        std::fs::write(&file, "x").unwrap();
        let file = file.to_str().unwrap();
        let argument = read(file).unwrap();
        assert_eq!(argument, ParserArgument::Named(file.to_owned()));
        assert_eq!(argument.folders(Path::new("plugins")), [Path::new("plugins"), folder.path()]);
        assert_eq!(ParserArgument::Auto.folders(Path::new("plugins")), [Path::new("plugins")]);
    }
}
