//! The key that seals data which clients keep for this server: its file, and the fallback if there
//! can be no file.

use std::path::Path;

use anyhow::Context;
use api::seal::Seal;

/// Name of the default file in the user's data folder.
pub(super) const FILE: &str = "seal.key";

/// Loads the operator's seal: a file, or `none` for a key of this process only. Without a setting
/// it is a file in the user's data folder; if there can't be one, a key of this process is used and
/// sealed data is lost at its end. A faulty key file is always an error: others may have read the
/// key, and conversations may depend on it.
pub(super) fn load(given: Option<&Path>) -> anyhow::Result<Seal> {
    match given {
        Some(file) if file.as_os_str() == "none" => return Ok(Seal::random()),
        Some(file) => return Seal::from_file(file).context("--seal-key"),
        None => {}
    }
    let Some(file) = super::data::file(FILE) else {
        tracing::info!("no data folder: encrypted reasoning is lost at a restart; --seal-key keeps it");
        return Ok(Seal::random());
    };
    match Seal::from_file(&file) {
        Err(error) if error.is_of_the_file() => {
            Err(error).context("the key that seals reasoning (--seal-key names another, or `none`)")
        }
        Err(error) => {
            tracing::warn!(%error, "no key file: encrypted reasoning is lost at a restart; --seal-key keeps it");
            Ok(Seal::random())
        }
        Ok(seal) => Ok(seal),
    }
}
