//! The folder for data that outlives the server: the key of sealed data, and the store.

use std::path::PathBuf;

/// Path of the file `name` in the user's data folder; none if the environment names no folder.
pub(super) fn file(name: &str) -> Option<PathBuf> {
    let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let data = variable("XDG_DATA_HOME").or_else(|| variable("HOME").map(|home| home.join(".local/share")));
    data.map(|data| data.join("sluice").join(name))
}
