//! `host models` and `host rm`: the models in the cache that Hugging Face's own tools share.

mod models;
mod rm;

pub(super) use models::{ModelsArguments, list};
pub(super) use rm::{RmArguments, remove};
