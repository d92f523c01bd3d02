//! Finds the files of `--model`: in a directory, in the cache of the hub, or in the binary.

use std::path::Path;

use engine::ModelFiles;

use super::hub::{self, HubName};

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
    /// `ORG/NAME`, the directory's name, or `qwen3-tiny`.
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
    #[error("--model {model}: not whole in the Hugging Face cache; get it with: host pull {model}")]
    Cache {
        /// What was given.
        model: String,
    },
}

/// Returns the name of a model that is given none: `ORG/NAME`, the directory's name, or the
/// embedded model's.
///
/// # Errors
/// There is no such model. Whether the hub has one is asked when it is loaded.
pub fn default_name(model: Option<&str>) -> Result<String, NotFound> {
    match model.and_then(hub_name) {
        Some(name) => Ok(name.repository().to_owned()),
        None => Ok(locate(model)?.name),
    }
}

/// Finds the model on this machine; `None` is the embedded one.
pub(super) fn locate(model: Option<&str>) -> Result<Located, NotFound> {
    let Some(model) = model else {
        return Ok(Located { files: ModelFiles::Embedded(EMBEDDED), name: EMBEDDED_NAME.to_owned() });
    };
    if let Some(name) = hub_name(model) {
        let files = hub::snapshot(&name).ok_or_else(|| NotFound::Cache { model: model.to_owned() })?;
        return Ok(Located { files, name: name.repository().to_owned() });
    }
    let path = Path::new(model);
    let not_found = |reason: &str| NotFound::Model { model: model.to_owned(), reason: reason.to_owned() };
    if path.is_dir() {
        if holds_only_gguf(path) {
            return Err(not_found(GGUF_REASON));
        }
        Ok(Located { files: ModelFiles::Directory(path.to_owned()), name: directory_name(path) })
    } else if is_gguf(path) || is_hub_gguf(model) {
        Err(not_found(GGUF_REASON))
    } else if path.exists() {
        Err(not_found("this is a file; give the directory that holds config.json"))
    } else {
        Err(not_found("no such directory"))
    }
}

/// The model's name on the hub, if it is given by one: it is no path, and not that of GGUF files.
pub(super) fn hub_name(model: &str) -> Option<HubName> {
    if Path::new(model).exists() || is_gguf(Path::new(model)) || is_hub_gguf(model) {
        return None;
    }
    HubName::parse(model)
}

fn is_gguf(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("gguf"))
}

/// Whether a directory holds GGUF files, and no model in the form that is read.
fn holds_only_gguf(directory: &Path) -> bool {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    let has_gguf = entries.map(|entry| entry.path()).any(|path| is_gguf(&path));
    has_gguf && !directory.join("config.json").exists()
}

/// Whether the name is that of a repository of GGUF files: `ORG/NAME-GGUF`, or `ORG/NAME:QUANT` as
/// llama.cpp takes it.
fn is_hub_gguf(model: &str) -> bool {
    let (name, quant) = model.split_once(':').unwrap_or((model, ""));
    HubName::parse(name).is_some() && (!quant.is_empty() || name.to_ascii_lowercase().ends_with("gguf"))
}

/// Why GGUF files are refused, and what to do.
pub(super) const GGUF_REASON: &str = "GGUF is not read; give the directory of the original model (config.json, tokenizer.json, \
     *.safetensors), or its name: --model ORG/NAME; to keep the file, serve it with llama.cpp and add \
     --engine http://HOST:PORT to that directory";

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
    fn gguf_is_refused_in_one_line_that_says_what_to_do() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("x-Q4_K_M.GGUF");
        std::fs::write(&file, "GGUF").unwrap();
        let [file, directory] = [&file, folder.path()].map(|path| path.to_str().unwrap());
        for given in [file, directory, "org/x.gguf", "no-such.gguf", "org/x-GGUF", "org/x:Q4_K_M"] {
            let message = locate(Some(given)).unwrap_err().to_string();
            assert!(
                message.starts_with(&format!("--model {given}: GGUF is not read; give the directory")),
                "{message}"
            );
            assert!(message.contains("--engine http://") && !message.contains('\n'), "{message}");
        }
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
