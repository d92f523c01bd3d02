//! Finds the files of `--model`: in a directory, in GGUF files, in the cache of the hub, or in the
//! binary.

use std::path::{Path, PathBuf};

use engine::{FileError, GgufFiles, ModelFiles};

use hub::{CachedModel, HubName, hub_name, is_gguf, similar};
use net::printable::first_of;

/// Name of the embedded model, which is the default. The scripts in its folder make it.
pub(super) const EMBEDDED_NAME: &str = "qwen3-tiny";

static EMBEDDED: &[(&str, &[u8])] = &[
    ("config.json", include_bytes!("../../models/qwen3-tiny/config.json")),
    ("generation_config.json", include_bytes!("../../models/qwen3-tiny/generation_config.json")),
    ("tokenizer.json", include_bytes!("../../models/qwen3-tiny/tokenizer.json")),
    ("tokenizer_config.json", include_bytes!("../../models/qwen3-tiny/tokenizer_config.json")),
    ("chat_template.jinja", include_bytes!("../../models/qwen3-tiny/chat_template.jinja")),
    ("model.safetensors", include_bytes!("../../models/qwen3-tiny/model.safetensors")),
];

/// A model's files and its default name.
#[derive(Debug, Clone)]
pub(super) struct Located {
    /// Files of the model.
    pub(super) files: ModelFiles,
    /// `ORG/NAME[:QUANT]`, the directory's or file's name, or `qwen3-tiny`.
    pub(super) name: String,
}

/// Error of a `--model` that can't be found.
#[derive(Debug, thiserror::Error)]
pub enum NotFound {
    /// There is no such model, or it isn't in a form that is read.
    #[error("--model {model}: {reason}")]
    Model {
        /// What was given.
        model: String,
        /// Why there is none, and what to do.
        reason: String,
    },
    /// The model isn't in the cache, or not as a whole.
    #[error(
        "--model {model}: no such file or directory, and not whole in the Hugging Face cache{similar}; get it with: {} pull {model}",
        system::program::name()
    )]
    Cache {
        /// What was given.
        model: String,
        /// What the cache has of similar names, as a part of the message.
        similar: String,
    },
    /// A GGUF file can't be used.
    #[error("--model {0}")]
    Gguf(FileError),
}

impl NotFound {
    /// Error of a model of the hub that the cache doesn't have, or not as a whole.
    pub(super) fn in_cache(name: &HubName) -> Self {
        Self::Cache { model: name.to_string(), similar: similar(name.repository()) }
    }
}

/// Returns the name of a model that is given none: `ORG/NAME[:QUANT]`, the directory's or file's
/// name, or the embedded model's.
///
/// # Errors
/// There is no such model. Whether the hub has one is asked when it is loaded.
pub fn default_name(model: Option<&str>) -> Result<String, NotFound> {
    match model.and_then(hub_name) {
        Some(name) => Ok(name.model_name()),
        None => Ok(locate(model)?.name),
    }
}

/// Finds the model on this machine; `None` is the embedded one.
pub(super) fn locate(model: Option<&str>) -> Result<Located, NotFound> {
    let Some(model) = model else {
        return Ok(Located { files: ModelFiles::Embedded(EMBEDDED), name: EMBEDDED_NAME.to_owned() });
    };
    let not_found = |reason: &str| NotFound::Model { model: model.to_owned(), reason: reason.to_owned() };
    if let Some(hub_name) = hub_name(model) {
        let (files, name) = match hub::cached(&hub_name).map_err(|reason| not_found(&reason))? {
            Some(CachedModel::Folder(folder)) => (ModelFiles::Directory(folder), hub_name.model_name()),
            Some(CachedModel::Gguf(file)) => (open_gguf(&file)?.files, hub_name.model_name()),
            None => return Err(NotFound::in_cache(&hub_name)),
        };
        return Ok(Located { files, name });
    }
    let path = Path::new(model);
    if path.is_dir() {
        return match only_gguf_files(path).as_slice() {
            [] => Ok(Located { files: ModelFiles::Directory(path.to_owned()), name: directory_name(path) }),
            [file] => open_gguf(file),
            several => Err(not_found(&format!("holds several models; give one: {}", names_of(several)))),
        };
    }
    if GgufFiles::is_gguf(path) || (is_gguf(model) && path.exists()) {
        open_gguf(path)
    } else if path.exists() {
        Err(not_found("this is a file, but no GGUF file; give that, or the directory that holds config.json"))
    } else if is_gguf(model) {
        Err(not_found("no such file"))
    } else {
        let similar = similar(model);
        Err(not_found(&format!(
            "no such directory, and no name on the hub (ORG/NAME[@REVISION][:QUANT]){similar}"
        )))
    }
}

