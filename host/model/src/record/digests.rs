//! Digests by which a record knows a model's files. Weights are known by the names and sizes of
//! their files: reading them would take as long as loading them.

use engine::ModelFiles;
use sha2::{Digest, Sha256};
use system::random::to_hex;

use prompt::ChatFiles;

/// Small files that decide what a model writes.
const SMALL: [&str; 5] = [
    "config.json",
    "generation_config.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "model.safetensors.index.json",
];
/// Files of tokenizers.
const TOKENIZERS: [&str; 2] = ["tokenizer.json", "tiktoken.model"];

/// Digests of a model's files, in lower-case hex.
#[derive(Debug, Clone)]
pub(crate) struct FileDigests {
    /// Of the small files, and of names and sizes of the weights.
    pub(crate) files: String,
    /// Of the tokenizer.
    pub(crate) tokenizer: String,
    /// Of the chat template.
    pub(crate) template: String,
}

impl FileDigests {
    /// Reads the files. One that can't be read counts as one that isn't there.
    pub(crate) fn of(files: &ModelFiles, chat: &ChatFiles) -> Self {
        let mut small = contents(files, &SMALL);
        for (name, size) in weights(files) {
            small.update(format!("{name}\0{size}\0"));
        }
        let mut template = Sha256::new_with_prefix(&chat.template);
        template.update(chat.tool_template.as_deref().unwrap_or_default());
        Self {
            files: to_hex(&small.finalize()),
            tokenizer: to_hex(&contents(files, &TOKENIZERS).finalize()),
            template: to_hex(&template.finalize()),
        }
    }
}

fn contents(files: &ModelFiles, names: &[&str]) -> Sha256 {
    let mut hash = Sha256::new();
    for name in names {
        if let Ok(Some(bytes)) = files.read(name) {
            hash.update(format!("{name}\0{}\0", bytes.len()));
            hash.update(bytes);
        }
    }
    hash
}

/// Names and sizes of the weights' files, in the order of their names.
fn weights(files: &ModelFiles) -> Vec<(String, u64)> {
    let is_weights = |name: &str| name.ends_with(".safetensors");
    let mut all: Vec<_> = match files {
        ModelFiles::Embedded(files) => {
            let weights = files.iter().filter(|(name, _)| is_weights(name));
            weights.map(|(name, bytes)| ((*name).to_owned(), bytes.len() as u64)).collect()
        }
        ModelFiles::Gguf(files) => {
            let parts = files.parts().iter();
            parts.map(|(name, bytes)| (base_name(name), bytes.len() as u64)).collect()
        }
        ModelFiles::Directory(folder) => {
            let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
            let named = entries.filter_map(|entry| {
                let name = entry.file_name().into_string().ok().filter(|name| is_weights(name))?;
                Some((name, std::fs::metadata(entry.path()).ok()?.len()))
            });
            named.collect()
        }
    };
    all.sort();
    all
}

/// A file's name without its folder.
fn base_name(path: &str) -> String {
    std::path::Path::new(path).file_name().unwrap_or_default().to_string_lossy().into_owned()
}
