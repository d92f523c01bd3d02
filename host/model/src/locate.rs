//! Finds the files of `--model`: in a directory, in the local Hugging Face cache, or in the binary.

use std::path::{Path, PathBuf};

use engine::ModelFiles;

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
#[error("{0}")]
pub struct NotFound(String);

/// Returns the name of a model that is given none: `ORG/NAME`, the directory's name, or the
/// embedded model's.
///
/// # Errors
/// There is no such model.
pub fn default_name(model: Option<&str>) -> Result<String, NotFound> {
    Ok(locate(model)?.name)
}

/// Finds the model; `None` is the embedded one.
pub(super) fn locate(model: Option<&str>) -> Result<Located, NotFound> {
    let Some(model) = model else {
        return Ok(Located { files: ModelFiles::Embedded(EMBEDDED), name: EMBEDDED_NAME.to_owned() });
    };
    let path = Path::new(model);
    if is_gguf(path) && !path.is_dir() {
        return Err(gguf(model));
    }
    if path.is_dir() {
        check_directory(path, model)?;
        return Ok(Located { files: ModelFiles::Directory(path.to_owned()), name: directory_name(path) });
    }
    if path.exists() {
        return Err(NotFound(format!(
            "--model {model}: this is a file; give the directory that holds config.json"
        )));
    }
    if is_hub_gguf(model) {
        return Err(gguf(model));
    }
    if !is_hub_name(model) {
        return Err(NotFound(format!("--model {model}: no such directory")));
    }
    let cache = cache_directory();
    let snapshot = snapshot(&cache, model).ok_or_else(|| {
        NotFound(format!(
            "--model {model}: neither a directory nor in the Hugging Face cache ({}); get it with: hf download {model}",
            cache.display()
        ))
    })?;
    check_directory(&snapshot, model)?;
    Ok(Located { files: ModelFiles::Directory(snapshot), name: model.to_owned() })
}

fn is_gguf(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("gguf"))
}

/// Refuses a directory that holds GGUF files and no model in the form that is read.
fn check_directory(directory: &Path, model: &str) -> Result<(), NotFound> {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    let has_gguf = entries.map(|entry| entry.path()).any(|path| is_gguf(&path));
    if has_gguf && !directory.join("config.json").exists() { Err(gguf(model)) } else { Ok(()) }
}

/// Whether the name is that of a repository of GGUF files: `ORG/NAME-GGUF`, or `ORG/NAME:QUANT` as
/// llama.cpp takes it.
fn is_hub_gguf(model: &str) -> bool {
    let (name, quant) = model.split_once(':').unwrap_or((model, ""));
    is_hub_name(name) && (!quant.is_empty() || name.to_ascii_lowercase().ends_with("gguf"))
}

fn gguf(model: &str) -> NotFound {
    NotFound(format!(
        "--model {model}: GGUF is not read; give the directory of the original model (config.json, tokenizer.json, *.safetensors), \
         got with: hf download ORG/NAME; to keep the file, serve it with llama.cpp and add --engine http://HOST:PORT to that directory"
    ))
}

/// Returns the last part of a directory's path, also for `.` and `models/x/`.
fn directory_name(path: &Path) -> String {
    let whole = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    whole.file_name().map_or_else(|| "model".to_owned(), |name| name.to_string_lossy().into_owned())
}

/// Whether `model` is `ORG/NAME` in characters that the hub allows.
fn is_hub_name(model: &str) -> bool {
    let plain = |part: &str| {
        !part.is_empty()
            && !part.starts_with('.')
            && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
    };
    model.split_once('/').is_some_and(|(organisation, name)| plain(organisation) && plain(name))
}

/// Folder of the hub cache, from the variables that Hugging Face's own tools read.
fn cache_directory() -> PathBuf {
    let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    variable("HF_HUB_CACHE")
        .or_else(|| variable("HF_HOME").map(|home| home.join("hub")))
        .or_else(|| variable("XDG_CACHE_HOME").map(|cache| cache.join("huggingface/hub")))
        .or_else(|| variable("HOME").map(|home| home.join(".cache/huggingface/hub")))
        .unwrap_or_else(|| PathBuf::from(".cache/huggingface/hub"))
}

/// Folder of the snapshot that `refs/main` names.
fn snapshot(cache: &Path, model: &str) -> Option<PathBuf> {
    let repository = cache.join(format!("models--{}", model.replace('/', "--")));
    let revision = std::fs::read_to_string(repository.join("refs/main")).ok()?;
    let snapshot = repository.join("snapshots").join(revision.trim());
    snapshot.is_dir().then_some(snapshot)
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
    fn a_hub_name_leads_to_the_snapshot_that_main_names() {
        let cache = tempfile::tempdir().unwrap();
        let repository = cache.path().join("models--org--name");
        std::fs::create_dir_all(repository.join("refs")).unwrap();
        std::fs::create_dir_all(repository.join("snapshots/abc")).unwrap();
        std::fs::write(repository.join("refs/main"), "abc\n").unwrap();
        assert_eq!(snapshot(cache.path(), "org/name"), Some(repository.join("snapshots/abc")));
        assert_eq!(snapshot(cache.path(), "org/other"), None);
    }

    #[test]
    fn only_plain_names_are_looked_up_in_the_cache() {
        assert!(is_hub_name("Qwen/Qwen3-0.6B"));
        for name in ["Qwen3", "../up", "a/../b", "a/b/c", "/etc", "a/"] {
            assert!(!is_hub_name(name), "{name}");
        }
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
        assert!(message.contains("hf download org/definitely-not-here"), "{message}");
    }
}
