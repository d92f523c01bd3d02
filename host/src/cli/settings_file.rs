//! Files of settings that switches name.

use std::path::Path;

use anyhow::Context;
use system::bounded::{self, SETTINGS_BYTES};

/// Reads the file that `switch` names.
///
/// # Errors
/// It can't be read, isn't UTF-8, or is too large; the error begins with the switch and the path.
pub(super) fn read(switch: &str, file: &Path) -> anyhow::Result<String> {
    bounded::text(file, SETTINGS_BYTES).with_context(|| format!("{switch} {}", file.display()))
}