fn open_gguf(path: &Path) -> Result<Located, NotFound> {
    let files = GgufFiles::open(path).map_err(NotFound::Gguf)?;
    Ok(Located { name: files.model_name(), files: ModelFiles::Gguf(files) })
}

/// GGUF files of a directory that holds no model in another form, each model's first part only, in
/// the order of their names. Projectors of images are no models.
fn only_gguf_files(directory: &Path) -> Vec<PathBuf> {
    if directory.join("config.json").exists() {
        return Vec::new();
    }
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    let name = |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
    let is_model = |path: &PathBuf| is_gguf(&name(path)) && !name(path).starts_with("mmproj");
    let is_first = |path: &PathBuf| !name(path).contains("-of-") || name(path).contains("-00001-of-");
    let files = entries.map(|entry| entry.path());
    let mut files: Vec<PathBuf> = files.filter(|path| is_model(path) && is_first(path)).collect();
    files.sort();
    files
}

/// Names of files for people, the first few.
fn names_of(files: &[PathBuf]) -> String {
    const SHOWN: usize = 4;
    let names = files.iter().filter_map(|path| path.file_name()).map(|name| name.to_string_lossy());
    first_of(names, SHOWN)
}

/// Returns the last part of a directory's path, also for `.` and `models/x/`.
fn directory_name(path: &Path) -> String {
    let whole = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    whole.file_name().map_or_else(|| "model".to_owned(), |name| name.to_string_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_name_it_is_the_embedded_model() {
        let located = locate(None).unwrap();
        assert_eq!(located.name, "qwen3-tiny");
        assert!(located.files.read("config.json").unwrap().is_some());
    }

    #[test]
    fn gguf_of_the_hub_is_named_with_its_quant() {
        for given in ["org/x-GGUF", "org/x-GGUF:Q4_K_M"] {
            assert_eq!(default_name(Some(given)).unwrap(), given);
            let message = locate(Some(given)).unwrap_err().to_string();
            assert!(message.ends_with(&format!("get it with: host pull {given}")), "{message}");
        }
        let message = locate(Some("org/x:")).unwrap_err().to_string();
        assert!(message.ends_with("no name on the hub (ORG/NAME[@REVISION][:QUANT])"), "{message}");
        for given in ["org/x.gguf", "no-such.gguf"] {
            let message = locate(Some(given)).unwrap_err().to_string();
            assert_eq!(message, format!("--model {given}: no such file"));
        }
    }

    #[test]
    fn directory_of_several_gguf_models_names_them() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["x-Q8_0.gguf", "y-00001-of-00002.gguf", "y-00002-of-00002.gguf", "mmproj-x.gguf"] {
            std::fs::write(folder.path().join(name), "GGUF").unwrap();
        }
        let directory = folder.path().to_str().unwrap();
        let message = locate(Some(directory)).unwrap_err().to_string();
        let wanted = "holds several models; give one: x-Q8_0.gguf, y-00001-of-00002.gguf";
        assert_eq!(message, format!("--model {directory}: {wanted}"));
        std::fs::remove_file(folder.path().join("x-Q8_0.gguf")).unwrap();
        let message = locate(Some(directory)).unwrap_err().to_string();
        let file = folder.path().join("y-00001-of-00002.gguf");
        assert_eq!(message, format!("--model {}: truncated at byte 4 of 4", file.display()));
        std::fs::write(folder.path().join("config.json"), "{}").unwrap();
        assert!(locate(Some(directory)).is_ok(), "a model that also has GGUF files");
    }

    #[test]
    fn what_is_missing_is_said_in_one_line() {
        let message = locate(Some("no-such-dir")).unwrap_err().to_string();
        assert!(message.contains("no such directory") && !message.contains('\n'), "{message}");
        let message = locate(Some("org/definitely-not-here")).unwrap_err().to_string();
        assert!(message.contains("host pull org/definitely-not-here"), "{message}");
        assert_eq!(default_name(Some("org/definitely-not-here@v1")).unwrap(), "org/definitely-not-here");
    }
}
