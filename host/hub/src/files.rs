//! Which files of a repository are downloaded: those that something here reads, and never pickles,
//! other runtimes' weights, or a second copy.

use engine::ModelFiles;
use engine::models::{WEIGHTS_FILE, WEIGHTS_INDEX, Weights};

use super::gguf::{self, NoChoice};
use super::listing::Listing;
use super::{HubError, HubName, NeededFiles};
use prompt::{PROMPT_FILES, TOKENIZER_FILES};

/// The model's configuration, which comes first: it says whether the rest is of use.
pub(super) const CONFIG: &str = "config.json";

/// The first file that the model needs and the folder lacks.
pub(super) fn first_missing(files: &ModelFiles, need: NeededFiles) -> Option<String> {
    let folder = files.directory()?;
    let is_missing = |name: &&str| !folder.join(name).is_file();
    if is_missing(&CONFIG) {
        return Some(CONFIG.to_owned());
    }
    if TOKENIZER_FILES.iter().all(&is_missing) {
        return Some(TOKENIZER_FILES[0].to_owned());
    }
    match need {
        NeededFiles::Prompt => None,
        NeededFiles::Weights => match Weights::file_names(files) {
            Ok(names) => names.into_iter().find(|name| is_missing(&name.as_str())),
            Err(_) => Some(WEIGHTS_FILE.to_owned()),
        },
    }
}

/// GGUF files of the model, in their order, if it is one of these: its name says so, or its
/// repository has weights in no other form that is read.
pub(super) fn gguf(
    name: &HubName,
    listing: &Listing,
    need: NeededFiles,
) -> Result<Option<Vec<String>>, HubError> {
    let has = |file: &str| listing.contains_key(file);
    let has_prompt = has(CONFIG) && TOKENIZER_FILES.into_iter().any(has);
    let is_folder = has(WEIGHTS_FILE) || has(WEIGHTS_INDEX) || (need == NeededFiles::Prompt && has_prompt);
    let models = gguf::models(listing.iter().map(|(path, file)| (path.as_str(), file.bytes)));
    if name.gguf().is_none() && (is_folder || models.is_empty()) {
        return Ok(None);
    }
    let chosen = gguf::choose(&models, name.gguf()).map_err(|no_choice| {
        let (NoChoice::None(reason) | NoChoice::Several(reason)) = no_choice;
        HubError::NoModel { name: name.repository().to_owned(), reason }
    })?;
    Ok(Some(chosen.paths.clone()))
}

/// The file that says where the weights are, if it isn't the weights themselves.
pub(super) fn index(listing: &Listing, need: NeededFiles) -> Option<&'static str> {
    let is_needed = need == NeededFiles::Weights
        && !listing.contains_key(WEIGHTS_FILE)
        && listing.contains_key(WEIGHTS_INDEX);
    is_needed.then_some(WEIGHTS_INDEX)
}

/// All files of the model `name` that are needed, small ones first. `snapshot` holds the index of
/// the weights, if there is one.
pub(super) fn needed(
    name: &str,
    listing: &Listing,
    snapshot: &ModelFiles,
    need: NeededFiles,
) -> Result<Vec<String>, HubError> {
    let is_listed = |file: &&str| listing.contains_key(*file);
    let mut files = vec![CONFIG];
    let tokenizer = TOKENIZER_FILES.into_iter().find(|file| is_listed(file));
    files.extend(tokenizer);
    files.extend(PROMPT_FILES.into_iter().filter(|file| is_listed(file)));
    let mut files: Vec<String> = files.into_iter().map(str::to_owned).collect();
    let lacks = |what: &str| HubError::NoModel { name: name.to_owned(), reason: what.to_owned() };
    if tokenizer.is_none() {
        return Err(lacks("no tokenizer.json or tiktoken.model there: no other form of tokenizer is read"));
    }
    if need == NeededFiles::Weights {
        if listing.contains_key(WEIGHTS_FILE) {
            files.push(WEIGHTS_FILE.to_owned());
        } else if let Some(index) = index(listing, need) {
            files.push(index.to_owned());
            files.extend(Weights::file_names(snapshot)?);
        } else {
            return Err(lacks("no *.safetensors there: weights in other formats are not read"));
        }
    }
    match files.iter().find(|file| !listing.contains_key(*file)) {
        Some(file) => Err(lacks(&format!("its index names {file}, which is missing"))),
        None => Ok(files),
    }
}
